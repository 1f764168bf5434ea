import type { RateLimitDecision, RateLimitRequest, RateLimitStore, StoreContext } from '@plinth/kernel'
import type { JointResult, RateLimitResult } from './contract.ts'
import {
  type DeciderDependencies,
  isLimiting,
  type LimitingRule,
  type RateLimitDecider,
  type ResolvedRule,
  resultOf,
} from './decision.ts'
import { storeUnavailable } from './declarations.ts'

interface PreparedRequest<Rule extends ResolvedRule = ResolvedRule> {
  readonly rule: Rule
  readonly request: RateLimitRequest
}

const isLimited = (prepared: PreparedRequest): prepared is PreparedRequest<LimitingRule> => isLimiting(prepared.rule)

/** Maximum number of requests that a store decides in one step. */
const maxBatchSize = 128

/** Two requests with the same key in one store would use the same quota, so the result would not be clear. */
function checkJoint(requests: readonly PreparedRequest[]): void {
  if (requests.length > maxBatchSize) {
    throw new RangeError(`At most ${maxBatchSize} rate limits can be decided together, not ${requests.length}`)
  }
  const seen = new Set<string>()
  for (const { rule, request } of requests) {
    const name = `${rule.storeName}\0${request.key}`
    if (seen.has(name)) throw new RangeError(`Joint rate limits must differ in "key": ${request.key} comes twice`)
    seen.add(name)
  }
}

/** A store failed in a decision about several requests. */
class StoreFailure extends Error {
  readonly storeName: string

  constructor(storeName: string, cause: unknown) {
    super(`The store "${storeName}" failed`, { cause })
    this.storeName = storeName
  }
}

/** Decides several requests together: all take their costs, or none does. */
export class JointRequestDecider {
  readonly #parts: DeciderDependencies
  readonly #decider: RateLimitDecider

  constructor(parts: DeciderDependencies, decider: RateLimitDecider) {
    this.#parts = parts
    this.#decider = decider
  }

  async decide(prepared: readonly PreparedRequest[]): Promise<JointResult> {
    checkJoint(prepared)
    // Limits in shadow mode must not deny the other requests.
    const deciding = prepared.filter(isLimited).filter(({ rule }) => !rule.shadow)
    const decisions = await this.#decideAll(deciding)
    const allowed = decisions.every((decision) => decision.allowed)
    const results: RateLimitResult[] = []
    for (const one of prepared) {
      const { rule, request } = one
      const decision = isLimited(one) ? decisions[deciding.indexOf(one)] : undefined
      if (decision === undefined) {
        results.push(await this.#decider.decideRequest(rule, request, allowed ? 'consume' : 'peek'))
      } else {
        if (allowed || !decision.allowed) rule.outcomes[decision.allowed ? 'allowed' : 'rejected'] += 1
        results.push(resultOf(rule, request, decision))
      }
    }
    return { allowed, results }
  }

  /**
   * Takes all quotas or none. Replaces failing stores by the failure policy. If a policy is `closed`, all requests are
   * rejected.
   */
  async #decideAll(limited: readonly PreparedRequest<LimitingRule>[]): Promise<RateLimitDecision[]> {
    const { watch, counts } = this.#parts
    const failing = limited.filter(({ rule, request }) => watch.isFailing(rule.storeName, request.key))
    const down = new Set(failing.map(({ rule }) => rule.storeName))
    let cause: unknown
    // Each iteration finds one more failing store.
    for (;;) {
      const degraded = limited.filter(({ rule }) => down.has(rule.storeName))
      const policies = new Map(degraded.map((one) => [one, this.#decider.policyOf(one.rule, down)]))
      const isRejected = [...policies.values()].includes('closed')
      if (isRejected) {
        for (const { rule } of degraded) counts.degraded(rule.storeName, 'closed')
        throw storeUnavailable(cause)
      }
      const counted = limited.filter((one) => policies.get(one) !== 'open')
      try {
        const members = counted.map((one) => {
          const { storeName, store } = one.rule
          return policies.has(one)
            ? this.#decider.insured(storeName, one.request)
            : { storeName, store, request: one.request }
        })
        const decisions = await decideJointly(members, this.#ask)
        for (const [{ rule }, policy] of policies) counts.degraded(rule.storeName, policy)
        return limited.map((one) => decisions[counted.indexOf(one)] ?? this.#decider.uncounted(one.request))
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
      return await this.#parts.calls.run(call)
    } catch (cause) {
      this.#parts.watch.failed(name, store, cause, keys)
      throw new StoreFailure(name, cause)
    }
  }
}

interface JointMember {
  readonly storeName: string
  readonly store: RateLimitStore
  readonly request: RateLimitRequest
}

/** Calls a store for keys, with the time limit of the store. */
type AskStore = <T>(
  name: string,
  store: RateLimitStore,
  keys: readonly string[],
  call: (context: StoreContext) => T | Promise<T>,
) => Promise<T>

/**
 * Takes the costs of all requests or of none, and returns the decisions in the same order. With several stores, or a
 * store without `consumeAll`, another caller may take quota between reading and taking.
 */
async function decideJointly(members: readonly JointMember[], ask: AskStore): Promise<RateLimitDecision[]> {
  const groups = Map.groupBy(members, ({ storeName }) => storeName)
  if (groups.size <= 1 && isAtomic(members)) return takeGroup(members, ask)

  const looked = await Promise.all(
    members.map(({ storeName, store, request }) =>
      ask(storeName, store, [request.key], (context) => store.peek(request, context)),
    ),
  )
  const decisions = looked.map((decision, index) => untouched(decision, members[index]?.request.cost ?? 0))
  if (!looked.every(({ allowed }) => allowed)) return decisions
  for (const group of groups.values()) {
    const taken = await takeGroup(group, ask)
    for (const [index, member] of group.entries()) {
      const decision = taken[index]
      if (decision !== undefined) decisions[members.indexOf(member)] = decision
    }
    if (!taken.every(({ allowed }) => allowed)) break
  }
  return decisions
}

const isAtomic = (members: readonly JointMember[]) => members.length <= 1 || members[0]?.store.consumeAll !== undefined

/** Takes the costs of requests to one store. Stops at the first denial, so the result may be shorter. */
async function takeGroup(members: readonly JointMember[], ask: AskStore): Promise<RateLimitDecision[]> {
  const [first] = members
  if (first === undefined) return []
  const { store, storeName } = first
  const requests = members.map(({ request }) => request)
  if (members.length > 1 && store.consumeAll !== undefined) {
    const keys = requests.map(({ key }) => key)
    return [...(await ask(storeName, store, keys, (context) => store.consumeAll?.(requests, context) ?? []))]
  }
  const decisions: RateLimitDecision[] = []
  for (const request of requests) {
    const decision = await ask(storeName, store, [request.key], (context) => store.consume(request, context))
    decisions.push(decision)
    if (!decision.allowed) break
  }
  return decisions
}

/**
 * Returns the decision of a request that takes no quota after all. Its remaining quota is the quota before the request.
 */
const untouched = (decision: RateLimitDecision, cost: number): RateLimitDecision =>
  decision.allowed ? { ...decision, remaining: decision.remaining + cost } : decision
