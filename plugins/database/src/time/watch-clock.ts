import { type Clock, type Logger, reasonOf } from '@plinth/kernel'
import { type ClockProblem, clockWarning, type DatabaseClock, FollowingClock } from './database-clock.ts'

/** Milliseconds between two measurements. Clocks that run freely differ by less than 10 ms after this time. */
const intervalMs = 60_000

interface ClockWatchOptions {
  /** The clock of the database. */
  readonly clock: DatabaseClock
  /** The clock of the process. */
  readonly processClock: Clock
  readonly log: Logger
  /** Ends the watch. */
  readonly signal: AbortSignal
}

/**
 * Measures the time of the database now, and then each minute until the signal aborts. Logs when the clocks begin to differ, and
 * when they agree again.
 *
 * @returns when the first measurement is done
 */
export async function startWatch({ clock, processClock, log, signal }: ClockWatchOptions): Promise<void> {
  if (clock instanceof FollowingClock) return
  let reported: ClockProblem['kind'] | undefined
  const measure = async () => {
    const problem = await clock.check()
    if (problem === undefined && reported !== undefined) log.info('the clocks agree; irreversible tasks run again')
    if (problem !== undefined && problem.kind !== reported) {
      log.warn({ clock: problem }, clockWarning(problem))
    }
    reported = problem?.kind
  }
  const repeat = async () => {
    for (;;) {
      await processClock.sleep(intervalMs, signal, { keepsAlive: false })
      if (signal.aborted) return
      // The connection logs its own failures.
      await measure().catch((error: unknown) => log.debug({ reason: reasonOf(error) }, 'the clock was not measured'))
    }
  }
  await measure()
  void repeat()
}
