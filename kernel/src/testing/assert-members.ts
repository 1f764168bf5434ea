/** Test that asserts; tap's `t` is one. */
interface Asserting {
  strictSame(found: unknown, wanted: unknown, ...message: [] | [string]): boolean
}

/**
 * Asserts that a value has the expected members and ignores other members of its objects. Texts are equal, lists have the same length,
 * and null is null. `t.match` accepts a text that only contains the expected one, and any list where none is expected.
 *
 * @param expected may contain a RegExp for a text, or a class such as `String` or `Date` for any value of it
 * @returns whether it has them
 */
export const assertMembers = (t: Asserting, found: unknown, expected: unknown, ...message: [] | [string]): boolean =>
  t.strictSame(membersIn(found, expected), expected, ...message)

/** Reduces a value to the expected members. An accepted pattern stands for the value that it accepts. */
function membersIn(found: unknown, expected: unknown): unknown {
  if (expected instanceof RegExp) return typeof found === 'string' && expected.test(found) ? expected : found
  if (typeof expected === 'function') return Object(found) instanceof expected ? expected : found
  if (Array.isArray(expected)) {
    return Array.isArray(found) ? found.map((one, at) => (at in expected ? membersIn(one, expected[at]) : one)) : found
  }
  if (!isPlain(expected) || typeof found !== 'object' || found === null) return found
  const members = found as Readonly<Record<string, unknown>>
  return Object.fromEntries(Object.entries(expected).map(([name, wanted]) => [name, membersIn(members[name], wanted)]))
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
