import { errorReason, isPlinthError, PlinthError } from '../errors/coded-error.ts'

/** A hook of a plugin. If its deadline passes, its own error shows what it still waits for. */
export class WatchedHook {
  readonly #hook: (signal: AbortSignal) => void | Promise<void>
  #error: unknown

  constructor(hook: (signal: AbortSignal) => void | Promise<void>) {
    this.#hook = hook
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#hook(signal)
    } catch (error) {
      this.#error = error
      throw error
    }
  }

  /** Returns the error of a passed deadline together with the error that the hook throws because its signal aborts. */
  async explain(error: unknown): Promise<unknown> {
    if (!isPlinthError(error) || error.code !== 'PLINTH_DEADLINE_PASSED') return error
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#error === undefined || this.#error === error) return error
    return new PlinthError(error.code, `${error.message} ${errorReason(this.#error)}`, error.fix, {
      cause: this.#error,
    })
  }
}
