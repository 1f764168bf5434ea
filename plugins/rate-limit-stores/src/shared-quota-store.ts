import type { RateLimitDecision, RateLimitRequest, RateLimitStore, StoreContext } from '@plinth/kernel'
import type { QuotaAlgorithm, SharedQuota } from '@plinth/shared-store'

const algorithms = { window: 'fixed-window', bucket: 'token-bucket' } as const

/** Quotas that all instances share: the shared store as a rate limit store. */
export class SharedQuotaStore implements RateLimitStore {
  readonly traits: RateLimitStore['traits']
  readonly #algorithm: QuotaAlgorithm
  readonly #quota: SharedQuota
  /** Only windows return units. */
  readonly refund?: (request: RateLimitRequest) => Promise<void>

  constructor(algorithm: QuotaAlgorithm, quota: SharedQuota) {
    this.traits = { shared: true, algorithm: algorithms[algorithm], endsCalls: true }
    this.#algorithm = algorithm
    this.#quota = quota
    if (algorithm === 'window') this.refund = (request) => quota.refund(request)
  }

  consume(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    return this.#quota.decide(this.#algorithm, request, true, context)
  }

  peek(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    return this.#quota.decide(this.#algorithm, request, false, context)
  }

  consumeAll(requests: readonly RateLimitRequest[], context?: StoreContext): Promise<RateLimitDecision[]> {
    return this.#quota.decideAll(this.#algorithm, requests, context)
  }

  reset(key: string): Promise<void> {
    return this.#quota.reset(this.#algorithm, key)
  }
}
