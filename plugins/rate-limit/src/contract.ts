import type { FailurePolicy, GuardHandler, RateLimited } from '@plinth/http'
import { service } from '@plinth/kernel'

/** Limit and options that are the same for many requests. */
export interface LimitRule {
  /** Maximum cost per window. If absent, the default applies. 0 or less: unlimited. */
  readonly maxAttempts?: number
  /**
   * Window in milliseconds, at least 1. If absent, the default applies. Requests with different windows are counted
   * separately even for the same key. So a window that is computed for each call limits nothing.
   */
  readonly windowMs?: number
  /** Name of the store. If absent or empty, the default store is used. */
  readonly store?: string
  /** What happens if the store fails. Default: `platform.rate-limit.failure-policy`. */
  readonly failurePolicy?: FailurePolicy
  /** If true, the limit counts and reports but never denies, to test it. */
  readonly shadow?: boolean
}

/** Request for a decision (document 1 of the specification, "Rate-limit request and result"). */
export interface ConsumeRequest extends LimitRule {
  /**
   * Identifies who is limited (account, address, application), hashed if it is personal data. The limiter adds the key
   * prefix.
   */
  readonly key: string
  /** Safe integer of at least 1. Default: 1. */
  readonly cost?: number
}

export interface RateLimitResult {
  readonly allowed: boolean
  /** Key with its prefix, as stored. */
  readonly key: string
  /** Maximum cost per window; 0: unlimited. */
  readonly limit: number
  readonly remaining: number
  /** Milliseconds since the epoch: the end of the window; for a bucket, one window from now. */
  readonly resetAt: number
  /** Milliseconds until a retry can succeed. 0 if the request is allowed, or if waiting does not help. */
  readonly retryAfter: number
  /** True if the cost exceeds the limit, so that the request can never be allowed. */
  readonly exceedsLimit?: true
  /** True if a limit in shadow mode would have denied the request. */
  readonly shadowed?: true
}

export interface JointResult {
  /** True if all requests passed and took their costs. Otherwise no request took its cost. */
  readonly allowed: boolean
  /** Results in the order of the requests. `allowed` is true if the request alone would pass. */
  readonly results: readonly RateLimitResult[]
}

/**
 * One rule for many keys. It is checked only once, so this is the fastest way. Keys and quotas are the same as with the
 * methods of the limiter. Changed defaults apply immediately.
 */
export interface DeclaredLimit {
  /**
   * @param cost safe integer of at least 1
   * @throws the errors of `RateLimiter.consume`
   */
  consume(key: string, cost?: number): Promise<RateLimitResult>
  /** Like `consume`, but a denial throws the error of `RateLimiter.assertAllowed`. */
  assertAllowed(key: string, cost?: number): Promise<RateLimitResult>
  /** Returns the result that `consume` would return, without taking quota. */
  peek(key: string, cost?: number): Promise<RateLimitResult>
  /**
   * Resets the key.
   *
   * @throws the errors of `RateLimiter.reset`
   */
  reset(key: string): Promise<void>
}

export interface RateLimiter {
  /**
   * Declares a limit that is used often, for example for a route.
   *
   * @throws RangeError for arguments out of range
   * @throws PlinthError `PLINTH_RATE_LIMIT_UNKNOWN_STORE`
   */
  declare(rule: LimitRule): DeclaredLimit
  /**
   * Takes quota. A denial does not throw.
   *
   * @throws RangeError for arguments out of range
   * @throws PlinthError `PLINTH_RATE_LIMIT_UNKNOWN_STORE`
   * @throws BusinessError `503`, reason `rate-limit.store-unavailable`, if the store fails or does not respond in time
   *   and the failure policy is `closed`
   */
  consume(request: ConsumeRequest): Promise<RateLimitResult>
  /**
   * Takes one unit in the default store (document 1 of the specification, "Programmatic rate-limit operations").
   *
   * @param window milliseconds, or a duration such as "1m"
   */
  consume(key: string, maxAttempts: number, window: number | string): Promise<RateLimitResult>
  /**
   * Like `consume`, but a denial throws a `BusinessError` with code `429` and reason `rate-limit.exceeded`, or
   * `rate-limit.cost-exceeds-limit` if waiting does not help.
   */
  assertAllowed(request: ConsumeRequest): Promise<RateLimitResult>
  assertAllowed(key: string, maxAttempts: number, window: number | string): Promise<RateLimitResult>
  /**
   * Takes the quotas of several limits, for example of an account and an address, or none of them if one limit denies.
   * A denial does not throw.
   *
   * The decision is atomic if all requests use the same store and it has `consumeAll`, as all stores of this repository
   * do. Otherwise the quotas are first read and then taken one after another. If another caller takes the last unit in
   * between, the request is denied, although some quotas may have been taken.
   *
   * @throws the errors of `consume`; RangeError also for more than 128 requests, and if two requests have the same key
   *   in the same store
   */
  consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult>
  /**
   * Like `consumeAll`, but a denial throws an error like `assertAllowed`: for a limit that can never allow its request,
   * or else for the limit with the longest wait.
   */
  assertAllAllowed(requests: readonly ConsumeRequest[]): Promise<readonly RateLimitResult[]>
  /** Returns the result that `consume` would return, without taking quota. */
  peek(request: ConsumeRequest): Promise<RateLimitResult>
  /**
   * Returns the costs of requests that were consumed and turned out to be harmless, such as a login that succeeded. Has
   * no effect in token buckets, in stores without `refund`, and if the store fails. Never throws because of a store.
   *
   * @throws RangeError for arguments out of range
   */
  refund(requests: readonly ConsumeRequest[]): Promise<void>
  /**
   * Resets the key.
   *
   * @throws the errors of `consume`, with any failure policy
   */
  reset(request: Pick<ConsumeRequest, 'key' | 'store'>): Promise<void>
  /**
   * Returns a client address for use in a key, as SHA-256 in lower-case hexadecimal. All keys with addresses must use
   * it. An IPv6 address is reduced to its network, with the prefix length
   * `platform.rate-limit.annotation.client-ip.ipv6-prefix` (default: 64). An IPv4 address in IPv6 form counts as IPv4.
   * Never throws.
   *
   * @param address in any form; other text is hashed unchanged
   */
  addressKey(address: string): string
}

/** Rate limits for plugins. */
export const rateLimiter = service<RateLimiter>('rate-limiter', { from: '@plinth/rate-limit' })

/**
 * Returns the stable id of the caller: a user, a tenant or an application key. Returns `undefined` or blank text for an
 * unknown caller.
 */
export type IdentityResolver = (
  request: Parameters<GuardHandler>[0],
) => string | undefined | Promise<string | undefined>

/** Functions by which plugins identify callers, for the strategies `USER` and `USER_ROUTE`. */
export interface IdentityResolvers {
  /** Adds a resolver. The first resolver that knows the caller is used. */
  add(resolver: IdentityResolver): void
  /** Returns the id from the first resolver that knows the caller, or `undefined`. */
  identityOf(request: Parameters<GuardHandler>[0]): Promise<string | undefined>
}

/**
 * The resolvers are a service and not an extension point. Contributors to an extension point are set up before its
 * owner, but a plugin that identifies callers usually requires the limiter, so there would be a cycle.
 */
export const identityResolvers = service<IdentityResolvers>('rate-limit.identity', { from: '@plinth/rate-limit' })

/** Limits for all routes below a path. */
export interface RouteLimits {
  /**
   * Limits the routes at and below a path that declare no limit. If several paths match, the longest applies. Each
   * route has its own quota unless the limit has a key. Must be called during setup. A path without routes stops the
   * start.
   *
   * @param path without parameters, for example `/api/v1/admin/notification`
   * @throws PlinthError `PLINTH_RATE_LIMIT_DECLARATION` for an invalid path or limit, or if the path already has a
   *   limit
   */
  under(path: string, limit: RateLimited): void
}

export const routeLimits = service<RouteLimits>('rate-limit.routes', { from: '@plinth/rate-limit' })
