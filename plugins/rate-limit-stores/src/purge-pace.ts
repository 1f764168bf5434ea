import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock, RateLimitDecision, RateLimitRequest } from '@plinth/kernel'

/** Milliseconds between two passes over all entries, and before the first pass. */
const passPauseMs = 300_000
/** Milliseconds between two steps of a pass, so that a million expired keys are removed in two minutes. */
const stepPauseMs = 20

/** A store whose expired entries are removed. */
export interface PurgeableStore {
  /** Number of stored entries, including expired ones. */
  readonly size: number
  /** Runs one short step of a pass over all entries. Returns false when the pass is complete. */
  sweep(): boolean
}

/**
 * Removes expired entries while there are no calls, because stores only purge during calls. Runs while entries are
 * stored, and does not keep the process alive.
 */
export class IdlePurge {
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #ended = new AbortController()
  /** The sweep belongs to no caller, so it must not keep the async context of a caller alive. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #runs = false

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock
  }

  /** Must be called when an entry is stored. Starts the sweep unless it runs or was stopped. */
  held(swept: PurgeableStore): void {
    if (this.#runs) return
    this.#runs = true
    void this.#outside(() => this.#run(swept))
  }

  stop(): void {
    this.#runs = true
    this.#ended.abort()
  }

  async #run(swept: PurgeableStore): Promise<void> {
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

/** Returns the decisions of a joint call that takes nothing, with the remaining quota before the cost. */
export function decisionsWithoutCost(
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
 * Returns the same text as one flat string. A concatenated string references its parts: a key of 45 characters would
 * take 240 bytes instead of 100.
 */
export function flattenKeyString(key: string): string {
  if (key.length > scratch.length) return key
  const compact = scratch.toString('latin1', 0, scratch.write(key, 'latin1'))
  return compact === key ? compact : key
}

export interface LocalStoreOptions {
  readonly clock: Clock
  /** Minimum number of calls between the starts of two purges, at least 1. */
  readonly cleanupInterval: number
  /** Maximum number of stored entries, from 1 to 2^24 - 1, the maximum size of a Map. */
  readonly maxKeys: number
  readonly onHeld?: (store: PurgeableStore) => void
}

/** A running purge executes one short step every 32 calls, so that no call has to wait for a whole purge. */
const stepCalls = 32

/** Decides by the number of calls when a store purges. */
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

  /** Counts a call. Returns true if a purge should execute one step now. */
  isStepDue(): boolean {
    // Counts down, because a division would take 10 % of the time of a decision.
    this.#callsToStep -= 1
    if (this.#callsToStep > 0) return false
    this.#calls += this.#stepCalls
    this.#callsToStep = this.#stepCalls
    return true
  }

  /** Returns true if a purge may start, and marks it as started. */
  starts(): boolean {
    if (this.#calls - this.#startedAt < this.#cleanupInterval) return false
    this.#startedAt = this.#calls
    return true
  }
}
