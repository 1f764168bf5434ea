import type { Clock } from '@plinth/kernel'
import { type Moment, momentOf } from './keep-lease.ts'
import type { LeaseState } from './row-leases.ts'

/** What this instance knows of a row. */
export interface Sight {
  /** When the row was first seen in its present state. */
  readonly since: Moment
  /** `clock.monotonic` when it was last asked for and still in another state; minus infinity for the first state that was seen. */
  readonly changedAfter: number
}

interface Observation extends Sight, LeaseState {
  lastAsked: number
}

/**
 * Judges leases by when this instance saw their rows change, on its own monotonic clock: two machines need not agree about
 * the time.
 */
export class LeaseWatch<K> {
  readonly #clock: Clock
  readonly #lapseMs: number
  readonly #seen = new Map<K, Observation>()

  /** @param lapseMs milliseconds for which a row stands still until its lease lapses */
  constructor(clock: Clock, lapseMs: number) {
    this.#clock = clock
    this.#lapseMs = lapseMs
  }

  /** @param askedAt `clock.monotonic` before the row was asked for */
  see(key: K, { fence, beat }: LeaseState, askedAt: number): Sight {
    const known = this.#seen.get(key)
    if (known?.fence === fence && known.beat === beat) {
      known.lastAsked = Math.max(known.lastAsked, askedAt)
      return known
    }
    const changedAfter = known?.lastAsked ?? Number.NEGATIVE_INFINITY
    const observation = { fence, beat, since: momentOf(this.#clock), changedAfter, lastAsked: askedAt }
    this.#seen.set(key, observation)
    return observation
  }

  /** Milliseconds until the lease of a held row lapses, 0 or less when it has. */
  leftMs(key: K, state: LeaseState, askedAt: number): number {
    return this.see(key, state, askedAt).since.monotonic + this.#lapseMs - this.#clock.monotonic()
  }

  /** Forgets all other rows. */
  keepOnly(keys: ReadonlySet<K>): void {
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key)
  }
}
