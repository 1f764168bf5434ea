import type { Logger } from 'pino'
import { reasonOf } from '../errors/coded-error.ts'

export interface FailureTexts {
  /** Logged with the reason at the first failure. */
  readonly failing: string
  /** Logged with the number of failures when it is over. */
  readonly over: string
}

/** Logs a failure that repeats once per change of state: when it begins, and with their number when it is over. */
export class FailureLog {
  readonly #log: Pick<Logger, 'error' | 'info'>
  readonly #texts: FailureTexts
  readonly #quietMs: number
  #failures = 0
  #lastAt = 0

  /**
   * @param quietMs milliseconds without a failure after which a success ends the state, so that what fails now and then does
   *   not fill the log either; 0 where a success proves that all is well
   */
  constructor(log: Pick<Logger, 'error' | 'info'>, texts: FailureTexts, quietMs = 0) {
    this.#log = log
    this.#texts = texts
    this.#quietMs = quietMs
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** @param details more fields of the line */
  failed(error: unknown, details: object = {}): void {
    this.#lastAt = performance.now()
    if (this.#failures++ === 0) this.#log.error({ ...details, reason: reasonOf(error) }, this.#texts.failing)
  }

  /** Costs next to nothing while nothing fails. */
  succeeded(): void {
    if (this.#failures === 0 || performance.now() - this.#lastAt < this.#quietMs) return
    this.#log.info({ failures: this.#failures }, this.#texts.over)
    this.#failures = 0
  }
}
