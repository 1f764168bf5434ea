import type { RateLimitDecision, RateLimitRequest, RateLimitStore, StoreContext } from '@plinth/kernel'

/** A request to a store, among those that are decided together. */
export interface JointMember {
  readonly storeName: string
  readonly store: RateLimitStore
  readonly request: RateLimitRequest
}

/** Asks one store about keys, under its deadline. */
export type AskStore = <T>(
  name: string,
  store: RateLimitStore,
  keys: readonly string[],
  call: (context: StoreContext) => T | Promise<T>,
) => Promise<T>

/**
 * Takes the costs of all members or of none. Answers in their order; nothing was taken unless all are allowed, but for the
 * window between looking and taking that stores without `consumeAll`, or several stores, leave open.
 */
export async function decideJointly(members: readonly JointMember[], ask: AskStore): Promise<RateLimitDecision[]> {
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
    for (const [index, decision] of taken.entries()) decisions[members.indexOf(group[index] as JointMember)] = decision
    if (!taken.every(({ allowed }) => allowed)) break
  }
  return decisions
}

const isAtomic = (members: readonly JointMember[]) => members.length <= 1 || members[0]?.store.consumeAll !== undefined

/** Takes members of one store. One that is denied ends it, so that the answer may be shorter. */
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

/** What is left when a request that could have passed was not taken. */
const untouched = (decision: RateLimitDecision, cost: number): RateLimitDecision =>
  decision.allowed ? { ...decision, remaining: decision.remaining + cost } : decision
