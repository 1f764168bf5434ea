import type { RateLimitStore } from '../contracts/rate-limit-store.ts'
import { manualClock } from '../testing/manual-clock.ts'
import type { Clock } from '../time/clock.ts'
import { expectEqual } from './conformance-case.ts'
import { rateLimitModels } from './rate-limit-model.ts'

/** Random choices that the same seed repeats exactly. */
interface Dice {
  /** A whole number from 0 to `sides` - 1. */
  roll(sides: number): number
  /** One of the items; the list is not empty. */
  pick<T>(items: readonly [T, ...T[]]): T
}

/** The mulberry32 generator: small, and good enough to choose test steps. */
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

/** Plays one random sequence of calls on a new store and compares every decision with the model of its algorithm. */
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
  // Two rules on one key: neither may change what the other limits.
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
