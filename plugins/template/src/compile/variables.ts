import { type Expression, entersItem, type Program } from './program.ts'

/** What surrounds a place: how many items it lies in, and the paths that are known to be there. */
interface Around {
  readonly items: number
  readonly given: readonly string[]
}

/**
 * Paths of the variables that programs need, in order of their first appearance: what items of a list or names of blocks have
 * is no variable, and what only decides a condition may be missing, as may what its branch prints of it.
 */
export function variablesOf(programs: readonly Program[]): readonly string[] {
  const found = new Set<string>()

  const add = (expression: Expression, { items, given }: Around): void => {
    if ('call' in expression) for (const one of expression.with) add(one, { items, given })
    const path = variablePath(expression, items)
    if (path === undefined || given.some((known) => path === known || path.startsWith(`${known}.`))) return
    found.add(path)
  }

  const walk = (program: Program, around: Around): void => {
    for (const step of program) {
      if (typeof step === 'string') continue
      if ('print' in step) {
        add(step.print, around)
        continue
      }
      const { block, of, body, otherwise } = step
      const isCondition = block === 'if' || block === 'unless'
      const condition = isCondition ? variablePath(of, around.items) : undefined
      if (condition === undefined) add(of, around)
      const guarded = condition === undefined ? around : { ...around, given: [...around.given, condition] }
      const inside = entersItem(block) ? { ...around, items: around.items + 1 } : guarded
      walk(body, block === 'unless' ? around : inside)
      walk(otherwise, block === 'unless' ? guarded : around)
    }
  }

  for (const program of programs) walk(program, { items: 0, given: [] })
  return [...found]
}

function variablePath(expression: Expression, items: number): string | undefined {
  if (!('from' in expression)) return undefined
  const { from } = expression
  const isVariable = from === 'variables' || (from === 'item' && expression.up === items)
  return isVariable && expression.path.length > 0 ? expression.path.join('.') : undefined
}
