import type { Clock, RateLimitDecision, RateLimitRequest, RateLimitStore } from '@plinth/kernel'
import { compactKey } from './compact-key.ts'
import { untouched } from './untouched.ts'

export interface MemoryStoreOptions {
  readonly clock: Clock
  /** Calls between the starts of two purges of expired windows, >= 1. */
  readonly cleanupInterval: number
  /** Windows held at most, from 1 to 2^24 - 1, which is all that a Map takes. */
  readonly maxKeys: number
}

/** A running purge does one step every so many calls, and a step only so much: no call ever pays for a whole purge. */
const stepCalls = 32
const visitsPerStep = 512
const removalsPerStep = 64
/** Steps that a new key may cost when the store is full. */
const stepsWhenFull = 16

/** End of a slot without a window. It never expires, so that a purge passes over it. */
const vacant = Number.POSITIVE_INFINITY

/**
 * Fixed windows in the memory of this process. A window starts with its first hit and is never extended. Answers
 * synchronously, so every decision is one atomic step.
 *
 * Windows lie in columns of numbers, found by key through one Map: a million of them give the garbage collector nothing
 * to walk through. Elapsed time is monotonic; the wall clock is read once per window, for display.
 */
export class MemoryStore implements RateLimitStore {
  readonly traits = { shared: false, algorithm: 'fixed-window' } as const
  readonly #clock: Clock
  readonly #cleanupInterval: number
  readonly #stepCalls: number
  readonly #maxKeys: number

  readonly #slots = new Map<string, number>()
  readonly #keys: string[] = []
  #used = new Float64Array(64)
  #endMs = new Float64Array(64).fill(vacant)
  #resetAtMs = new Float64Array(64)
  readonly #vacated: number[] = []

  #calls = 0
  #purgeStartedAt = 0
  /** Slot that the running purge visits next; past the last slot it is over. */
  #purgeAt = 0

  constructor({ clock, cleanupInterval, maxKeys }: MemoryStoreOptions) {
    this.#clock = clock
    this.#cleanupInterval = cleanupInterval
    this.#stepCalls = Math.min(stepCalls, cleanupInterval)
    this.#maxKeys = maxKeys
  }

  /** Windows held now, including expired ones that no purge has reached. */
  get size(): number {
    return this.#slots.size
  }

  /** Throws when a new key comes while `maxKeys` windows run: forgetting one of them would over-admit. */
  consume(request: RateLimitRequest): RateLimitDecision {
    const nowMs = this.#nowMs()
    this.#calls += 1
    if (this.#calls % this.#stepCalls === 0) this.#purge(nowMs)
    return this.#decide(request, nowMs, true)
  }

  consumeAll(requests: readonly RateLimitRequest[]): RateLimitDecision[] {
    const nowMs = this.#nowMs()
    const looked = requests.map((request) => this.#decide(request, nowMs, false))
    if (!looked.every(({ allowed }) => allowed)) return untouched(looked, requests)
    // Before the first one is taken, because a lack of room is an error.
    this.#makeRoom(requests.filter(({ key }) => !this.#slots.has(key)).length, nowMs)
    return requests.map((request) => this.consume(request))
  }

  peek(request: RateLimitRequest): RateLimitDecision {
    return this.#decide(request, this.#nowMs(), false)
  }

  reset(key: string): void {
    const slot = this.#slots.get(key)
    if (slot !== undefined) this.#vacate(slot, key)
  }

  /** Whole milliseconds keep sums and differences exact. */
  #nowMs(): number {
    return Math.floor(this.#clock.monotonic())
  }

  #decide({ key, limit, windowMs, cost }: RateLimitRequest, nowMs: number, take: boolean): RateLimitDecision {
    const slot = this.#slots.get(key) ?? -1
    const runningMs = slot < 0 ? 0 : (this.#endMs[slot] as number) - nowMs
    const used = runningMs > 0 ? (this.#used[slot] as number) : 0
    // Where the configured window has become shorter than what still runs, the shorter one counts.
    const keepsWindow = runningMs > 0 && runningMs <= windowMs
    const leftMs = keepsWindow ? runningMs : windowMs
    const resetAtMs = keepsWindow ? (this.#resetAtMs[slot] as number) : this.#clock.now() + windowMs

    const remaining = used < limit ? limit - used : 0
    const allowed = cost <= remaining
    if (take) {
      if (keepsWindow) {
        if (allowed) this.#used[slot] = used + cost
      } else if (allowed || runningMs > 0) {
        const opened = slot < 0 ? this.#occupy(key, nowMs) : slot
        this.#used[opened] = allowed ? used + cost : used
        this.#endMs[opened] = nowMs + windowMs
        this.#resetAtMs[opened] = resetAtMs
      }
    }
    return allowed
      ? { allowed, remaining: remaining - cost, resetAtMs, retryAfterMs: 0 }
      : { allowed, remaining, resetAtMs, retryAfterMs: leftMs }
  }

  #makeRoom(keys: number, nowMs: number): void {
    for (let step = 0; this.#slots.size + keys > this.#maxKeys; step++) {
      if (step === stepsWhenFull) {
        const fix = 'raise platform.rate-limit.stores.memory.max-keys or use a shared store'
        throw new Error(`The memory store holds ${this.#maxKeys} running windows, its maximum: ${fix}`)
      }
      if (this.#purgeAt >= this.#keys.length) this.#purgeAt = 0
      this.#purgeStep(nowMs)
    }
  }

  #occupy(key: string, nowMs: number): number {
    this.#makeRoom(1, nowMs)
    const slot = this.#vacated.pop() ?? this.#keys.length
    if (slot === this.#endMs.length) this.#grow()
    const kept = compactKey(key)
    this.#keys[slot] = kept
    this.#slots.set(kept, slot)
    return slot
  }

  #vacate(slot: number, key: string): void {
    this.#slots.delete(key)
    this.#keys[slot] = ''
    this.#endMs[slot] = vacant
    this.#vacated.push(slot)
  }

  #grow(): void {
    const enlarged = (column: Float64Array<ArrayBuffer>) => {
      const larger = new Float64Array(2 * column.length).fill(vacant)
      larger.set(column)
      return larger
    }
    this.#used = enlarged(this.#used)
    this.#endMs = enlarged(this.#endMs)
    this.#resetAtMs = enlarged(this.#resetAtMs)
  }

  #purge(nowMs: number): void {
    if (this.#purgeAt >= this.#keys.length) {
      if (this.#calls - this.#purgeStartedAt < this.#cleanupInterval) return
      this.#purgeStartedAt = this.#calls
      this.#purgeAt = 0
    }
    this.#purgeStep(nowMs)
  }

  #purgeStep(nowMs: number): void {
    const lastVisit = Math.min(this.#purgeAt + visitsPerStep, this.#keys.length)
    let removals = 0
    while (this.#purgeAt < lastVisit && removals < removalsPerStep) {
      const slot = this.#purgeAt++
      if ((this.#endMs[slot] as number) > nowMs) continue
      this.#vacate(slot, this.#keys[slot] as string)
      removals += 1
    }
  }
}
