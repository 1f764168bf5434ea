import type { RateLimitRequest, RateLimitStore } from '../contracts/rate-limit-store.ts'
import type { ManualClock } from '../testing/manual-clock.ts'
import { expectEqual, type Patience } from './conformance-case.ts'

type Awaitable<T> = T | Promise<T>

/** The objects for each case of the rate limit kit. */
export interface RateLimitWorld<Harness> {
  readonly harness: Harness
  readonly store: RateLimitStore
  /** Another instance with the same quota; the same instance for a store that is not shared. */
  readonly other: RateLimitStore
  /** Controls the time of the store, unless it has a time of its own. */
  readonly clock: ManualClock
  pass(ms: number): Promise<void>
  stop(): Promise<void>
}

/** Returns a store whose calls end within the patience of the kit, and which receives frozen requests. */
export function boundedStore(store: RateLimitStore, { answer }: Patience): RateLimitStore {
  const bounded = <T>(what: string, given: Awaitable<T>): Awaitable<T> =>
    given instanceof Promise ? answer(what, () => given) : given
  const { consumeAll } = store
  return {
    get traits() {
      return store.traits
    },
    consume: (request, context) => bounded('consume', store.consume(Object.freeze({ ...request }), context)),
    peek: (request, context) => bounded('peek', store.peek(Object.freeze({ ...request }), context)),
    reset: (key, context) => bounded('reset', store.reset(key, context)),
    ...(consumeAll === undefined
      ? {}
      : {
          consumeAll: (requests, context) => {
            const frozen = Object.freeze(requests.map((request) => Object.freeze({ ...request })))
            return bounded('consumeAll', consumeAll.call(store, frozen, context))
          },
        }),
  }
}

/** The longest window of the cases, except in cases about length. */
export const maxMs = 3_600_000

export const rateLimitRequest = (changes: Partial<RateLimitRequest> = {}): RateLimitRequest => ({
  key: 'account:1',
  limit: 5,
  windowMs: maxMs,
  cost: 1,
  ...changes,
})

/** Takes the whole quota in one call. */
export async function drain(store: RateLimitStore, of: RateLimitRequest): Promise<void> {
  const decision = await store.consume({ ...of, cost: of.limit })
  expectEqual('A fresh key has its whole quota', [decision.allowed, decision.remaining], [true, 0])
}
