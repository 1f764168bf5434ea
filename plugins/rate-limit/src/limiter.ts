import { nearest, PlinthError, type RateLimitDecision, type RateLimitStore } from '@plinth/kernel'
import { CompleteKeys } from './complete-keys.ts'
import type { ConsumeRequest, FailurePolicy, JointResult, RateLimiter, RateLimitResult } from './contract.ts'
import { storeUnavailable, tooManyRequests } from './denial.ts'
import type { DenyCache } from './deny-cache.ts'
import { Failover, type FailoverParts, insuranceStore, insuredKey } from './failover.ts'
import { noOutcomes, type OutcomeSums } from './limiter-metrics.ts'
import { checkJoint, isLimited, type LimitedRequest, type Operation, type PreparedRequest } from './prepared-request.ts'
import { checkKey, checkRequest } from './request-rules.ts'

/** Read at every call, so that a live change counts at once. */
export interface LimiterSettings {
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
    return this.#promised(request, 'consume')
  }

  peek(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#promised(request, 'peek')
  }

  async assertAllowed(request: ConsumeRequest): Promise<RateLimitResult> {
    const result = await this.decide(request, 'consume')
    if (!result.allowed) throw tooManyRequests(result)
    return result
  }

  /** As `consume` and `peek`; answers at once where the store does. Also throws at once. */
  decide(asked: ConsumeRequest, operation: Operation): RateLimitResult | Promise<RateLimitResult> {
    return this.#decide(this.#prepare(asked), operation)
  }

  async consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult> {
    const prepared = requests.map((request) => this.#prepare(request))
    checkJoint(prepared)
    // Limits that only watch must not deny the others.
    const deciding = prepared.filter((one) => isLimited(one) && !one.shadow) as LimitedRequest[]
    const decisions = await this.#failover.decideAll(deciding)
    const allowed = decisions.every((decision) => decision.allowed)
    const results: RateLimitResult[] = []
    for (const one of prepared) {
      const decision = decisions[deciding.indexOf(one as LimitedRequest)]
      if (decision === undefined) results.push(await this.#decide(one, allowed ? 'consume' : 'peek'))
      else {
        if (allowed || !decision.allowed) one.outcomes[decision.allowed ? 'allowed' : 'rejected'] += 1
        results.push(this.#result(one, decision))
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
      watch.failed(name, chosen, cause)
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

  /** Also what is thrown at once. An async function would cost as much as deciding. */
  #promised(request: ConsumeRequest, operation: Operation): Promise<RateLimitResult> {
    try {
      const result = this.decide(request, operation)
      return result instanceof Promise ? result : Promise.resolve(result)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Fills in what the request leaves open. */
  #prepare(asked: ConsumeRequest): PreparedRequest {
    checkRequest(asked)
    const { settings } = this.#parts
    const limit = asked.maxAttempts ?? settings.defaultMaxAttempts
    const storeName = asked.store || settings.defaultStore
    const { store, outcomes } = this.#stores.get(storeName) ?? this.#know(storeName)
    // Also where nothing is limited: otherwise a wrong name would be found out when somebody sets a limit.
    if (store === undefined && settings.enabled) this.storeNamed(storeName)
    return {
      storeName,
      store: limit <= 0 || !settings.enabled ? undefined : store,
      outcomes,
      request: {
        key: this.#keys.of(asked.key),
        limit,
        windowMs: asked.windowMs ?? settings.defaultWindowMs,
        cost: asked.cost ?? 1,
      },
      policy: asked.failurePolicy ?? settings.failurePolicy,
      shadow: asked.shadow === true,
    }
  }

  #know(name: string): KnownStore {
    const { stores, counts } = this.#parts
    const store = stores.get(name)
    if (store === undefined) return { store, outcomes: noOutcomes() }
    const known = { store, outcomes: counts.outcomesOf(name) }
    this.#stores.set(name, known)
    return known
  }

  #decide(prepared: PreparedRequest, operation: Operation): RateLimitResult | Promise<RateLimitResult> {
    if (!isLimited(prepared)) return this.#unlimited(prepared, operation)
    const { clock, denials, watch, deadlines } = this.#parts
    const { storeName, store, request } = prepared
    const { shared, algorithm } = store.traits
    const isRemembered = shared && operation === 'consume'
    const denied = isRemembered ? denials.find(storeName, request) : undefined
    if (denied !== undefined) return this.#decided(prepared, operation, denied)
    if (watch.isFailing(storeName)) return this.#failOver(prepared, operation)

    const askedAt = isRemembered ? clock.monotonic() : 0
    const call = deadlines().begin()
    let answer: RateLimitDecision | Promise<RateLimitDecision>
    try {
      answer = store[operation](request, call)
    } catch (cause) {
      watch.failed(storeName, store, cause)
      return this.#failOver(prepared, operation, cause)
    }
    if (!(answer instanceof Promise)) return this.#decided(prepared, operation, answer)
    return deadlines().follow(
      call,
      answer,
      (decision) => {
        if (isRemembered && !decision.allowed) denials.remember(storeName, algorithm, request, decision, askedAt)
        return this.#decided(prepared, operation, decision)
      },
      (cause) => {
        watch.failed(storeName, store, cause)
        return this.#failOver(prepared, operation, cause)
      },
    )
  }

  #failOver(
    limited: LimitedRequest,
    operation: Operation,
    cause?: unknown,
  ): RateLimitResult | Promise<RateLimitResult> {
    const decision = this.#failover.decide(limited, operation, cause)
    return decision instanceof Promise
      ? decision.then((one) => this.#decided(limited, operation, one))
      : this.#decided(limited, operation, decision)
  }

  #unlimited(prepared: PreparedRequest, operation: Operation): RateLimitResult {
    if (operation === 'consume') prepared.outcomes.unlimited += 1
    const { key } = prepared.request
    const resetAt = this.#parts.clock.now()
    // "Maximum" of decision B15: as large as a number in JSON gets exactly.
    return { allowed: true, key, limit: 0, remaining: Number.MAX_SAFE_INTEGER, resetAt, retryAfter: 0 }
  }

  #decided(prepared: PreparedRequest, operation: Operation, decision: RateLimitDecision): RateLimitResult {
    if (operation === 'consume') {
      prepared.outcomes[decision.allowed || prepared.shadow ? 'allowed' : 'rejected'] += 1
      if (prepared.shadow && !decision.allowed) this.#parts.counts.shadowed(prepared.storeName)
    }
    return this.#result(prepared, decision)
  }

  #result({ request: { key, limit }, shadow }: PreparedRequest, decision: RateLimitDecision): RateLimitResult {
    const { allowed, remaining, resetAtMs: resetAt, retryAfterMs: retryAfter } = decision
    if (shadow && !allowed) return { allowed: true, key, limit, remaining, resetAt, retryAfter: 0, shadowed: true }
    return { allowed, key, limit, remaining, resetAt, retryAfter }
  }
}
