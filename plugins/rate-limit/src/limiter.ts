import {
  nearest,
  PlinthError,
  type RateLimitDecision,
  type RateLimitRequest,
  type RateLimitStore,
} from '@plinth/kernel'
import { CompleteKeys } from './complete-keys.ts'
import type { ConsumeRequest, FailurePolicy, JointResult, LimitRule, RateLimiter, RateLimitResult } from './contract.ts'
import { StoreDeclaredLimit } from './declared-limit.ts'
import { storeUnavailable, tooManyRequests } from './denial.ts'
import type { DenyCache } from './deny-cache.ts'
import { Failover, type FailoverParts, insuranceStore, insuredKey } from './failover.ts'
import { noOutcomes, type OutcomeSums } from './limiter-metrics.ts'
import { promised } from './promised.ts'
import { checkKey, checkRequest } from './request-rules.ts'
import {
  checkJoint,
  isLimited,
  isLimiting,
  type LimitingRule,
  type Operation,
  type PreparedRequest,
  type ResolvedRule,
} from './resolved-rule.ts'

/** Read at every call, so that a live change counts at once. */
export interface LimiterSettings {
  /** Another one after every change. */
  readonly revision: number
  readonly enabled: boolean
  readonly defaultStore: string
  /** Milliseconds. */
  readonly defaultWindowMs: number
  /** <= 0: unlimited. */
  readonly defaultMaxAttempts: number
  readonly keyPrefix: string
  readonly failurePolicy: FailurePolicy
}

export interface LimiterParts extends FailoverParts {
  readonly settings: LimiterSettings
  readonly denials: DenyCache
  readonly addressKey: (address: string) => string
}

interface KnownStore {
  readonly store: RateLimitStore | undefined
  readonly outcomes: OutcomeSums
}

/** Fills in defaults, prefixes the key, picks the store and asks it under a deadline (document 1, "Processing order"). */
export class StoreRateLimiter implements RateLimiter {
  readonly #parts: LimiterParts
  readonly #failover: Failover
  readonly #keys: CompleteKeys
  /** Stores that were asked, by their names: one look-up for all that a call needs of its store. */
  readonly #stores = new Map<string, KnownStore>()

  constructor(parts: LimiterParts) {
    this.#parts = parts
    this.#failover = new Failover(parts)
    this.#keys = new CompleteKeys(parts.settings.keyPrefix)
  }

  consume(request: ConsumeRequest): Promise<RateLimitResult> {
    return promised(() => this.#decideAlone(request, 'consume'))
  }

  peek(request: ConsumeRequest): Promise<RateLimitResult> {
    return promised(() => this.#decideAlone(request, 'peek'))
  }

  async assertAllowed(request: ConsumeRequest): Promise<RateLimitResult> {
    const result = await this.#decideAlone(request, 'consume')
    if (!result.allowed) throw tooManyRequests(result)
    return result
  }

  declare(rule: LimitRule): StoreDeclaredLimit {
    return new StoreDeclaredLimit(this, this.#parts.settings, rule)
  }

  async consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult> {
    const prepared = requests.map((request) => this.#prepare(request))
    checkJoint(prepared)
    // Limits that only watch must not deny the others.
    const deciding = prepared.filter(isLimited).filter(({ rule }) => !rule.shadow)
    const decisions = await this.#failover.decideAll(deciding)
    const allowed = decisions.every((decision) => decision.allowed)
    const results: RateLimitResult[] = []
    for (const one of prepared) {
      const { rule, request } = one
      const decision = decisions[deciding.indexOf(one as PreparedRequest<LimitingRule>)]
      if (decision === undefined) results.push(await this.#decide(rule, request, allowed ? 'consume' : 'peek'))
      else {
        if (allowed || !decision.allowed) rule.outcomes[decision.allowed ? 'allowed' : 'rejected'] += 1
        results.push(this.#result(rule, request, decision))
      }
    }
    return { allowed, results }
  }

  async assertAllAllowed(requests: readonly ConsumeRequest[]): Promise<readonly RateLimitResult[]> {
    const { results } = await this.consumeAll(requests)
    const waits = results.filter(({ allowed }) => !allowed).map(({ retryAfter }) => retryAfter)
    if (waits.length > 0) throw tooManyRequests({ retryAfter: Math.max(...waits) })
    return results
  }

  async reset({ key, store }: Pick<ConsumeRequest, 'key' | 'store'>): Promise<void> {
    checkKey(key)
    const { settings, stores, denials, watch, deadlines } = this.#parts
    const name = store || settings.defaultStore
    const chosen = this.storeNamed(name)
    const complete = this.#keys.of(key)
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
  storeNamed(name: string): RateLimitStore {
    const { stores } = this.#parts
    const store = stores.get(name)
    if (store !== undefined) return store
    const near = nearest(name, stores.keys())
    const hint = near === undefined ? '' : ` Did you mean "${near}"?`
    const loaded = [...stores.keys()].sort().join(', ') || 'none'
    throw new PlinthError(
      'PLINTH_RATE_LIMIT_UNKNOWN_STORE',
      `No loaded plugin brings the rate limit store "${name}"; loaded: ${loaded}.${hint}`,
      'Add the plugin of that store to the product file, or name a store that is loaded.',
    )
  }

  /** Fills in what the rule leaves open. Throws `PLINTH_RATE_LIMIT_UNKNOWN_STORE`. */
  resolve({ maxAttempts, windowMs, store: named, failurePolicy, shadow }: LimitRule): ResolvedRule {
    const { settings } = this.#parts
    const limit = maxAttempts ?? settings.defaultMaxAttempts
    const storeName = named || settings.defaultStore
    const { store, outcomes } = this.#stores.get(storeName) ?? this.#know(storeName)
    // Also where nothing is limited: otherwise a wrong name would be found out when somebody sets a limit.
    if (store === undefined && settings.enabled) this.storeNamed(storeName)
    return {
      storeName,
      store: limit <= 0 || !settings.enabled ? undefined : store,
      outcomes,
      limit,
      windowMs: windowMs ?? settings.defaultWindowMs,
      policy: failurePolicy ?? settings.failurePolicy,
      shadow: shadow === true,
    }
  }

  /** Decides a checked key and cost; answers and throws at once where the store does. */
  decideUnder(
    rule: ResolvedRule,
    key: string,
    cost: number,
    operation: Operation,
  ): RateLimitResult | Promise<RateLimitResult> {
    return this.#decide(rule, this.#request(rule, key, cost), operation)
  }

  #decideAlone(asked: ConsumeRequest, operation: Operation): RateLimitResult | Promise<RateLimitResult> {
    checkRequest(asked)
    return this.decideUnder(this.resolve(asked), asked.key, asked.cost ?? 1, operation)
  }

  #prepare(asked: ConsumeRequest): PreparedRequest {
    checkRequest(asked)
    const rule = this.resolve(asked)
    return { rule, request: this.#request(rule, asked.key, asked.cost ?? 1) }
  }

  #request({ limit, windowMs }: ResolvedRule, key: string, cost: number): RateLimitRequest {
    return { key: this.#keys.of(key), limit, windowMs, cost }
  }

  #know(name: string): KnownStore {
    const { stores, counts } = this.#parts
    const store = stores.get(name)
    if (store === undefined) return { store, outcomes: noOutcomes() }
    const known = { store, outcomes: counts.outcomesOf(name) }
    this.#stores.set(name, known)
    return known
  }

  #decide(
    rule: ResolvedRule,
    request: RateLimitRequest,
    operation: Operation,
  ): RateLimitResult | Promise<RateLimitResult> {
    if (!isLimiting(rule)) return this.#unlimited(rule, request, operation)
    const { clock, denials, watch, deadlines } = this.#parts
    const { storeName, store } = rule
    const { shared, algorithm } = store.traits
    const isRemembered = shared && operation === 'consume'
    const denied = isRemembered ? denials.find(storeName, request) : undefined
    if (denied !== undefined) return this.#decided(rule, request, operation, denied)
    if (watch.isFailing(storeName, request.key)) return this.#failOver(rule, request, operation)

    const askedAt = isRemembered ? clock.monotonic() : 0
    const call = deadlines().begin()
    let answer: RateLimitDecision | Promise<RateLimitDecision>
    try {
      answer = store[operation](request, call)
    } catch (cause) {
      watch.failed(storeName, store, cause, [request.key])
      return this.#failOver(rule, request, operation, cause)
    }
    if (!(answer instanceof Promise)) return this.#decided(rule, request, operation, answer)
    return deadlines().follow(
      call,
      answer,
      (decision) => {
        if (isRemembered && !decision.allowed) denials.remember(storeName, algorithm, request, decision, askedAt)
        return this.#decided(rule, request, operation, decision)
      },
      (cause) => {
        watch.failed(storeName, store, cause, [request.key])
        return this.#failOver(rule, request, operation, cause)
      },
    )
  }

  #failOver(
    rule: LimitingRule,
    request: RateLimitRequest,
    operation: Operation,
    cause?: unknown,
  ): RateLimitResult | Promise<RateLimitResult> {
    const decision = this.#failover.decide(rule, request, operation, cause)
    return decision instanceof Promise
      ? decision.then((one) => this.#decided(rule, request, operation, one))
      : this.#decided(rule, request, operation, decision)
  }

  #unlimited({ outcomes }: ResolvedRule, { key }: RateLimitRequest, operation: Operation): RateLimitResult {
    if (operation === 'consume') outcomes.unlimited += 1
    const resetAt = this.#parts.clock.now()
    // "Maximum" of decision B15: as large as a number in JSON gets exactly.
    return { allowed: true, key, limit: 0, remaining: Number.MAX_SAFE_INTEGER, resetAt, retryAfter: 0 }
  }

  #decided(
    rule: ResolvedRule,
    request: RateLimitRequest,
    operation: Operation,
    decision: RateLimitDecision,
  ): RateLimitResult {
    if (operation === 'consume') {
      rule.outcomes[decision.allowed || rule.shadow ? 'allowed' : 'rejected'] += 1
      if (rule.shadow && !decision.allowed) this.#parts.counts.shadowed(rule.storeName)
    }
    return this.#result(rule, request, decision)
  }

  #result({ shadow }: ResolvedRule, { key, limit }: RateLimitRequest, decision: RateLimitDecision): RateLimitResult {
    const { allowed, remaining, resetAtMs: resetAt, retryAfterMs: retryAfter } = decision
    if (shadow && !allowed) return { allowed: true, key, limit, remaining, resetAt, retryAfter: 0, shadowed: true }
    return { allowed, key, limit, remaining, resetAt, retryAfter }
  }
}
