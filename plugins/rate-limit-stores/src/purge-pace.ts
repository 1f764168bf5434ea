import type { Clock } from '@plinth/kernel'
import type { Swept } from './idle-sweep.ts'

/** What a store in the memory of this process needs. */
export interface LocalStoreOptions {
  readonly clock: Clock
  /** Calls between the starts of two purges of what is over, >= 1. */
  readonly cleanupInterval: number
  /** Held at most, from 1 to 2^24 - 1, which is all that a Map takes. */
  readonly maxKeys: number
  /** Called when a key is held that was not. */
  readonly onHeld?: (store: Swept) => void
}

/** A running purge does one step every so many calls, and a step only so much: no call ever pays for a whole purge. */
const stepCalls = 32

/** When a store purges what is over, counted in its calls. */
export class PurgePace {
  readonly #cleanupInterval: number
  readonly #stepCalls: number
  #calls = 0
  #callsToStep: number
  #startedAt = 0

  constructor(cleanupInterval: number) {
    this.#cleanupInterval = cleanupInterval
    this.#stepCalls = Math.min(stepCalls, cleanupInterval)
    this.#callsToStep = this.#stepCalls
  }

  /** Counts a call. Whether a running purge goes one step on with it. */
  isStepDue(): boolean {
    // Counted down, because a division costs a tenth of a decision.
    this.#callsToStep -= 1
    if (this.#callsToStep > 0) return false
    this.#calls += this.#stepCalls
    this.#callsToStep = this.#stepCalls
    return true
  }

  /** Whether a purge may start, which then has started. */
  starts(): boolean {
    if (this.#calls - this.#startedAt < this.#cleanupInterval) return false
    this.#startedAt = this.#calls
    return true
  }
}
