import { assertMembers } from './assert-members.ts'

/** Test that asserts; tap's `t` is one. */
interface Asserting {
  strictSame(found: unknown, wanted: unknown, ...message: [] | [string]): boolean
  fail(message: string): boolean
  comment(...details: unknown[]): void
}

/**
 * Asserts that work rejects with an error that has the expected members. They are compared as by `assertMembers`: `t.rejects`
 * accepts a code that only contains the expected one.
 *
 * @param work promise, or function that returns one
 * @param expected members, or a class
 * @returns whether it rejects with such an error
 */
export async function rejectsWith(
  t: Asserting,
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

/** As `rejectsWith`, for work that throws. */
export function throwsWith(t: Asserting, work: () => unknown, expected: unknown, ...message: [] | [string]): boolean {
  try {
    work()
  } catch (error) {
    return assertError(t, error, expected, message)
  }
  return t.fail(message[0] ?? 'expected to throw')
}

function assertError(t: Asserting, error: unknown, expected: unknown, message: [] | [string]): boolean {
  const isExpected = assertMembers(t, error, expected, ...message)
  // The comparison prints the expected members only.
  if (!isExpected) t.comment(error)
  return isExpected
}
