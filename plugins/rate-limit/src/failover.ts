import type { Clock, RateLimitDecision, RateLimitStore, StoreContext } from '@plinth/kernel'
import type { FailurePolicy } from './contract.ts'
import type { Deadlines } from './deadlines.ts'
import { storeUnavailable } from './denial.ts'
import { type AskStore, decideJointly, type JointMember } from './joint.ts'
import type { Counts } from './limiter-metrics.ts'
import type { LimitedRequest, Operation } from './prepared-request.ts'
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
    limited: LimitedRequest,
    operation: Operation,
    cause?: unknown,
  ): RateLimitDecision | Promise<RateLimitDecision> {
    const { counts, watch } = this.#parts
    const policy = this.#policyOf(limited)
    if (operation === 'consume') counts.degraded(limited.storeName, policy)
    if (policy === 'closed') throw storeUnavailable(cause)
    if (policy === 'open') return this.#uncounted(limited)
    const { store, request } = this.#insured(limited)
    const fail = (failure: unknown): never => {
      watch.failed(insuranceStore, store, failure)
      throw storeUnavailable(failure)
    }
    try {
      const decision = store[operation](request)
      return decision instanceof Promise ? decision.catch(fail) : decision
    } catch (failure) {
      return fail(failure)
    }
  }

  /**
   * Takes all or nothing. Stores that fail, or turn out to, are replaced by policy; one request whose policy refuses
   * refuses them all.
   */
  async decideAll(limited: readonly LimitedRequest[]): Promise<RateLimitDecision[]> {
    const { watch, counts } = this.#parts
    const down = new Set(limited.map(({ storeName }) => storeName).filter((name) => watch.isFailing(name)))
    let cause: unknown
    // Every turn knows one more store that fails.
    for (;;) {
      const degraded = limited.filter(({ storeName }) => down.has(storeName))
      const policies = new Map(degraded.map((one) => [one, this.#policyOf(one, down)]))
      const isRefused = [...policies.values()].includes('closed')
      if (isRefused) {
        for (const { storeName } of degraded) counts.degraded(storeName, 'closed')
        throw storeUnavailable(cause)
      }
      const counted = limited.filter((one) => policies.get(one) !== 'open')
      try {
        const members = counted.map((one) => (policies.has(one) ? this.#insured(one) : one))
        const decisions = await decideJointly(members, this.#ask)
        for (const [{ storeName }, policy] of policies) counts.degraded(storeName, policy)
        return limited.map((one) => decisions[counted.indexOf(one)] ?? this.#uncounted(one))
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
    call: (context: StoreContext) => T | Promise<T>,
  ): Promise<T> => {
    try {
      return await this.#parts.deadlines().run(call)
    } catch (cause) {
      this.#parts.watch.failed(name, store, cause)
      throw new StoreFailure(name, cause)
    }
  }

  /** The policy that can be kept: a limit that only watches never refuses, and there may be no insurance. */
  #policyOf({ policy, shadow, storeName }: LimitedRequest, down?: ReadonlySet<string>): FailurePolicy {
    if (shadow) return 'open'
    if (policy !== 'insurance') return policy
    const isInsured = storeName !== insuranceStore && this.#parts.stores.has(insuranceStore)
    return isInsured && down?.has(insuranceStore) !== true ? 'insurance' : 'closed'
  }

  #insured({ storeName, request }: LimitedRequest): JointMember {
    const store = this.#parts.stores.get(insuranceStore) as RateLimitStore
    return { storeName: insuranceStore, store, request: { ...request, key: insuredKey(storeName, request.key) } }
  }

  #uncounted({ request: { limit, cost, windowMs } }: LimitedRequest): RateLimitDecision {
    const resetAtMs = this.#parts.clock.now() + windowMs
    return { allowed: true, remaining: Math.max(0, limit - cost), resetAtMs, retryAfterMs: 0 }
  }
}
