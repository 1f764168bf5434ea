import type { JsonValue } from '@plinth/config-schema'
import type { RunningProduct } from '../running-product.ts'

/** Test that asserts; tap's `t` is one. */
interface Asserting {
  not(found: unknown, unwanted: unknown, ...message: [] | [string]): boolean
}

/** Values to start a product with, by key. */
export type KeyValues = Readonly<Record<string, JsonValue>>

export interface KeyEffect<T> {
  /** Value to compare with. If omitted, the default of the key applies, because the key is not set. */
  readonly compared?: JsonValue
  /** Value that must lead to another observation. */
  readonly changed: JsonValue
  /**
   * Uses the product with these values and returns the behaviour as JSON data. Runs once for each of the two values. It must
   * not read the key back from the configuration.
   */
  readonly observe: (values: KeyValues, key: string) => T | Promise<T>
}

/** Observations of one key, by default and with the changed value. */
export interface KeyObservations<T> {
  readonly key: string
  readonly before: T
  readonly after: T
}

/**
 * Proves that a key has an effect: observes the product with the default and with a changed value, and fails if both
 * observations are equal. The assertion has the name `effect of <key>`. Write the key as a literal, because the proof that
 * each key has an effect reads it from the source.
 *
 * @param keys one key, or several that have the same effect: `platform.a.{b,c}` is `platform.a.b` and `platform.a.c`
 * @returns the observations of each key in the order of the keys, for assertions about their contents
 * @throws Error from `observe`
 */
export async function effectOf<T>(
  t: Asserting,
  keys: string,
  { compared, changed, observe }: KeyEffect<T>,
): Promise<KeyObservations<T>[]> {
  const found: KeyObservations<T>[] = []
  for (const key of expandKeys(keys)) {
    const before = await observe(compared === undefined ? {} : { [key]: compared }, key)
    const after = await observe({ [key]: changed }, key)
    t.not(JSON.stringify(after), JSON.stringify(before), `effect of ${key}`)
    found.push({ key, before, after })
  }
  return found
}

/**
 * Gives live keys of a running product these values, as the config centre does. Live keys that the values leave out get back
 * the value that they were started with, so that one product serves all observations of `effectOf`.
 */
export const applyValues = ({ config }: Pick<RunningProduct, 'config'>, values: KeyValues) =>
  config.apply(Object.entries(values).map(([name, written]) => ({ name, by: 'key', written, place: 'test' })))

/** Returns the keys that a text with alternatives in braces lists. */
export function expandKeys(keys: string): string[] {
  const [, before, choices = '', after] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(keys) ?? []
  return before === undefined
    ? [keys]
    : choices.split(',').flatMap((choice) => expandKeys(`${before}${choice}${after}`))
}
