import type { Clock } from '../time/clock.ts'

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Moves time on, waking sleepers in the order of their time; work that they start runs before the next one wakes. */
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone, as a correction of the system time would; sleepers and `monotonic` do not notice. */
  shiftWallClock(ms: number): void
  /** How many sleep right now, but for those that do not keep the process alive: nobody waits for them. */
  readonly sleepers: number
  /** True while a sleep of exactly this length goes on. */
  isAsleepFor(ms: number): boolean
}

const runStartedWork = () => new Promise<void>((resolve) => setImmediate(resolve))

/** @param startMs wall clock at the beginning, milliseconds since the epoch */
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
