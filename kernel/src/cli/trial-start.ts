import { isPlinthError, reasonOf } from '../errors/coded-error.ts'
import { StartRefusedError } from '../errors/kernel-errors.ts'
import type { SettingsTrial } from '../files/settings-trial.ts'
import type { Clock } from '../time/clock.ts'
import { failureOf } from './fallback-start.ts'

/** Pause before the next try; twice as long each time. */
const firstPauseMs = 1000
const longestPauseMs = 15_000

export interface TrialStart<T> {
  readonly trial: SettingsTrial
  /** Starts the product; gives up when the signal aborts, with everything released. */
  readonly start: (signal: AbortSignal) => Promise<T>
  /** The same where nothing is on trial, or not any more; `start` when absent. */
  readonly startForGood?: (signal: AbortSignal) => Promise<T>
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Tells the operator how it goes on. */
  readonly progress: (text: string) => void
}

/**
 * Starts a product whose settings may be on trial. While they are, a start that fails is tried again after a growing
 * pause; when the time of the trial is over, or the settings are refused, the previous ones are put back and count.
 *
 * @throws as the last start does
 */
export async function startOnTrial<T>({
  trial,
  start,
  startForGood = start,
  signal,
  clock,
  progress,
}: TrialStart<T>): Promise<T> {
  const patienceMs = await trial.patienceMs()
  if (patienceMs === undefined) return startForGood(signal)
  const endsAt = clock.monotonic() + patienceMs
  const left = () => Math.max(0, endsAt - clock.monotonic())
  let why: unknown
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const started = await inTime(start, left(), clock, signal)
      await trial.end()
      return started
    } catch (error) {
      if (signal.aborted) throw error
      // That a start hung until the end says less than how an earlier one failed.
      why = why !== undefined && isPlinthError(error) && error.code === 'PLINTH_START_CANCELLED' ? why : error
      if (error instanceof StartRefusedError || left() === 0) {
        progress(
          `The product goes back to its previous settings, because it does not start on the new ones. ${reasonOf(why)}`,
        )
        await trial.giveBack(failureOf(why))
        return startForGood(signal)
      }
      const waitMs = Math.min(pauseMs, left())
      progress(`The product does not start on its new settings. ${reasonOf(why)} It tries again in ${waitMs / 1000} s.`)
      await clock.sleep(waitMs, signal)
    }
  }
}

/** A start that hangs ends with the trial. */
async function inTime<T>(start: TrialStart<T>['start'], ms: number, clock: Clock, signal: AbortSignal): Promise<T> {
  const late = new AbortController()
  const done = new AbortController()
  void clock.sleep(ms, done.signal).then(() => {
    if (!done.signal.aborted) late.abort(new Error('the time of the trial is over'))
  })
  try {
    return await start(AbortSignal.any([signal, late.signal]))
  } finally {
    done.abort()
  }
}
