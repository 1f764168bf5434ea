import type { Clock, RateLimitDecision, RateLimitRequest, RateLimitStore } from '@plinth/kernel'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import { type CallTimeouts, expectEqual } from './conformance-case.ts'

type Awaitable<T> = T | Promise<T>

/** The objects that each case of the rate limit kit uses. */
export interface RateLimitCaseContext<Harness> {
  readonly harness: Harness
  readonly store: RateLimitStore
  /** A second instance that shares the units. For a store that is not shared, the same instance. */
  readonly other: RateLimitStore
  /** Controls the time of the store, unless the store has its own time. */
  readonly clock: ManualClock
  pass(ms: number): Promise<void>
  stop(): Promise<void>
}

/** Returns a store that freezes all requests, and whose calls fail if they do not end in time. */
export function withCallTimeouts(store: RateLimitStore, { answer }: CallTimeouts): RateLimitStore {
  const bounded = <T>(what: string, given: Awaitable<T>): Awaitable<T> =>
    given instanceof Promise ? answer(what, () => given) : given
  const { consumeAll, refund } = store
  return {
    get traits() {
      return store.traits
    },
    consume: (request, context) => bounded('consume', store.consume(Object.freeze({ ...request }), context)),
    peek: (request, context) => bounded('peek', store.peek(Object.freeze({ ...request }), context)),
    reset: (key, context) => bounded('reset', store.reset(key, context)),
    ...(refund === undefined
      ? {}
      : {
          refund: (request, context) => bounded('refund', refund.call(store, Object.freeze({ ...request }), context)),
        }),
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

/** Maximum window in milliseconds, except in cases that test longer windows. */
export const maxCaseWindowMs = 3_600_000

export const rateLimitRequest = (changes: Partial<RateLimitRequest> = {}): RateLimitRequest => ({
  key: 'account:1',
  limit: 5,
  windowMs: maxCaseWindowMs,
  cost: 1,
  ...changes,
})

/** Takes all units of a key in one call. */
export async function consumeWholeQuota(store: RateLimitStore, of: RateLimitRequest): Promise<void> {
  const decision = await store.consume({ ...of, cost: of.limit })
  expectEqual('A fresh key has its whole quota', [decision.allowed, decision.remaining], [true, 0])
}

/** Random choices. The same seed gives the same choices. */
interface Dice {
  /** Returns an integer from 0 to `sides` - 1. */
  roll(sides: number): number
  /** Returns a random item of a list. */
  pick<T>(items: readonly [T, ...T[]]): T
}

/** Returns the generator mulberry32, which is small and random enough for tests. */
export function createRandom(seed: number): Dice {
  let state = seed >>> 0
  const roll = (sides: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides)
  }
  return { roll, pick: (items) => items[roll(items.length)] ?? items[0] }
}

interface Playable {
  readonly store: RateLimitStore
  stop?(): void | Promise<void>
}

/** Makes a random sequence of calls to a new store. Compares each decision with the model of the algorithm. */
export async function compareRandomSequence(
  create: (clock: Clock) => Playable | Promise<Playable>,
  algorithm: RateLimitStore['traits']['algorithm'],
  seed: number,
): Promise<void> {
  const clock = manualClock()
  const harness = await create(clock)
  const { store } = harness
  const model = new rateLimitModels[algorithm]()
  const { roll, pick } = createRandom(seed)
  // Two rules use the key "a", to test that a store counts the units of each rule separately.
  const keys = ['a', 'a', 'b', 'c'].map((key) => ({ key, limit: 1 + roll(12), windowMs: pick([1, 7, 1000, 60_000]) }))
  const steps: string[] = []
  try {
    for (let step = 0; step < 80; step++) {
      const { key, limit, windowMs } = keys[roll(keys.length)] ?? { key: 'a', limit: 1, windowMs: 1 }
      const choice = roll(100)
      if (choice < 20) {
        const ms = pick([
          1,
          Math.ceil(windowMs / 2),
          Math.max(1, windowMs - 1),
          windowMs,
          windowMs + 1,
          1 + roll(2 * windowMs),
        ])
        steps.push(`+${ms} ms`)
        await clock.advance(ms)
      } else if (choice < 25) {
        steps.push(`reset ${key}`)
        model.reset(key)
        await store.reset(key)
      } else {
        const take = choice < 85
        const of = { key, limit, windowMs, cost: roll(10) === 0 ? limit + 1 : 1 + roll(limit) }
        steps.push(`${take ? 'consume' : 'peek'} ${of.cost} of ${limit} in ${windowMs} ms for ${key}`)
        const expected = model.decide(of, clock.now(), take)
        const decision = take ? await store.consume(of) : await store.peek(of)
        const rule = `${algorithm}: every decision is what the algorithm says (seed ${seed}; ${steps.slice(-8).join('; ')})`
        expectEqual(rule, decision, { ...decision, ...expected })
        if (take && decision.allowed) model.admitted(of, clock.now())
      }
    }
  } finally {
    await harness.stop?.()
  }
}

/** The expected decision. A property that is absent may have any valid value. */
type ExpectedDecision = Partial<RateLimitDecision>

/** Reference implementation of one algorithm. It is simple and slow, and never removes old data. */
interface RateLimitModel {
  /** Decides about a request at the time `nowMs`. If `take` is true, also takes the units. */
  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision
  reset(key: string): void
  /** Records units that the store allowed. Needed by a model that does not know the exact decision. */
  admitted(request: RateLimitRequest, nowMs: number): void
}

/** State by key and by a second value, such as the window. */
class StateByKey<T> {
  readonly #byKey = new Map<string, Map<string, T>>()

  get({ key }: RateLimitRequest, part: unknown): T | undefined {
    return this.#byKey.get(key)?.get(String(part))
  }

  set({ key }: RateLimitRequest, part: unknown, value: T): void {
    const parts = this.#byKey.get(key) ?? new Map<string, T>()
    this.#byKey.set(key, parts.set(String(part), value))
  }

  delete(key: string): void {
    this.#byKey.delete(key)
  }
}

/**
 * A window starts with the first request and is never extended. Windows of different lengths are counted separately.
 */
class FixedWindow implements RateLimitModel {
  readonly #windows = new StateByKey<{ readonly endMs: number; used: number }>()

  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision {
    const { limit, windowMs, cost } = request
    const running = this.#windows.get(request, windowMs)
    const window = running && running.endMs > nowMs ? running : { endMs: nowMs + windowMs, used: 0 }
    // Rules with different limits share a window, so more units than this limit may already be used.
    const remaining = Math.max(0, limit - window.used)
    if (cost > limit) return { allowed: false, remaining }
    if (cost > remaining) {
      return { allowed: false, remaining, resetAtMs: window.endMs, retryAfterMs: window.endMs - nowMs }
    }
    if (take) {
      window.used += cost
      this.#windows.set(request, windowMs, window)
    }
    return { allowed: true, remaining: remaining - cost, resetAtMs: window.endMs, retryAfterMs: 0 }
  }

  reset(key: string): void {
    this.#windows.delete(key)
  }

  admitted(): void {}
}

/** A bucket starts full and refills evenly. Levels are units multiplied by milliseconds, so that they stay integers. */
class TokenBucket implements RateLimitModel {
  readonly #buckets = new StateByKey<{ atMs: number; level: number }>()

  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision {
    const { limit, windowMs, cost } = request
    const rule = `${limit} in ${windowMs}`
    const capacity = limit * windowMs
    const bucket = this.#buckets.get(request, rule) ?? { atMs: nowMs, level: capacity }
    const level = Math.min(capacity, bucket.level + (nowMs - bucket.atMs) * limit)
    const price = cost * windowMs
    if (price > level) {
      const remaining = Math.floor(level / windowMs)
      if (cost > limit) return { allowed: false, remaining }
      return { allowed: false, remaining, retryAfterMs: Math.ceil((price - level) / limit) }
    }
    if (take) this.#buckets.set(request, rule, { atMs: nowMs, level: level - price })
    return { allowed: true, remaining: Math.floor((level - price) / windowMs), retryAfterMs: 0 }
  }

  reset(key: string): void {
    this.#buckets.delete(key)
  }

  admitted(): void {}
}

/**
 * Implementations of sliding windows differ in precision, so this model only checks two bounds: no interval of one
 * window length contains more units than the limit, and after two windows without requests all units are available
 * again.
 */
class SlidingWindow implements RateLimitModel {
  readonly #hits = new StateByKey<{ readonly atMs: number; readonly cost: number }[]>()

  decide(request: RateLimitRequest, nowMs: number): ExpectedDecision {
    const { limit, windowMs, cost } = request
    const used = (spanMs: number) =>
      (this.#hits.get(request, windowMs) ?? [])
        .filter((hit) => hit.atMs > nowMs - spanMs)
        .reduce((sum, hit) => sum + hit.cost, 0)
    if (cost > limit - used(windowMs)) return { allowed: false }
    return used(2 * windowMs) === 0 ? { allowed: true, remaining: limit - cost } : {}
  }

  reset(key: string): void {
    this.#hits.delete(key)
  }

  admitted(request: RateLimitRequest, nowMs: number): void {
    const { windowMs, cost } = request
    this.#hits.set(request, windowMs, [...(this.#hits.get(request, windowMs) ?? []), { atMs: nowMs, cost }])
  }
}

export const rateLimitModels: Readonly<Record<RateLimitStore['traits']['algorithm'], new () => RateLimitModel>> = {
  'fixed-window': FixedWindow,
  'token-bucket': TokenBucket,
  'sliding-window': SlidingWindow,
}
