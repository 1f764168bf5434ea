import { rateLimitJointCases } from '@plinth/dev/conformance'
import { testConformanceKit } from '@plinth/dev/testing'
import type { Clock, RateLimitDecision, RateLimitRequest, RateLimitStore, StoreContext } from '@plinth/kernel'
import t from 'tap'

type Requests = readonly RateLimitRequest[]

/** A minimal correct shared store on a server that the test can disconnect. Its windows never end. */
class SoundStore implements RateLimitStore {
  readonly traits = { shared: true, algorithm: 'fixed-window' } as const
  readonly used = new Map<string, number>()
  connected = true
  readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  async consume(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    await this.reach(context)
    return this.decide(request, true)
  }

  async peek(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    await this.reach(context)
    return this.decide(request, false)
  }

  async consumeAll(requests: Requests, context?: StoreContext): Promise<RateLimitDecision[]> {
    await this.reach(context)
    const all = requests.every((request) => this.decide(request, false).allowed)
    return requests.map((request) => {
      const decision = this.decide(request, all)
      return all || !decision.allowed ? decision : { ...decision, remaining: decision.remaining + request.cost }
    })
  }

  async reset(): Promise<void> {}

  async reach(context?: StoreContext): Promise<void> {
    await null
    context?.signal.throwIfAborted()
    if (this.connected) return
    await new Promise((_, reject) => context?.signal.addEventListener('abort', () => reject(context.signal.reason)))
  }

  decide({ key, limit, windowMs, cost }: RateLimitRequest, take: boolean): RateLimitDecision {
    const used = this.used.get(key) ?? 0
    const remaining = limit - used
    const resetAtMs = this.clock.now() + windowMs
    if (cost > remaining) return { allowed: false, remaining, resetAtMs, retryAfterMs: windowMs }
    if (take) this.used.set(key, used + cost)
    return { allowed: true, remaining: remaining - cost, resetAtMs, retryAfterMs: 0 }
  }
}

type Fault = (store: SoundStore) => object
const casesOf = (problem: Fault = () => ({})) =>
  rateLimitJointCases(
    (clock) => {
      const store = new SoundStore(clock)
      return { store: Object.assign(store, problem(store)), entries: () => store.used.size }
    },
    {
      patienceMs: 3000,
      disconnect: ({ store }) => {
        store.connected = false
      },
    },
  )
const joint =
  (flaw: (store: SoundStore, requests: Requests, context?: StoreContext) => Promise<RateLimitDecision[]>): Fault =>
  (store) => ({ consumeAll: (requests: Requests, context?: StoreContext) => flaw(store, requests, context) })
const oneByOne = (store: SoundStore, requests: Requests, context?: StoreContext) =>
  Promise.all(requests.map((request) => store.consume(request, context)))

t.test('the kit for joint limits accepts a correct store and rejects every broken one', async (t) => {
  const refused = {
    'joint: takes all when all pass, and answers in order': {
      'answers in another order': joint(async (store, requests) => (await oneByOne(store, requests)).reverse()),
      'takes nothing': joint((store, requests) => Promise.all(requests.map((request) => store.peek(request)))),
      'has no consumeAll': () => ({ consumeAll: undefined }),
    },
    'joint: takes nothing when one is denied': {
      'takes what passes': joint(oneByOne),
      'waits for nothing after a denial': joint(async (store, requests) =>
        (await SoundStore.prototype.consumeAll.call(store, requests)).map((one) => ({ ...one, retryAfterMs: 0 })),
      ),
    },
    'joint: a cost above its limit denies all and takes nothing': { 'takes one by one': joint(oneByOne) },
    'joint: 100 parallel calls never over-admit and never take in vain': {
      'looks, waits and takes': joint(async (store, requests) => {
        const looked = await Promise.all(requests.map((request) => store.peek(request)))
        return looked.every(({ allowed }) => allowed) ? oneByOne(store, requests) : looked
      }),
    },
    'joint: an aborted call decides nothing late': {
      'ignores the signal': joint((store, requests) => SoundStore.prototype.consumeAll.call(store, requests)),
      'never answers': joint(() => new Promise(() => {})),
    },
    'joint: a store that cannot answer throws in time': {
      'decides alone when it is cut off': joint(async (store, requests) =>
        requests.map((request) => store.decide(request, true)),
      ),
    },
  }
  const { share, faults, ...result } = await testConformanceKit(casesOf, { refused, survivors: {} })
  t.same(result, { wronglyRejected: [], missed: [], noSurvivors: [], unproven: [], vague: [] })
  t.equal(share, 1, `refuses all of ${faults}`)
})
