import { type Clock, Deadlines, type StoreContext } from '@plinth/kernel'

const nothing = () => {}

/**
 * Deadline of all store calls that begin in one millisecond. It starts when a store or the limiter first uses it, so
 * that a call of a store in memory neither reads the clock nor starts a timer.
 */
class CallDeadline implements StoreContext {
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #ms: number
  readonly #callbacks = new Set<(reason: Error) => void>()
  #startedAt: number | undefined
  #aborter: AbortController | undefined
  #timeout: Error | undefined
  #endWait = nothing

  constructor(clock: Clock, deadlines: Deadlines, ms: number) {
    this.#clock = clock
    this.#deadlines = deadlines
    this.#ms = ms
  }

  get signal(): AbortSignal {
    // The empty callback keeps the timer until the deadline, even if all calls have results by then.
    this.onEnd(nothing)
    this.#aborter ??= new AbortController()
    if (this.#timeout !== undefined) this.#aborter.abort(this.#timeout)
    return this.#aborter.signal
  }

  isOver(): boolean {
    return this.#remainingMs() <= 0
  }

  onEnd(giveUp: (reason: Error) => void): () => void {
    if (this.#timeout !== undefined) {
      giveUp(this.#timeout)
      return nothing
    }
    if (this.#callbacks.size === 0) {
      // If the process was busy, the result may already be in the socket: its callback runs before `setImmediate`.
      const expired = () => void setImmediate(() => this.#expire())
      this.#endWait = this.#deadlines.begin(this.#remainingMs(), expired)
    }
    this.#callbacks.add(giveUp)
    return () => {
      this.#callbacks.delete(giveUp)
      if (this.#callbacks.size === 0) this.#endWait()
    }
  }

  /** Returns true if a call that begins now and may take `ms` milliseconds can share this deadline. */
  accepts(ms: number): boolean {
    if (this.#ms !== ms) return false
    return this.#startedAt === undefined || this.#clock.monotonic() - this.#startedAt < 1
  }

  #remainingMs(): number {
    const now = this.#clock.monotonic()
    this.#startedAt ??= now
    return this.#startedAt + this.#ms - now
  }

  #expire(): void {
    this.#timeout = new Error(`The store did not answer within ${this.#ms} ms`)
    const callbacks = [...this.#callbacks]
    this.#callbacks.clear()
    for (const giveUp of callbacks) giveUp(this.#timeout)
    this.#aborter?.abort(this.#timeout)
  }
}

/** Limits the duration of store calls. A call without a result in time fails, even if the store ignores its signal. */
export class StoreCalls {
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #maxMs: () => number
  #current: CallDeadline

  /** @param maxMs returns the maximum duration of a call that begins now, in milliseconds */
  constructor(clock: Clock, maxMs: () => number) {
    this.#clock = clock
    this.#deadlines = new Deadlines(clock)
    this.#maxMs = maxMs
    this.#current = new CallDeadline(clock, this.#deadlines, maxMs())
  }

  /** Returns the context of a call that begins now. */
  context(): Required<StoreContext> {
    const ms = this.#maxMs()
    if (!this.#current.accepts(ms)) this.#current = new CallDeadline(this.#clock, this.#deadlines, ms)
    return this.#current
  }

  /**
   * Waits for the result of a store until the deadline of the call.
   *
   * @throws errors of the store, and an Error at the deadline
   */
  wait<T>(context: Required<StoreContext>, response: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const endWait = context.onEnd(reject)
    response.then(resolve, reject).then(endWait)
    return promise
  }

  /**
   * Calls a store and waits for its result until the deadline.
   *
   * @throws errors of the store, and an Error at the deadline
   */
  async run<T>(call: (context: StoreContext) => T | Promise<T>): Promise<T> {
    const context = this.context()
    const response = call(context)
    return response instanceof Promise ? this.wait(context, response) : response
  }
}
