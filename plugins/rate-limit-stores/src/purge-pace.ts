import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock, RateLimitDecision, RateLimitRequest } from '@plinth/kernel'

/** Milliseconds between two passes, and before the first one. */
const passPauseMs = 300_000
/** Milliseconds between two steps of a pass: a million keys that are over are gone after two minutes. */
const stepPauseMs = 20

/** What a sweep works on. */
export interface Swept {
  /** What is held, also what is over. */
  readonly size: number
  /** One bounded step of a pass over all of it; false when the pass is over. */
  sweep(): boolean
}

/**
 * Gives back what is over when nobody calls any more: stores purge with their calls alone. It runs while something is held and
 * does not keep the process alive.
 */
export class IdleSweep {
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #ended = new AbortController()
  /** It belongs to no caller, so it must not keep what belongs to one. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #runs = false

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock
  }

  /** Something is held now. Begins the sweep unless it runs or was stopped. */
  held(swept: Swept): void {
    if (this.#runs) return
    this.#runs = true
    void this.#outside(() => this.#run(swept))
  }

  /** Ends the sweep for good. */
  stop(): void {
    this.#runs = true
    this.#ended.abort()
  }

  async #run(swept: Swept): Promise<void> {
    while (swept.size > 0) {
      await this.#pause(passPauseMs)
      while (!this.#ended.signal.aborted && swept.sweep()) await this.#pause(stepPauseMs)
      if (this.#ended.signal.aborted) return
    }
    this.#runs = false
  }

  #pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#ended.signal, { keepsAlive: false })
  }
}

/** What peeking at requests told, as the answer of a joint call that takes nothing: `remaining` is what is left. */
export function untouched(
  looked: readonly RateLimitDecision[],
  requests: readonly RateLimitRequest[],
): RateLimitDecision[] {
  return looked.map((decision, index) => {
    const cost = requests[index]?.cost ?? 0
    return decision.allowed ? { ...decision, remaining: decision.remaining + cost } : decision
  })
}

const scratch = Buffer.allocUnsafe(1024)

/**
 * The same text in one piece. Keys are put together from parts, and a text made so holds on to all of its parts: kept as
 * it comes, a key of 45 characters costs 240 bytes instead of 100.
 */
export function compactKey(key: string): string {
  if (key.length > scratch.length) return key
  const compact = scratch.toString('latin1', 0, scratch.write(key, 'latin1'))
  return compact === key ? compact : key
}

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
