import type { Clock } from './clock.ts'

/** Nothing is waited for any more. */
const over = new Error('No wait is left')

interface Wait {
  /** Monotonic milliseconds. */
  readonly endsAt: number
  readonly expired: () => void
}

/** Waits of one length end in the order in which they began. */
class Line {
  readonly waits = new Set<Wait>()
  readonly empty = new AbortController()
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
    const wait = { endsAt: this.#clock.monotonic() + ms, expired }
    line.waits.add(wait)
    if (known === undefined) {
      this.#lines.set(ms, line)
      void this.#watch(ms, line)
    }
    return () => {
      if (!line.waits.delete(wait) || line.waits.size > 0) return
      // No timer is left behind, and what comes next has a line of its own.
      this.#drop(ms, line)
      line.empty.abort(over)
    }
  }

  async #watch(ms: number, line: Line): Promise<void> {
    const { waits, empty } = line
    // Those that begin meanwhile come last.
    for (const next of waits) {
      // A timer may be early by a fraction of a millisecond.
      for (let left = this.#left(next); waits.has(next) && left > 0; left = this.#left(next)) {
        await this.#clock.sleep(left, empty.signal)
        if (empty.signal.aborted) return
      }
      if (waits.delete(next)) next.expired()
    }
    this.#drop(ms, line)
  }

  #left({ endsAt }: Wait): number {
    return Math.ceil(endsAt - this.#clock.monotonic())
  }

  #drop(ms: number, line: Line): void {
    if (this.#lines.get(ms) === line) this.#lines.delete(ms)
  }
}
