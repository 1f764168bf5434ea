import type { GuardHandler, RouteGuard, RouteInfo } from '@plinth/http'
import { PlinthError, reasonOf } from '@plinth/kernel'
import {
  type ConsumeRequest,
  type IdentityResolver,
  type KeyStrategy,
  type RateLimited,
  type RateLimitResult,
  rateLimitedAnnotation,
} from './contract.ts'
import { checkRequest, retryAfterSeconds, type StoreRateLimiter, sha256, tooManyRequests } from './service.ts'

type Request = Parameters<GuardHandler>[0]
type Reply = Parameters<GuardHandler>[1]

export interface GuardParts {
  readonly limiter: StoreRateLimiter
  /** First part of every declarative key. */
  readonly keyPrefix: string
  /** Read at every request; complete when the product is ready. */
  readonly resolvers: readonly IdentityResolver[]
}

const defaultStrategy: KeyStrategy = 'IP_ROUTE'

/** What distinguishes the callers of one quota. */
const dimensions: Readonly<Record<KeyStrategy, { readonly route: boolean; readonly caller?: 'ip' | 'user' }>> = {
  GLOBAL: { route: false },
  IP: { route: false, caller: 'ip' },
  USER: { route: false, caller: 'user' },
  ROUTE: { route: true },
  IP_ROUTE: { route: true, caller: 'ip' },
  USER_ROUTE: { route: true, caller: 'user' },
}

/** Callers that nobody knows share one quota. */
const anonymous = 'anonymous'

/** Enforces `rateLimited` annotations. Runs after validation: bad input burns no quota. */
export function rateLimitGuard({ limiter, keyPrefix, resolvers }: GuardParts): RouteGuard {
  const callers: Readonly<Record<'ip' | 'user', (request: Request) => string | Promise<string>>> = {
    ip: (request) => request.clientIp,
    user: async (request) => {
      for (const resolve of resolvers) {
        const identity = (await resolve(request))?.trim()
        if (identity) return identity
      }
      return anonymous
    },
  }

  return {
    name: 'rate-limit',
    stage: 'quota',
    forRoute(route) {
      const limit = route.annotations.find(({ id }) => id === rateLimitedAnnotation)?.value as RateLimited | undefined
      if (limit === undefined) return undefined
      checkDeclaration(route, limit, limiter)
      const { caller } = dimensions[limit.keyStrategy ?? defaultStrategy]
      const base = baseKey(keyPrefix, route, limit)
      const asked = consumeRequest(base, limit)

      return async (request, reply) => {
        const key = caller === undefined ? base : `${base}:${sha256(await callers[caller](request))}`
        const result = await limiter.consume({ ...asked, key })
        writeHeaders(reply, result)
        if (result.allowed) return
        if (limit.silent !== true) throw tooManyRequests(result)
        reply.code(204).send()
      }
    },
  }
}

/** A wrong declaration stops the start, so that no request finds it. */
function checkDeclaration(route: RouteInfo, limit: RateLimited, limiter: StoreRateLimiter): void {
  try {
    const strategy = limit.keyStrategy ?? defaultStrategy
    if (!Object.hasOwn(dimensions, strategy)) {
      throw new RangeError(`"keyStrategy" must be one of ${Object.keys(dimensions).join(', ')}, not ${strategy}`)
    }
    checkRequest(consumeRequest('checked', limit))
    if (limit.store) limiter.storeNamed(limit.store)
  } catch (cause) {
    throw new PlinthError(
      'PLINTH_RATE_LIMIT_DECLARATION',
      `The rate limit of ${route.method} ${route.path} cannot be used: ${reasonOf(cause)}`,
      `Correct the rateLimited() annotation of that route in plugin "${route.plugin}".`,
      { cause },
    )
  }
}

/** The part of the key that is known before a request comes. Readable: only what is personal is hashed. */
function baseKey(prefix: string, { method, path }: RouteInfo, limit: RateLimited): string {
  const { route, caller } = dimensions[limit.keyStrategy ?? defaultStrategy]
  const named = limit.key || undefined
  const segments = [prefix, named]
  // Without a business key GLOBAL would be one counter for the whole product.
  if (route || (named === undefined && caller === undefined)) segments.push(`${method}:${path}`)
  return segments.filter((segment) => segment !== undefined).join(':')
}

/** In a declaration 0 or less means the default; asked of the limiter it would mean unlimited. */
function consumeRequest(key: string, { maxAttempts = 0, windowSeconds = 0, cost, store }: RateLimited): ConsumeRequest {
  return {
    key,
    ...(maxAttempts <= 0 ? {} : { maxAttempts }),
    ...(windowSeconds <= 0 ? {} : { windowMs: windowSeconds * 1000 }),
    ...(cost === undefined ? {} : { cost }),
    ...(store ? { store } : {}),
  }
}

function writeHeaders(reply: Reply, { allowed, limit, remaining, resetAt, retryAfter }: RateLimitResult): void {
  if (limit === 0) return
  reply.header('X-RateLimit-Limit', limit)
  reply.header('X-RateLimit-Remaining', remaining)
  reply.header('X-RateLimit-Reset', Math.ceil(resetAt / 1000))
  if (!allowed) reply.header('Retry-After', retryAfterSeconds(retryAfter))
}
