/** The only source of time in the product. Tests replace it. */
export interface Clock {
  /** Time of day in milliseconds since the epoch (UTC). It may jump when the system clock is corrected. */
  now(): number
  /** Milliseconds since an arbitrary moment. Never decreases, so differences are reliable. */
  monotonic(): number
  /**
   * Resolves after `ms` milliseconds, or immediately when `signal` aborts. Never rejects. A sleep keeps the process
   * alive unless `keepsAlive` is false. Therefore a loop must pass a signal that aborts when the product stops.
   */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>
}

export interface SleepOptions {
  /** False if the process may end during the sleep. Default: true. */
  readonly keepsAlive?: boolean
}

/** Maximum delay of a Node.js timer. A timer with a longer delay fires immediately. */
const maxTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal, { keepsAlive = true } = {}) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(ms, maxTimerMs))
      if (!keepsAlive) timer.unref()
      signal?.addEventListener('abort', done)
    }),
}

/**
 * Maximum number of times that one reading of the clock is reused within a tick, because a long chain of promises runs
 * in a single tick.
 */
const maxReadings = 32
let cachedMs = 0
let remainingReadings = 0
let endsTurn = false

const endTurn = () => {
  endsTurn = false
  remainingReadings = 0
}

function systemTurnTime(): number {
  if (remainingReadings > 0) {
    remainingReadings -= 1
    return cachedMs
  }
  cachedMs = systemClock.monotonic()
  remainingReadings = maxReadings - 1
  if (!endsTurn) {
    endsTurn = true
    setImmediate(endTurn)
  }
  return cachedMs
}

/**
 * Returns a monotonic clock for decisions that are faster than reading the system clock. It reuses a reading up to 32
 * times within one tick of the event loop. The returned time is never ahead of the clock and never decreases. An
 * injected clock is read each time.
 */
export function createTickClock(clock: Pick<Clock, 'monotonic'>): () => number {
  return clock === systemClock ? systemTurnTime : () => clock.monotonic()
}
