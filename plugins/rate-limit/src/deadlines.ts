import type { Clock, StoreContext } from '@plinth/kernel'

/** One call of a store. The signal is made only for who asks for it. */
export class Call implements StoreContext {
  /** On the monotonic clock; known when the store has not answered at once. */
  endsAt = Number.POSITIVE_INFINITY
  /** The store has answered, or nobody waits any more. */
  done = false
  /** Somebody may still look at it, so no other call may be the same. */
  isKept = false
  /** What follows the end of the time. */
  onExpiry: ((reason: Error) => void) | undefined = undefined
  readonly #clock: Clock
  #expiry: AbortController | undefined
  #expired: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get signal(): AbortSignal {
    if (this.#expired !== undefined) return AbortSignal.abort(this.#expired)
    this.isKept = true
    this.#expiry ??= new AbortController()
    return this.#expiry.signal
  }

  isOver(): boolean {
    return this.done || this.#clock.monotonic() >= this.endsAt
  }

  expire(ms: number): void {
    this.#expired = new Error(`The store did not answer within ${ms} ms`)
    this.#expiry?.abort(this.#expired)
    this.onExpiry?.(this.#expired)
  }
}

/** Calls that have ended are dropped from the list when there are so many. */
const longestTail = 1024

/**
 * Ends calls of stores that have no answer in time, whatever the store does. All have the same time, so that they end in
 * the order in which they began and one timer is enough: a timer and a signal for each call would cost more than counting.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  readonly #stopped = new AbortController()
  readonly #calls: (Call | undefined)[] = []
  /** The first one that may still wait. */
  #first = 0
  #watching = false
  /** For the next call that begins. */
  #fresh: Call

  /** @param ms time of every call, in milliseconds */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
    this.#fresh = new Call(clock)
  }

  /** A call that begins. Where the store answers at once there is nothing more to do, and the next call is the same. */
  begin(): Call {
    if (this.#fresh.isKept) this.#fresh = new Call(this.#clock)
    return this.#fresh
  }

  /**
   * What becomes of a call whose answer is still to come: what `settle` makes of the answer, or `fail` of the failure or
   * the end of the time.
   */
  follow<T, R>(
    call: Call,
    answer: Promise<T>,
    settle: (answer: T) => R,
    fail: (reason: unknown) => R | Promise<R>,
  ): Promise<R> {
    call.isKept = true
    this.#add(call)
    return new Promise((resolve, reject) => {
      const end = <V>(go: (value: V) => R | Promise<R>, value: V) => {
        if (call.done) return
        call.done = true
        try {
          resolve(go(value))
        } catch (error) {
          reject(error)
        }
      }
      const failed = (reason: unknown) => end(fail, reason)
      call.onExpiry = failed
      answer.then((value) => end(settle, value), failed)
    })
  }

  /** Begins a call and follows it. What the store throws at once is thrown. */
  async run<T>(ask: (context: StoreContext) => T | Promise<T>): Promise<T> {
    const call = this.begin()
    const answer = ask(call)
    return answer instanceof Promise ? this.follow(call, answer, itself, rethrow) : answer
  }

  /** No timer is left. Calls under way end with their stores. */
  stop(): void {
    this.#stopped.abort()
  }

  #add(call: Call): void {
    call.endsAt = this.#clock.monotonic() + this.#ms
    this.#skipDone()
    this.#calls.push(call)
    if (!this.#watching) this.#watch(call)
  }

  /** Lets go of calls that have ended, so that what they hold on to does not live longer than they do. */
  #skipDone(): void {
    while (this.#calls[this.#first]?.done) {
      this.#calls[this.#first] = undefined
      this.#first += 1
    }
    if (this.#first < this.#calls.length && this.#first < longestTail) return
    this.#calls.splice(0, this.#first)
    this.#first = 0
  }

  #watch(next: Call): void {
    this.#watching = true
    const waitMs = Math.max(1, Math.ceil(next.endsAt - this.#clock.monotonic()))
    void this.#clock.sleep(waitMs, this.#stopped.signal).then(() => {
      // Where the process was busy, the answer may lie in the socket already.
      if (!this.#stopped.signal.aborted) setImmediate(() => this.#expire())
    })
  }

  #expire(): void {
    const now = this.#clock.monotonic()
    for (let next = this.#next(); next !== undefined && next.endsAt <= now; next = this.#next()) next.expire(this.#ms)
    this.#watching = false
    const next = this.#next()
    if (next !== undefined) this.#watch(next)
  }

  #next(): Call | undefined {
    this.#skipDone()
    return this.#calls[this.#first]
  }
}

const itself = <T>(answer: T) => answer
const rethrow = (reason: unknown): never => {
  throw reason
}
