import type { Logger } from 'pino'
import { reasonOf } from '../errors/coded-error.ts'
import type { Clock } from '../time/clock.ts'

export interface FailureTexts {
  /** Logged with the reason at the first failure. */
  readonly failing: string
  /** Logged with the number of failures when it is over. */
  readonly over: string
}

/** Time without a failure after which a success ends the state, so that a failure now and then does not fill the log. */
interface QuietTime {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly ms: number
}

/** Logs a failure that repeats once per change of state: when it begins, and with their number when it is over. */
export class FailureLog {
  readonly #log: Pick<Logger, 'error' | 'info'>
  readonly #texts: FailureTexts
  readonly #quiet: QuietTime | undefined
  #failures = 0
  #lastAt = 0

  /** @param quiet omitted where the first success proves that all is well */
  constructor(log: Pick<Logger, 'error' | 'info'>, texts: FailureTexts, quiet?: QuietTime) {
    this.#log = log
    this.#texts = texts
    this.#quiet = quiet
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** @param details more fields of the line */
  failed(error: unknown, details: object = {}): void {
    this.#lastAt = this.#quiet?.clock.monotonic() ?? 0
    if (this.#failures++ === 0) this.#log.error({ ...details, reason: reasonOf(error) }, this.#texts.failing)
  }

  /** Costs next to nothing while nothing fails. */
  succeeded(): void {
    if (this.#failures === 0) return
    if (this.#quiet !== undefined && this.#quiet.clock.monotonic() - this.#lastAt < this.#quiet.ms) return
    this.#log.info({ failures: this.#failures }, this.#texts.over)
    this.#failures = 0
  }
}
