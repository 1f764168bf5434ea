import { type CaseBodies, expectEqual, expectThat } from './conformance-case.ts'
import { consumeWholeQuota, maxCaseWindowMs, type RateLimitCaseContext, rateLimitRequest } from './rate-limit-model.ts'

/** Keys that stores often confuse with each other or corrupt. */
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
  `${'k'.repeat(600)}x`,
  'a ',
]

/** Returns test cases about keys: different keys must be counted separately, and `reset` must remove only one key. */
export function keyCases<Harness>(): CaseBodies<RateLimitCaseContext<Harness>> {
  return {
    'keys do not touch each other': [
      'Use the whole key as it is: no trimming, folding of case, cutting, or object with a prototype, and a collation that compares bytes.',
      async ({ store }) => {
        for (const key of awkwardKeys) await consumeWholeQuota(store, rateLimitRequest({ key }))
        for (const key of awkwardKeys) {
          const { allowed } = await store.consume(rateLimitRequest({ key }))
          expectEqual(
            `A drained key stays drained: ${JSON.stringify(key.slice(0, 20))}, ${key.length} characters`,
            allowed,
            false,
          )
        }
      },
    ],

    'reset forgets one key': [
      'Remove exactly this key, and accept one that was never seen.',
      async ({ store, other }) => {
        await consumeWholeQuota(store, rateLimitRequest())
        await consumeWholeQuota(store, rateLimitRequest({ key: 'other' }))
        await consumeWholeQuota(store, rateLimitRequest({ key: 'account:10' }))
        await other.reset('account:1')
        await store.reset('never seen')
        const { allowed } = await store.consume(rateLimitRequest({ key: 'account:10' }))
        expectEqual('reset leaves keys alone that begin with the same text', allowed, false)
        expectEqual(
          'reset leaves other keys alone',
          (await store.consume(rateLimitRequest({ key: 'other' }))).allowed,
          false,
        )
        await consumeWholeQuota(store, rateLimitRequest())
      },
    ],
  }
}

/** How time passes in the cases. */
interface Timing<Harness> {
  /** True if the store has its own time, so that the cases wait in real time. */
  readonly hasOwnTime: boolean
  readonly toleranceMs: number
  /** A window in milliseconds that is short enough for a real wait. */
  readonly shortMs: number
  readonly purgeCalls: number
  entries(harness: Harness): Promise<number>
}

/** Returns test cases in which time passes, for stores with and without their own time. */
export function timeCases<Harness>(timing: Timing<Harness>): CaseBodies<RateLimitCaseContext<Harness>> {
  const { hasOwnTime, toleranceMs, shortMs, purgeCalls, entries } = timing
  const injected: CaseBodies<RateLimitCaseContext<Harness>> = {
    'the wall clock going back changes nothing': [
      'Measure windows with clock.monotonic(), and use clock.now() for resetAtMs alone.',
      async ({ store, clock }) => {
        const of = rateLimitRequest({ windowMs: shortMs })
        await consumeWholeQuota(store, of)
        clock.shiftWallClock(-24 * maxCaseWindowMs)
        expectEqual('A wall clock that goes back unlocks nothing', (await store.consume(of)).allowed, false)
        await clock.advance(2 * shortMs)
        expectEqual('and extends no window', (await store.consume(of)).allowed, true)
      },
    ],
  }
  return {
    'quota comes back': [
      'Keep windowMs in milliseconds and drop what has ended when a key is looked at, not only in a purge.',
      async ({ store, pass }) => {
        const of = rateLimitRequest({ windowMs: shortMs })
        await consumeWholeQuota(store, of)
        // A sliding window may also count the previous window, so all its units are available only after two windows.
        await pass((store.traits.algorithm === 'sliding-window' ? 2 : 1) * shortMs + toleranceMs)
        await consumeWholeQuota(store, of)
      },
    ],

    'rules of one key with different windows count apart': [
      'Keep one count for each key and window, never one that the window of the request changes.',
      async ({ store, pass }) => {
        const [lasting, passing] = [rateLimitRequest(), rateLimitRequest({ limit: 1000, windowMs: shortMs })]
        const rule = 'A call under one rule never shortens or lifts what another limits'
        const isDenied = async () => !(await store.consume(lasting)).allowed
        for (const order of ['the longer window first', 'the shorter window first']) {
          if (order === 'the longer window first') await consumeWholeQuota(store, lasting)
          expectEqual(`${order}: the other rule has its own quota`, (await store.consume(passing)).allowed, true)
          if (order === 'the shorter window first') await consumeWholeQuota(store, lasting)
          await store.consume(passing)
          expectEqual(`${rule}: ${order}, while both run`, await isDenied(), true)
          await pass(2 * shortMs + toleranceMs)
          await store.consume(passing)
          expectEqual(`${rule}: ${order}, when the shorter one is over`, await isDenied(), true)
          await store.reset(lasting.key)
        }
        await consumeWholeQuota(store, lasting)
      },
    ],

    'retryAfterMs keeps its word': [
      'Round waiting times up to whole milliseconds, never down.',
      async ({ store, pass }) => {
        const of = rateLimitRequest({ limit: 3, windowMs: shortMs })
        await consumeWholeQuota(store, of)
        if (!hasOwnTime) await pass(shortMs / 4 + 1)
        for (const cost of [1, 2]) {
          const waited = { ...of, cost }
          for (let denials = 0; ; denials++) {
            const decision = await store.consume(waited)
            if (decision.allowed) break
            expectEqual('After waiting retryAfterMs the same request passes', denials, 0)
            const { retryAfterMs } = decision
            const inRange = retryAfterMs >= 1 && retryAfterMs <= shortMs
            expectThat('retryAfterMs is from 1 to windowMs when denied', inRange, `1..${shortMs}`, retryAfterMs)
            await pass(retryAfterMs + toleranceMs)
          }
        }
      },
    ],

    'no key outlives its window by more than one purge': [
      "Purge what has expired, by a timer of the product's clock or every few calls, and only that.",
      async ({ harness, store, pass }) => {
        const [lasting, passing] = [20, 500]
        for (let index = 0; index < lasting; index++) await store.consume(rateLimitRequest({ key: `lasting:${index}` }))
        for (let index = 0; index < passing; index++) {
          await store.consume(rateLimitRequest({ key: `passing:${index}`, windowMs: shortMs }))
        }
        // In real time, a key with a short window may expire before all keys are added. Then only the keys with long
        // windows certainly exist.
        const certain = !hasOwnTime ? lasting + passing : lasting
        const held = await entries(harness)
        expectThat('entries() counts the keys that the store holds', held >= certain, `>= ${certain}`, held)
        await pass(2 * shortMs + toleranceMs)
        for (let call = 0; call < purgeCalls; call++) {
          await store.consume(rateLimitRequest({ key: 'regular', limit: 2 * purgeCalls }))
          if (call % 64 === 0 && (await entries(harness)) === lasting + 1) break
        }
        const rule = `After ${purgeCalls} calls only the keys in use are left`
        expectEqual(rule, await entries(harness), lasting + 1)
        for (let index = 0; index < lasting; index++) {
          const { remaining } = await store.peek(rateLimitRequest({ key: `lasting:${index}` }))
          expectEqual('A purge forgets nothing that still counts', remaining, 3)
        }
      },
    ],

    'a window longer than timers can count is kept': [
      'Compare times instead of starting a timer for each key.',
      async ({ store, pass }) => {
        const of = rateLimitRequest({ windowMs: 30 * 86_400_000 })
        await consumeWholeQuota(store, of)
        // Node.js timers with a delay above 24.8 days fire immediately. This wait lets such a timer fire.
        await new Promise((resolve) => setTimeout(resolve, 10))
        if (!hasOwnTime) await pass(24 * maxCaseWindowMs)
        expectEqual('A window of 30 days is still running', (await store.consume(of)).allowed, false)
      },
    ],

    ...(hasOwnTime ? {} : injected),
  }
}
