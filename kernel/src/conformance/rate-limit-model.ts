import type { RateLimitDecision, RateLimitRequest, RateLimitStore } from '../contracts/rate-limit-store.ts'

/** What a decision must look like; a member that is absent may be anything in range. */
type ExpectedDecision = Partial<RateLimitDecision>

/** The obvious implementation of an algorithm, slow and without purge: what a store is compared with. */
interface RateLimitModel {
  /** Decides at `nowMs` and, when `take` is set, remembers it. */
  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision
  reset(key: string): void
  /** Tells the model about units that the store admitted though the model left it the choice. */
  admitted(request: RateLimitRequest, nowMs: number): void
}

/** What is held of each key and window. */
class Held<T> {
  readonly #byKey = new Map<string, Map<string, T>>()

  get({ key }: RateLimitRequest, part: unknown): T | undefined {
    return this.#byKey.get(key)?.get(String(part))
  }

  set({ key }: RateLimitRequest, part: unknown, value: T): void {
    const parts = this.#byKey.get(key) ?? new Map<string, T>()
    this.#byKey.set(key, parts.set(String(part), value))
  }

  delete(key: string): void {
    this.#byKey.delete(key)
  }
}

/** The window starts with the first hit and is never extended; windows of different lengths count apart. */
class FixedWindow implements RateLimitModel {
  readonly #windows = new Held<{ readonly endMs: number; used: number }>()

  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision {
    const { limit, windowMs, cost } = request
    const running = this.#windows.get(request, windowMs)
    const window = running && running.endMs > nowMs ? running : { endMs: nowMs + windowMs, used: 0 }
    // A rule with a lower limit may find more used than it grants.
    const remaining = Math.max(0, limit - window.used)
    if (cost > limit) return { allowed: false, remaining }
    if (cost > remaining) {
      return { allowed: false, remaining, resetAtMs: window.endMs, retryAfterMs: window.endMs - nowMs }
    }
    if (take) {
      window.used += cost
      this.#windows.set(request, windowMs, window)
    }
    return { allowed: true, remaining: remaining - cost, resetAtMs: window.endMs, retryAfterMs: 0 }
  }

  reset(key: string): void {
    this.#windows.delete(key)
  }

  admitted(): void {}
}

/** Starts full, refills evenly. Levels are kept in units times milliseconds, so that nothing is rounded. */
class TokenBucket implements RateLimitModel {
  readonly #buckets = new Held<{ atMs: number; level: number }>()

  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision {
    const { limit, windowMs, cost } = request
    const rule = `${limit} in ${windowMs}`
    const capacity = limit * windowMs
    const bucket = this.#buckets.get(request, rule) ?? { atMs: nowMs, level: capacity }
    const level = Math.min(capacity, bucket.level + (nowMs - bucket.atMs) * limit)
    const price = cost * windowMs
    if (price > level) {
      const remaining = Math.floor(level / windowMs)
      if (cost > limit) return { allowed: false, remaining }
      return { allowed: false, remaining, retryAfterMs: Math.ceil((price - level) / limit) }
    }
    if (take) this.#buckets.set(request, rule, { atMs: nowMs, level: level - price })
    return { allowed: true, remaining: Math.floor((level - price) / windowMs), retryAfterMs: 0 }
  }

  reset(key: string): void {
    this.#buckets.delete(key)
  }

  admitted(): void {}
}

/**
 * Sliding windows differ in how closely they remember the past, so this model only states the bounds: no interval of the
 * window's length admits more than the limit, and after two idle windows the whole quota is back.
 */
class SlidingWindow implements RateLimitModel {
  readonly #hits = new Held<{ readonly atMs: number; readonly cost: number }[]>()

  decide(request: RateLimitRequest, nowMs: number): ExpectedDecision {
    const { limit, windowMs, cost } = request
    const used = (spanMs: number) =>
      (this.#hits.get(request, windowMs) ?? [])
        .filter((hit) => hit.atMs > nowMs - spanMs)
        .reduce((sum, hit) => sum + hit.cost, 0)
    if (cost > limit - used(windowMs)) return { allowed: false }
    return used(2 * windowMs) === 0 ? { allowed: true, remaining: limit - cost } : {}
  }

  reset(key: string): void {
    this.#hits.delete(key)
  }

  admitted(request: RateLimitRequest, nowMs: number): void {
    const { windowMs, cost } = request
    this.#hits.set(request, windowMs, [...(this.#hits.get(request, windowMs) ?? []), { atMs: nowMs, cost }])
  }
}

export const rateLimitModels: Readonly<Record<RateLimitStore['traits']['algorithm'], new () => RateLimitModel>> = {
  'fixed-window': FixedWindow,
  'token-bucket': TokenBucket,
  'sliding-window': SlidingWindow,
}
