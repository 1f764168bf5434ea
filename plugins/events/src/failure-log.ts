import { type Logger, reasonOf } from '@plinth/kernel'

/** Reports that something begins to fail, and with the number of failures that it works again; not each failure. */
export class FailureLog {
  readonly #log: Logger
  readonly #texts: { readonly fails: string; readonly works: string }
  #failures = 0

  constructor(log: Logger, texts: { readonly fails: string; readonly works: string }) {
    this.#log = log
    this.#texts = texts
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  failed(error: unknown, details: object = {}): void {
    this.#failures += 1
    if (this.#failures === 1) this.#log.error({ ...details, reason: reasonOf(error) }, this.#texts.fails)
  }

  succeeded(): void {
    if (this.#failures > 0) this.#log.info({ failures: this.#failures }, this.#texts.works)
    this.#failures = 0
  }
}
