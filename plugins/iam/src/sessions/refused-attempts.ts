import { LRUCache } from 'lru-cache'

/** Records of refused attempts from one caller, or on one account, in a minute: more than a human makes, less than a flood. */
const mostPerMinute = 30
const minuteMs = 60_000
/** Callers and accounts that are remembered; of an instance, the least recent goes first. */
const mostCallers = 10_000

interface Minute {
  readonly minute: number
  records: number
  lastId: number
}

/**
 * Decides which refused attempts have a record of their own. A flood would otherwise write as many rows as it sends
 * requests.
 */
export class RefusedAttempts {
  readonly #minutes = new LRUCache<string, Minute>({ max: mostCallers })

  /**
   * The record that stands for an attempt: a new one, or the last of a caller whose minute is full.
   *
   * @param callers everything that the attempt counts for
   * @param now milliseconds since the epoch
   * @param newId id for a record of its own
   */
  recordFor(callers: readonly string[], now: number, newId: number): number {
    const minute = Math.floor(now / minuteMs)
    const running = callers.map((caller) => {
      const known = this.#minutes.get(caller)
      if (known?.minute === minute) return known
      const fresh = { minute, records: 0, lastId: newId }
      this.#minutes.set(caller, fresh)
      return fresh
    })
    const full = running.find(({ records }) => records >= mostPerMinute)
    if (full !== undefined) return full.lastId
    for (const one of running) {
      one.records++
      one.lastId = newId
    }
    return newId
  }
}
