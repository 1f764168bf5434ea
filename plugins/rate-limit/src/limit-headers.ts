import type { GuardHandler } from '@plinth/http'
import type { RateLimitResult } from './contract.ts'
import { retryAfterSeconds } from './declarations.ts'

type Reply = Parameters<GuardHandler>[1]

/** Names as in the operations snapshot. */
export const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'] as const

/** Names of the IETF draft "RateLimit header fields for HTTP", version 10. */
export const draftHeaders = ['RateLimit-Policy', 'RateLimit'] as const

/** Writes the headers of document 1, "Declarative response headers". An unlimited route has none. */
export function writeLimitHeaders(
  reply: Reply,
  { allowed, limit, remaining, resetAt, retryAfter, exceedsLimit }: RateLimitResult,
): void {
  if (limit === 0) return
  // Lower-case names and strings, as they are sent. Otherwise Fastify and Node.js would convert them at every request,
  // at twice the cost.
  reply.header('x-ratelimit-limit', String(limit))
  reply.header('x-ratelimit-remaining', String(remaining))
  reply.header('x-ratelimit-reset', String(Math.ceil(resetAt / 1000)))
  if (!allowed && !exceedsLimit) reply.header('retry-after', String(retryAfterSeconds(retryAfter)))
}

/**
 * Writes the fields of the draft: quota and window of the policy, remaining quota and seconds until reset.
 *
 * @param windowMs window of the limit
 * @param now milliseconds since the epoch
 */
export function writeDraftHeaders(reply: Reply, result: RateLimitResult, windowMs: number, now: number): void {
  const { allowed, limit, remaining, resetAt, retryAfter } = result
  if (limit === 0) return
  const remainingMs = allowed || result.exceedsLimit ? Math.max(0, resetAt - now) : retryAfter
  reply.header('ratelimit-policy', `"default";q=${limit};w=${Math.ceil(windowMs / 1000)}`)
  reply.header('ratelimit', `"default";r=${remaining};t=${Math.ceil(remainingMs / 1000)}`)
}
