import { localize } from '@plinth/config-schema'
import type { ConfigValue, SourceProblem } from '@plinth/config-schema/reading'
import { type KernelErrorCode, type Problem, problem } from '../errors/kernel-errors.ts'
import type { ConfigExplanation } from './explanation.ts'
import type { KeyState } from './slot.ts'

const findingCodes: Readonly<Record<SourceProblem['rule'], KernelErrorCode>> = {
  unreadable: 'PLINTH_CONFIG_SOURCE',
  unknown: 'PLINTH_CONFIG_UNKNOWN_KEY',
  deprecated: 'PLINTH_CONFIG_DEPRECATED',
  invalid: 'PLINTH_CONFIG_INVALID_VALUE',
}

/** Returns the problem that a source has with one of its values. */
export const problemOf = ({ rule, place, details, plugin }: SourceProblem) =>
  problem(findingCodes[rule], place, details, plugin)

/** Returns the warning for a key whose effective value is unsafe in production. */
export function insecureWarning({ key, plugin, declaration }: KeyState): Problem {
  const details = { key, reason: localize(declaration.insecure?.reason ?? '', 'en') }
  return problem('PLINTH_CONFIG_INSECURE', key, details, plugin)
}

/**
 * Returns a warning for each environment variable of a key that a stored value overrides.
 *
 * @param row the value of the key that applies now
 */
export function overriddenWarnings({ key, plugin, layers }: KeyState, row: ConfigValue | undefined): Problem[] {
  if (row?.source !== 'database') return []
  return layers
    .filter(({ source }) => source === 'environment' || source === 'dotenv')
    .map(({ place }) => problem('PLINTH_CONFIG_OVERRIDDEN', place, { variable: place, key, row: row.place }, plugin))
}

/** Describes stored values that may have caused a failure of plugins. See `ConfigValues.storedOf`. */
export function describeStoredSuspects(
  values: readonly ConfigExplanation[],
  plugins: readonly string[],
  reason: string,
): string {
  const stored = values.filter((one) => plugins.includes(one.plugin) && one.effective.source === 'database')
  const closest = [
    ({ key }: ConfigExplanation) => reason.includes(key),
    ({ plugin }: ConfigExplanation) => plugin === plugins[0],
  ]
  const suspects = closest.map((fits) => stored.filter(fits)).find(({ length }) => length > 0) ?? stored
  const rows = suspects.map(({ effective }) => effective.place).join('; ')
  const keys = suspects.map(({ key }) => key).join(' ')
  return rows && ` It runs on the ${rows}. To go on without: \`plinth config reset ${keys}\`, which works now.`
}
