/** The only source of time in the product; tests inject their own. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch (UTC). */
  now(): number
  /** Milliseconds that never go back; only differences mean something. */
  monotonic(): number
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects. Whoever sleeps in a loop passes a
   * signal and aborts it on stop: a sleeper keeps the process alive, unless it says that it need not. */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>
}

export interface SleepOptions {
  /** False for what is not worth waiting for when nothing else is left to do. Default: true. */
  readonly keepsAlive?: boolean
}

/** Node.js timers overflow above this and would fire at once. */
const longestTimer = 2 ** 31 - 1

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
      const timer = setTimeout(done, Math.min(ms, longestTimer))
      if (!keepsAlive) timer.unref()
      signal?.addEventListener('abort', done)
    }),
}

/** How often the same time is answered at most: a loop of promises is one turn. */
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
 * Monotonic time for what decides in less time than a clock takes to read: the time at which somebody first asked in this
 * turn of the event loop, or 32 readings ago. Never ahead of the clock, never going back. A clock that a test injects is read each time.
 */
export function turnTime(clock: Pick<Clock, 'monotonic'>): () => number {
  return clock === systemClock ? systemTurnTime : () => clock.monotonic()
}
