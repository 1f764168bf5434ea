import type { Clock } from '@plinth/kernel'
import type { ClockProblem, DatabaseClock } from './database-clock.ts'

/** Row of the table `database_clock`. */
export interface StoredTime {
  /** Highest time that an instance has used, in milliseconds since the epoch. */
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
  /** Milliseconds by which the wall clock may differ from the expected time. */
  readonly toleranceMs: number
  /** True in a command. It stores no time and trusts no pause, because an instance may run at the same time. */
  readonly isCommand: boolean
}

/** Milliseconds by which the wall clock may be ahead at a start, because the product may have been stopped for so long. */
const maxPauseMs = 24 * 60 * 60 * 1000

/**
 * Milliseconds by which the wall clock may be ahead of a time that an operator has confirmed in another process. Each
 * process loads the stored time every minute.
 */
const maxConfirmationAgeMs = 2 * 60 * 1000

/**
 * SQLite has no clock, so the highest time that was used is stored. A start trusts the wall clock if it is not behind
 * the stored time, and at most 24 hours ahead of it. From then on, the expected time is this trusted time plus the
 * elapsed monotonic time. A wall clock that differs from the expected time by more than the tolerance is not trusted
 * until it agrees again or an operator confirms it. An accepted difference never changes the expected time, so small
 * steps cannot add up.
 */
export class FileClock implements DatabaseClock {
  readonly #options: FileClockOptions
  /** The trusted time and the monotonic time at that moment. Undefined until the stored time is loaded. */
  #trusted: { readonly at: number; readonly monotonic: number } | undefined
  #confirmations = 0
  #reported: ClockProblem['kind'] | undefined
  #report: (problem: ClockProblem | undefined) => void = () => {}

  constructor(options: FileClockOptions) {
    this.#options = options
  }

  now(): number {
    const { expected, wall, problem } = this.#compare()
    return problem === undefined ? wall : expected
  }

  expiryNow(): number {
    return this.now()
  }

  monotonic(): number {
    return this.#options.clock.monotonic()
  }

  sleep: Clock['sleep'] = (...wait) => this.#options.clock.sleep(...wait)

  get problem(): ClockProblem | undefined {
    return this.#compare().problem
  }

  /** Calls the listener when the problem begins, ends or changes its kind. Replaces the previous listener. */
  onChange(listener: (problem: ClockProblem | undefined) => void): void {
    this.#report = listener
  }

  /** Loads the stored time, and stores the expected time. */
  async check(): Promise<ClockProblem | undefined> {
    const { store, isCommand, toleranceMs } = this.#options
    const stored = await store.load()
    if (this.#trusted === undefined) {
      this.#trust(stored?.decidedAt ?? this.#wall(), isCommand ? toleranceMs : maxPauseMs)
    } else if (stored !== undefined && stored.confirmations !== this.#confirmations) {
      this.#trust(stored.decidedAt, toleranceMs + maxConfirmationAgeMs)
    }
    this.#confirmations = stored?.confirmations ?? this.#confirmations
    const { expected, problem } = this.#compare()
    if (!isCommand) await store.raise({ decidedAt: expected, confirmations: this.#confirmations })
    return problem
  }

  /** Stores the time when the process ends, for the next start. */
  async save(): Promise<void> {
    if (this.#trusted !== undefined) await this.check()
  }

  async confirm(): Promise<number> {
    const confirmed = this.#wall()
    await this.#options.store.confirm(confirmed)
    await this.check()
    return confirmed
  }

  #wall(): number {
    return Math.floor(this.#options.clock.now())
  }

  /** Trusts the wall clock if it agrees with the stored time. Otherwise trusts the stored time. */
  #trust(storedAt: number, maxAheadMs: number): void {
    const { clock, toleranceMs } = this.#options
    const wall = this.#wall()
    const difference = wall - storedAt
    const isTrusted = difference >= -toleranceMs && difference <= maxAheadMs
    this.#trusted = { at: isTrusted ? wall : storedAt, monotonic: clock.monotonic() }
  }

  #compare() {
    const { clock, toleranceMs } = this.#options
    const wall = this.#wall()
    if (this.#trusted === undefined) return { wall, expected: wall, problem: undefined }
    const expected = Math.floor(this.#trusted.at + (clock.monotonic() - this.#trusted.monotonic))
    const problem = problemOf(wall - expected, toleranceMs)
    if (problem?.kind !== this.#reported) {
      this.#reported = problem?.kind
      this.#report(problem)
    }
    return { wall, expected, problem }
  }
}

function problemOf(differenceMs: number, toleranceMs: number): ClockProblem | undefined {
  if (Math.abs(differenceMs) <= toleranceMs) return undefined
  return { kind: differenceMs > 0 ? 'ahead' : 'behind', differenceMs: Math.abs(differenceMs), remedy: 'confirm' }
}

/** True if a start would trust the clock in spite of this problem, which a command has measured. */
export const isPause = ({ kind, remedy, differenceMs }: ClockProblem): boolean =>
  kind === 'ahead' && remedy === 'confirm' && differenceMs <= maxPauseMs
