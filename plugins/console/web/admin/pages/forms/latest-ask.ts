/** Timer functions, which tests replace. */
interface Timers {
  set(work: () => void, ms: number): unknown
  clear(timer: unknown): void
}

const ofTheBrowser: Timers = {
  set: (work, ms) => setTimeout(work, ms),
  clear: (timer) => clearTimeout(timer as number),
}

/**
 * Sends a request for the latest input. The request is sent after a pause in the input, and only one request runs at a
 * time. Input during a running request is sent after it. Therefore the last result always belongs to the last input.
 */
export class LatestRequest<Wanted> {
  readonly #ask: (wanted: Wanted, signal: AbortSignal) => Promise<void>
  readonly #timers: Timers
  readonly #stopped = new AbortController()
  #next: { readonly wanted: Wanted } | undefined
  #timer: unknown
  #isAsking = false

  /** @param ask sends a request; it must never reject */
  constructor(ask: (wanted: Wanted, signal: AbortSignal) => Promise<void>, timers: Timers = ofTheBrowser) {
    this.#ask = ask
    this.#timers = timers
  }

  /**
   * Requests the result for this input.
   * @param delayMs pause in the input before the request, in milliseconds
   */
  want(wanted: Wanted, delayMs: number): void {
    if (this.#stopped.signal.aborted) return
    this.#next = { wanted }
    this.#timers.clear(this.#timer)
    this.#timer = this.#timers.set(() => {
      this.#timer = undefined
      void this.#run()
    }, delayMs)
  }

  /** Sends no further requests and cancels the running one. */
  stop(): void {
    this.#next = undefined
    this.#timers.clear(this.#timer)
    this.#stopped.abort()
  }

  async #run(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    while (this.#next !== undefined && this.#timer === undefined) {
      const { wanted } = this.#next
      this.#next = undefined
      await this.#ask(wanted, this.#stopped.signal)
    }
    this.#isAsking = false
  }
}
