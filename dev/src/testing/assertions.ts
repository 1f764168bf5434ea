import type { JsonValue } from '@plinth/config-schema'
import type { RunningProduct } from '@plinth/kernel/host'

/** A test with assertions, such as the argument `t` of a tap test. */
interface Asserting {
  strictSame(found: unknown, requested: unknown, ...message: [] | [string]): boolean
  not(found: unknown, unwanted: unknown, ...message: [] | [string]): boolean
  fail(message: string): boolean
  comment(...details: unknown[]): void
}

/**
 * Checks that a promise rejects with the expected error. Properties are compared like in `assertMembers`. In contrast,
 * `t.rejects` also accepts a code that only contains the expected one.
 *
 * @param work a promise, or a function that returns one
 * @param expected properties, or a class
 * @returns true if the promise rejects with such an error
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

/** Checks that a function throws the expected error. Properties are compared as in `rejectsWith`. */
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
  // The comparison prints only the expected properties, so the whole error is printed too.
  if (!isExpected) t.comment(error)
  return isExpected
}

/**
 * Checks the expected properties of a value and ignores its other properties. Texts must be equal, lists must have the
 * same length, and null matches only null. In contrast, `t.match` accepts a text that only contains the expected one,
 * and any list if an empty list is expected.
 *
 * @param expected may contain a RegExp for a text, or a class such as `String` or `Date` for any value of the class
 * @returns true if the value has the expected properties
 */
export const assertMembers = (
  t: Pick<Asserting, 'strictSame'>,
  found: unknown,
  expected: unknown,
  ...message: [] | [string]
): boolean => t.strictSame(membersIn(found, expected), expected, ...message)

/**
 * Returns the part of a value that is compared. Where a pattern or a class accepts the value, returns the pattern or
 * the class itself.
 */
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

/** Configuration values by key. */
export type KeyValues = Readonly<Record<string, JsonValue>>

export interface KeyEffectTest<T> {
  /** Value of the key in the first observation. Default: the key is not set, so its default applies. */
  readonly compared?: JsonValue
  /** Value that must lead to a different observation. */
  readonly changed: JsonValue
  /**
   * Uses the product with these values and returns what the product does, as JSON data. Called once for each of the two
   * values. The function must not read the key from the configuration.
   */
  readonly observe: (values: KeyValues, key: string) => T | Promise<T>
}

/** The observations for one key: `before` with the compared value, `after` with the changed value. */
export interface KeyObservations<T> {
  readonly key: string
  readonly before: T
  readonly after: T
}

/**
 * Proves that a key has an effect. Observes the product with two values of the key, and fails if both observations are
 * equal. The name of the assertion is `effect of <key>`. Write the key as a literal, because another test reads from
 * the source which keys are proven.
 *
 * @param keys one key, or several with the same effect: `platform.a.{b,c}` means `platform.a.b` and `platform.a.c`
 * @returns the observations for each key, in the order of the keys
 * @throws the errors of `observe`
 */
export async function assertKeyEffect<T>(
  t: Pick<Asserting, 'not'>,
  keys: string,
  { compared, changed, observe }: KeyEffectTest<T>,
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
 * Sets values of live keys in a running product, like the config centre. All other live keys get their initial values
 * back, so that one product can serve all observations of `assertKeyEffect`.
 */
export const applyLiveValues = ({ config }: Pick<RunningProduct, 'config'>, values: KeyValues) =>
  config.apply(Object.entries(values).map(([name, written]) => ({ name, by: 'key', written, place: 'test' })))

/** Returns the keys that a text with alternatives in braces stands for. */
export function expandKeys(keys: string): string[] {
  const [, before, choices = '', after] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(keys) ?? []
  return before === undefined
    ? [keys]
    : choices.split(',').flatMap((choice) => expandKeys(`${before}${choice}${after}`))
}
