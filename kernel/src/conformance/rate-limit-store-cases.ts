import type { Clock } from '../clock.ts'
import type { RateLimitDecision, RateLimitRequest, RateLimitStore } from '../contracts/rate-limit-store.ts'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import { type ConformanceCase, casesOver, expectEqual, expectThat, settle } from './conformance-case.ts'
import { rateLimitModels } from './rate-limit-model.ts'
import { playSequence } from './rate-limit-sequence.ts'

export interface RateLimitStoreHarness {
  readonly store: RateLimitStore
  /** Keys that the store holds now, over all keys. */
  entries(): number | Promise<number>
  stop?(): void | Promise<void>
}

export interface RateLimitStoreCaseOptions<Harness extends RateLimitStoreHarness> {
  /**
   * Only for a store whose time cannot be injected, such as one that uses the time of a server: lets that time pass.
   * Waits in the cases stay below two seconds.
   */
  readonly ownTime?: {
    pass(ms: number): Promise<void>
    /** Milliseconds by which its answers may be off. */
    readonly toleranceMs: number
  }
  /** Cuts the store off from what it depends on. Absent only for a store that depends on nothing (`traits.shared` false). */
  readonly disconnect?: (harness: Harness) => void | Promise<void>
  /** Calls after which a started purge must have removed what expired; 4096 when absent. */
  readonly purgeCalls?: number
  /** Seed of the random sequences; the same when absent, so that a failure repeats. */
  readonly seed?: number
}

/** Keys that stores tend to mix up or to trip over. */
const awkwardKeys = [
  'a',
  'a:b',
  'a:b:',
  '',
  ' ',
  '__proto__',
  'constructor',
  '{a}',
  '{a}b',
  '*',
  'A',
  'ключ',
  '🔑',
  'k'.repeat(600),
]

const longest = 3_600_000

/**
 * The contract of `RateLimitStore` as cases.
 *
 * @param create makes a store that is empty and shares nothing with an earlier one; its time comes from the clock
 */
export function rateLimitStoreCases<Harness extends RateLimitStoreHarness>(
  create: (clock: Clock) => Harness | Promise<Harness>,
  options: RateLimitStoreCaseOptions<Harness> = {},
): ConformanceCase[] {
  const { ownTime, disconnect, purgeCalls = 4096, seed = 20_260_101 } = options
  const toleranceMs = ownTime?.toleranceMs ?? 0
  /** A window that is short enough to wait for. */
  const shortMs = ownTime === undefined ? 60_000 : 300

  interface World {
    readonly harness: Harness
    readonly store: RateLimitStore
    readonly clock: ManualClock
    readonly pass: (ms: number) => Promise<void>
    readonly stop: () => Promise<void>
  }
  async function world(): Promise<World> {
    const clock = manualClock()
    const harness = await create(clock)
    const pass = async (ms: number) => (ownTime === undefined ? clock.advance(ms) : ownTime.pass(ms))
    return { harness, store: harness.store, clock, pass, stop: async () => harness.stop?.() }
  }
  const request = (changes: Partial<RateLimitRequest> = {}): RateLimitRequest => ({
    key: 'account:1',
    limit: 5,
    windowMs: longest,
    cost: 1,
    ...changes,
  })
  const inParallel = (store: RateLimitStore, times: number, of: RateLimitRequest) =>
    Promise.all(Array.from({ length: times }, () => Promise.resolve().then(() => store.consume(of))))
  const allowedIn = (decisions: readonly RateLimitDecision[]) => decisions.filter(({ allowed }) => allowed).length
  /** Takes the whole quota in one go. */
  const drain = async (store: RateLimitStore, of: RateLimitRequest) => {
    const decision = await store.consume({ ...of, cost: of.limit })
    expectEqual('A fresh key has its whole quota', [decision.allowed, decision.remaining], [true, 0])
  }

  const cases: Record<string, (world: World) => void | Promise<void>> = {
    'traits say how it counts': ({ store }) => {
      const traits: Partial<RateLimitStore['traits']> = store.traits ?? {}
      expectEqual('traits.shared is a boolean', typeof traits.shared, 'boolean')
      const known = Object.keys(rateLimitModels)
      const expected = `one of ${known.join(', ')}`
      expectThat('traits.algorithm is a known one', known.includes(traits.algorithm ?? ''), expected, traits.algorithm)
      const rule = 'A shared store can be cut off: the kit needs `options.disconnect`'
      expectThat(rule, traits.shared === false || disconnect !== undefined, 'options.disconnect', undefined)
    },

    'counts down to the limit and then denies': async ({ store }) => {
      const seen: [boolean, number][] = []
      for (let call = 0; call < 7; call++) {
        const { allowed, remaining } = await store.consume(request())
        seen.push([allowed, remaining])
      }
      const expected = [4, 3, 2, 1, 0].map((remaining) => [true, remaining])
      expectEqual('remaining counts down, never below 0; the call after the last unit is denied', seen, [
        ...expected,
        [false, 0],
        [false, 0],
      ])
    },

    'members of a decision are in range': async ({ store }) => {
      for (let call = 0; call < 3; call++) {
        const of = request({ limit: 2, windowMs: shortMs })
        const { allowed, remaining, resetAtMs, retryAfterMs } = await store.consume(of)
        expectThat(
          'remaining is a whole number >= 0',
          Number.isSafeInteger(remaining) && remaining >= 0,
          '>= 0',
          remaining,
        )
        expectThat(
          'resetAtMs is in milliseconds since the epoch',
          Number.isSafeInteger(resetAtMs),
          'a whole number',
          resetAtMs,
        )
        if (allowed) expectEqual('retryAfterMs is 0 when allowed', retryAfterMs, 0)
        else {
          const inRange = Number.isSafeInteger(retryAfterMs) && retryAfterMs >= 1 && retryAfterMs <= shortMs
          expectThat(
            'retryAfterMs is a whole number from 1 to windowMs when denied',
            inRange,
            `1..${shortMs}`,
            retryAfterMs,
          )
        }
      }
    },

    '100 parallel calls never over-admit': async ({ store }) => {
      const single = await inParallel(store, 100, request({ key: 'single', limit: 10 }))
      expectEqual(
        'Every decision is one atomic step: 100 parallel calls for 10 units admit exactly 10',
        allowedIn(single),
        10,
      )
      const triple = await inParallel(store, 100, request({ key: 'triple', limit: 100, cost: 3 }))
      expectEqual('100 parallel calls of cost 3 for 100 units admit exactly 33', allowedIn(triple), 33)
      const { remaining } = await store.peek(request({ key: 'triple', limit: 100 }))
      expectEqual('What 33 calls of cost 3 leave of 100 units is 1, so a peek of cost 1 would leave 0', remaining, 0)
    },

    'a denied request takes no quota': async ({ store }) => {
      const costs = [3, 3, 3, 3, 1, 1]
      const seen: boolean[] = []
      for (const cost of costs) seen.push((await store.consume(request({ limit: 10, cost }))).allowed)
      expectEqual(`All or nothing: of 10 units, costs ${costs.join(', ')}`, seen, [
        true,
        true,
        true,
        false,
        true,
        false,
      ])
    },

    'a cost above the limit is denied and changes nothing': async ({ store }) => {
      const refused = await store.consume(request({ cost: 6 }))
      expectEqual('A cost above the limit is denied', refused.allowed, false)
      const inRange = refused.retryAfterMs >= 1 && refused.retryAfterMs <= longest
      expectThat('retryAfterMs stays within the window', inRange, `1..${longest}`, refused.retryAfterMs)
      await drain(store, request())
    },

    'a request that counts nothing whole is refused': async ({ store }) => {
      for (const wrong of [
        { cost: 0 },
        { cost: -1 },
        { cost: 1.5 },
        { cost: Number.NaN },
        { limit: 0 },
        { windowMs: 0 },
      ]) {
        for (const call of ['consume', 'peek'] as const) {
          const answer = await settle(() => store[call](request(wrong)))
          const named = `${call} of ${Object.entries(wrong).join()}`
          expectThat(
            `Less than 1, or no whole number, is refused: ${named}`,
            'thrown' in answer,
            'an exception',
            answer,
          )
        }
      }
      await drain(store, request())
    },

    'rules of one key with different windows count apart': async ({ store, pass }) => {
      const [lasting, passing] = [request(), request({ limit: 1000, windowMs: shortMs })]
      const rule = 'A call under one rule never shortens or lifts what another limits'
      const isDenied = async () => !(await store.consume(lasting)).allowed
      for (const order of ['the longer window first', 'the shorter window first']) {
        if (order === 'the longer window first') await drain(store, lasting)
        expectEqual(`${order}: the other rule has its own quota`, (await store.consume(passing)).allowed, true)
        if (order === 'the shorter window first') await drain(store, lasting)
        await store.consume(passing)
        expectEqual(`${rule}: ${order}, while both run`, await isDenied(), true)
        await pass(2 * shortMs + toleranceMs)
        await store.consume(passing)
        expectEqual(`${rule}: ${order}, when the shorter one is over`, await isDenied(), true)
        await store.reset(lasting.key)
      }
      await drain(store, lasting)
    },

    'keys do not touch each other': async ({ store }) => {
      for (const key of awkwardKeys) await drain(store, request({ key }))
      for (const key of awkwardKeys) {
        const { allowed } = await store.consume(request({ key }))
        expectEqual(`A drained key stays drained: ${JSON.stringify(key.slice(0, 20))}`, allowed, false)
      }
    },

    'peek takes nothing and answers like consume': async ({ store }) => {
      for (let call = 0; call < 6; call++) {
        const first = await store.peek(request({ limit: 4 }))
        const second = await store.peek(request({ limit: 4 }))
        const taken = await store.consume(request({ limit: 4 }))
        const told = ({ allowed, remaining }: RateLimitDecision) => ({ allowed, remaining })
        expectEqual('peek twice answers the same', told(second), told(first))
        expectEqual('consume answers what peek foretold', told(taken), told(first))
      }
    },

    'reset forgets one key': async ({ store }) => {
      await drain(store, request())
      await drain(store, request({ key: 'other' }))
      await store.reset('account:1')
      await store.reset('never seen')
      expectEqual('reset leaves other keys alone', (await store.consume(request({ key: 'other' }))).allowed, false)
      await drain(store, request())
    },

    'quota comes back': async ({ store, pass }) => {
      const of = request({ windowMs: shortMs })
      await drain(store, of)
      // A sliding window may remember its predecessor: two windows are enough for all.
      await pass((store.traits.algorithm === 'sliding-window' ? 2 : 1) * shortMs + toleranceMs)
      await drain(store, of)
    },

    'retryAfterMs keeps its word': async ({ store, pass }) => {
      const of = request({ limit: 3, windowMs: shortMs })
      await drain(store, of)
      if (ownTime === undefined) await pass(shortMs / 4 + 1)
      for (const cost of [1, 2]) {
        const waited = { ...of, cost }
        for (let denials = 0; ; denials++) {
          const decision = await store.consume(waited)
          if (decision.allowed) break
          expectEqual('After waiting retryAfterMs the same request passes', denials, 0)
          await pass(decision.retryAfterMs + toleranceMs)
        }
      }
    },

    'no key outlives its window by more than one purge': async ({ harness, store, pass }) => {
      const [lasting, passing] = [20, 500]
      for (let index = 0; index < lasting; index++) await store.consume(request({ key: `lasting:${index}` }))
      for (let index = 0; index < passing; index++) {
        await store.consume(request({ key: `passing:${index}`, windowMs: shortMs }))
      }
      // Where time passes by itself, the first of them may be gone before the last one comes.
      const certain = ownTime === undefined ? lasting + passing : lasting
      const held = await harness.entries()
      expectThat('entries() counts the keys that the store holds', held >= certain, `>= ${certain}`, held)
      await pass(2 * shortMs + toleranceMs)
      for (let call = 0; call < purgeCalls; call++) {
        await store.consume(request({ key: 'regular', limit: 2 * purgeCalls }))
        if (call % 64 === 0 && (await harness.entries()) === lasting + 1) return
      }
      const rule = `After ${purgeCalls} calls only the keys in use are left`
      expectEqual(rule, await harness.entries(), lasting + 1)
    },

    'a window longer than timers can count is kept': async ({ store }) => {
      const of = request({ windowMs: 30 * 86_400_000 })
      await drain(store, of)
      // Node.js timers above 24.8 days fire at once; this lets one fire.
      await new Promise((resolve) => setTimeout(resolve, 10))
      expectEqual('A window of 30 days is still running', (await store.consume(of)).allowed, false)
    },

    'an aborted call decides nothing late': async ({ store }) => {
      const context = { signal: AbortSignal.abort(new Error('too late')) }
      for (const call of ['consume', 'peek'] as const) {
        let inTime = false
        const answer = await settle(() => {
          const decision = store[call](request(), context)
          inTime = !(decision instanceof Promise)
          return decision
        })
        const held = inTime || 'thrown' in answer
        expectThat(
          `${call} with an aborted signal throws, unless it answers synchronously`,
          held,
          'an exception',
          answer,
        )
      }
    },
  }

  if (ownTime === undefined) {
    cases['decisions follow the algorithm'] = async ({ store }) => {
      const rounds = 40
      for (let round = 0; round < rounds; round++) await playSequence(create, store.traits.algorithm, seed + round)
    }
    cases['the wall clock going back changes nothing'] = async ({ store, clock }) => {
      const of = request({ windowMs: shortMs })
      await drain(store, of)
      clock.shiftWallClock(-24 * longest)
      expectEqual('A wall clock that goes back unlocks nothing', (await store.consume(of)).allowed, false)
      await clock.advance(2 * shortMs)
      expectEqual('and extends no window', (await store.consume(of)).allowed, true)
    }
  }

  if (disconnect !== undefined) {
    cases['a store that cannot answer throws in time'] = async ({ harness, store }) => {
      await disconnect(harness)
      for (const call of ['consume', 'peek'] as const) {
        const answer = await settle(() => store[call](request(), { signal: AbortSignal.timeout(100) }))
        expectThat(
          `Cut off, ${call} throws within the deadline; it never allows because it failed`,
          'thrown' in answer,
          'an exception',
          answer,
        )
      }
    }
  }

  return casesOver(world, cases)
}
