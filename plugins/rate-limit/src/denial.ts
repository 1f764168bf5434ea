import { BusinessError } from '@plinth/kernel'
import type { RateLimitResult } from './contract.ts'

/** The error of a denial (document 1, "Errors" 2). */
export function tooManyRequests({ retryAfter }: Pick<RateLimitResult, 'retryAfter'>): BusinessError {
  const seconds = retryAfterSeconds(retryAfter)
  return new BusinessError('429', `Too many requests. Try again in ${seconds} s.`, {
    reason: 'rate-limit.exceeded',
    params: { seconds },
    data: { retryAfter: seconds },
  })
}

/** Whole seconds, rounded up: a client that waits them is allowed. At least 1. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** The error of a limit that cannot count and must not let pass what it has not counted. */
export function storeUnavailable(cause: unknown): BusinessError {
  return new BusinessError('503', 'The request could not be counted. Try again later.', {
    reason: 'rate-limit.store-unavailable',
    cause,
  })
}
