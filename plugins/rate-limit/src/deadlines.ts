import { type Clock, type StoreContext, turnTime } from '@plinth/kernel'

/** One call of a store. Its signal is only created if the store uses it. */
export class Call implements StoreContext {
  /** Monotonic time of the deadline. Only set if the store does not return synchronously. */
  endsAt = Number.POSITIVE_INFINITY
  /** True if the store has returned or no caller is waiting. */
  done = false
  /** True if the store may still use this object, so that it cannot be used for another call. */
  isKept = false
  isListed = false
  onExpiry: ((reason: Error) => void) | undefined = undefined
  readonly #clock: Clock
  #expiry: AbortController | undefined
  #expired: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The timeout error, after the deadline. */
  get expired(): Error | undefined {
    return this.#expired
  }

  get signal(): AbortSignal {
    if (this.#expired !== undefined) return AbortSignal.abort(this.#expired)
    this.isKept = true
    this.#expiry ??= new AbortController()
    return this.#expiry.signal
  }

  isOver(): boolean {
    return this.done || this.hasPassed()
  }

  hasPassed(): boolean {
    return this.#clock.monotonic() >= this.endsAt
  }

  expire(ms: number): void {
    this.#expired = new Error(`The store did not answer within ${ms} ms`)
    this.#expiry?.abort(this.#expired)
    this.onExpiry?.(this.#expired)
  }
}

const nothing = () => {}

/** All calls of one millisecond to stores that end their calls themselves. They share a deadline and a context. */
class Moment implements StoreContext {
  readonly call: Call
  readonly #enter: (call: Call) => void
  readonly #giveUps = new Set<(reason: Error) => void>()

  constructor(call: Call, enter: (call: Call) => void) {
    this.call = call
    this.#enter = enter
    call.onExpiry = (reason) => {
      const waiting = [...this.#giveUps]
      this.#giveUps.clear()
      for (const giveUp of waiting) giveUp(reason)
    }
  }

  get signal(): AbortSignal {
    // The signal aborts at the deadline, even if the calls have already ended.
    this.onEnd(nothing)
    return this.call.signal
  }

  isOver(): boolean {
    return this.call.hasPassed()
  }

  onEnd(giveUp: (reason: Error) => void): () => void {
    const { expired } = this.call
    if (expired !== undefined) {
      giveUp(expired)
      return nothing
    }
    if (this.#giveUps.size === 0) this.#enter(this.call)
    this.#giveUps.add(giveUp)
    return () => {
      this.#giveUps.delete(giveUp)
      this.call.done = this.#giveUps.size === 0
    }
  }
}

/** The list is shortened if at least this many calls at its start have ended. */
const maxTailLength = 1024

/**
 * Ends calls of stores that do not return in time. All calls have the same time limit, so they end in the order in
 * which they began, and one timer is enough. A timer and a signal per call would cost more than the decision.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  readonly #stopped = new AbortController()
  readonly #calls: (Call | undefined)[] = []
  /** Index of the first call that may still be waiting. */
  #first = 0
  /** Monotonic time at which the timer fires. */
  #wakesAt = Number.POSITIVE_INFINITY
  #fresh: Call
  readonly #turn: () => number
  #moment: Moment | undefined

  /** @param ms time limit of every call in milliseconds */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
    this.#fresh = new Call(clock)
    this.#turn = turnTime(clock)
  }

  /** Begins a call. If the store returns synchronously, the next call uses the same object. */
  begin(): Call {
    if (this.#fresh.isKept) this.#fresh = new Call(this.#clock)
    return this.#fresh
  }

  /** Waits for an asynchronous result. Resolves with `settle` of the result, or with `fail` of the error or timeout. */
  follow<T, R>(
    call: Call,
    response: Promise<T>,
    settle: (response: T) => R,
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
      response.then((value) => end(settle, value), failed)
    })
  }

  /**
   * Returns the context for a store that ends its calls itself. All calls of one millisecond share it, so a call may
   * end up to a millisecond too early.
   */
  moment(): StoreContext {
    const endsAt = this.#turn() + this.#ms
    if (this.#moment === undefined || endsAt - this.#moment.call.endsAt >= 1) this.#moment = this.#beginMoment(endsAt)
    return this.#moment
  }

  /** Begins a call and waits for it. Rejects with the error of the store or with the timeout. */
  async run<T>(ask: (context: StoreContext) => T | Promise<T>): Promise<T> {
    const call = this.begin()
    const response = ask(call)
    return response instanceof Promise ? this.follow(call, response, itself, rethrow) : response
  }

  /** Stops the timer. Pending calls then only end when their stores return. */
  stop(): void {
    this.#stopped.abort()
  }

  #beginMoment(endsAt: number): Moment {
    const call = new Call(this.#clock)
    call.endsAt = endsAt
    return new Moment(call, (entering) => {
      entering.done = false
      if (!entering.isListed) this.#enter(entering)
    })
  }

  #add(call: Call): void {
    call.endsAt = this.#clock.monotonic() + this.#ms
    this.#enter(call)
  }

  #enter(call: Call): void {
    this.#skipDone()
    let at = this.#calls.length
    // A group is only added when its first call has to wait. Calls that began later may already be in the list.
    while (at > this.#first && (this.#calls[at - 1]?.endsAt ?? 0) > call.endsAt) at -= 1
    this.#calls.splice(at, 0, call)
    call.isListed = true
    if (call.endsAt < this.#wakesAt) this.#watch(call)
  }

  /** Removes ended calls, so that the memory can be freed. */
  #skipDone(): void {
    for (let first = this.#calls[this.#first]; first?.done; first = this.#calls[this.#first]) {
      first.isListed = false
      this.#calls[this.#first] = undefined
      this.#first += 1
    }
    if (this.#first < this.#calls.length && this.#first < maxTailLength) return
    this.#calls.splice(0, this.#first)
    this.#first = 0
  }

  #watch({ endsAt }: Call): void {
    this.#wakesAt = endsAt
    const waitMs = Math.max(1, Math.ceil(endsAt - this.#clock.monotonic()))
    void this.#clock.sleep(waitMs, this.#stopped.signal).then(() => {
      // If the process was busy, the result may already be in the socket, so the socket is read first.
      if (!this.#stopped.signal.aborted) setImmediate(() => this.#expire(endsAt))
    })
  }

  #expire(woken: number): void {
    const now = this.#clock.monotonic()
    for (let next = this.#next(); next !== undefined && next.endsAt <= now; next = this.#next()) {
      next.expire(this.#ms)
      next.done = true
    }
    if (this.#wakesAt === woken) this.#wakesAt = Number.POSITIVE_INFINITY
    const next = this.#next()
    if (next !== undefined && next.endsAt < this.#wakesAt) this.#watch(next)
  }

  #next(): Call | undefined {
    this.#skipDone()
    return this.#calls[this.#first]
  }
}

const itself = <T>(response: T) => response
const rethrow = (reason: unknown): never => {
  throw reason
}
