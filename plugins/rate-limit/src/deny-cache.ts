import type { Clock, RateLimitDecision, RateLimitRequest } from '@plinth/kernel'
import { createTickClock } from '@plinth/kernel/host'

interface Denial {
  readonly request: RateLimitRequest
  readonly decision: RateLimitDecision
  readonly isWindow: boolean
  /** Monotonic time from which the store must be asked again. */
  readonly askAgainAt: number
  /** Monotonic time from which the same request may pass. */
  readonly passesAt: number
}

/** Maximum number of cached denials per store. The oldest is removed first. */
const maxDenials = 10_000

/**
 * Caches denials of shared stores, so that repeated calls of a denied caller do not load the store. A cached denial
 * only applies to the same limit with the same cost, or with a higher cost for a fixed window. It lasts no longer than
 * the wait that the store returned, and no longer than `ttlMs`, so that a reset by another process is noticed.
 */
export class DenyCache {
  readonly #monotonic: () => number
  /** Maximum lifetime in milliseconds, read for each call; 0: nothing is cached. */
  readonly #ttlMs: () => number
  readonly #byStore = new Map<string, Map<string, Denial>>()

  constructor(clock: Clock, ttlMs: () => number) {
    this.#monotonic = createTickClock(clock)
    this.#ttlMs = ttlMs
  }

  find(storeName: string, request: RateLimitRequest): RateLimitDecision | undefined {
    const denials = this.#byStore.get(storeName)
    const denial = denials?.get(request.key)
    if (denials === undefined || denial === undefined) return undefined
    const now = this.#monotonic()
    if (denial.askAgainAt <= now) {
      denials.delete(request.key)
      return undefined
    }
    if (!responses(denial, request)) return undefined
    return { ...denial.decision, retryAfterMs: Math.max(1, Math.ceil(denial.passesAt - now)) }
  }

  /**
   * @param askedAt monotonic time before the store was asked, so that the cached denial never ends later than in the
   *   store
   */
  remember(
    storeName: string,
    algorithm: string,
    request: RateLimitRequest,
    decision: RateLimitDecision,
    askedAt: number,
  ): void {
    const ttlMs = this.#ttlMs()
    if (ttlMs <= 0) return
    let denials = this.#byStore.get(storeName)
    if (denials === undefined) {
      denials = new Map()
      this.#byStore.set(storeName, denials)
    }
    // The old denial is deleted first, so that the new one becomes the newest entry.
    denials.delete(request.key)
    const oldest = denials.size < maxDenials ? undefined : denials.keys().next().value
    if (oldest !== undefined) denials.delete(oldest)
    denials.set(request.key, {
      request,
      decision,
      isWindow: algorithm === 'fixed-window',
      askAgainAt: askedAt + Math.min(decision.retryAfterMs, ttlMs),
      passesAt: askedAt + decision.retryAfterMs,
    })
  }

  forget(storeName: string, key: string): void {
    this.#byStore.get(storeName)?.delete(key)
  }
}

/** With another cost, a bucket can allow the request earlier or later than the denial states. */
const responses = ({ request: denied, isWindow }: Denial, { limit, windowMs, cost }: RateLimitRequest) =>
  limit === denied.limit && windowMs === denied.windowMs && (isWindow ? cost >= denied.cost : cost === denied.cost)
