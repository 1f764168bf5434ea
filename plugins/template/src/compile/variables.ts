import { type CompiledTemplate, changesItemContext, type Expression, type Program } from './program.ts'

/** Context of a step: the number of enclosing items, and the paths that a condition has checked. */
interface Around {
  readonly items: number
  readonly given: readonly string[]
}

/** Returns the variables that the programs need, in the order of their first use. */
export const variablesOf = (programs: readonly Program[]): readonly string[] =>
  [...findVariableUses(programs)].filter(([, isNeeded]) => isNeeded).map(([path]) => path)

/** Returns the variables that a template uses and does not need, in the order of their first use. */
export function optionalVariablesOf({ subject, content, html }: CompiledTemplate): readonly string[] {
  const uses = findVariableUses([subject, content, ...(html === null ? [] : [html])])
  return [...uses].filter(([, isNeeded]) => !isNeeded).map(([path]) => path)
}

/**
 * Returns all variables in the order of their first use, and whether they are needed. Fields of list items and names of
 * blocks are not variables. A variable that only decides a condition is not needed, and neither are its fields inside
 * the branch of this condition.
 */
export function findVariableUses(programs: readonly Program[]): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>()
  const note = (path: string, isNeeded: boolean) => {
    if (found.get(path) === true) return
    // Moves the variable to the end, because the order is that of the first use that needs the variable.
    found.delete(path)
    found.set(path, isNeeded)
  }

  const add = (expression: Expression, { items, given }: Around): void => {
    if ('call' in expression) {
      for (const one of [...expression.with, ...Object.values(expression.options ?? {})]) add(one, { items, given })
    }
    const path = variablePath(expression, items)
    if (path !== undefined) note(path, !given.some((known) => path === known || path.startsWith(`${known}.`)))
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
      else note(condition, false)
      const guarded = condition === undefined ? around : { ...around, given: [...around.given, condition] }
      const inside = changesItemContext(block) ? { ...around, items: around.items + 1 } : guarded
      walk(body, block === 'unless' ? around : inside)
      walk(otherwise, block === 'unless' ? guarded : around)
    }
  }

  for (const program of programs) walk(program, { items: 0, given: [] })
  return found
}

function variablePath(expression: Expression, items: number): string | undefined {
  if (!('from' in expression)) return undefined
  const { from } = expression
  const isVariable = from === 'variables' || (from === 'item' && expression.up === items)
  return isVariable && expression.path.length > 0 ? expression.path.join('.') : undefined
}
