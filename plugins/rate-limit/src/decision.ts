import type { FailurePolicy } from '@plinth/http'
import {
  type Clock,
  didYouMean,
  type RateLimitDecision,
  type RateLimitRequest,
  type RateLimitStore,
} from '@plinth/kernel'
import { createTickClock } from '@plinth/kernel/host'
import type { LimitRule, RateLimitResult } from './contract.ts'
import { rateLimitError, storeUnavailable } from './declarations.ts'
import type { DenyCache } from './deny-cache.ts'
import {
  type LimiterCounters,
  type OutcomeCounts,
  type StoreFailureWatch,
  zeroOutcomeCounts,
} from './limiter-metrics.ts'
import { checkKey, shortenKey } from './request-rules.ts'
import type { StoreCalls } from './store-calls.ts'

/** Maximum number of cached complete keys. */
const maxCachedKeys = 2048

/** Settings that are read for each call, so that changes apply immediately. */
export interface LimiterSettings {
  /** Changes whenever a setting changes. */
  readonly revision: number
  readonly enabled: boolean
  readonly defaultStore: string
  /** Default window in milliseconds. */
  readonly defaultWindowMs: number
  /** Default limit; 0 or less: unlimited. */
  readonly defaultMaxAttempts: number
  readonly keyPrefix: string
  readonly failurePolicy: FailurePolicy
}

export interface DeciderDependencies {
  readonly stores: ReadonlyMap<string, RateLimitStore>
  readonly settings: LimiterSettings
  readonly clock: Clock
  readonly counts: LimiterCounters
  readonly denials: DenyCache
  readonly calls: StoreCalls
  readonly watch: StoreFailureWatch
}

export type Operation = 'consume' | 'peek'

/** A rule in which the defaults replace omitted settings. Without a store, nothing is limited. */
export interface ResolvedRule {
  readonly storeName: string
  readonly store: RateLimitStore | undefined
  /** True if several processes share the quota. */
  readonly isShared: boolean
  /** True if the store ends its calls at their deadline itself. */
  readonly endsCalls: boolean
  readonly outcomes: OutcomeCounts
  readonly limit: number
  readonly windowMs: number
  readonly policy: FailurePolicy
  /** If true, the limit counts but never denies. */
  readonly shadow: boolean
}

export type LimitingRule = ResolvedRule & { readonly store: RateLimitStore }

type Decided = RateLimitDecision | Promise<RateLimitResult>

/**
 * Name of the fallback store, which decides if another store fails and the policy is `insurance`. It is in the memory
 * of this process, so it needs no deadline.
 */
export const fallbackStoreName = 'memory'

export const defaultStoreKey = 'platform.rate-limit.default-store'

/** Returns the key in the fallback store. Each store has its own keys there, because stores do not share quotas. */
export const fallbackStoreKey = (storeName: string, key: string) => `${storeName}!${key}`

/**
 * Decides one request (document 1 of the specification, "Processing order"). A synchronous result of a store stays
 * synchronous, because a promise costs more than a decision in memory.
 */
export class RateLimitDecider {
  readonly #parts: DeciderDependencies
  readonly #watch: StoreFailureWatch
  readonly #denials: DenyCache
  readonly #monotonic: () => number
  readonly #completeKeys = new Map<string, string>()

  constructor(parts: DeciderDependencies) {
    this.#parts = parts
    this.#watch = parts.watch
    this.#denials = parts.denials
    this.#monotonic = createTickClock(parts.clock)
  }

  /**
   * Fills in the defaults of a rule.
   *
   * @throws PlinthError `PLINTH_RATE_LIMIT_UNKNOWN_STORE`
   */
  resolve({ maxAttempts, windowMs, store: named, failurePolicy, shadow }: LimitRule): ResolvedRule {
    const { settings, stores, counts } = this.#parts
    const limit = maxAttempts ?? settings.defaultMaxAttempts
    const storeName = named || settings.defaultStore
    const store = stores.get(storeName)
    // The name of the store is also checked if nothing is limited. Otherwise a wrong name would only be found when a
    // limit is set.
    if (store === undefined && settings.enabled) this.storeNamed(storeName, named ? undefined : defaultStoreKey)
    return {
      storeName,
      store: limit <= 0 || !settings.enabled ? undefined : store,
      isShared: store?.traits.shared === true,
      endsCalls: store?.traits.endsCalls === true,
      outcomes: store === undefined ? zeroOutcomeCounts() : counts.outcomesOf(storeName),
      limit,
      windowMs: windowMs ?? settings.defaultWindowMs,
      policy: failurePolicy ?? settings.failurePolicy,
      shadow: shadow === true,
    }
  }

  /**
   * @param key configuration key with the name; absent if the limit contains the name
   * @throws PlinthError `PLINTH_RATE_LIMIT_UNKNOWN_STORE`
   */
  storeNamed(name: string, key?: string): RateLimitStore {
    const { stores } = this.#parts
    const store = stores.get(name)
    if (store !== undefined) return store
    throw rateLimitError('PLINTH_RATE_LIMIT_UNKNOWN_STORE', {
      place: key === undefined ? 'The limit' : `Key "${key}"`,
      store: name,
      loaded: [...stores.keys()].sort().join(', ') || 'none',
      nearest: didYouMean(name, stores.keys()),
    })
  }

  /**
   * Returns the key with its prefix. Complete keys are cached. Otherwise the store would hash a new string in each call,
   * and a decision about a repeated key would take 115 to 208 % longer. With many keys, an LRU cache is up to 57 %
   * slower.
   *
   * @throws RangeError for an empty key
   */
  completeKey(key: string): string {
    return this.#completeKeys.get(key) ?? this.#join(key)
  }

  #join(key: string): string {
    checkKey(key)
    const bounded = shortenKey(key)
    // `join` creates a flat string, which is compared faster than a concatenated one.
    const complete = [this.#parts.settings.keyPrefix, bounded].join(':')
    if (this.#completeKeys.size === maxCachedKeys) this.#completeKeys.clear()
    // A shortened key is not cached, because the original may be large.
    if (bounded === key) this.#completeKeys.set(key, complete)
    return complete
  }

  request({ limit, windowMs }: ResolvedRule, key: string, cost: number): RateLimitRequest {
    return { key: this.completeKey(key), limit, windowMs, cost }
  }

  /**
   * Decides a request whose cost is already checked.
   *
   * @throws RangeError for an empty key
   */
  decide(
    rule: ResolvedRule,
    key: string,
    cost: number,
    operation: Operation,
  ): RateLimitResult | Promise<RateLimitResult> {
    return this.decideRequest(rule, this.request(rule, key, cost), operation)
  }

  decideRequest(
    rule: ResolvedRule,
    request: RateLimitRequest,
    operation: Operation,
  ): RateLimitResult | Promise<RateLimitResult> {
    if (!isLimiting(rule)) return this.#unlimited(rule, request, operation)
    return finished(rule, request, this.#decision(rule, request, operation))
  }

  /**
   * Like `decide`, but returns a promise. Does not use `resultOf` for the common case: if the object were not created
   * directly in the call of `Promise.resolve`, a decision in memory would take 15 to 19 % longer, because the engine
   * would check whether the object is a promise.
   */
  promise(rule: ResolvedRule, key: string, cost: number, operation: Operation): Promise<RateLimitResult> {
    const request = this.request(rule, key, cost)
    if (!isLimiting(rule)) return Promise.resolve(this.#unlimited(rule, request, operation))
    const decision = this.#decision(rule, request, operation)
    if (decision instanceof Promise) return decision
    if (rule.shadow || cost > request.limit) return Promise.resolve(resultOf(rule, request, decision))
    const { allowed, remaining, resetAtMs: resetAt, retryAfterMs: retryAfter } = decision
    return Promise.resolve({ allowed, key: request.key, limit: request.limit, remaining, resetAt, retryAfter })
  }

  /** Returns a synchronous decision as it is, so that only the caller creates a result object. */
  #decision(rule: LimitingRule, request: RateLimitRequest, operation: Operation): Decided {
    if (rule.isShared) {
      const denied = operation === 'consume' ? this.#denials.find(rule.storeName, request) : undefined
      if (denied !== undefined) return this.#counted(rule, operation, denied)
      if (this.#watch.isFailing(rule.storeName, request.key)) return this.#withoutStore(rule, request, operation)
    }
    return this.#ask(rule, request, operation)
  }

  #ask(rule: LimitingRule, request: RateLimitRequest, operation: Operation): Decided {
    const { store } = rule
    const context = this.#parts.calls.context()
    let response: RateLimitDecision | Promise<RateLimitDecision>
    try {
      response = operation === 'consume' ? store.consume(request, context) : store.peek(request, context)
    } catch (cause) {
      return this.#failed(rule, request, operation, cause)
    }
    if (!(response instanceof Promise)) return this.#counted(rule, operation, response)
    const answered = rule.endsCalls ? response : this.#parts.calls.wait(context, response)
    return this.#later(rule, request, operation, answered)
  }

  /** A separate method: in `#ask`, its functions would make a decision in memory 5 to 7 % slower. */
  #later(
    rule: LimitingRule,
    request: RateLimitRequest,
    operation: Operation,
    response: Promise<RateLimitDecision>,
  ): Promise<RateLimitResult> {
    const askedAt = this.#monotonic()
    const settle = (decision: RateLimitDecision) => {
      if (rule.isShared && operation === 'consume' && !decision.allowed) {
        this.#denials.remember(rule.storeName, rule.store.traits.algorithm, request, decision, askedAt)
      }
      return resultOf(rule, request, this.#counted(rule, operation, decision))
    }
    const fail = (cause: unknown) => finished(rule, request, this.#failed(rule, request, operation, cause))
    return response.then(settle, fail)
  }

  #failed(rule: LimitingRule, request: RateLimitRequest, operation: Operation, cause: unknown): Decided {
    this.#watch.failed(rule.storeName, rule.store, cause, [request.key])
    return this.#withoutStore(rule, request, operation, cause)
  }

  #unlimited({ outcomes }: ResolvedRule, { key }: RateLimitRequest, operation: Operation): RateLimitResult {
    if (operation === 'consume') outcomes.unlimited += 1
    const resetAt = this.#parts.clock.now()
    // The remaining quota of an unlimited caller is the largest integer that is exact in JSON (decision B15).
    return { allowed: true, key, limit: 0, remaining: Number.MAX_SAFE_INTEGER, resetAt, retryAfter: 0 }
  }

  #counted(rule: ResolvedRule, operation: Operation, decision: RateLimitDecision): RateLimitDecision {
    if (operation === 'consume') {
      if (decision.allowed || rule.shadow) rule.outcomes.allowed += 1
      else rule.outcomes.rejected += 1
      if (rule.shadow && !decision.allowed) this.#parts.counts.shadowed(rule.storeName)
    }
    return decision
  }

  /**
   * Decides by the failure policy.
   *
   * @throws BusinessError `503` if the policy is `closed`, or if the fallback store fails
   */
  #withoutStore(rule: LimitingRule, request: RateLimitRequest, operation: Operation, cause?: unknown): Decided {
    const { counts } = this.#parts
    const policy = this.policyOf(rule)
    if (operation === 'consume') counts.degraded(rule.storeName, policy)
    if (policy === 'closed') throw storeUnavailable(cause)
    if (policy === 'open') return this.#counted(rule, operation, this.uncounted(request))
    const { store, request: insured } = this.insured(rule.storeName, request)
    const fail = (failure: unknown): never => {
      this.#watch.failed(fallbackStoreName, store, failure, [insured.key])
      throw storeUnavailable(failure)
    }
    const answered = (decision: RateLimitDecision) => this.#counted(rule, operation, decision)
    let response: RateLimitDecision | Promise<RateLimitDecision>
    try {
      response = store[operation](insured)
    } catch (failure) {
      return fail(failure)
    }
    if (!(response instanceof Promise)) return answered(response)
    return response.then((decision) => resultOf(rule, request, answered(decision)), fail)
  }

  /**
   * Returns the effective policy. A limit in shadow mode never rejects, and without a fallback store `insurance`
   * becomes `closed`.
   */
  policyOf({ policy, shadow, storeName }: LimitingRule, down?: ReadonlySet<string>): FailurePolicy {
    if (shadow) return 'open'
    if (policy !== 'insurance') return policy
    const isInsured = storeName !== fallbackStoreName && this.#parts.stores.has(fallbackStoreName)
    return isInsured && down?.has(fallbackStoreName) !== true ? 'insurance' : 'closed'
  }

  insured(storeName: string, request: RateLimitRequest) {
    const store = this.#parts.stores.get(fallbackStoreName) as RateLimitStore
    return {
      storeName: fallbackStoreName,
      store,
      request: { ...request, key: fallbackStoreKey(storeName, request.key) },
    }
  }

  /** Returns a decision that allows the request without counting it. */
  uncounted({ limit, cost, windowMs }: RateLimitRequest): RateLimitDecision {
    const resetAtMs = this.#parts.clock.now() + windowMs
    return { allowed: true, remaining: Math.max(0, limit - cost), resetAtMs, retryAfterMs: 0 }
  }
}

export const isLimiting = (rule: ResolvedRule): rule is LimitingRule => rule.store !== undefined

const finished = (rule: ResolvedRule, request: RateLimitRequest, decided: Decided) =>
  decided instanceof Promise ? decided : resultOf(rule, request, decided)

export function resultOf(
  { shadow }: ResolvedRule,
  { key, limit, cost }: RateLimitRequest,
  { allowed, remaining, resetAtMs: resetAt, retryAfterMs: retryAfter }: RateLimitDecision,
): RateLimitResult {
  if (shadow && !allowed) return { allowed: true, key, limit, remaining, resetAt, retryAfter: 0, shadowed: true }
  if (!allowed && cost > limit) return { allowed, key, limit, remaining, resetAt, retryAfter: 0, exceedsLimit: true }
  return { allowed, key, limit, remaining, resetAt, retryAfter }
}
