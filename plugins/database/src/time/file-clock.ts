import type { Clock } from '@plinth/kernel'
import type { ClockProblem, DatabaseClock } from './database-clock.ts'

/** Row of the table `database_clock`. */
export interface StoredTime {
  /** Highest trusted time in milliseconds since the epoch. */
  readonly decidedAt: number
  /** Number of times that an operator has confirmed the clock. */
  readonly confirmations: number
}

interface TimeStore {
  /** Returns the stored time, or undefined if nothing was stored yet. */
  load(): Promise<StoredTime | undefined>
  /** Stores the time, unless a higher time is stored or the clock was confirmed meanwhile. */
  raise(time: StoredTime): Promise<void>
  confirm(decidedAt: number): Promise<void>
}

interface FileClockOptions {
  readonly clock: Clock
  readonly store: TimeStore
  /** Milliseconds by which the wall clock may be behind the stored time. */
  readonly toleranceMs: number
}

/** Milliseconds by which the wall clock may be ahead, because the product may have been stopped for so long. */
const maxPauseMs = 24 * 60 * 60 * 1000

/**
 * SQLite has no clock, so the highest trusted time is stored. A wall clock is not trusted if it is behind the stored
 * time, or more than 24 hours ahead without the monotonic clock confirming this. An operator must then correct or
 * confirm it.
 */
export class FileClock implements DatabaseClock {
  readonly #options: FileClockOptions
  /** The last trusted time and the monotonic time at that moment. Undefined until the stored time is loaded. */
  #trusted: { readonly at: number; readonly monotonic: number } | undefined
  #confirmations = 0

  constructor(options: FileClockOptions) {
    this.#options = options
  }

  now(): number {
    const { expected, wall, problem } = this.#compare()
    return problem?.kind === 'behind' ? expected : wall
  }

  expiryNow(): number {
    const { expected, wall, problem } = this.#compare()
    return problem === undefined ? wall : expected
  }

  monotonic(): number {
    return this.#options.clock.monotonic()
  }

  sleep: Clock['sleep'] = (...wait) => this.#options.clock.sleep(...wait)

  get problem(): ClockProblem | undefined {
    return this.#compare().problem
  }

  /** Loads the stored time, which another process may have changed. Stores the current time if it is trusted. */
  async check(): Promise<ClockProblem | undefined> {
    const { clock, store } = this.#options
    const stored = await store.load()
    if (stored !== undefined) this.#adopt(stored)
    this.#trusted ??= { at: Math.floor(clock.now()), monotonic: clock.monotonic() }
    const { wall, problem } = this.#compare()
    if (problem === undefined) await store.raise({ decidedAt: wall, confirmations: this.#confirmations })
    return problem
  }

  /** Stores the time when the process ends, for the next start. */
  async save(): Promise<void> {
    if (this.#trusted !== undefined) await this.check()
  }

  async confirm(): Promise<number> {
    const { clock, store } = this.#options
    const confirmed = Math.floor(clock.now())
    await store.confirm(confirmed)
    await this.check()
    return confirmed
  }

  #adopt({ decidedAt, confirmations }: StoredTime): void {
    const isConfirmed = this.#confirmations !== confirmations
    if (this.#trusted === undefined || isConfirmed || decidedAt > this.#compare().expected) {
      this.#trusted = { at: decidedAt, monotonic: this.#options.clock.monotonic() }
    }
    this.#confirmations = confirmations
  }

  #compare() {
    const { clock, toleranceMs } = this.#options
    const wall = Math.floor(clock.now())
    const monotonic = clock.monotonic()
    if (this.#trusted === undefined) return { wall, expected: wall, problem: undefined }
    const expected = Math.floor(this.#trusted.at + (monotonic - this.#trusted.monotonic))
    const difference = wall - expected
    if (difference <= maxPauseMs && difference >= -toleranceMs) {
      this.#trusted = { at: wall, monotonic }
      return { wall, expected, problem: undefined }
    }
    const kind = difference > 0 ? ('ahead' as const) : ('behind' as const)
    const problem: ClockProblem = { kind, differenceMs: Math.abs(difference), remedy: 'confirm' }
    return { wall, expected, problem }
  }
}
