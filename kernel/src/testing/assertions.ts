import type { JsonValue } from '@plinth/config-schema'
import type { RunningProduct } from '../running-product.ts'

/** A test with assertions, such as tap's `t`. */
interface Asserting {
  strictSame(found: unknown, requested: unknown, ...message: [] | [string]): boolean
  not(found: unknown, unwanted: unknown, ...message: [] | [string]): boolean
  fail(message: string): boolean
  comment(...details: unknown[]): void
}

/**
 * Asserts that a promise rejects with an error that has the expected properties. They are compared as in
 * `assertMembers`, because `t.rejects` accepts a code that only contains the expected one.
 *
 * @param work promise, or function that returns one
 * @param expected properties, or a class
 * @returns whether the promise rejects with such an error
 */
export async function rejectsWith(
  t: Omit<Asserting, 'not'>,
  work: Promise<unknown> | (() => unknown),
  expected: unknown,
  ...message: [] | [string]
): Promise<boolean> {
  try {
    await (typeof work === 'function' ? work() : work)
  } catch (error) {
    return assertError(t, error, expected, message)
  }
  return t.fail(message[0] ?? 'expected to reject')
}

/** Like `rejectsWith`, for a function that throws. */
export function throwsWith(
  t: Omit<Asserting, 'not'>,
  work: () => unknown,
  expected: unknown,
  ...message: [] | [string]
): boolean {
  try {
    work()
  } catch (error) {
    return assertError(t, error, expected, message)
  }
  return t.fail(message[0] ?? 'expected to throw')
}

function assertError(t: Omit<Asserting, 'not'>, error: unknown, expected: unknown, message: [] | [string]): boolean {
  const isExpected = assertMembers(t, error, expected, ...message)
  // The comparison prints only the expected properties.
  if (!isExpected) t.comment(error)
  return isExpected
}

/**
 * Asserts that a value has the expected properties and ignores other properties of its objects. Texts must be equal,
 * lists must have the same length, and null matches only null. In contrast, `t.match` accepts a text that only contains
 * the expected one, and any list if an empty list is expected.
 *
 * @param expected may contain a RegExp for a text, or a class such as `String` or `Date` for any value of it
 * @returns whether the value has the expected properties
 */
export const assertMembers = (
  t: Pick<Asserting, 'strictSame'>,
  found: unknown,
  expected: unknown,
  ...message: [] | [string]
): boolean => t.strictSame(membersIn(found, expected), expected, ...message)

/** Reduces a value to the expected properties. If a pattern accepts the value, returns the pattern. */
function membersIn(found: unknown, expected: unknown): unknown {
  if (expected instanceof RegExp) return typeof found === 'string' && expected.test(found) ? expected : found
  if (typeof expected === 'function') return Object(found) instanceof expected ? expected : found
  if (Array.isArray(expected)) {
    return Array.isArray(found) ? found.map((one, at) => (at in expected ? membersIn(one, expected[at]) : one)) : found
  }
  if (!isPlain(expected) || typeof found !== 'object' || found === null) return found
  return Object.fromEntries(
    Object.entries(expected).map(([name, requested]) => [name, membersIn(Reflect.get(found, name), requested)]),
  )
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Values to start a product with, by key. */
export type KeyValues = Readonly<Record<string, JsonValue>>

export interface KeyEffect<T> {
  /** Value to compare with. If omitted, the default of the key applies, because the key is not set. */
  readonly compared?: JsonValue
  /** Value that must change the observation. */
  readonly changed: JsonValue
  /**
   * Uses the product with these values and returns the behaviour as JSON data. Called once for each of the two values.
   * It must not read the key from the configuration.
   */
  readonly observe: (values: KeyValues, key: string) => T | Promise<T>
}

/** Observations of one key, with the default and with the changed value. */
export interface KeyObservations<T> {
  readonly key: string
  readonly before: T
  readonly after: T
}

/**
 * Proves that a key has an effect: observes the product with the default and with a changed value, and fails if both
 * observations are equal. The assertion has the name `effect of <key>`. Write the key as a literal, because the proof
 * for all keys reads it from the source.
 *
 * @param keys one key, or several with the same effect: `platform.a.{b,c}` is `platform.a.b` and `platform.a.c`
 * @returns the observations of each key in the order of the keys, for assertions about their contents
 * @throws Error from `observe`
 */
export async function effectOf<T>(
  t: Pick<Asserting, 'not'>,
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
 * Applies values to live keys of a running product, as the config centre does. All other live keys get their initial
 * values again, so that one product serves all observations of `effectOf`.
 */
export const applyValues = ({ config }: Pick<RunningProduct, 'config'>, values: KeyValues) =>
  config.apply(Object.entries(values).map(([name, written]) => ({ name, by: 'key', written, place: 'test' })))

/** Returns the keys in a text with alternatives in braces. */
export function expandKeys(keys: string): string[] {
  const [, before, choices = '', after] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(keys) ?? []
  return before === undefined
    ? [keys]
    : choices.split(',').flatMap((choice) => expandKeys(`${before}${choice}${after}`))
}
