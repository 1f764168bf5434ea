import type { RouteAnnotation } from './declaration.ts'

/**
 * What becomes of a request while its store fails: `insurance` counts in the memory of this process (each instance then
 * has the whole limit to give), `closed` refuses it, `open` lets it pass uncounted. Logins and codes are `closed`.
 */
export type FailurePolicy = 'insurance' | 'closed' | 'open'

/**
 * What a declarative key is made of besides the business key: nothing, the client address, the caller's identity, the
 * route, or two of them. Strategies with `ROUTE` keep routes apart even where they share a business key.
 */
export type KeyStrategy = 'GLOBAL' | 'IP' | 'USER' | 'ROUTE' | 'IP_ROUTE' | 'USER_ROUTE'

/** Declarative limit of a route (document 1, "Declarative limit parameters"). */
export interface RateLimited {
  /**
   * Business key, shared by all routes that name it. Absent: HTTP method plus route pattern. Routes that share a quota must
   * name the same window; their limits may differ.
   */
  readonly key?: string
  /** <= 0 or absent: the default. */
  readonly maxAttempts?: number
  /** <= 0 or absent: the default. */
  readonly windowSeconds?: number
  /** Default 1. */
  readonly cost?: number
  /** Absent or empty: the default store. */
  readonly store?: string
  /** Whose quota it is; default `IP_ROUTE`. */
  readonly keyStrategy?: KeyStrategy
  /** Absent: the default, `platform.rate-limit.failure-policy`. */
  readonly failurePolicy?: FailurePolicy
  /** True counts and reports but never denies: to try a limit out. */
  readonly shadow?: boolean
  /**
   * A denied request gets 204 without a body. Only for heartbeats, tracking and log reports: on routes of logins, orders,
   * payments and gateways it is refused at start.
   */
  readonly silent?: boolean
}

export const rateLimitedAnnotation = 'rate-limit.limited'

/**
 * Limits a route, where the product has a limiter: `annotations: [rateLimited({ maxAttempts: 10, windowSeconds: 60 })]`. Of several the first counts, so a
 * route puts its own before those of its group.
 */
export function rateLimited(limit: RateLimited): RouteAnnotation<RateLimited> {
  return { id: rateLimitedAnnotation, value: limit }
}

/**
 * The limit of exports and batch endpoints, which read or change many things at once: a separate quota, lower than the
 * default (document 1, "Usage rules" 6).
 */
export const bulkLimited = rateLimited({ maxAttempts: 10, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })

/** The limit of a preview, which reads many things and changes nothing: each review of changes sends one. */
export const previewLimited = rateLimited({ maxAttempts: 30, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })
