import type { Clock, RateLimitDecision, RateLimitRequest, RateLimitStore, StoreContext } from '@plinth/kernel'
import { manualClock } from '../testing/manual-clock.ts'
import {
  type CaseBodies,
  type ConformanceCase,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectEqual,
  expectThat,
  waitForLateEffects,
} from './conformance-case.ts'
import {
  compareRandomSequence,
  consumeWholeQuota,
  maxCaseWindowMs,
  type RateLimitCaseContext,
  rateLimitModels,
  rateLimitRequest,
  withCallTimeouts,
} from './rate-limit-model.ts'
import { realTimeCases } from './rate-limit-own-time-cases.ts'
import { keyCases, timeCases } from './rate-limit-time-cases.ts'

export interface RateLimitStoreHarness {
  readonly store: RateLimitStore
  /** A second instance that shares the units, as in another process. Required for a shared store. */
  readonly other?: RateLimitStore
  /** Returns the number of keys that the store contains. */
  entries(): number | Promise<number>
  stop?(): void | Promise<void>
}

export interface RateLimitStoreCaseOptions<Harness extends RateLimitStoreHarness> extends ConformanceLimits {
  /**
   * Only for a store with its own time, such as the time of a server. `pass` waits until this time has passed. The
   * cases wait less than two seconds at a time.
   */
  readonly ownTime?: {
    pass(ms: number): Promise<void>
    /** Maximum error of the times in decisions, in milliseconds. */
    readonly toleranceMs: number
  }
  /**
   * Disconnects the store from its server. Omit it only for a store that needs no server (`traits.shared` is false).
   */
  readonly disconnect?: (harness: Harness) => void | Promise<void>
  /** Maximum number of calls until the store has removed expired keys. Default: 4096. */
  readonly purgeCalls?: number
  /** Seed of the random sequences. The default is constant, so that failures can be repeated. */
  readonly seed?: number
}

/** Returns a context that announces its deadline only through `onEnd`. */
function endsSoon(): StoreContext {
  const endsAt = performance.now() + 100
  return {
    signal: new AbortController().signal,
    isOver: () => performance.now() >= endsAt,
    onEnd: (giveUp) => {
      const timer = setTimeout(giveUp, endsAt - performance.now(), new Error('the time is over'))
      return () => clearTimeout(timer)
    },
  }
}

/** A date in 2001 in milliseconds. Used to detect stores that return seconds since the epoch. */
const minEpochMs = 1_000_000_000_000

/**
 * Returns test cases for the contract of `RateLimitStore`.
 *
 * @param create returns an empty store that uses the given clock and shares no data with other stores
 */
export function rateLimitStoreCases<Harness extends RateLimitStoreHarness>(
  create: (clock: Clock) => Harness | Promise<Harness>,
  options: RateLimitStoreCaseOptions<Harness> = {},
): ConformanceCase[] {
  const { ownTime, disconnect, purgeCalls = 4096, seed = 20_260_101 } = options
  const toleranceMs = ownTime?.toleranceMs ?? 0
  /** A window in milliseconds that is short enough for a real wait. */
  const shortMs = ownTime === undefined ? 60_000 : 300

  const bounds = createCallTimeouts(options)
  const { settle, answer } = bounds
  async function world(): Promise<RateLimitCaseContext<Harness>> {
    const clock = manualClock()
    const harness = await create(clock)
    const pass = async (ms: number) => (ownTime === undefined ? clock.advance(ms) : ownTime.pass(ms))
    const store = withCallTimeouts(harness.store, bounds)
    const other = harness.other === undefined ? store : withCallTimeouts(harness.other, bounds)
    return { harness, store, other, clock, pass, stop: async () => harness.stop?.() }
  }
  const inParallel = ({ store, other }: RateLimitCaseContext<Harness>, times: number, of: RateLimitRequest) =>
    Promise.all(
      Array.from({ length: times }, (_, call) => Promise.resolve().then(() => (call % 2 ? other : store).consume(of))),
    )
  const allowedIn = (decisions: readonly RateLimitDecision[]) => decisions.filter(({ allowed }) => allowed).length
  const entries = (harness: Harness) => answer('entries() of the harness', () => harness.entries())

  const cases: CaseBodies<RateLimitCaseContext<Harness>> = {
    'traits say how it counts': [
      'Declare traits.shared and traits.algorithm. A shared store is tested over two instances (harness.other) and cut off (options.disconnect).',
      ({ store, harness }) => {
        const traits: Partial<RateLimitStore['traits']> = store.traits ?? {}
        expectEqual('traits.shared is a boolean', typeof traits.shared, 'boolean')
        const known = Object.keys(rateLimitModels)
        const expected = `one of ${known.join(', ')}`
        expectThat(
          'traits.algorithm is a known one',
          known.includes(traits.algorithm ?? ''),
          expected,
          traits.algorithm,
        )
        const rule = 'A shared store can be cut off: the kit needs `options.disconnect`'
        expectThat(rule, traits.shared === false || disconnect !== undefined, 'options.disconnect', undefined)
        const another = 'A shared store is proven over two instances: the kit needs `other` in the harness'
        expectThat(another, traits.shared === false || harness.other !== undefined, 'harness.other', undefined)
      },
    ],

    'returns units that turned out not to be needed': [
      'A store with `refund` gives back at most the units that are used in the active window, and of that window only.',
      async ({ store, other }) => {
        if (store.refund === undefined) return
        await store.refund(rateLimitRequest())
        for (let call = 0; call < 5; call++) await store.consume(rateLimitRequest())
        expectEqual('a used quota denies', (await store.consume(rateLimitRequest())).allowed, false)
        await other.refund?.(rateLimitRequest({ cost: 2 }))
        await store.refund(rateLimitRequest({ windowMs: 1_800_000 }))
        await store.refund(rateLimitRequest({ key: 'account:2' }))
        expectEqual('two units are free again', (await store.peek(rateLimitRequest())).remaining, 1)
        await store.refund(rateLimitRequest({ cost: 100 }))
        const { allowed, remaining } = await store.consume(rateLimitRequest())
        expectEqual('never more than the limit', [allowed, remaining], [true, 4])
      },
    ],

    'counts down to the limit and then denies': [
      'Admit while used + cost <= limit, and answer what is left after the decision.',
      async ({ store }) => {
        const seen: [boolean, number][] = []
        for (let call = 0; call < 7; call++) {
          const { allowed, remaining } = await store.consume(rateLimitRequest())
          seen.push([allowed, remaining])
        }
        const expected = [4, 3, 2, 1, 0].map((remaining) => [true, remaining])
        expectEqual('remaining counts down, never below 0; the call after the last unit is denied', seen, [
          ...expected,
          [false, 0],
          [false, 0],
        ])
      },
    ],

    'members of a decision are in range': [
      'Give whole numbers of milliseconds: resetAtMs since the epoch, retryAfterMs from 1 to windowMs for a denial and 0 otherwise.',
      async ({ store }) => {
        for (let call = 0; call < 3; call++) {
          const of = rateLimitRequest({ limit: 2, windowMs: shortMs })
          const { allowed, remaining, resetAtMs, retryAfterMs } = await store.consume(of)
          expectThat(
            'remaining is a whole number >= 0',
            Number.isSafeInteger(remaining) && remaining >= 0,
            '>= 0',
            remaining,
          )
          expectThat(
            'resetAtMs is in milliseconds since the epoch',
            Number.isSafeInteger(resetAtMs) && resetAtMs > minEpochMs,
            'a whole number of milliseconds after 2001; seconds are a thousandth of it',
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
    ],

    '100 parallel calls never over-admit': [
      'Read, judge and write in one atomic step: a script, one conditional UPDATE, or no await between them.',
      async (world) => {
        const single = await inParallel(world, 100, rateLimitRequest({ key: 'single', limit: 10 }))
        expectEqual(
          'Every decision is one atomic step: 100 parallel calls for 10 units admit exactly 10',
          allowedIn(single),
          10,
        )
        const triple = await inParallel(world, 100, rateLimitRequest({ key: 'triple', limit: 100, cost: 3 }))
        expectEqual('100 parallel calls of cost 3 for 100 units admit exactly 33', allowedIn(triple), 33)
        const { remaining } = await world.store.peek(rateLimitRequest({ key: 'triple', limit: 100 }))
        expectEqual('What 33 calls of cost 3 leave of 100 units is 1, so a peek of cost 1 would leave 0', remaining, 0)
      },
    ],

    'a denied request takes no quota': [
      'Judge first and take afterwards; write nothing for a denial.',
      async ({ store }) => {
        const costs = [3, 3, 3, 3, 1, 1]
        const seen: boolean[] = []
        for (const cost of costs) seen.push((await store.consume(rateLimitRequest({ limit: 10, cost }))).allowed)
        expectEqual(`All or nothing: of 10 units, costs ${costs.join(', ')}`, seen, [
          true,
          true,
          true,
          false,
          true,
          false,
        ])
      },
    ],

    'a cost above the limit is denied and changes nothing': [
      'Deny it with a retryAfterMs within the window; nobody waits for it.',
      async ({ store }) => {
        const rejected = await store.consume(rateLimitRequest({ cost: 6 }))
        expectEqual('A cost above the limit is denied', rejected.allowed, false)
        const inRange = rejected.retryAfterMs >= 1 && rejected.retryAfterMs <= maxCaseWindowMs
        expectThat('retryAfterMs stays within the window', inRange, `1..${maxCaseWindowMs}`, rejected.retryAfterMs)
        await consumeWholeQuota(store, rateLimitRequest())
      },
    ],

    'a request that counts nothing whole is refused': [
      'Begin consume and peek with checkRateLimitRequest(request).',
      async ({ store }) => {
        const nonsense = [{ cost: 0 }, { cost: -1 }, { cost: 1.5 }, { cost: Number.NaN }, { limit: 0 }, { windowMs: 0 }]
        for (const wrong of nonsense) {
          for (const call of ['consume', 'peek'] as const) {
            const answer = await settle(() => store[call](rateLimitRequest(wrong)))
            const rule = `Less than 1, or no whole number, is refused: ${call} of ${Object.entries(wrong).join()}`
            expectThat(rule, 'thrown' in answer, 'an exception', answer)
          }
        }
        await consumeWholeQuota(store, rateLimitRequest())
      },
    ],

    'peek takes nothing and answers like consume': [
      'Let peek run the same decision and write nothing.',
      async ({ store }) => {
        for (let call = 0; call < 6; call++) {
          const first = await store.peek(rateLimitRequest({ limit: 4 }))
          const second = await store.peek(rateLimitRequest({ limit: 4 }))
          const taken = await store.consume(rateLimitRequest({ limit: 4 }))
          const reported = ({ allowed, remaining }: RateLimitDecision) => ({ allowed, remaining })
          expectEqual('peek twice answers the same', reported(second), reported(first))
          expectEqual('consume answers what peek foretold', reported(taken), reported(first))
        }
      },
    ],

    'an aborted call decides nothing late': [
      'Look at context.signal before the decision is made and throw its reason; then nothing may be taken.',
      async ({ harness, store }) => {
        const context = { signal: AbortSignal.abort(new Error('too late')) }
        for (const call of ['consume', 'peek'] as const) {
          let inTime = false
          const answer = await settle(() => {
            const decision = harness.store[call](rateLimitRequest(), context)
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
          if (inTime) return
        }
        await waitForLateEffects()
        await consumeWholeQuota(store, rateLimitRequest())
      },
    ],

    'a decision stays as it was given': [
      'Answer a new object for each call, and keep none of the objects of the caller.',
      async ({ store }) => {
        const first = await store.consume(rateLimitRequest())
        const copy = { ...first }
        await store.consume(rateLimitRequest({ key: 'other', limit: 1 }))
        await store.consume(rateLimitRequest({ cost: 5 }))
        expectEqual('Later calls change nothing in an earlier decision', first, copy)
      },
    ],

    ...keyCases(),
    ...timeCases({ hasOwnTime: ownTime !== undefined, toleranceMs, shortMs, purgeCalls, entries }),
    ...(ownTime === undefined ? {} : realTimeCases(toleranceMs, seed)),
  }

  const sequences: CaseBodies<RateLimitCaseContext<Harness>> = {
    'decisions follow the algorithm': [
      'Declare the algorithm that you implement; see RateLimitStore.traits.',
      async ({ store }) => {
        const play = async (clock: Clock) => {
          const harness = await create(clock)
          return { store: withCallTimeouts(harness.store, bounds), stop: () => harness.stop?.() }
        }
        for (let round = 0; round < 40; round++) await compareRandomSequence(play, store.traits.algorithm, seed + round)
      },
    ],
  }

  const cutOff: CaseBodies<RateLimitCaseContext<Harness>> = {
    'a store that cannot answer throws in time': [
      'Pass context.signal to what you wait for, and let the failure out.',
      async ({ harness }) => {
        await disconnect?.(harness)
        for (const call of ['consume', 'peek'] as const) {
          const context = { signal: AbortSignal.timeout(100) }
          const answer = await settle(() => harness.store[call](rateLimitRequest(), context))
          const rule = `Cut off, ${call} throws within the deadline; it never allows because it failed`
          expectThat(rule, 'thrown' in answer, 'an exception', answer)
          if (harness.store.traits.endsCalls !== true) continue
          const ended = await settle(() => harness.store[call](rateLimitRequest(), endsSoon()))
          const own = `traits.endsCalls: cut off, ${call} throws when context.onEnd calls back, also without the signal`
          expectThat(own, 'thrown' in ended, 'an exception', ended)
        }
      },
    ],
  }

  const bodies = {
    ...cases,
    ...(ownTime === undefined ? sequences : {}),
    ...(disconnect === undefined ? {} : cutOff),
  }
  return createCases(world, bodies, options)
}
