import type { RateLimitDecision, RateLimitRequest, RateLimitStore } from '../contracts/rate-limit-store.ts'

/** What a decision must look like; a member that is absent may be anything in range. */
export type ExpectedDecision = Partial<RateLimitDecision>

/** The obvious implementation of an algorithm, slow and without purge: what a store is compared with. */
export interface RateLimitModel {
  /** Decides at `nowMs` and, when `take` is set, remembers it. */
  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision
  reset(key: string): void
  /** Tells the model about units that the store admitted though the model left it the choice. */
  admitted(request: RateLimitRequest, nowMs: number): void
}

/** The window starts with the first hit and is never extended. */
class FixedWindow implements RateLimitModel {
  readonly #windows = new Map<string, { readonly endMs: number; used: number }>()

  decide({ key, limit, windowMs, cost }: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision {
    const running = this.#windows.get(key)
    const window = running && running.endMs > nowMs ? running : { endMs: nowMs + windowMs, used: 0 }
    const remaining = limit - window.used
    if (cost > limit) return { allowed: false, remaining }
    if (cost > remaining) {
      return { allowed: false, remaining, resetAtMs: window.endMs, retryAfterMs: window.endMs - nowMs }
    }
    if (take) {
      window.used += cost
      this.#windows.set(key, window)
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
  readonly #buckets = new Map<string, { atMs: number; level: number }>()

  decide({ key, limit, windowMs, cost }: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision {
    const capacity = limit * windowMs
    const bucket = this.#buckets.get(key) ?? { atMs: nowMs, level: capacity }
    const level = Math.min(capacity, bucket.level + (nowMs - bucket.atMs) * limit)
    const price = cost * windowMs
    if (price > level) {
      const remaining = Math.floor(level / windowMs)
      if (cost > limit) return { allowed: false, remaining }
      return { allowed: false, remaining, retryAfterMs: Math.ceil((price - level) / limit) }
    }
    if (take) this.#buckets.set(key, { atMs: nowMs, level: level - price })
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
  readonly #hits = new Map<string, { readonly atMs: number; readonly cost: number }[]>()

  decide({ key, limit, windowMs, cost }: RateLimitRequest, nowMs: number): ExpectedDecision {
    const used = (spanMs: number) =>
      (this.#hits.get(key) ?? []).filter((hit) => hit.atMs > nowMs - spanMs).reduce((sum, hit) => sum + hit.cost, 0)
    if (cost > limit - used(windowMs)) return { allowed: false }
    return used(2 * windowMs) === 0 ? { allowed: true, remaining: limit - cost } : {}
  }

  reset(key: string): void {
    this.#hits.delete(key)
  }

  admitted({ key, cost }: RateLimitRequest, nowMs: number): void {
    this.#hits.set(key, [...(this.#hits.get(key) ?? []), { atMs: nowMs, cost }])
  }
}

export const rateLimitModels: Readonly<Record<RateLimitStore['traits']['algorithm'], new () => RateLimitModel>> = {
  'fixed-window': FixedWindow,
  'token-bucket': TokenBucket,
  'sliding-window': SlidingWindow,
}
