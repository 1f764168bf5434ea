import type { Clock } from './clock.ts'

/** One reason for all ends: without one, each end would make an exception with a stack. */
const over = new Error('The work is over')

/**
 * Runs work under a deadline. When the deadline passes, the work's signal aborts and `late` makes the error; when `outer`
 * aborts, the same happens with its reason. Whatever the work still does then is left to end by itself.
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

/** Nothing is waited for any more. */
const noWait = new Error('No wait is left')

class Wait {
  /** Monotonic milliseconds. */
  readonly endsAt: number
  /** Absent once the wait is over. */
  expired: (() => void) | undefined
  before: Wait | undefined = undefined
  after: Wait | undefined = undefined

  constructor(endsAt: number, expired: () => void) {
    this.endsAt = endsAt
    this.expired = expired
  }
}

/**
 * Waits of one length, which end in the order in which they began. They lead to each other only while they last: what has ended
 * must not keep alive what came after it, nor the iterator of a sleeper what ended meanwhile.
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
 * Deadlines of many calls on one timer for each length. A timer, a promise and a signal for every call cost more than a short
 * call itself; where calls follow each other closely, one timer serves thousands.
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
   * @param expired called once when it is over; must not throw
   * @returns ends the wait; may be called more than once
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
      // No timer is left behind, and what comes next has a line of its own.
      this.#drop(ms, line)
      line.empty.abort(noWait)
    }
  }

  async #watch(ms: number, line: Line): Promise<void> {
    for (let next = line.first; next !== undefined; next = line.first) {
      // A timer may be early by a fraction of a millisecond.
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
