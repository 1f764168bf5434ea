import type { RouteAnnotation } from './declaration.ts'

/**
 * Handling of a request while its store fails. `insurance` counts in the memory of this process, so each instance has
 * the whole limit. `closed` rejects the request. `open` allows it without counting. Logins and codes are `closed`.
 */
export type FailurePolicy = 'insurance' | 'closed' | 'open'

/**
 * Parts of a declarative key besides the business key: none, the client address, the caller's identity, the route, or
 * two of them. Strategies with `ROUTE` separate routes even if they share a business key.
 */
export type KeyStrategy = 'GLOBAL' | 'IP' | 'USER' | 'ROUTE' | 'IP_ROUTE' | 'USER_ROUTE'

/** Declarative limit of a route (document 1, "Declarative limit parameters"). */
export interface RateLimited {
  /**
   * Business key, shared by all routes that specify it. Default: HTTP method and route pattern. Routes that share a
   * quota must specify the same window. Their limits may differ.
   */
  readonly key?: string
  /** <= 0 or undefined: the default. */
  readonly maxAttempts?: number
  /** <= 0 or undefined: the default. */
  readonly windowSeconds?: number
  /** Default 1. */
  readonly cost?: number
  /** Undefined or empty: the default store. */
  readonly store?: string
  /** Owner of the quota; default `IP_ROUTE`. */
  readonly keyStrategy?: KeyStrategy
  /** Default: `platform.rate-limit.failure-policy`. */
  readonly failurePolicy?: FailurePolicy
  /** True counts and reports without rejecting, to test a limit. */
  readonly shadow?: boolean
  /**
   * A rejected request gets 204 without a body. Only for heartbeats, tracking and log reports. On routes of logins,
   * orders, payments and gateways the product does not start with it.
   */
  readonly silent?: boolean
}

export const rateLimitedAnnotation = 'rate-limit.limited'

/**
 * Limits a route if the product has a limiter: `annotations: [rateLimited({ maxAttempts: 10, windowSeconds: 60 })]`.
 * The first of several annotations applies, so a route puts its own before those of its group.
 */
export function rateLimited(limit: RateLimited): RouteAnnotation<RateLimited> {
  return { id: rateLimitedAnnotation, value: limit }
}

/**
 * The limit of exports and batch endpoints, which read or change many rows: a separate quota, lower than the default
 * (document 1, "Usage rules" 6).
 */
export const bulkLimited = rateLimited({ maxAttempts: 10, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })

/** The limit of a preview, which reads many rows and changes nothing. Each review of changes sends one. */
export const previewLimited = rateLimited({ maxAttempts: 30, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })
