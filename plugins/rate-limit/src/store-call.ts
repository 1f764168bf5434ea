import type { Clock, StoreContext } from '@plinth/kernel'

/**
 * One call of a store under a deadline. The signal is made only when somebody asks for it: a store that answers at once
 * pays for no timer.
 */
export class StoreCall implements StoreContext {
  readonly #clock: Clock
  readonly #deadlineMs: number
  #expiry: AbortController | undefined
  #answered: AbortController | undefined

  constructor(clock: Clock, deadlineMs: number) {
    this.#clock = clock
    this.#deadlineMs = deadlineMs
  }

  get signal(): AbortSignal {
    if (this.#expiry !== undefined) return this.#expiry.signal
    const expiry = new AbortController()
    const answered = new AbortController()
    this.#expiry = expiry
    this.#answered = answered
    void this.#clock.sleep(this.#deadlineMs, answered.signal).then(() => {
      if (answered.signal.aborted) return
      expiry.abort(new Error(`The store did not answer within ${this.#deadlineMs} ms`))
    })
    return expiry.signal
  }

  /** The answer, or an exception when the deadline passes first, whatever the store does about the signal. */
  async inTime<T>(answer: Promise<T>): Promise<T> {
    const { signal } = this
    const expired = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    return Promise.race([answer, expired])
  }

  /** The call is over: no timer stays behind. */
  end(): void {
    this.#answered?.abort()
  }
}
