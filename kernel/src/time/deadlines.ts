import type { Clock } from './clock.ts'

/** One shared reason: without it, each end would create an exception with a stack. */
const over = new Error('The work is over')

/**
 * Runs work under a deadline. When the deadline passes, the signal of the work aborts and `late` creates the error.
 * When `outer` aborts, the same happens with its reason. Work that then continues is not awaited.
 *
 * @param ms deadline in milliseconds
 */
export async function withinDeadline<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => T | Promise<T>,
  late: () => Error,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted()
  const finished = new AbortController()
  const given = new AbortController()
  const givenUp = new Promise<never>((_, reject) => {
    given.signal.addEventListener('abort', () => reject(given.signal.reason))
  })
  outer?.addEventListener('abort', () => given.abort(outer.reason), { signal: finished.signal })
  clock.sleep(ms, finished.signal).then(() => {
    if (!finished.signal.aborted) given.abort(late())
  })
  try {
    return await Promise.race([Promise.resolve().then(() => work(given.signal)), givenUp])
  } finally {
    finished.abort(over)
  }
}

/** Reason to stop the timer when no wait is left. */
const noWait = new Error('No wait is left')

class Wait {
  /** Monotonic milliseconds. */
  readonly endsAt: number
  /** Undefined after the wait has ended. */
  expired: (() => void) | undefined
  before: Wait | undefined = undefined
  after: Wait | undefined = undefined

  constructor(endsAt: number, expired: () => void) {
    this.endsAt = endsAt
    this.expired = expired
  }
}

/**
 * Waits of the same length, which end in the order in which they began. Ended waits are unlinked, so that they do not
 * keep later waits in memory, and a sleeper does not keep ended ones.
 */
class Line {
  readonly empty = new AbortController()
  first: Wait | undefined = undefined
  #last: Wait | undefined = undefined

  add(wait: Wait): void {
    wait.before = this.#last
    if (this.#last === undefined) this.first = wait
    else this.#last.after = wait
    this.#last = wait
  }

  remove(wait: Wait): void {
    const { before, after } = wait
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    wait.before = undefined
    wait.after = undefined
    wait.expired = undefined
  }
}

/**
 * Deadlines of many calls with one timer for each length. A timer, a promise and a signal for each call cost more than
 * a short call itself. If calls follow each other closely, one timer serves thousands.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #lines = new Map<number, Line>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Begins a wait.
   *
   * @param ms its length in milliseconds
   * @param expired called once when it expires; must not throw
   * @returns a function that ends the wait; may be called more than once
   */
  begin(ms: number, expired: () => void): () => void {
    const known = this.#lines.get(ms)
    const line = known ?? new Line()
    const wait = new Wait(this.#clock.monotonic() + ms, expired)
    line.add(wait)
    if (known === undefined) {
      this.#lines.set(ms, line)
      void this.#watch(ms, line)
    }
    return () => {
      if (wait.expired === undefined) return
      line.remove(wait)
      if (line.first !== undefined) return
      // No timer stays active, and the next wait gets a new line.
      this.#drop(ms, line)
      line.empty.abort(noWait)
    }
  }

  async #watch(ms: number, line: Line): Promise<void> {
    for (let next = line.first; next !== undefined; next = line.first) {
      // A timer may fire a fraction of a millisecond early.
      const left = Math.ceil(next.endsAt - this.#clock.monotonic())
      if (left > 0) {
        next = undefined
        await this.#clock.sleep(left, line.empty.signal)
        if (line.empty.signal.aborted) return
      } else {
        const { expired } = next
        line.remove(next)
        expired?.()
      }
    }
    this.#drop(ms, line)
  }

  #drop(ms: number, line: Line): void {
    if (this.#lines.get(ms) === line) this.#lines.delete(ms)
  }
}
