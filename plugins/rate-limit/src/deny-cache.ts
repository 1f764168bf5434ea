import { type Clock, type RateLimitDecision, type RateLimitRequest, turnTime } from '@plinth/kernel'

interface Denial {
  readonly request: RateLimitRequest
  readonly decision: RateLimitDecision
  readonly isWindow: boolean
  /** Time on the monotonic clock from which the store must be asked again. */
  readonly askAgainAt: number
  /** Time on the monotonic clock from which the same request may pass. */
  readonly passesAt: number
}

/** Maximum remembered denials of one store. The oldest is removed first. */
const most = 10_000

/**
 * Remembers the denials of a shared store, so that a caller who repeats calls costs it nothing. Only denies the same
 * limit with the same cost; for a fixed window, also a higher cost. A denial lasts at most for the wait that the store
 * returned and for `ttlMs`. So a reset by another process is noticed after that.
 */
export class DenyCache {
  readonly #monotonic: () => number
  /** Milliseconds; 0 remembers nothing. Read at every call. */
  readonly #ttlMs: () => number
  readonly #byStore = new Map<string, Map<string, Denial>>()

  constructor(clock: Clock, ttlMs: () => number) {
    this.#monotonic = turnTime(clock)
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
   * @param askedAt monotonic time before the store was asked, so that the denial never ends later here than in the
   * store
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
    // Deleted first, so that it becomes the newest.
    denials.delete(request.key)
    if (denials.size >= most) denials.delete(denials.keys().next().value as string)
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

/** A bucket may allow a smaller cost earlier, and a larger cost later than the denial states. */
const responses = ({ request: denied, isWindow }: Denial, { limit, windowMs, cost }: RateLimitRequest) =>
  limit === denied.limit && windowMs === denied.windowMs && (isWindow ? cost >= denied.cost : cost === denied.cost)
