import { type BlockName, entersItem } from './program.ts'
import { expressionIn } from './syntax-tree.ts'

/** Blocks around a place. */
export interface Scope {
  readonly depth: number
  /** `each` and `with` around it. */
  readonly items: number
  readonly loops: number
  /** Names that blocks give their items, the innermost block first. */
  readonly names: readonly (readonly string[])[]
}

/** Around no block. */
export const outermost: Scope = { depth: 0, items: 0, loops: 0, names: [] }

/** In the `else` part of a block, which has no item of its own. */
export const insideElse = (scope: Scope): Scope => ({ ...scope, depth: scope.depth + 1 })

/** @param names what the block calls its item */
export const inside = (scope: Scope, block: BlockName, names: readonly string[]): Scope => ({
  depth: scope.depth + 1,
  items: scope.items + (entersItem(block) ? 1 : 0),
  loops: scope.loops + (block === 'each' ? 1 : 0),
  names: names.length > 0 ? [names, ...scope.names] : scope.names,
})

/** The block with names, counted from the innermost, that has this one; -1 for none. */
export const blockNaming = (name: string, { names }: Scope) => names.findIndex((own) => own.includes(name))

/** Whether a path says where it begins: `this.x`, `./x`, `../x`. */
export const isScoped = ({ depth, original }: hbs.AST.PathExpression) => depth > 0 || /^(?:\.|this\b)/.test(original)

/** What may name a helper: one word that no block gave to its item. */
export function helperName(node: hbs.AST.Expression, scope: Scope): string | undefined {
  const path = expressionIn(node)
  if (path.type !== 'PathExpression') return undefined
  const [name = ''] = path.parts
  return path.data || isScoped(path) || path.parts.length !== 1 || blockNaming(name, scope) >= 0 ? undefined : name
}
