import type { FailurePolicy, GuardHandler, RateLimited } from '@plinth/http'
import { service } from '@plinth/kernel'

/** Limit and options of a request: the part that is the same for each call. */
export interface LimitRule {
  /** Absent: the default. <= 0: unlimited. */
  readonly maxAttempts?: number
  /**
   * Milliseconds, >= 1. Absent: the default window. Rules with different windows are counted separately, also under one
   * key. So a window that is computed for each call limits nothing.
   */
  readonly windowMs?: number
  /** Store name; absent or empty: the default store. */
  readonly store?: string
  /** Absent: the default, `platform.rate-limit.failure-policy`. */
  readonly failurePolicy?: FailurePolicy
  /** True: counts and reports but never denies, to test a limit. */
  readonly shadow?: boolean
}

/** Request of a caller (document 1, "Rate-limit request and result"). */
export interface ConsumeRequest extends LimitRule {
  /**
   * Must contain a business dimension (account, address, application), hashed if it is personal. The prefix is added.
   */
  readonly key: string
  /** Safe integer >= 1, default 1. */
  readonly cost?: number
}

export interface RateLimitResult {
  readonly allowed: boolean
  /** Normalised key, prefix included. */
  readonly key: string
  /** 0 means unlimited. */
  readonly limit: number
  readonly remaining: number
  /** Milliseconds since the epoch. */
  readonly resetAt: number
  /** Milliseconds; 0 if allowed, or if waiting does not help. */
  readonly retryAfter: number
  /** Set if the cost is larger than the limit. Such a request is never allowed. */
  readonly exceedsLimit?: true
  /** Set if a limit in shadow mode would have denied the request. */
  readonly shadowed?: true
}

export interface JointResult {
  /** True if all requests passed and took their costs. Otherwise none took any. */
  readonly allowed: boolean
  /** In the order of the requests. `allowed` is true if that request alone could pass. */
  readonly results: readonly RateLimitResult[]
}

/**
 * One rule that is checked once and used with many keys: the cheapest way. Keys and quotas are those of the limiter's
 * own methods for the same rule. Defaults of the rule follow live changes.
 */
export interface DeclaredLimit {
  /**
   * @param cost safe integer >= 1
   * @throws like `RateLimiter.consume`
   */
  consume(key: string, cost?: number): Promise<RateLimitResult>
  /** Like `consume`, but a denial throws like `RateLimiter.assertAllowed`. */
  assertAllowed(key: string, cost?: number): Promise<RateLimitResult>
  /** Returns the result that `consume` would return, without taking quota. */
  peek(key: string, cost?: number): Promise<RateLimitResult>
  /**
   * Resets the key.
   *
   * @throws like `RateLimiter.reset`
   */
  reset(key: string): Promise<void>
}

export interface RateLimiter {
  /**
   * Declares a limit that is used often, such as that of a route.
   *
   * @throws RangeError for arguments out of range
   * @throws PlinthError `PLINTH_RATE_LIMIT_UNKNOWN_STORE`
   */
  declare(rule: LimitRule): DeclaredLimit
  /**
   * Takes quota. Never throws for a denial.
   *
   * @throws RangeError for arguments out of range
   * @throws PlinthError `PLINTH_RATE_LIMIT_UNKNOWN_STORE`
   * @throws BusinessError `503`, reason `rate-limit.store-unavailable`, if the store fails or misses its deadline and
   * the failure policy is `closed`
   */
  consume(request: ConsumeRequest): Promise<RateLimitResult>
  /**
   * Takes one unit of the default store (document 1, "Programmatic rate-limit operations").
   *
   * @param window milliseconds, or a duration such as "1m"
   */
  consume(key: string, maxAttempts: number, window: number | string): Promise<RateLimitResult>
  /**
   * Like `consume`, but a denial throws `BusinessError` with code `429` and reason `rate-limit.exceeded`, or
   * `rate-limit.cost-exceeds-limit` if waiting does not help.
   */
  assertAllowed(request: ConsumeRequest): Promise<RateLimitResult>
  assertAllowed(key: string, maxAttempts: number, window: number | string): Promise<RateLimitResult>
  /**
   * Takes the quotas of several limits together, such as of an account and of an address, or of none: if one of them
   * denies, the others cost nothing. Never throws for a denial. Errors are those of `consume`.
   *
   * It is one atomic step if all requests use the same store and it has `consumeAll`, as all bundled stores do.
   * Otherwise all are peeked at and then taken one after the other. If another caller takes the last unit in between,
   * this one is denied, although it may have taken quota of earlier limits.
   *
   * @throws RangeError also if two requests have the same key of the same store, and for more than 128 requests
   */
  consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult>
  /** Like `consumeAll`, but a denial throws like `assertAllowed`, with the longest wait. */
  assertAllAllowed(requests: readonly ConsumeRequest[]): Promise<readonly RateLimitResult[]>
  /** Returns the result that `consume` would return, without taking quota. */
  peek(request: ConsumeRequest): Promise<RateLimitResult>
  /**
   * Resets the key.
   *
   * @throws like `consume`, independent of the failure policy
   */
  reset(request: Pick<ConsumeRequest, 'key' | 'store'>): Promise<void>
  /**
   * Returns a client address in the form for keys. Every key with an address must use it. The form is SHA-256 in
   * lower-case hex. For IPv6 addresses it covers only the network without zone, with the prefix length
   * `platform.rate-limit.annotation.client-ip.ipv6-prefix` (64 by default). IPv4 inside IPv6 is that IPv4 address.
   * Never throws.
   *
   * @param address in any spelling; other text is hashed unchanged
   */
  addressKey(address: string): string
}

/** Business-level rate limiting. */
export const rateLimiter = service<RateLimiter>('rate-limiter', { from: '@plinth/rate-limit' })

/**
 * Returns the caller: a stable user, tenant or application key. Returns `undefined` or blank text for an unknown
 * caller.
 */
export type IdentityResolver = (
  request: Parameters<GuardHandler>[0],
) => string | undefined | Promise<string | undefined>

/** Plugins that identify callers register here for the strategies `USER` and `USER_ROUTE`. */
export interface IdentityResolvers {
  /** Adds a resolver. The first one that knows the caller applies, in order of registration. */
  add(resolver: IdentityResolver): void
  /**
   * Returns the caller from the first resolver that knows it; `undefined` if none does. For other plugins that
   * distinguish callers.
   */
  identityOf(request: Parameters<GuardHandler>[0]): Promise<string | undefined>
}

/**
 * A service and not an extension point: contributors are set up before the owner of a point, but a plugin that
 * identifies callers usually requires the limiter, which would be a cycle.
 */
export const identityResolvers = service<IdentityResolvers>('rate-limit.identity', { from: '@plinth/rate-limit' })

/** Limits for all routes under a path, such as those of a whole controller. */
export interface RouteLimits {
  /**
   * Limits the routes at and under a path that have no limit of their own. If several paths match, the longest applies.
   * Each route has its own quota unless the limit has a business key. Only during setup. A path without routes stops
   * the start.
   *
   * @param path such as `/api/v1/admin/notification`, without parameters
   * @throws PlinthError `PLINTH_RATE_LIMIT_DECLARATION` for an invalid path or limit, or a path that already has a
   * limit
   */
  under(path: string, limit: RateLimited): void
}

export const routeLimits = service<RouteLimits>('rate-limit.routes', { from: '@plinth/rate-limit' })
