import { type Clock, FailureLog, type Logger } from '@plinth/kernel'

export interface PollParts {
  /**
   * Polls once. Returns the milliseconds until the next known work; infinity if none is known. If work is due but has
   * not begun, it is checked again after `pollMs`.
   */
  readonly look: (pollMs: number) => Promise<number>
  /** Maximum pause between two polls while there is activity, milliseconds; read before each pause. */
  readonly pollMs: () => number
  /** Maximum pause without activity, milliseconds. Default: `pollMs`. */
  readonly idleMs?: () => number
  /** Subject of the polls in log messages: `scheduled tasks`. */
  readonly subject: string
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Polls when work is expected, and continues after a failed poll. While there is activity, it polls at least once per
 * interval. While polls find nothing due within the interval, the pauses double up to `idleMs`. `wake` ends a pause.
 */
export class PollLoop {
  readonly #parts: PollParts
  readonly #end = new AbortController()
  #pause = new AbortController()
  #running: Promise<void> | undefined

  constructor(parts: PollParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /**
   * Polls again immediately. If a poll is running, another one follows, because the current one may have begun too
   * early.
   */
  wake(): void {
    this.#pause.abort()
  }

  async stop(): Promise<void> {
    this.#end.abort()
    this.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { look, pollMs, idleMs = pollMs, subject, clock, log } = this.#parts
    const failures = new FailureLog(log, {
      failing: `${subject} cannot be read; trying again`,
      over: `${subject} can be read again`,
    })
    /** Consecutive polls that found nothing to do soon. */
    let quietLooks = 0
    while (!this.#end.signal.aborted) {
      this.#pause = new AbortController()
      const longest = pollMs()
      let wait = longest
      try {
        const due = await look(longest)
        quietLooks = due > longest ? quietLooks + 1 : 0
        wait = Math.min(due, longest * 2 ** Math.max(0, quietLooks - 1), Math.max(longest, idleMs()))
        failures.succeeded()
      } catch (error) {
        failures.failed(error)
      }
      if (wait > 0 && !this.#end.signal.aborted) await clock.sleep(wait, this.#pause.signal)
      if (this.#pause.signal.aborted) quietLooks = 0
    }
  }
}
