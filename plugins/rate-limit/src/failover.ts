import type { Clock, RateLimitDecision, RateLimitRequest, RateLimitStore, StoreContext } from '@plinth/kernel'
import type { FailurePolicy } from './contract.ts'
import type { Deadlines } from './deadlines.ts'
import { storeUnavailable } from './denial.ts'
import { type AskStore, decideJointly, type JointMember } from './joint.ts'
import type { Counts } from './limiter-metrics.ts'
import type { LimitingRule, Operation, PreparedRequest } from './resolved-rule.ts'
import type { StoreWatch } from './store-watch.ts'

export interface FailoverParts {
  readonly stores: ReadonlyMap<string, RateLimitStore>
  readonly clock: Clock
  readonly counts: Counts
  readonly deadlines: () => Deadlines
  readonly watch: StoreWatch
}

/** Decides in place of a store that fails, where the policy is `insurance`. In process: it needs no deadline. */
export const insuranceStore = 'memory'

/** Stores are separate namespaces, so the quota of another store has a key of its own in the insurance. */
export const insuredKey = (storeName: string, key: string) => `${storeName}!${key}`

/** A store that was asked together with others has failed. */
class StoreFailure extends Error {
  readonly storeName: string

  constructor(storeName: string, cause: unknown) {
    super(`The store "${storeName}" failed`, { cause })
    this.storeName = storeName
  }
}

/** Decides by policy where a store fails. */
export class Failover {
  readonly #parts: FailoverParts

  constructor(parts: FailoverParts) {
    this.#parts = parts
  }

  /**
   * Decides without the store that was asked for.
   *
   * @throws BusinessError `503` where the policy, or an insurance that fails itself, refuses
   */
  decide(
    rule: LimitingRule,
    request: RateLimitRequest,
    operation: Operation,
    cause?: unknown,
  ): RateLimitDecision | Promise<RateLimitDecision> {
    const { counts, watch } = this.#parts
    const policy = this.#policyOf(rule)
    if (operation === 'consume') counts.degraded(rule.storeName, policy)
    if (policy === 'closed') throw storeUnavailable(cause)
    if (policy === 'open') return this.#uncounted(request)
    const { store, request: insured } = this.#insured(rule.storeName, request)
    const fail = (failure: unknown): never => {
      watch.failed(insuranceStore, store, failure, [insured.key])
      throw storeUnavailable(failure)
    }
    try {
      const decision = store[operation](insured)
      return decision instanceof Promise ? decision.catch(fail) : decision
    } catch (failure) {
      return fail(failure)
    }
  }

  /**
   * Takes all or nothing. Stores that fail, or turn out to, are replaced by policy; one request whose policy refuses
   * refuses them all.
   */
  async decideAll(limited: readonly PreparedRequest<LimitingRule>[]): Promise<RateLimitDecision[]> {
    const { watch, counts } = this.#parts
    const failing = limited.filter(({ rule, request }) => watch.isFailing(rule.storeName, request.key))
    const down = new Set(failing.map(({ rule }) => rule.storeName))
    let cause: unknown
    // Every turn knows one more store that fails.
    for (;;) {
      const degraded = limited.filter(({ rule }) => down.has(rule.storeName))
      const policies = new Map(degraded.map((one) => [one, this.#policyOf(one.rule, down)]))
      const isRefused = [...policies.values()].includes('closed')
      if (isRefused) {
        for (const { rule } of degraded) counts.degraded(rule.storeName, 'closed')
        throw storeUnavailable(cause)
      }
      const counted = limited.filter((one) => policies.get(one) !== 'open')
      try {
        const members = counted.map((one) => {
          const { storeName, store } = one.rule
          return policies.has(one) ? this.#insured(storeName, one.request) : { storeName, store, request: one.request }
        })
        const decisions = await decideJointly(members, this.#ask)
        for (const [{ rule }, policy] of policies) counts.degraded(rule.storeName, policy)
        return limited.map((one) => decisions[counted.indexOf(one)] ?? this.#uncounted(one.request))
      } catch (failure) {
        if (!(failure instanceof StoreFailure) || down.has(failure.storeName)) throw failure
        down.add(failure.storeName)
        cause = failure.cause
      }
    }
  }

  readonly #ask: AskStore = async <T>(
    name: string,
    store: RateLimitStore,
    keys: readonly string[],
    call: (context: StoreContext) => T | Promise<T>,
  ): Promise<T> => {
    try {
      return await this.#parts.deadlines().run(call)
    } catch (cause) {
      this.#parts.watch.failed(name, store, cause, keys)
      throw new StoreFailure(name, cause)
    }
  }

  /** The policy that can be kept: a limit that only watches never refuses, and there may be no insurance. */
  #policyOf({ policy, shadow, storeName }: LimitingRule, down?: ReadonlySet<string>): FailurePolicy {
    if (shadow) return 'open'
    if (policy !== 'insurance') return policy
    const isInsured = storeName !== insuranceStore && this.#parts.stores.has(insuranceStore)
    return isInsured && down?.has(insuranceStore) !== true ? 'insurance' : 'closed'
  }

  #insured(storeName: string, request: RateLimitRequest): JointMember {
    const store = this.#parts.stores.get(insuranceStore) as RateLimitStore
    return { storeName: insuranceStore, store, request: { ...request, key: insuredKey(storeName, request.key) } }
  }

  #uncounted({ limit, cost, windowMs }: RateLimitRequest): RateLimitDecision {
    const resetAtMs = this.#parts.clock.now() + windowMs
    return { allowed: true, remaining: Math.max(0, limit - cost), resetAtMs, retryAfterMs: 0 }
  }
}
