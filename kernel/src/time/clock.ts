/** The only source of time in the product; tests inject another one. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch (UTC). */
  now(): number
  /** Milliseconds that never decrease; only differences have a meaning. */
  monotonic(): number
  /**
   * Resolves after `ms` milliseconds, or immediately when `signal` aborts. Never rejects. Pass a signal to sleep in a
   * loop, and abort it on stop: a sleep keeps the process alive unless `keepsAlive` is false.
   */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>
}

export interface SleepOptions {
  /** False if the process may end during the sleep. Default: true. */
  readonly keepsAlive?: boolean
}

/** A Node.js timer with a larger value overflows and fires immediately. */
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

/** Maximum number of readings with the same result, because a loop of promises runs in one tick. */
const readingsOfOneTime = 32
let turnMs = 0
let readingsLeft = 0
let endsTurn = false

const endTurn = () => {
  endsTurn = false
  readingsLeft = 0
}

function systemTurnTime(): number {
  if (readingsLeft > 0) {
    readingsLeft -= 1
    return turnMs
  }
  turnMs = systemClock.monotonic()
  readingsLeft = readingsOfOneTime - 1
  if (!endsTurn) {
    endsTurn = true
    setImmediate(endTurn)
  }
  return turnMs
}

/**
 * Returns monotonic time for decisions that take less time than reading a clock: the time of the first reading in this
 * tick of the event loop, or of up to 32 readings ago. Never ahead of the clock, never decreasing. An injected clock is
 * read each time.
 */
export function turnTime(clock: Pick<Clock, 'monotonic'>): () => number {
  return clock === systemClock ? systemTurnTime : () => clock.monotonic()
}
