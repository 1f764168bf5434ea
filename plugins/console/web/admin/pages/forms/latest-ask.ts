/** What runs something later. */
interface Timers {
  set(work: () => void, ms: number): unknown
  clear(timer: unknown): void
}

const ofTheBrowser: Timers = {
  set: (work, ms) => setTimeout(work, ms),
  clear: (timer) => clearTimeout(timer as number),
}

/**
 * Asks about what is wanted last: when nothing else was wanted for a while, and one question at a time. What was wanted while a
 * question was open is asked after it, so the last answer is about what was wanted last.
 */
export class LatestAsk<Wanted> {
  readonly #ask: (wanted: Wanted, signal: AbortSignal) => Promise<void>
  readonly #timers: Timers
  readonly #stopped = new AbortController()
  #next: { readonly wanted: Wanted } | undefined
  #timer: unknown
  #isAsking = false

  /** @param ask never fails */
  constructor(ask: (wanted: Wanted, signal: AbortSignal) => Promise<void>, timers: Timers = ofTheBrowser) {
    this.#ask = ask
    this.#timers = timers
  }

  /** @param delayMs during which nothing else is wanted */
  want(wanted: Wanted, delayMs: number): void {
    if (this.#stopped.signal.aborted) return
    this.#next = { wanted }
    this.#timers.clear(this.#timer)
    this.#timer = this.#timers.set(() => {
      this.#timer = undefined
      void this.#run()
    }, delayMs)
  }

  /** Nothing is asked any more, and the open question is given up. */
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
