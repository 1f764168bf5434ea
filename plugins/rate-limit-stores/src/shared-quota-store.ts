import type { Clock, RateLimitDecision, RateLimitRequest, RateLimitStore, StoreContext } from '@plinth/kernel'
import type { QuotaAlgorithm, QuotaDecision, SharedQuota } from '@plinth/shared-store'

const algorithms = { window: 'fixed-window', bucket: 'token-bucket' } as const

/**
 * Quotas that all instances share. The decision and its time are those of the shared store; only the moment that is shown
 * to callers is on the clock of this process.
 */
export class SharedQuotaStore implements RateLimitStore {
  readonly traits: RateLimitStore['traits']
  readonly #algorithm: QuotaAlgorithm
  readonly #quota: SharedQuota
  readonly #clock: Clock

  constructor(algorithm: QuotaAlgorithm, quota: SharedQuota, clock: Clock) {
    this.traits = { shared: true, algorithm: algorithms[algorithm] }
    this.#algorithm = algorithm
    this.#quota = quota
    this.#clock = clock
  }

  consume(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    return this.#decide(request, true, context)
  }

  peek(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    return this.#decide(request, false, context)
  }

  async consumeAll(requests: readonly RateLimitRequest[], context?: StoreContext): Promise<RateLimitDecision[]> {
    return (await this.#quota.decideAll(this.#algorithm, requests, context)).map(this.#shown)
  }

  async reset(key: string): Promise<void> {
    await this.#quota.reset(this.#algorithm, key)
  }

  #decide(request: RateLimitRequest, take: boolean, patience?: StoreContext): Promise<RateLimitDecision> {
    return this.#quota.decide(this.#algorithm, request, { take, patience }).then(this.#shown)
  }

  readonly #shown = ({ allowed, remaining, resetInMs, retryAfterMs }: QuotaDecision): RateLimitDecision => {
    return { allowed, remaining, resetAtMs: this.#clock.now() + resetInMs, retryAfterMs }
  }
}
