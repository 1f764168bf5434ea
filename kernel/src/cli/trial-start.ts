import { isUnavailable, reasonOf } from '../errors/coded-error.ts'
import type { SettingsTrial } from '../files/settings-trial.ts'
import type { Clock } from '../time/clock.ts'
import { failureOf } from './fallback-start.ts'

/** Pause before the next try; twice as long each time. */
const firstPauseMs = 1000
const longestPauseMs = 15_000

interface TrialStart<T> {
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
 * Starts a product whose settings may be on trial. While a server that the product needs cannot be reached, the start is
 * tried again after a growing pause. When the time of the trial is over, or after any other error, the previous settings are
 * put back and apply.
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
  // The end of the time breaks a start off: its error says less than an earlier one.
  const causeOf = (error: unknown) =>
    left() > 0 ? error : (why ?? new Error(`it took longer than ${inSeconds(patienceMs)}`))
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const started = await inTime(start, left(), clock, signal)
      await trial.end()
      return started
    } catch (error) {
      if (signal.aborted) throw error
      why = causeOf(error)
      if (!isUnavailable(why) || left() === 0) {
        progress(
          `The product returns to its previous settings, because it does not start on the new ones: ${sentence(reasonOf(why))}`,
        )
        await trial.giveBack(failureOf(why))
        return startForGood(signal)
      }
      const waitMs = Math.min(pauseMs, left())
      progress(
        `The product does not start on its new settings: ${sentence(reasonOf(why))} It tries again in ${inSeconds(waitMs)}.`,
      )
      await clock.sleep(waitMs, signal)
    }
  }
}

const inSeconds = (ms: number) => `${Math.ceil(ms / 1000)} s`

/** With one full stop at its end, whatever the text ends with. */
const sentence = (text: string) => `${text.replace(/[.\s]+$/, '')}.`

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
