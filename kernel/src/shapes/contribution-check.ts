import { kernelError } from '../errors/kernel-errors.ts'
import type { ExtensionPoint, Unchecked } from '../refs.ts'
import { type Shape, shape } from './shape.ts'
import { type ShapeProblem, shapeProblems, shown } from './shape-check.ts'

const nonEmpty: Shape = { type: 'string', minLength: 1, maxLength: 200 }

/**
 * Checks a contribution against the rules of its extension point.
 *
 * @throws PlinthError `PLINTH_CONTRIBUTION_INVALID` with every violated rule
 */
export function assertContribution(
  plugin: string,
  point: ExtensionPoint<Unchecked>,
  name: unknown,
  implementation: unknown,
): void {
  const problems = [
    ...shapeProblems(point.names ?? nonEmpty, name, 'the name'),
    ...shapeProblems(point.shape ?? shape.anything, implementation),
    ...misnamed(point, name, implementation),
  ]
  if (problems.length === 0) return
  const details = {
    plugin,
    name: typeof name === 'string' ? name : shown(name),
    point: point.id,
    count: problems.length,
    problems: problems.map(({ path, clause }) => `${path === '' ? 'the contribution' : path} ${clause}`).join(' '),
    origin: point.from ?? '@plinth/kernel',
  }
  throw kernelError('PLINTH_CONTRIBUTION_INVALID', details)
}

/** Returns the problem of a contribution whose name differs from the property that must equal it. */
function misnamed({ namedBy }: ExtensionPoint<Unchecked>, name: unknown, implementation: unknown): ShapeProblem[] {
  if (namedBy === undefined) return []
  const member = namedBy.split('.').reduce<unknown>((part, step) => Object(part)[step], implementation)
  if (typeof member !== 'string' || member === name) return []
  return [{ path: 'the name', clause: `must equal its ${namedBy} ${JSON.stringify(member)}, but is ${shown(name)}.` }]
}
