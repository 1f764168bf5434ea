import type { FailurePolicy, GuardHandler, RateLimited } from '@plinth/http'
import { service } from '@plinth/kernel'

/** What is limited, and how: all of a request that does not change from call to call. */
export interface LimitRule {
  /** Absent: the default. <= 0: unlimited. */
  readonly maxAttempts?: number
  /**
   * Milliseconds, >= 1. Absent: the default window. Rules with different windows count apart, also under one key, so a
   * window that is computed anew for each call limits nothing.
   */
  readonly windowMs?: number
  /** Store name; absent or empty: the default store. */
  readonly store?: string
  /** Absent: the default, `platform.rate-limit.failure-policy`. */
  readonly failurePolicy?: FailurePolicy
  /** True counts and reports but never denies: to try a limit out. */
  readonly shadow?: boolean
}

/** What a caller asks (document 1, "Rate-limit request and result"). */
export interface ConsumeRequest extends LimitRule {
  /** Must hold a business dimension (account, address, application), hashed when it is personal. The prefix is added. */
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
  /** Milliseconds; 0 when allowed, and when no wait helps. */
  readonly retryAfter: number
  /** Present when the cost is larger than the limit: such a request is never allowed. */
  readonly exceedsLimit?: true
  /** Present when a limit in shadow mode would have denied. */
  readonly shadowed?: true
}

export interface JointResult {
  /** True when all requests passed and took their costs; otherwise none took any. */
  readonly allowed: boolean
  /** In the order of the requests. `allowed` says whether that request alone could pass. */
  readonly results: readonly RateLimitResult[]
}

/**
 * One rule, checked once and asked with many keys: the cheapest way to ask. Keys and quotas are those that the limiter's
 * own methods have for the same rule. Where the rule leaves something to the defaults, it follows their changes.
 */
export interface DeclaredLimit {
  /** @param cost safe integer >= 1 @throws as `RateLimiter.consume` does */
  consume(key: string, cost?: number): Promise<RateLimitResult>
  /** Like `consume`, but a denial throws as `RateLimiter.assertAllowed` does. */
  assertAllowed(key: string, cost?: number): Promise<RateLimitResult>
  /** What `consume` would answer, taking nothing. */
  peek(key: string, cost?: number): Promise<RateLimitResult>
  /** Forgets the key. @throws as `RateLimiter.reset` does */
  reset(key: string): Promise<void>
}

export interface RateLimiter {
  /**
   * Declares a limit that is asked often, such as that of a route.
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
   * @throws BusinessError `503`, reason `rate-limit.store-unavailable`, when the store fails or misses its deadline and
   *   the failure policy is `closed`
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
   * `rate-limit.cost-exceeds-limit` when no wait helps.
   */
  assertAllowed(request: ConsumeRequest): Promise<RateLimitResult>
  assertAllowed(key: string, maxAttempts: number, window: number | string): Promise<RateLimitResult>
  /**
   * Takes the quotas of several limits together, such as of an account and of an address, or none: a request that one of
   * them denies costs nothing of the others. Never throws for a denial; throws as `consume` does.
   *
   * One atomic step where all name the same store and it has `consumeAll`, as all bundled stores have. Otherwise all are
   * peeked at and then taken one after the other: a caller that meets another one at the last unit may be denied after it
   * took something of the limits named before; it never passes.
   *
   * @throws RangeError also when two requests name the same key of the same store, and for more than 128 requests
   */
  consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult>
  /** Like `consumeAll`, but a denial throws as `assertAllowed` does, with the longest time to wait. */
  assertAllAllowed(requests: readonly ConsumeRequest[]): Promise<readonly RateLimitResult[]>
  /** What `consume` would answer, taking nothing. */
  peek(request: ConsumeRequest): Promise<RateLimitResult>
  /** Forgets the key. @throws as `consume` does, whatever the failure policy */
  reset(request: Pick<ConsumeRequest, 'key' | 'store'>): Promise<void>
  /**
   * A client address as it stands in a key; every key that holds one is made with this. SHA-256 in lower-case hex, of IPv6
   * addresses only the network, as wide as `platform.rate-limit.annotation.client-ip.ipv6-prefix` says (64 by default),
   * without zone; IPv4 inside IPv6 is that IPv4 address. Never throws.
   *
   * @param address in any spelling; what is no address is hashed as it is
   */
  addressKey(address: string): string
}

/** Business-level rate limiting. */
export const rateLimiter = service<RateLimiter>('rate-limiter', { from: '@plinth/rate-limit' })

/** Says who calls: a stable user, tenant or application key. `undefined` or blank when it does not know. */
export type IdentityResolver = (
  request: Parameters<GuardHandler>[0],
) => string | undefined | Promise<string | undefined>

/** Where the plugins that know callers register for the strategies `USER` and `USER_ROUTE`. */
export interface IdentityResolvers {
  /** Adds a resolver. The first one that knows the caller counts, in order of registration. */
  add(resolver: IdentityResolver): void
  /** Who calls, by the first resolver that knows; `undefined` when none does. For other plugins that tell callers apart. */
  identityOf(request: Parameters<GuardHandler>[0]): Promise<string | undefined>
}

/**
 * A service and not an extension point: contributors are set up before the owner of a point, but a plugin that knows
 * callers usually needs the limiter itself, which would be a circle.
 */
export const identityResolvers = service<IdentityResolvers>('rate-limit.identity', { from: '@plinth/rate-limit' })

/** Limits for all routes under a path, as of a whole controller. */
export interface RouteLimits {
  /**
   * Limits the routes at and under a path that have no limit of their own. Of several paths the longest counts. Each route
   * has its own quota unless the limit names a business key. Only during set-up; a path without routes stops the start.
   *
   * @param path such as `/api/v1/admin/notification`, without parameters of its own
   * @throws PlinthError `PLINTH_RATE_LIMIT_DECLARATION` for a bad path or limit, or a path that has a limit
   */
  under(path: string, limit: RateLimited): void
}

export const routeLimits = service<RouteLimits>('rate-limit.routes', { from: '@plinth/rate-limit' })
