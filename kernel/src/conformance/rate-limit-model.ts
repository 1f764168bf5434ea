import type { RateLimitDecision, RateLimitRequest, RateLimitStore } from '../contracts/rate-limit-store.ts'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import type { Clock } from '../time/clock.ts'
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

/** Random choices that are the same for the same seed. */
interface Dice {
  /** Returns an integer from 0 to `sides` - 1. */
  roll(sides: number): number
  /** Returns one of the items; the list must not be empty. */
  pick<T>(items: readonly [T, ...T[]]): T
}

/** The mulberry32 generator: small, and sufficient for test steps. */
export function dice(seed: number): Dice {
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

/** Runs one random sequence of calls on a new store and compares every decision with the model of its algorithm. */
export async function playSequence(
  create: (clock: Clock) => Playable | Promise<Playable>,
  algorithm: RateLimitStore['traits']['algorithm'],
  seed: number,
): Promise<void> {
  const clock = manualClock()
  const harness = await create(clock)
  const { store } = harness
  const model = new rateLimitModels[algorithm]()
  const { roll, pick } = dice(seed)
  // Two rules on one key: neither may affect the other.
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

/** The expected decision; absent properties may have any value in range. */
type ExpectedDecision = Partial<RateLimitDecision>

/** Reference for one algorithm, with which stores are compared. Implementations are simple, slow and never purge. */
interface RateLimitModel {
  /** Decides at `nowMs` and, if `take` is set, stores the decision. */
  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision
  reset(key: string): void
  /** Records units that the store admitted. The model needs them when it accepts both decisions. */
  admitted(request: RateLimitRequest, nowMs: number): void
}

/** State by key and window. */
class Held<T> {
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

/** The window starts with the first hit and is never extended; windows of different lengths are counted separately. */
class FixedWindow implements RateLimitModel {
  readonly #windows = new Held<{ readonly endMs: number; used: number }>()

  decide(request: RateLimitRequest, nowMs: number, take: boolean): ExpectedDecision {
    const { limit, windowMs, cost } = request
    const running = this.#windows.get(request, windowMs)
    const window = running && running.endMs > nowMs ? running : { endMs: nowMs + windowMs, used: 0 }
    // Rules with different limits share a window, so more units may be used than this rule allows.
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

/** A bucket starts full and refills evenly. Levels are in units times milliseconds, so that no level is rounded. */
class TokenBucket implements RateLimitModel {
  readonly #buckets = new Held<{ atMs: number; level: number }>()

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
 * Sliding windows differ in precision, so this model only checks the bounds: no interval of the window's length admits
 * more than the limit, and after two idle windows the whole quota is available again.
 */
class SlidingWindow implements RateLimitModel {
  readonly #hits = new Held<{ readonly atMs: number; readonly cost: number }[]>()

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
