/** Schedules work. */
interface Timers {
  set(work: () => void, ms: number): unknown
  clear(timer: unknown): void
}

const ofTheBrowser: Timers = {
  set: (work, ms) => setTimeout(work, ms),
  clear: (timer) => clearTimeout(timer as number),
}

/**
 * Sends a question for the latest input, after a pause in the input, and one question at a time. Input during an open
 * question is sent after it. Therefore the last result always belongs to the last input.
 */
export class LatestAsk<Wanted> {
  readonly #ask: (wanted: Wanted, signal: AbortSignal) => Promise<void>
  readonly #timers: Timers
  readonly #stopped = new AbortController()
  #next: { readonly wanted: Wanted } | undefined
  #timer: unknown
  #isAsking = false

  /** @param ask never rejects */
  constructor(ask: (wanted: Wanted, signal: AbortSignal) => Promise<void>, timers: Timers = ofTheBrowser) {
    this.#ask = ask
    this.#timers = timers
  }

  /** @param delayMs pause in the input before the question */
  want(wanted: Wanted, delayMs: number): void {
    if (this.#stopped.signal.aborted) return
    this.#next = { wanted }
    this.#timers.clear(this.#timer)
    this.#timer = this.#timers.set(() => {
      this.#timer = undefined
      void this.#run()
    }, delayMs)
  }

  /** Stops further questions and cancels the open one. */
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
