import type { Clock } from '@plinth/kernel'

/** A clock for tests. Its time changes only when a test advances it. */
export interface ManualClock extends Clock {
  /**
   * Advances the time and ends sleeps in the order of their time. Work that follows a sleep runs before the next sleep
   * ends.
   */
  advance(ms: number): Promise<void>
  /** Changes only the wall clock, like a correction of the system time. Sleeps and `monotonic` are not affected. */
  shiftWallClock(ms: number): void
  /** Number of current sleeps that keep the process alive. */
  readonly sleepers: number
  /** Returns true if a sleep of exactly this length is in progress. */
  isAsleepFor(ms: number): boolean
}

interface Sleeper {
  readonly at: number
  readonly ms: number
  readonly wake: () => void
  readonly keepsAlive: boolean
}

const runStartedWork = () => new Promise<void>((resolve) => setImmediate(resolve))

/** @param startMs initial time of the wall clock in milliseconds since the epoch */
export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsed = 0
  let wallOffset = startMs
  const waiting = new Set<Sleeper>()
  /** Returns the sleeper that wakes first, until `end`. Of two at the same time, the one that began first. */
  const firstUntil = (end: number) => {
    let first: Sleeper | undefined
    for (const one of waiting) if (one.at <= end && (first === undefined || one.at < first.at)) first = one
    return first
  }
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
      for (let next = firstUntil(end); next !== undefined; next = firstUntil(end)) {
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
