/** The only source of time in the product; tests inject their own. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch (UTC). */
  now(): number
  /** Milliseconds that never go back; only differences mean something. */
  monotonic(): number
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects. Whoever sleeps in a loop passes a
   * signal and aborts it on stop: a sleeper keeps the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Node.js timers overflow above this and would fire at once. */
const longestTimer = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(ms, longestTimer))
      signal?.addEventListener('abort', done)
    }),
}
