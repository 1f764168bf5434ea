import type { Clock, RateLimitRequest, RateLimitStore } from '@plinth/kernel'
import { manualClock } from '../testing/manual-clock.ts'
import {
  type CaseBodies,
  type ConformanceCase,
  ConformanceError,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectEqual,
  expectThat,
} from './conformance-case.ts'
import { withCallTimeouts } from './rate-limit-model.ts'
import type { RateLimitStoreHarness } from './rate-limit-store-cases.ts'

export interface RateLimitJointOptions<Harness extends RateLimitStoreHarness> extends ConformanceLimits {
  /**
   * Disconnects the store from its server. Omit it only for a store that needs no server (`traits.shared` is false).
   */
  readonly disconnect?: (harness: Harness) => void | Promise<void>
}

const windowMs = 3_600_000

/**
 * Returns test cases for the optional method `RateLimitStore.consumeAll`. In these cases the time does not change.
 *
 * @param create returns an empty store that shares no data with other stores
 */
export function rateLimitJointCases<Harness extends RateLimitStoreHarness>(
  create: (clock: Clock) => Harness | Promise<Harness>,
  options: RateLimitJointOptions<Harness> = {},
): ConformanceCase[] {
  const { disconnect } = options
  const bounds = createCallTimeouts(options)
  const { settle } = bounds
  async function world() {
    const harness = await create(manualClock())
    const store = withCallTimeouts(harness.store, bounds)
    const consumeAll: NonNullable<RateLimitStore['consumeAll']> = (requests, context) => {
      if (store.consumeAll !== undefined) return store.consumeAll(requests, context)
      throw new ConformanceError('These cases are for stores that have consumeAll', 'a function', undefined)
    }
    return { harness, store, consumeAll, stop: async () => harness.stop?.() }
  }
  type World = Awaited<ReturnType<typeof world>>

  const request = (key: string, limit: number, cost = 1): RateLimitRequest => ({ key, limit, windowMs, cost })
  /** Returns the units of a key that are left. */
  const left = async (store: RateLimitStore, key: string, limit: number) => {
    const { allowed, remaining } = await store.peek(request(key, limit))
    return allowed ? remaining + 1 : remaining
  }

  const cases: CaseBodies<World> = {
    'joint: takes all when all pass, and answers in order': [
      'Decide as consume would, in the order of the requests.',
      async ({ consumeAll }) => {
        const requests = [request('account', 5), request('address', 20, 3), request('product', 100, 10)]
        const reported = async () => (await consumeAll(requests)).map(({ allowed, remaining }) => [allowed, remaining])
        expectEqual('Each decision is what consume alone would answer', await reported(), [
          [true, 4],
          [true, 17],
          [true, 90],
        ])
        expectEqual('What was taken stays taken', await reported(), [
          [true, 3],
          [true, 14],
          [true, 80],
        ])
        expectEqual('No requests, no decisions', await consumeAll([]), [])
      },
    ],

    'joint: takes nothing when one is denied': [
      'Judge all requests first; take either all costs or none.',
      async ({ store, consumeAll }) => {
        await store.consume(request('address', 20, 18))
        for (let call = 0; call < 3; call++) {
          const decisions = await consumeAll([
            request('account', 5),
            request('address', 20, 3),
            request('product', 100),
          ])
          expectEqual(
            'allowed says which request alone could pass',
            decisions.map(({ allowed }) => allowed),
            [true, false, true],
          )
          expectEqual(
            'remaining is what is left untouched',
            decisions.map(({ remaining }) => remaining),
            [5, 2, 100],
          )
          for (const { allowed, retryAfterMs } of decisions) {
            if (allowed) expectEqual('retryAfterMs is 0 when allowed', retryAfterMs, 0)
            else {
              const inRange = Number.isSafeInteger(retryAfterMs) && retryAfterMs >= 1 && retryAfterMs <= windowMs
              expectThat('retryAfterMs is from 1 to windowMs when denied', inRange, `1..${windowMs}`, retryAfterMs)
            }
          }
        }
        expectEqual('A denied call takes nothing of the others', await left(store, 'account', 5), 5)
        expectEqual('nor of the one that denied', await left(store, 'address', 20), 2)
      },
    ],

    'joint: a cost above its limit denies all and takes nothing': [
      'Judge all requests first; take either all costs or none.',
      async ({ store, consumeAll }) => {
        const decisions = await consumeAll([request('account', 5), request('address', 2, 3)])
        expectEqual(
          'Denied',
          decisions.map(({ allowed }) => allowed),
          [true, false],
        )
        expectEqual('The first one keeps its quota', await left(store, 'account', 5), 5)
        expectEqual('The second one keeps its quota', await left(store, 'address', 2), 2)
      },
    ],

    'joint: 100 parallel calls never over-admit and never take in vain': [
      'Judge and take all requests in one atomic step, and lock keys in one order.',
      async ({ store, consumeAll }) => {
        const calls = Array.from({ length: 100 }, (_, call) =>
          Promise.resolve().then(() => {
            const requests = [request('address', 30), request('account', 7)]
            // Half of the calls use the reverse order of keys. A store that locks keys in the given order would now
            // block.
            return consumeAll(call % 2 === 0 ? requests : requests.toReversed())
          }),
        )
        const admitted = (await Promise.all(calls)).filter((decisions) => decisions.every(({ allowed }) => allowed))
        expectEqual('100 parallel calls for 7 and 30 units admit exactly 7', admitted.length, 7)
        expectEqual('The 93 that were denied took nothing', await left(store, 'address', 30), 23)
      },
    ],

    'joint: an aborted call decides nothing late': [
      'Look at context.signal before the decision is made and throw its reason.',
      async ({ harness, store }) => {
        let inTime = false
        const response = await settle(() => {
          const context = { signal: AbortSignal.abort(new Error('too late')) }
          const decisions = harness.store.consumeAll?.([request('account', 5)], context)
          inTime = !(decisions instanceof Promise)
          return decisions
        })
        expectThat(
          'It throws, unless it answers synchronously',
          inTime || 'thrown' in response,
          'an exception',
          response,
        )
        if ('thrown' in response) expectEqual('What was not sent takes nothing', await left(store, 'account', 5), 5)
      },
    ],
  }

  const cutOff: CaseBodies<World> = {
    'joint: a store that cannot answer throws in time': [
      'Pass context.signal to what you wait for, and let the failure out.',
      async ({ harness }) => {
        await disconnect?.(harness)
        const context = { signal: AbortSignal.timeout(100) }
        const response = await settle(() => harness.store.consumeAll?.([request('account', 5)], context))
        expectThat('Cut off, it throws within the deadline', 'thrown' in response, 'an exception', response)
      },
    ],
  }

  return createCases(world, { ...cases, ...(disconnect === undefined ? {} : cutOff) }, options)
}
