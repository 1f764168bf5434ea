import type { StartFailure } from '../contracts/kernel.ts'
import { isPlinthError, isUnavailable, reasonOf } from '../errors/coded-error.ts'
import { StartRefusedError } from '../errors/kernel-errors.ts'
import type { SettingsTrial } from '../files/settings-trial.ts'
import { type Product, prepareProduct } from '../product.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'
import type { Clock } from '../time/clock.ts'

/**
 * Starts a product for good. When that fails, a plugin may name values under which the product starts all the same, so
 * that somebody can mend it in the browser.
 *
 * @param progress tells the operator how it goes on
 * @throws as the first start does, also when the second one fails
 */
export async function startWithFallback(
  product: Product,
  options: StartOptions,
  progress: (text: string) => void,
): Promise<RunningProduct> {
  try {
    return await startProduct(product, options)
  } catch (error) {
    const isFinal = error instanceof StartRefusedError || options.signal?.aborted || !options.roles?.includes('web')
    const failure = failureOf(error)
    const fallback = isFinal ? undefined : await fallbackFor(product, options, failure)
    if (fallback === undefined) throw error
    progress(`${failure.reason} The product starts without what failed, so that it can be mended in the browser.`)
    return startProduct(product, { ...options, fallback, fallbackReason: failure }).catch((second: unknown) => {
      progress(`That failed as well. ${reasonOf(second)}`)
      throw error
    })
  }
}

/** What the first plugin that can help says. */
async function fallbackFor(product: Product, options: StartOptions, failure: StartFailure) {
  const { plan, config } = prepareProduct(product, options)
  for (const { id, fallbackStart } of plan.plugins) {
    const values = await fallbackStart?.({
      ...failure,
      root: product.root,
      explain: (key) => config.explain(key),
      get: (key) => config.get(id, key),
    })
    if (values !== undefined) return values
  }
  return undefined
}

/** What a plugin said rather than where. */
function failureOf(error: unknown): StartFailure {
  const cause = error instanceof Error && isPlinthError(error.cause) ? error.cause : error
  return { code: isPlinthError(cause) ? cause.code : '', reason: reasonOf(cause) }
}

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
