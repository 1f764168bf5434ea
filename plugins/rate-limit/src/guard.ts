import type { GuardHandler, RateLimited, RouteGuard, RouteInfo } from '@plinth/http'
import type { Clock } from '@plinth/kernel'
import type { IdentityResolver, RateLimitResult } from './contract.ts'
import { retryAfterSeconds, tooManyRequests } from './declarations.ts'
import type { StoreRateLimiter } from './limiter.ts'
import { sha256 } from './request-rules.ts'
import { defaultStrategy, dimensions, limitRule, quotaName, type RouteLimitRegistry } from './route-limits.ts'
import type { LiveSettings } from './settings.ts'

type Request = Parameters<GuardHandler>[0]

/** All unidentified callers share one quota. */
const anonymous = 'anonymous'

/**
 * Caches results by text, for example by client address.
 *
 * @param most maximum number of cached texts; the oldest is removed first
 */
function remembered(most: number, make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const kept = known.get(text)
    if (kept !== undefined) return kept
    const made = make(text)
    const oldest = known.size < most ? undefined : known.keys().next().value
    if (oldest !== undefined) known.delete(oldest)
    known.set(text, made)
    return made
  }
}

/**
 * Returns a function that hashes addresses for keys.
 *
 * @param networkOf returns the same text for all addresses of one caller
 */
export const createAddressKeyFunction = (networkOf: (address: string) => string): ((address: string) => string) =>
  remembered(10_000, (address) => sha256(networkOf(address)))

export async function identityOf(
  resolvers: readonly IdentityResolver[],
  request: Request,
): Promise<string | undefined> {
  for (const resolve of resolvers) {
    const identity = (await resolve(request))?.trim()
    if (identity) return identity
  }
  return undefined
}

const identityKey = async (resolvers: readonly IdentityResolver[], request: Request): Promise<string> =>
  sha256((await identityOf(resolvers, request)) ?? anonymous)

type Reply = Parameters<GuardHandler>[1]

interface GuardDependencies {
  readonly limiter: StoreRateLimiter
  readonly limits: RouteLimitRegistry
  /** Settings that are read for each request. */
  readonly settings: Pick<LiveSettings, 'draftHeaders' | 'shadow' | 'defaultWindowMs'>
  readonly keyPrefix: string
  readonly clock: Clock
  /**
   * Resolvers of all plugins. The list is read for each request, because it is complete only when the product is ready.
   */
  readonly resolvers: readonly IdentityResolver[]
}

/** Returns a guard that enforces declared limits. Runs after validation, so invalid input uses no quota. */
export function rateLimitGuard({
  limiter,
  limits,
  settings,
  keyPrefix,
  clock,
  resolvers,
}: GuardDependencies): RouteGuard {
  const routeHandler = (route: RouteInfo, limit: RateLimited): GuardHandler => {
    const { caller } = dimensions[limit.keyStrategy ?? defaultStrategy]
    const base = [keyPrefix, quotaName(route, limit)].filter((part) => part !== '').join(':')
    const { cost = 1 } = limit
    const rule = limitRule(limit)
    const declared = limiter.declare(rule)
    const watched = rule.shadow === true ? declared : limiter.declare({ ...rule, shadow: true })

    const response = (reply: Reply, result: RateLimitResult): void => {
      writeLimitHeaders(reply, result)
      if (settings.draftHeaders) {
        writeDraftHeaders(reply, result, rule.windowMs ?? settings.defaultWindowMs, clock.now())
      }
      if (result.allowed) return
      if (limit.silent !== true) throw tooManyRequests(result)
      reply.code(204).send()
    }
    const consume = (key: string, reply: Reply): void | Promise<void> => {
      const result = (settings.shadow ? watched : declared).decide(key, cost, 'consume')
      // A synchronous result does not delay the request.
      return result instanceof Promise ? result.then((one) => response(reply, one)) : response(reply, result)
    }
    if (caller === undefined) return (_, reply) => consume(base, reply)
    if (caller === 'ip') {
      // The key string is reused, because joining and comparing a new one costs a fast route 1 % of its throughput.
      const keyOf = remembered(1000, (address) => `${base}:${limiter.addressKey(address)}`)
      return ({ clientIp }, reply) => consume(keyOf(clientIp), reply)
    }
    return async (request, reply) => consume(`${base}:${await identityKey(resolvers, request)}`, reply)
  }

  return {
    name: 'rate-limit',
    stage: 'quota',
    forRoute(route) {
      const limit = limits.of(route)
      return limit && routeHandler(route, limit)
    },
  }
}

/** Names of the rate limit headers, for the operations snapshot. */
export const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'] as const

/** Names of the headers of the IETF draft "RateLimit header fields for HTTP", version 10. */
export const draftHeaders = ['RateLimit-Policy', 'RateLimit'] as const

/**
 * Writes the headers of document 1 of the specification, "Declarative response headers". An unlimited route gets none.
 */
function writeLimitHeaders(
  reply: Reply,
  { allowed, limit, remaining, resetAt, retryAfter, exceedsLimit }: RateLimitResult,
): void {
  if (limit === 0) return
  // Names are in lower case and values are strings, as they are sent. Otherwise Fastify and Node.js would convert them
  // for each request, at twice the cost.
  reply.header('x-ratelimit-limit', String(limit))
  reply.header('x-ratelimit-remaining', String(remaining))
  reply.header('x-ratelimit-reset', String(Math.ceil(resetAt / 1000)))
  if (!allowed && !exceedsLimit) reply.header('retry-after', String(retryAfterSeconds(retryAfter)))
}

/**
 * Writes the header fields of the IETF draft.
 *
 * @param windowMs window of the limit
 * @param now milliseconds since the epoch
 */
function writeDraftHeaders(reply: Reply, result: RateLimitResult, windowMs: number, now: number): void {
  const { allowed, limit, remaining, resetAt, retryAfter } = result
  if (limit === 0) return
  const remainingMs = allowed || result.exceedsLimit ? Math.max(0, resetAt - now) : retryAfter
  reply.header('ratelimit-policy', `"default";q=${limit};w=${Math.ceil(windowMs / 1000)}`)
  reply.header('ratelimit', `"default";r=${remaining};t=${Math.ceil(remainingMs / 1000)}`)
}
