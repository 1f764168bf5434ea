import type { ConsumeRequest, DeclaredLimit, JointResult, LimitRule, RateLimiter, RateLimitResult } from './contract.ts'
import {
  type DeciderDependencies,
  defaultStoreKey,
  fallbackStoreKey,
  fallbackStoreName,
  type LimiterSettings,
  type Operation,
  RateLimitDecider,
  type ResolvedRule,
} from './decision.ts'
import { storeUnavailable, tooManyRequests } from './declarations.ts'
import { JointRequestDecider } from './joint.ts'
import { checkCost, checkRequest, checkRule, toConsumeRequest } from './request-rules.ts'

interface LimiterDependencies extends DeciderDependencies {
  readonly addressKey: (address: string) => string
}

/** The limiter for other plugins. Checks requests, then decides them. */
export class StoreRateLimiter implements RateLimiter {
  readonly #parts: LimiterDependencies
  readonly #decider: RateLimitDecider
  readonly #joint: JointRequestDecider

  constructor(parts: LimiterDependencies) {
    this.#parts = parts
    this.#decider = new RateLimitDecider(parts)
    this.#joint = new JointRequestDecider(parts, this.#decider)
  }

  consume(first: ConsumeRequest | string, maxAttempts?: number, window?: number | string): Promise<RateLimitResult> {
    return this.#decide('consume', first, maxAttempts, window)
  }

  peek(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#decide('peek', request)
  }

  async assertAllowed(
    first: ConsumeRequest | string,
    maxAttempts?: number,
    window?: number | string,
  ): Promise<RateLimitResult> {
    return allowedOnly(await this.#decide('consume', first, maxAttempts, window))
  }

  declare(rule: LimitRule): StoreDeclaredLimit {
    return new StoreDeclaredLimit(this, this.#decider, this.#parts.settings, rule)
  }

  async consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult> {
    return this.#joint.decide(
      requests.map((requested) => {
        checkRequest(requested)
        const rule = this.#decider.resolve(requested)
        return { rule, request: this.#decider.request(rule, requested.key, requested.cost ?? 1) }
      }),
    )
  }

  async assertAllAllowed(requests: readonly ConsumeRequest[]): Promise<readonly RateLimitResult[]> {
    const { results } = await this.consumeAll(requests)
    const denied = results.filter(({ allowed }) => !allowed).sort((a, b) => b.retryAfter - a.retryAfter)
    const decisive = denied.find(({ exceedsLimit }) => exceedsLimit) ?? denied[0]
    if (decisive !== undefined) throw tooManyRequests(decisive)
    return results
  }

  async refund(requests: readonly ConsumeRequest[]): Promise<void> {
    const { denials, watch, calls } = this.#parts
    for (const requested of requests) {
      checkRequest(requested)
      const rule = this.#decider.resolve(requested)
      const { storeName, store } = rule
      if (store?.refund === undefined) continue
      const request = this.#decider.request(rule, requested.key, requested.cost ?? 1)
      if (rule.isShared && watch.isFailing(storeName, request.key)) continue
      try {
        await calls.run((context) => store.refund?.(request, context))
        denials.forget(storeName, request.key)
      } catch (cause) {
        watch.failed(storeName, store, cause, [request.key])
      }
    }
  }

  async reset({ key, store }: Pick<ConsumeRequest, 'key' | 'store'>): Promise<void> {
    const { settings, stores, denials, watch, calls } = this.#parts
    const name = store || settings.defaultStore
    const chosen = this.#decider.storeNamed(name, store ? undefined : defaultStoreKey)
    const complete = this.#decider.completeKey(key)
    denials.forget(name, complete)
    const insurance = stores.get(fallbackStoreName)
    try {
      if (insurance !== undefined && insurance !== chosen) await insurance.reset(fallbackStoreKey(name, complete))
      await calls.run((context) => chosen.reset(complete, context))
    } catch (cause) {
      watch.failed(name, chosen, cause, [complete])
      throw storeUnavailable(cause)
    }
    // Forgets the cached denial again, because a pending call may have been denied before the reset.
    denials.forget(name, complete)
  }

  addressKey(address: string): string {
    return this.#parts.addressKey(address)
  }

  /**
   * @param key configuration key with the name; absent if a limit contains the name
   * @throws PlinthError `PLINTH_RATE_LIMIT_UNKNOWN_STORE`
   */
  checkStore(name: string, key?: string): void {
    this.#decider.storeNamed(name, key)
  }

  #decide(
    operation: Operation,
    first: ConsumeRequest | string,
    maxAttempts?: number,
    window?: number | string,
  ): Promise<RateLimitResult> {
    try {
      const requested = typeof first === 'string' ? toConsumeRequest(first, maxAttempts, window) : first
      checkRequest(requested)
      return this.#decider.promise(this.#decider.resolve(requested), requested.key, requested.cost ?? 1, operation)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** A declared limit. It resolves its rule once, and again when a setting has changed. */
class StoreDeclaredLimit implements DeclaredLimit {
  readonly #limiter: RateLimiter
  readonly #decider: RateLimitDecider
  readonly #settings: LimiterSettings
  readonly #declared: LimitRule
  #rule: ResolvedRule
  #revision: number

  constructor(limiter: RateLimiter, decider: RateLimitDecider, settings: LimiterSettings, declared: LimitRule) {
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

  /** Like `consume` and `peek`, but returns and throws synchronously if the store does. */
  decide(key: string, cost: number, operation: Operation): RateLimitResult | Promise<RateLimitResult> {
    if (cost !== 1) checkCost(cost)
    return this.#decider.decide(this.#current(), key, cost, operation)
  }

  /** Not an async function, which would create a second promise: a decision in memory would take 10 to 19 % longer. */
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
