import type { Clock, StoreContext } from '@plinth/kernel'

/** One call of a store. The signal is made only for who asks for it. */
class Call<T, R> implements StoreContext {
  /** On the monotonic clock; known when the store has not answered at once. */
  endsAt = Number.POSITIVE_INFINITY
  /** The store has answered, or nobody waits any more. */
  done = false
  readonly #clock: Clock
  readonly #settle: (answer: T) => R
  readonly #fail: (reason: unknown) => R | Promise<R>
  #resolve!: (result: R | Promise<R>) => void
  #reject!: (reason: unknown) => void
  #expiry: AbortController | undefined
  #expired: Error | undefined

  constructor(clock: Clock, settle: (answer: T) => R, fail: (reason: unknown) => R | Promise<R>) {
    this.#clock = clock
    this.#settle = settle
    this.#fail = fail
  }

  get signal(): AbortSignal {
    if (this.#expired !== undefined) return AbortSignal.abort(this.#expired)
    this.#expiry ??= new AbortController()
    return this.#expiry.signal
  }

  isOver(): boolean {
    return this.done || this.#clock.monotonic() >= this.endsAt
  }

  /** What becomes of the call: of its answer, or of its end. */
  outcome(answer: Promise<T>): Promise<R> {
    const outcome = new Promise<R>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    answer.then(
      (value) => this.#end(this.#settle, value),
      (reason: unknown) => this.#end(this.#fail, reason),
    )
    return outcome
  }

  expire(ms: number): void {
    this.#expired = new Error(`The store did not answer within ${ms} ms`)
    this.#expiry?.abort(this.#expired)
    this.#end(this.#fail, this.#expired)
  }

  #end<V>(go: (value: V) => R | Promise<R>, value: V): void {
    if (this.done) return
    this.done = true
    try {
      this.#resolve(go(value))
    } catch (error) {
      this.#reject(error)
    }
  }
}

type AnyCall = Call<unknown, unknown>

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
  readonly #calls: (AnyCall | undefined)[] = []
  /** The first one that may still wait. */
  #first = 0
  #watching = false

  /** @param ms time of every call, in milliseconds */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** What the store answers. An answer that comes at once costs nothing. */
  run<T>(ask: (context: StoreContext) => T | Promise<T>): T | Promise<T>
  /** The same, going on with `settle` or `fail`: one promise for all of it. What `ask` throws at once goes to the caller. */
  run<T, R>(
    ask: (context: StoreContext) => T | Promise<T>,
    settle: (answer: T) => R,
    fail: (reason: unknown) => R | Promise<R>,
  ): R | Promise<R>
  run<T, R>(
    ask: (context: StoreContext) => T | Promise<T>,
    settle: (answer: T) => R = itself,
    fail: (reason: unknown) => R | Promise<R> = rethrow,
  ): R | Promise<R> {
    const call = new Call(this.#clock, settle, fail)
    const answer = ask(call)
    if (!(answer instanceof Promise)) return settle(answer)
    this.#add(call as unknown as AnyCall)
    return call.outcome(answer)
  }

  /** No timer is left. Calls under way end with their stores. */
  stop(): void {
    this.#stopped.abort()
  }

  #add(call: AnyCall): void {
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

  #watch(next: AnyCall): void {
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

  #next(): AnyCall | undefined {
    this.#skipDone()
    return this.#calls[this.#first]
  }
}

const itself = <T, R>(answer: T) => answer as unknown as R
const rethrow = (reason: unknown): never => {
  throw reason
}
