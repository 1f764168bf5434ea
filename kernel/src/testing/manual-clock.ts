import type { Clock } from '../time/clock.ts'

/** A clock whose time only a test advances. */
export interface ManualClock extends Clock {
  /**
   * Advances time and wakes sleepers in the order of their time; work that they start runs before the next one wakes.
   */
  advance(ms: number): Promise<void>
  /** Changes only the wall clock, like a correction of the system time; sleepers and `monotonic` are not affected. */
  shiftWallClock(ms: number): void
  /** Number of current sleeps, except those that do not keep the process alive. */
  readonly sleepers: number
  /** True during a sleep of exactly this length. */
  isAsleepFor(ms: number): boolean
}

const runStartedWork = () => new Promise<void>((resolve) => setImmediate(resolve))

/** @param startMs initial wall clock in milliseconds since the epoch */
export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsed = 0
  let wallOffset = startMs
  const waiting = new Set<{
    readonly at: number
    readonly ms: number
    readonly wake: () => void
    readonly keepsAlive: boolean
  }>()
  return {
    now: () => wallOffset + elapsed,
    monotonic: () => elapsed,
    sleep: (ms, signal, { keepsAlive = true } = {}) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const wake = () => {
          waiting.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { at: elapsed + ms, ms, wake, keepsAlive }
        waiting.add(sleeper)
        signal?.addEventListener('abort', wake)
      }),
    advance: async (ms) => {
      const end = elapsed + ms
      await runStartedWork()
      for (;;) {
        const next = [...waiting].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
        if (next === undefined) break
        elapsed = Math.max(elapsed, next.at)
        next.wake()
        await runStartedWork()
      }
      elapsed = end
      await runStartedWork()
    },
    shiftWallClock: (ms) => {
      wallOffset += ms
    },
    get sleepers() {
      return [...waiting].filter(({ keepsAlive }) => keepsAlive).length
    },
    isAsleepFor: (ms) => [...waiting].some((sleeper) => sleeper.ms === ms),
  }
}
