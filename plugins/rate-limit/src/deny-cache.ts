import { type Clock, type RateLimitDecision, type RateLimitRequest, turnTime } from '@plinth/kernel'

interface Denial {
  readonly request: RateLimitRequest
  readonly decision: RateLimitDecision
  readonly isWindow: boolean
  /** On the monotonic clock: when the store has to be asked again. */
  readonly askAgainAt: number
  /** On the monotonic clock: when the same request may pass. */
  readonly passesAt: number
}

/** Denials remembered of one store at most; the oldest goes first. */
const most = 10_000

/**
 * Remembers what a shared store has denied, so that a caller who hammers costs it nothing. Only the same limit with the
 * same cost is answered from here, of a fixed window also a higher cost, and never beyond the time that the store told or
 * `ttlMs`: a reset by another process is noticed after that.
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
    if (!answers(denial, request)) return undefined
    return { ...denial.decision, retryAfterMs: Math.max(1, Math.ceil(denial.passesAt - now)) }
  }

  /** @param askedAt monotonic time before the store was asked, so that its own time is never later than ours */
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
    // Set anew it is the youngest.
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

/** A bucket lets a smaller cost pass sooner, and a larger one later than it told. */
const answers = ({ request: denied, isWindow }: Denial, { limit, windowMs, cost }: RateLimitRequest) =>
  limit === denied.limit && windowMs === denied.windowMs && (isWindow ? cost >= denied.cost : cost === denied.cost)
