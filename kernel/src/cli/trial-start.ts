import type { StartFailure } from '../contracts/kernel.ts'
import { errorReason, isPlinthError, isUnavailable } from '../errors/coded-error.ts'
import { StartRejectedError } from '../errors/kernel-errors.ts'
import type { SettingsTrial } from '../files/settings-trial.ts'
import { type Product, prepareProduct } from '../product.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'
import type { Clock } from '../time/clock.ts'

/**
 * Starts a product. If the start fails, asks the plugins for fallback values and starts again with them, so that an
 * operator can fix the problem in the browser.
 *
 * @param progress called with texts for the operator
 * @throws the error of the first start, even if the second start fails too
 */
export async function startWithFallback(
  product: Product,
  options: StartOptions,
  progress: (text: string) => void,
): Promise<RunningProduct> {
  try {
    return await startProduct(product, options)
  } catch (error) {
    const isFinal = error instanceof StartRejectedError || options.signal?.aborted || !options.roles?.includes('web')
    const failure = failureOf(error)
    const fallback = isFinal ? undefined : await fallbackFor(product, options, failure)
    if (fallback === undefined) throw error
    progress(`${failure.reason} The product starts without what failed, so that it can be mended in the browser.`)
    return startProduct(product, { ...options, fallback, fallbackReason: failure }).catch((second: unknown) => {
      progress(`That failed as well. ${errorReason(second)}`)
      throw error
    })
  }
}

/** Returns the fallback values of the first plugin that returns any. */
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

/** Returns the code and the reason of the original error of a plugin. */
function failureOf(error: unknown): StartFailure {
  const cause = error instanceof Error && isPlinthError(error.cause) ? error.cause : error
  return { code: isPlinthError(cause) ? cause.code : '', reason: errorReason(cause) }
}

/** Pause before the next attempt in milliseconds. It doubles after each attempt. */
const firstPauseMs = 1000
const maxPauseMs = 15_000

interface TrialStart<T> {
  /** Undefined if the product has no settings file. */
  readonly trial: SettingsTrial | undefined
  /** Starts the product. If the signal aborts, the function cancels the start and releases all resources. */
  readonly start: (signal: AbortSignal) => Promise<T>
  /** Starts the product without a trial, because its settings are not new or the trial is over. Default: `start`. */
  readonly startForGood?: (signal: AbortSignal) => Promise<T>
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Called with texts for the operator. */
  readonly progress: (text: string) => void
}

/**
 * Starts a product. If an operator saved new settings, they are on trial: while a required server cannot be reached,
 * the start is repeated after increasing pauses. After any other error, or at the end of the trial, the previous
 * settings are restored, and the product starts with them.
 *
 * @throws the error of the last start
 */
export async function startWithSettingsTrial<T>({
  trial,
  start,
  startForGood = start,
  signal,
  clock,
  progress,
}: TrialStart<T>): Promise<T> {
  const patienceMs = await trial?.patienceMs()
  if (trial === undefined || patienceMs === undefined) return startForGood(signal)
  const endsAt = clock.monotonic() + patienceMs
  const left = () => Math.max(0, endsAt - clock.monotonic())
  let lastCause: unknown
  // If the end of the trial cancelled the start, an earlier error shows the problem better.
  const causeOf = (error: unknown) =>
    left() > 0 ? error : (lastCause ?? new Error(`it took longer than ${inSeconds(patienceMs)}`))
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      const started = await inTime(start, left(), clock, signal)
      await trial.end()
      return started
    } catch (error) {
      if (signal.aborted) throw error
      lastCause = causeOf(error)
      if (!isUnavailable(lastCause) || left() === 0) {
        progress(
          `The product returns to its previous settings, because it does not start on the new ones: ${sentence(errorReason(lastCause))}`,
        )
        await trial.giveBack(failureOf(lastCause))
        return startForGood(signal)
      }
      const waitMs = Math.min(pauseMs, left())
      progress(
        `The product does not start on its new settings: ${sentence(errorReason(lastCause))} It tries again in ${inSeconds(waitMs)}.`,
      )
      await clock.sleep(waitMs, signal)
    }
  }
}

const inSeconds = (ms: number) => `${Math.ceil(ms / 1000)} s`

/** Returns the text with exactly one full stop at its end. */
const sentence = (text: string) => `${text.replace(/[.\s]+$/, '')}.`

/** Runs a start and cancels it at the end of the trial. */
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
