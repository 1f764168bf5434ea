import type { DeclaredLimit, LimitRule, RateLimitResult } from './contract.ts'
import { tooManyRequests } from './denial.ts'
import type { LimiterSettings, StoreRateLimiter } from './limiter.ts'
import { promised } from './promised.ts'
import { checkCost, checkKey, checkRule } from './request-rules.ts'
import type { Operation, ResolvedRule } from './resolved-rule.ts'

/** Resolves its rule once, and again when the settings that it was made of have changed. */
export class StoreDeclaredLimit implements DeclaredLimit {
  readonly #limiter: StoreRateLimiter
  readonly #settings: LimiterSettings
  readonly #declared: LimitRule
  #rule: ResolvedRule
  #revision: number

  constructor(limiter: StoreRateLimiter, settings: LimiterSettings, declared: LimitRule) {
    checkRule(declared)
    this.#limiter = limiter
    this.#settings = settings
    this.#declared = { ...declared }
    this.#rule = limiter.resolve(declared)
    this.#revision = settings.revision
  }

  consume(key: string, cost = 1): Promise<RateLimitResult> {
    return promised(() => this.decide(key, cost, 'consume'))
  }

  peek(key: string, cost = 1): Promise<RateLimitResult> {
    return promised(() => this.decide(key, cost, 'peek'))
  }

  async assertAllowed(key: string, cost = 1): Promise<RateLimitResult> {
    const result = await this.decide(key, cost, 'consume')
    if (!result.allowed) throw tooManyRequests(result)
    return result
  }

  reset(key: string): Promise<void> {
    return this.#limiter.reset({ key, store: this.#current().storeName })
  }

  /** As `consume` and `peek`; answers at once where the store does. Also throws at once. */
  decide(key: string, cost: number, operation: Operation): RateLimitResult | Promise<RateLimitResult> {
    checkKey(key)
    if (cost !== 1) checkCost(cost)
    return this.#limiter.decideUnder(this.#current(), key, cost, operation)
  }

  #current(): ResolvedRule {
    if (this.#revision !== this.#settings.revision) {
      this.#rule = this.#limiter.resolve(this.#declared)
      this.#revision = this.#settings.revision
    }
    return this.#rule
  }
}
