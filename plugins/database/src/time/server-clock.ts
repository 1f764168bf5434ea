import type { Clock } from '@plinth/kernel'
import { databaseError } from '../errors.ts'
import type { ClockProblem, DatabaseClock } from './database-clock.ts'

interface ServerClockOptions {
  readonly clock: Clock
  /** Reads the time of the server, milliseconds since the epoch. */
  readonly read: () => Promise<number>
  /** Maximum difference of the clocks without a problem, milliseconds. */
  readonly toleranceMs: number
}

/**
 * Difference between the changes of wall clock and monotonic clock after which the server is queried immediately,
 * milliseconds.
 */
const jumpMs = 1_000

/**
 * The time of a PostgreSQL, MySQL or MariaDB server. It is measured relative to the monotonic clock, so a wrong or
 * jumping wall clock does not change it. The error of a measurement is at most half the duration of its statement.
 */
export class ServerClock implements DatabaseClock {
  readonly #options: ServerClockOptions
  /** Server time minus monotonic time. Undefined until the first measurement. */
  #offset: number | undefined
  /** Wall clock minus monotonic clock at the last measurement. */
  #wallOffset = 0
  #measuring: Promise<void> | undefined

  constructor(options: ServerClockOptions) {
    this.#options = options
  }

  /** Before the first connection, this is the wall clock. Nothing is stored or compared then. */
  now(): number {
    const { clock } = this.#options
    if (this.#offset === undefined) return Math.floor(clock.now())
    // The wall clock jumped, or the host slept and the monotonic clock may have stopped.
    if (Math.abs(clock.now() - clock.monotonic() - this.#wallOffset) > jumpMs) this.#measureSoon()
    return Math.floor(clock.monotonic() + this.#offset)
  }

  expiryNow(): number {
    return this.now()
  }

  monotonic(): number {
    return this.#options.clock.monotonic()
  }

  sleep: Clock['sleep'] = (...wait) => this.#options.clock.sleep(...wait)

  get problem(): ClockProblem | undefined {
    const { clock, toleranceMs } = this.#options
    const difference = clock.now() - this.now()
    if (Math.abs(difference) <= toleranceMs) return undefined
    return {
      kind: difference > 0 ? 'ahead' : 'behind',
      differenceMs: Math.round(Math.abs(difference)),
      remedy: 'correct',
    }
  }

  async check(): Promise<ClockProblem | undefined> {
    await this.measure()
    return this.problem
  }

  async confirm(): Promise<never> {
    throw databaseError('PLINTH_DATABASE_CLOCK_OF_SERVER')
  }

  /** Queries the time of the server. A slow result has no effect if the current offset is within its error. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined
    })
    return this.#measuring
  }

  async #measure(): Promise<void> {
    const { clock, read } = this.#options
    const startedAt = clock.monotonic()
    const serverTime = await read()
    const errorMs = (clock.monotonic() - startedAt) / 2
    const offset = serverTime - (startedAt + errorMs)
    this.#wallOffset = clock.now() - clock.monotonic()
    if (this.#offset === undefined || Math.abs(offset - this.#offset) > errorMs) this.#offset = offset
  }

  /** The code that runs statements reports a failure. The next call of `now` tries again. */
  #measureSoon(): void {
    if (this.#measuring === undefined) this.measure().catch(() => undefined)
  }
}
