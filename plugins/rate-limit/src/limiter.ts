import type { ConsumeRequest, DeclaredLimit, JointResult, LimitRule, RateLimiter, RateLimitResult } from './contract.ts'
import {
  Decider,
  type DecisionParts,
  insuranceStore,
  insuredKey,
  type LimiterSettings,
  type Operation,
  type ResolvedRule,
} from './decision.ts'
import { storeUnavailable, tooManyRequests } from './failures.ts'
import { JointDecider } from './joint.ts'
import { checkCost, checkRequest, checkRule } from './request-rules.ts'

export interface LimiterParts extends DecisionParts {
  readonly addressKey: (address: string) => string
}

/** The limiter as others call it: checks what they ask for, then decides. */
export class StoreRateLimiter implements RateLimiter {
  readonly #parts: LimiterParts
  readonly #decider: Decider
  readonly #joint: JointDecider

  constructor(parts: LimiterParts) {
    this.#parts = parts
    this.#decider = new Decider(parts)
    this.#joint = new JointDecider(parts, this.#decider)
  }

  consume(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#decide(request, 'consume')
  }

  peek(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#decide(request, 'peek')
  }

  async assertAllowed(request: ConsumeRequest): Promise<RateLimitResult> {
    return allowedOnly(await this.#decide(request, 'consume'))
  }

  declare(rule: LimitRule): StoreDeclaredLimit {
    return new StoreDeclaredLimit(this, this.#decider, this.#parts.settings, rule)
  }

  async consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult> {
    return this.#joint.decide(
      requests.map((asked) => {
        checkRequest(asked)
        const rule = this.#decider.resolve(asked)
        return { rule, request: this.#decider.request(rule, asked.key, asked.cost ?? 1) }
      }),
    )
  }

  async assertAllAllowed(requests: readonly ConsumeRequest[]): Promise<readonly RateLimitResult[]> {
    const { results } = await this.consumeAll(requests)
    const waits = results.filter(({ allowed }) => !allowed).map(({ retryAfter }) => retryAfter)
    if (waits.length > 0) throw tooManyRequests({ retryAfter: Math.max(...waits) })
    return results
  }

  async reset({ key, store }: Pick<ConsumeRequest, 'key' | 'store'>): Promise<void> {
    const { settings, stores, denials, watch, deadlines } = this.#parts
    const name = store || settings.defaultStore
    const chosen = this.#decider.storeNamed(name)
    const complete = this.#decider.completeKey(key)
    denials.forget(name, complete)
    const insurance = stores.get(insuranceStore)
    try {
      if (insurance !== undefined && insurance !== chosen) await insurance.reset(insuredKey(name, complete))
      await deadlines().run((context) => chosen.reset(complete, context))
    } catch (cause) {
      watch.failed(name, chosen, cause, [complete])
      throw storeUnavailable(cause)
    }
    // A call that was under way may have been denied before.
    denials.forget(name, complete)
  }

  addressKey(address: string): string {
    return this.#parts.addressKey(address)
  }

  /** Throws `PLINTH_RATE_LIMIT_UNKNOWN_STORE`. */
  checkStore(name: string): void {
    this.#decider.storeNamed(name)
  }

  #decide(asked: ConsumeRequest, operation: Operation): Promise<RateLimitResult> {
    try {
      checkRequest(asked)
      return this.#decider.promise(this.#decider.resolve(asked), asked.key, asked.cost ?? 1, operation)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** Resolves its rule once, and again when the settings that it was made of have changed. */
export class StoreDeclaredLimit implements DeclaredLimit {
  readonly #limiter: RateLimiter
  readonly #decider: Decider
  readonly #settings: LimiterSettings
  readonly #declared: LimitRule
  #rule: ResolvedRule
  #revision: number

  constructor(limiter: RateLimiter, decider: Decider, settings: LimiterSettings, declared: LimitRule) {
    checkRule(declared)
    this.#limiter = limiter
    this.#decider = decider
    this.#settings = settings
    this.#declared = { ...declared }
    this.#rule = decider.resolve(declared)
    this.#revision = settings.revision
  }

  consume(key: string, cost = 1): Promise<RateLimitResult> {
    return this.#promise(key, cost, 'consume')
  }

  peek(key: string, cost = 1): Promise<RateLimitResult> {
    return this.#promise(key, cost, 'peek')
  }

  async assertAllowed(key: string, cost = 1): Promise<RateLimitResult> {
    return allowedOnly(await this.decide(key, cost, 'consume'))
  }

  reset(key: string): Promise<void> {
    return this.#limiter.reset({ key, store: this.#current().storeName })
  }

  /** As `consume` and `peek`; answers at once where the store does. Also throws at once. */
  decide(key: string, cost: number, operation: Operation): RateLimitResult | Promise<RateLimitResult> {
    if (cost !== 1) checkCost(cost)
    return this.#decider.decide(this.#current(), key, cost, operation)
  }

  /** Not an async function: it would make another promise of one that is there. */
  #promise(key: string, cost: number, operation: Operation): Promise<RateLimitResult> {
    try {
      if (cost !== 1) checkCost(cost)
      return this.#decider.promise(this.#current(), key, cost, operation)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #current(): ResolvedRule {
    if (this.#revision !== this.#settings.revision) {
      this.#rule = this.#decider.resolve(this.#declared)
      this.#revision = this.#settings.revision
    }
    return this.#rule
  }
}

function allowedOnly(result: RateLimitResult): RateLimitResult {
  if (!result.allowed) throw tooManyRequests(result)
  return result
}
