import type { RouteGuard } from '@plinth/http'
import { type RateLimiter, type RateLimitResult, retryAfterSeconds, tooManyRequests } from '@plinth/rate-limit'
import type { ApplicationAlerts } from '../applications/application-alerts.ts'
import type { GuardedReply } from '../contract.ts'
import type { UsedNonces } from '../signature/authenticator.ts'
import { readSignedHeaders } from '../signature/canonical-request.ts'
import { openApiOf, requireOpenCaller } from '../signature/signature-guards.ts'
import type { CallMeter } from './call-meter.ts'

const windowMs = 60_000

interface QuotaDependencies {
  readonly nonces: UsedNonces
  readonly limiter: Pick<RateLimiter, 'consume'>
  readonly meter: CallMeter
  readonly alerts: Pick<ApplicationAlerts, 'rateLimited'>
  /** Default limit of applications per minute; 0 or negative: unlimited. */
  readonly defaultLimit: () => number
}

/**
 * Returns a guard that takes quota, marks the nonce as used and records the call (document 1 of the specification,
 * "Open-platform limiter"). Runs after validation, so that invalid input uses no quota. The nonce is marked last. Among
 * concurrent copies of a request, only one is served, and the others store nothing.
 */
export function quotaGuard({ nonces, limiter, meter, alerts, defaultLimit }: QuotaDependencies): RouteGuard {
  return {
    name: 'open-platform.quota',
    stage: 'quota',
    forRoute(route) {
      const rule = openApiOf(route)
      if (rule === undefined) return undefined
      const { cost = 1, store } = rule
      const requested = { windowMs, cost, ...(store ? { store } : {}) }
      return async (request, reply) => {
        const caller = requireOpenCaller(request)
        meter.assertRoom()
        // `??` keeps a limit of 0, which means unlimited.
        const maxAttempts = caller.rateLimitPerMinute ?? defaultLimit()
        const result = await limiter.consume({ ...requested, key: `open-platform:${caller.appKey}`, maxAttempts })
        writeHeaders(reply, result)
        if (!result.allowed) {
          alerts.rateLimited(caller, route.path)
          throw tooManyRequests(result)
        }
        await nonces.use(caller.appKey, readSignedHeaders(request.headers).nonce)
        meter.accept(request, reply, { caller, route: route.path, cost, quotaLimit: result.limit })
      }
    },
  }
}

/**
 * Writes the rate limit headers. For an unlimited application, the limit is 0 and the remaining quota is the largest
 * exact integer of JSON.
 */
function writeHeaders(reply: GuardedReply, { allowed, limit, remaining, resetAt, retryAfter }: RateLimitResult): void {
  reply.header('x-open-ratelimit-limit', String(limit))
  reply.header('x-open-ratelimit-remaining', String(remaining))
  reply.header('x-open-ratelimit-reset', String(Math.ceil(resetAt / 1000)))
  if (!allowed) reply.header('retry-after', String(retryAfterSeconds(retryAfter)))
}
