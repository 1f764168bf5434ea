import { type Clock, type StoreContext, turnTime } from '@plinth/kernel'

/** One call of a store. The signal is made only for who asks for it. */
export class Call implements StoreContext {
  /** On the monotonic clock; known when the store has not answered at once. */
  endsAt = Number.POSITIVE_INFINITY
  /** The store has answered, or nobody waits any more. */
  done = false
  /** Somebody may still look at it, so no other call may be the same. */
  isKept = false
  /** Somebody looks to its end. */
  isListed = false
  /** What follows the end of the time. */
  onExpiry: ((reason: Error) => void) | undefined = undefined
  readonly #clock: Clock
  #expiry: AbortController | undefined
  #expired: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Why nobody waits any more, once the time is over. */
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

/** All calls of one millisecond, of stores that end their calls by themselves: they share their deadline and their context. */
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
    // It aborts at the deadline whoever has an answer by then.
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
  /** When the next timer runs out, on the monotonic clock. */
  #wakesAt = Number.POSITIVE_INFINITY
  /** For the next call that begins. */
  #fresh: Call
  readonly #turn: () => number
  #moment: Moment | undefined

  /** @param ms time of every call, in milliseconds */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
    this.#fresh = new Call(clock)
    this.#turn = turnTime(clock)
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

  /**
   * The context of a call of a store whose calls end by themselves, up to a millisecond before the deadline of a call of its
   * own: all calls of that time have the same.
   */
  moment(): StoreContext {
    const endsAt = this.#turn() + this.#ms
    if (this.#moment === undefined || endsAt - this.#moment.call.endsAt >= 1) this.#moment = this.#beginMoment(endsAt)
    return this.#moment
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
    // A moment comes when its first call has to wait, which may be later than others that began after it.
    while (at > this.#first && (this.#calls[at - 1]?.endsAt ?? 0) > call.endsAt) at -= 1
    this.#calls.splice(at, 0, call)
    call.isListed = true
    if (call.endsAt < this.#wakesAt) this.#watch(call)
  }

  /** Lets go of calls that have ended, so that what they hold on to does not live longer than they do. */
  #skipDone(): void {
    for (let first = this.#calls[this.#first]; first?.done; first = this.#calls[this.#first]) {
      first.isListed = false
      this.#calls[this.#first] = undefined
      this.#first += 1
    }
    if (this.#first < this.#calls.length && this.#first < longestTail) return
    this.#calls.splice(0, this.#first)
    this.#first = 0
  }

  #watch({ endsAt }: Call): void {
    this.#wakesAt = endsAt
    const waitMs = Math.max(1, Math.ceil(endsAt - this.#clock.monotonic()))
    void this.#clock.sleep(waitMs, this.#stopped.signal).then(() => {
      // Where the process was busy, the answer may lie in the socket already.
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

const itself = <T>(answer: T) => answer
const rethrow = (reason: unknown): never => {
  throw reason
}
