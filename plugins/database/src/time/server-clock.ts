import type { Clock } from '@plinth/kernel'
import { databaseError } from '../errors.ts'
import type { ClockProblem, DatabaseClock } from './database-clock.ts'

interface ServerClockOptions {
  readonly clock: Clock
  /** Returns the time of the server in milliseconds since the epoch. */
  readonly read: () => Promise<number>
  /** Maximum difference in milliseconds between the wall clock of this process and the clock of the server. */
  readonly toleranceMs: number
}

/**
 * The server is asked immediately if the wall clock and the monotonic clock have drifted apart by these milliseconds.
 */
const jumpMs = 1_000

/**
 * Between measurements, the time follows the monotonic clock, so a wrong wall clock has no effect. A measurement is
 * wrong by at most half the duration of its statement.
 */
export class ServerClock implements DatabaseClock {
  readonly #options: ServerClockOptions
  /** Server time minus monotonic time; undefined until the first measurement. */
  #offset: number | undefined
  /** Wall clock minus monotonic time at the last measurement. */
  #wallOffset = 0
  #measuring: Promise<void> | undefined

  constructor(options: ServerClockOptions) {
    this.#options = options
  }

  /** Returns the wall clock before the first measurement. Until then, no time is stored or compared. */
  now(): number {
    const { clock } = this.#options
    if (this.#offset === undefined) return Math.floor(clock.now())
    // The wall clock jumped, or the host was suspended and the monotonic clock may have stopped.
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

  /** Measures the time of the server. An imprecise measurement does not change a more precise offset. */
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

  /**
   * Starts a measurement and ignores its errors, because the code that runs statements reports them. The next call of
   * `now` tries again.
   */
  #measureSoon(): void {
    if (this.#measuring === undefined) this.measure().catch(() => undefined)
  }
}
