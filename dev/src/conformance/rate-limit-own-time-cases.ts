import type { RateLimitDecision, RateLimitRequest } from '@plinth/kernel'
import { type CaseBodies, ConformanceError, expectEqual, expectThat } from './conformance-case.ts'
import { createRandom, maxCaseWindowMs, type RateLimitCaseContext, rateLimitModels } from './rate-limit-model.ts'

/**
 * Maximum duration of a case with one-hour windows in milliseconds. If a case takes longer, a token bucket could get a
 * new unit during the case.
 */
const slownessMs = 60_000

/** Window lengths to try. If the machine is too slow for one of them, the next longer one is used. */
const windowsMs = [400, 800, 1600, 3200, 6400]

const tooSlow = () =>
  new ConformanceError(
    'The store answers fast enough to measure a window',
    `a call within ${(windowsMs.at(-1) ?? 0) / 4} ms`,
    'slower calls',
    'Run the kit on a machine with less load.',
  )

/**
 * Returns test cases in real time for a store with its own time. On a slow machine they take longer, but they do not
 * fail.
 */
export function realTimeCases<Harness>(toleranceMs: number, seed: number): CaseBodies<RateLimitCaseContext<Harness>> {
  const nowMs = () => performance.now()
  const request = (key: string, windowMs: number, limit: number, cost: number): RateLimitRequest => ({
    key,
    limit,
    windowMs,
    cost,
  })

  /**
   * Compares a decision with the decision of the model. The units must be equal. The times may differ, because a slow
   * machine delays calls.
   */
  const expectAlike = (
    rule: string,
    actual: RateLimitDecision,
    model: Partial<RateLimitDecision>,
    of: RateLimitRequest,
  ) => {
    for (const name of ['allowed', 'remaining'] as const) {
      if (model[name] !== undefined) expectEqual(`${rule}: ${name}`, actual[name], model[name])
    }
    const near = (ms: number, expectedMs: number) => Math.abs(ms - expectedMs) <= slownessMs + toleranceMs
    if (model.retryAfterMs !== undefined) {
      const expected = `about ${model.retryAfterMs} ms`
      expectThat(`${rule}: retryAfterMs`, near(actual.retryAfterMs, model.retryAfterMs), expected, actual.retryAfterMs)
    }
    const shownMs = actual.resetAtMs - Date.now()
    const inRange = shownMs >= -slownessMs && shownMs <= of.windowMs + slownessMs
    const expected = 'milliseconds since the epoch, within one window from now'
    expectThat(`${rule}: resetAtMs`, inRange, expected, actual.resetAtMs)
    if (model.resetAtMs !== undefined) {
      const expected = `about ${model.resetAtMs}, the end of the window`
      expectThat(`${rule}: resetAtMs`, near(actual.resetAtMs, model.resetAtMs), expected, actual.resetAtMs)
    }
  }

  return {
    'decisions follow the algorithm': [
      'Declare the algorithm that you implement (RateLimitStore.traits); resetAtMs is the end of the window in milliseconds since the epoch, retryAfterMs the wait of this request.',
      async ({ store }) => {
        const { algorithm } = store.traits
        const { roll, pick } = createRandom(seed)
        const model = new rateLimitModels[algorithm]()
        const keys = ['a', 'b', 'c'].map((key, index) => ({
          key,
          limit: 2 + roll(9),
          windowMs: (1 + index) * maxCaseWindowMs,
        }))
        for (let step = 0; step < 60; step++) {
          const { key, limit, windowMs } = pick([keys[0], keys[1], keys[2]]) ?? {
            key: 'a',
            limit: 1,
            windowMs: maxCaseWindowMs,
          }
          if (roll(15) === 0) {
            model.reset(key)
            await store.reset(key)
            continue
          }
          const take = roll(4) > 0
          const of = request(key, windowMs, limit, roll(8) === 0 ? limit + 1 : 1 + roll(3))
          const now = Date.now()
          const actual = take ? await store.consume(of) : await store.peek(of)
          expectAlike(
            `${algorithm}: every decision is what the algorithm says`,
            actual,
            model.decide(of, now, take),
            of,
          )
          if (take && actual.allowed) model.admitted(of, now)
        }
      },
    ],

    'a window ends when the algorithm says': [
      'A fixed window starts with its first hit, and neither a later hit nor a denial extends it; a sliding one forgets each hit one window after it; a bucket refills evenly.',
      async ({ store, pass }) => {
        const { algorithm } = store.traits
        for (const windowMs of windowsMs) {
          const limit = 4
          const of = (cost: number) => request(`ends ${windowMs}`, windowMs, limit, cost)
          const began = nowMs()
          await store.consume(of(1))
          const begunBy = nowMs()
          await pass(windowMs * 0.6)
          const secondAt = nowMs()
          await store.consume(of(limit - 1))
          if (nowMs() > began + windowMs - toleranceMs) continue
          // Until the window ends, all these calls are denied, and denied calls must not change the state.
          let back = false
          while (!back && nowMs() < begunBy + windowMs + toleranceMs) {
            await store.consume(of(limit + 1))
            back = (await store.consume(of(limit))).allowed
            const early = back && nowMs() < began + windowMs - toleranceMs
            expectEqual('The quota that is taken comes back no earlier than one window after it', early, false)
            await pass(windowMs / 20)
          }
          back ||= (await store.consume(of(limit))).allowed
          const isFixed = algorithm === 'fixed-window'
          if (isFixed) expectEqual('One window after its first hit the whole quota is back', back, true)
          // One window after the second request, all units are available again, in a token bucket already after three
          // quarters of a window. If this time has passed, the check proves nothing and is repeated with a longer
          // window.
          const share = algorithm === 'token-bucket' ? 0.75 : 1
          if (nowMs() > secondAt + share * windowMs - toleranceMs) continue
          if (!isFixed) expectEqual(`${algorithm}: hits in the second half of a window count on after it`, back, false)
          return
        }
        throw tooSlow()
      },
    ],

    'resetAtMs of a running window stands still': [
      'Answer the end of the window that runs, not a window from now.',
      async ({ store, pass }) => {
        if (store.traits.algorithm !== 'fixed-window') return
        const of = request('stands still', maxCaseWindowMs, 3, 1)
        let calledMs = 0
        const timed = async () => {
          const startedMs = nowMs()
          const { resetAtMs } = await store.consume(of)
          calledMs += nowMs() - startedMs
          return resetAtMs
        }
        const first = await timed()
        for (const waitMs of windowsMs) {
          await pass(waitMs)
          const moved = (await timed()) - first
          // `resetAtMs` may move by the duration of the calls, but not by the wait between the calls.
          const offMs = calledMs + 2 * toleranceMs + 10
          if (offMs > waitMs / 2) continue
          expectThat('resetAtMs stays while a window runs', Math.abs(moved) <= offMs, `within ${offMs} ms`, moved)
          return
        }
        throw tooSlow()
      },
    ],
  }
}
