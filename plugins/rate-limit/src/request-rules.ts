import { hash } from 'node:crypto'
import type { FailurePolicy } from '@plinth/http'
import { parseDuration } from '@plinth/kernel/host'
import type { ConsumeRequest, LimitRule } from './contract.ts'

/** Returns SHA-256 in lower-case hexadecimal, for personal data in keys. */
export const sha256 = (text: string): string => hash('sha256', text)

export const failurePolicies = ['insurance', 'closed', 'open'] as const satisfies readonly FailurePolicy[]

/** A longer key is hashed. Otherwise unhashed input of callers could fill a store. */
const maxKeyLength = 256

/** Returns the key in a form that every store accepts, so that input of a caller cannot make a store fail. */
export const shortenKey = (key: string): string =>
  key.length > maxKeyLength || !key.isWellFormed() ? `sha256:${sha256(key)}` : key

export function checkKey(key: string): void {
  if (typeof key !== 'string' || key.trim() === '') {
    throw new RangeError('Rate limit "key" must not be empty: it names whose quota it is')
  }
}

/**
 * Returns the request for the positional arguments of `consume` and `assertAllowed`.
 *
 * @param window milliseconds, or a duration such as "1m"
 * @throws RangeError for a missing argument or an invalid duration
 */
export function toConsumeRequest(key: string, maxAttempts?: number, window?: number | string): ConsumeRequest {
  const windowMs = typeof window === 'string' ? parseDuration(window) : window
  if (windowMs === undefined || maxAttempts === undefined) {
    throw new RangeError('Rate limit: pass key, maxAttempts and window (milliseconds, or a duration such as "1m")')
  }
  return { key, maxAttempts, windowMs }
}

/**
 * Checks the numbers of a request, because stores handle invalid numbers differently. Some add quota for a negative
 * cost, others never limit again after NaN.
 *
 * @throws RangeError
 */
export function checkRequest(request: ConsumeRequest): void {
  checkRule(request)
  checkCost(request.cost)
}

export function checkRule({ maxAttempts, windowMs, failurePolicy }: LimitRule): void {
  checkWhole('maxAttempts', maxAttempts, Number.MIN_SAFE_INTEGER)
  checkWhole('windowMs', windowMs, 1)
  if (failurePolicy !== undefined && !failurePolicies.includes(failurePolicy)) {
    const known = failurePolicies.join(', ')
    throw new RangeError(`Rate limit "failurePolicy" must be one of ${known}, not ${String(failurePolicy)}`)
  }
}

export const checkCost = (cost: number | undefined): void => checkWhole('cost', cost, 1)

function checkWhole(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return
  const range = least === 1 ? ' from 1' : ''
  throw new RangeError(`Rate limit "${name}" must be a whole number${range} up to 2^53 - 1, not ${String(value)}`)
}
