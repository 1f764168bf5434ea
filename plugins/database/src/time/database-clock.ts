import { userInfo } from 'node:os'
import {
  type Clock,
  type CommandInvocation,
  errorReason,
  type Kernel,
  type Logger,
  service,
  writeAuditEntry,
} from '@plinth/kernel'
import type { Database } from '../contract.ts'
import { FileClock } from './file-clock.ts'

/** Milliseconds between two measurements. In this time, clocks drift apart by less than 10 ms. */
const intervalMs = 60_000

interface ClockWatchOptions {
  readonly clock: DatabaseClock
  readonly processClock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Measures the time of the database every minute until the signal aborts. Logs when the clocks start to differ, and
 * when they agree again. On SQLite, logs a jump of the wall clock as soon as the time is used.
 *
 * @returns a promise that resolves after the first measurement
 */
export async function startClockWatch({ clock, processClock, log, signal }: ClockWatchOptions): Promise<void> {
  if (clock instanceof FollowingClock) return
  let reported: ClockProblem['kind'] | undefined
  const report = (problem: ClockProblem | undefined) => {
    if (problem?.kind === reported) return
    reported = problem?.kind
    if (problem === undefined) log.info('the clocks agree; irreversible tasks run again')
    else log.warn({ clock: problem }, clockWarning(problem))
  }
  if (clock instanceof FileClock) clock.onChange(report)
  const measure = async () => report(await clock.check())
  const repeat = async () => {
    for (;;) {
      await processClock.sleep(intervalMs, signal, { keepsAlive: false })
      if (signal.aborted) return
      // A failed measurement is only logged for debugging, because the connection logs its failures itself.
      await measure().catch((error: unknown) => log.debug({ reason: errorReason(error) }, 'the clock was not measured'))
    }
  }
  await measure()
  void repeat()
}

/**
 * Implements `plinth database confirm-clock`, which trusts the clock of the host, so that irreversible tasks run again.
 * SQLite only.
 */
export async function confirmHostClock(
  db: Pick<Database, 'clock' | 'transactional'>,
  kernel: Pick<Kernel, 'contributions'>,
  { output }: CommandInvocation,
): Promise<void> {
  const { clock } = db
  const problem = await clock.check()
  // This process cannot know whether an instance that runs trusts its clock, so on SQLite the clock is always confirmed.
  if (problem === undefined && !(clock instanceof FileClock)) {
    return output.result({ confirmed: false }, 'The clock is trusted. Nothing to confirm.')
  }
  if (problem?.remedy !== 'correct') {
    const summary = { state: problem?.kind ?? 'agrees', differenceMs: problem?.differenceMs ?? 0 }
    const actor = { name: `cli:${userInfo().username}` }
    // A command can only create ids in a transaction.
    await db.transactional(() => writeAuditEntry(kernel, { actor, action: 'database-clock.confirm', summary }))
  }
  const time = new Date(await clock.confirm()).toISOString()
  output.result({ confirmed: true, time }, `Confirmed ${time}. Irreversible tasks run again within a minute.`)
}

/**
 * Clock for decisions about money, holds, claims, expiry and deletion, so that a host with a wrong clock causes no harm
 * (decisions F20, G32). It asks the database about once a minute. Reading the clock runs no statement. `monotonic` and
 * `sleep` are those of the process.
 */
export interface DatabaseClock extends Clock {
  /**
   * Returns the time of the database in whole milliseconds since the epoch. Use it for each time that is stored or
   * compared with a stored time.
   *
   * On a server, it is the last measured time plus the elapsed monotonic time. On SQLite, it is the wall clock of the
   * process while the clock is trusted, otherwise the last trusted time plus the elapsed monotonic time.
   */
  now(): number
  /**
   * Returns the time for irreversible actions, for example expiry of points and release of holds. It equals `now()`.
   * After a jump of the wall clock, actions may be late, but never too early.
   */
  expiryNow(): number
  /** Reason why irreversible work must not run now. */
  readonly problem: ClockProblem | undefined
  /**
   * Measures the clocks again and returns the problem. Call it before irreversible work, outside a transaction. The
   * scheduler calls it for tasks that declare `irreversible`.
   *
   * @throws PlinthError if the database does not respond
   */
  check(): Promise<ClockProblem | undefined>
  /**
   * Trusts the wall clock of this process, because an operator has confirmed it. SQLite only.
   *
   * @returns the confirmed time in milliseconds since the epoch
   * @throws PlinthError `PLINTH_DATABASE_CLOCK_OF_SERVER` on a server, where the clocks must be corrected
   */
  confirm(): Promise<number>
}

/** Difference between the wall clock of this process and the time of the database; on SQLite, the expected time. */
export interface ClockProblem {
  /** `ahead`: the wall clock shows a later time than the database. `behind`: an earlier time. */
  readonly kind: 'ahead' | 'behind'
  /** Difference in milliseconds; always positive. */
  readonly differenceMs: number
  /** `correct`: make the clocks of host and server agree. `confirm`: correct the clock of the host, or confirm it. */
  readonly remedy: 'correct' | 'confirm'
}

/** Returns a `Clock` whose `now` returns `expiryNow`. */
export const expiryClock = (clock: DatabaseClock): Clock => ({
  now: () => clock.expiryNow(),
  monotonic: () => clock.monotonic(),
  sleep: (...wait) => clock.sleep(...wait),
})

export interface FollowedClock {
  now(): number
}

/** Provided only in tests, by `createFollowedClockPlugin` of `@plinth/dev/testing/database`. */
export const followedClock = service<FollowedClock>('database.followed-clock')

export class FollowingClock implements DatabaseClock {
  readonly problem = undefined
  readonly #followed: FollowedClock
  readonly #process: Clock

  constructor(followed: FollowedClock, process: Clock) {
    this.#followed = followed
    this.#process = process
  }

  now(): number {
    return Math.floor(this.#followed.now())
  }

  expiryNow(): number {
    return this.now()
  }

  monotonic(): number {
    return this.#process.monotonic()
  }

  sleep: Clock['sleep'] = (...wait) => this.#process.sleep(...wait)

  async check(): Promise<undefined> {}

  async confirm(): Promise<number> {
    return this.now()
  }
}

const clocks = { correct: "the database's clock", confirm: 'the expected time' }
const fixes = {
  correct: 'Make the clocks of this host and of the database server agree, for example with NTP.',
  confirm:
    'Correct the clock. If it is right, confirm it: page Clock of the back office, or `plinth database confirm-clock`.',
}

/** Returns the warning with its fix. The text changes only if the state changes. */
export const clockWarning = ({ kind, remedy }: ClockProblem): string =>
  `The clock of this host is ${kind} of ${clocks[remedy]}. Irreversible tasks do not run. ${fixes[remedy]}`
