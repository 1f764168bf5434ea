import type { Clock } from './clock.ts'

/** Abort reason that all calls share. A new error for each call would be slow, because it records a stack. */
const over = new Error('The work is over')

/**
 * Runs work with a deadline. At the deadline, aborts the signal of the work and rejects with the error of `late`. When
 * `outer` aborts, aborts the signal too and rejects with the reason of `outer`. Does not wait for work that continues
 * afterwards.
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

/** Reason to stop a timer after its last wait has ended. */
const noWait = new Error('No wait is left')

class Wait {
  /** Monotonic time in milliseconds. */
  readonly endsAt: number
  expired: (() => void) | undefined
  before: Wait | undefined = undefined
  after: Wait | undefined = undefined

  constructor(endsAt: number, expired: () => void) {
    this.endsAt = endsAt
    this.expired = expired
  }
}

/**
 * A list of waits with the same length, which end in the order in which they began. Ended waits are removed from the
 * list, so that their memory can be released.
 */
class WaitList {
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
 * Deadlines for many calls. All waits of the same length share one timer, because a timer, a promise and a signal for
 * each call would take longer than a short call itself.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #lists = new Map<number, WaitList>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Starts a wait.
   *
   * @param ms length of the wait in milliseconds
   * @param expired called once when the time is over; must not throw
   * @returns a function that ends the wait; it may be called several times
   */
  begin(ms: number, expired: () => void): () => void {
    const known = this.#lists.get(ms)
    const list = known ?? new WaitList()
    const wait = new Wait(this.#clock.monotonic() + ms, expired)
    list.add(wait)
    if (known === undefined) {
      this.#lists.set(ms, list)
      void this.#watch(ms, list)
    }
    return () => {
      if (wait.expired === undefined) return
      list.remove(wait)
      if (list.first !== undefined) return
      // Stops the timer of this list. The next wait creates a new list.
      this.#drop(ms, list)
      list.empty.abort(noWait)
    }
  }

  async #watch(ms: number, list: WaitList): Promise<void> {
    for (let next = list.first; next !== undefined; next = list.first) {
      // A timer may fire slightly too early, so the remaining time is checked again.
      const remainingMs = Math.ceil(next.endsAt - this.#clock.monotonic())
      if (remainingMs > 0) {
        next = undefined
        await this.#clock.sleep(remainingMs, list.empty.signal)
        if (list.empty.signal.aborted) return
      } else {
        const { expired } = next
        list.remove(next)
        expired?.()
      }
    }
    this.#drop(ms, list)
  }

  #drop(ms: number, list: WaitList): void {
    if (this.#lists.get(ms) === list) this.#lists.delete(ms)
  }
}
