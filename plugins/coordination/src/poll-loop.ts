import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'

export interface PollOptions {
  /**
   * Polls once. Returns the milliseconds until the next known work, or infinity. If work is due but has not begun, the
   * next poll follows after `pollMs`.
   */
  readonly look: (pollMs: number) => Promise<number>
  /** Maximum pause in milliseconds during activity, read before each pause. */
  readonly pollMs: () => number
  /** Maximum pause in milliseconds without activity. Default: `pollMs`. */
  readonly idleMs?: () => number
  /** Name of the polled work in log messages, for example `scheduled tasks`. */
  readonly subject: string
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Polls for work and continues after a failed poll. During activity, it polls at least once per interval. If nothing is
 * due, the pauses double up to `idleMs`. `wake` ends a pause.
 */
export class PollLoop {
  readonly #parts: PollOptions
  readonly #end = new AbortController()
  #pause = new AbortController()
  #running: Promise<void> | undefined

  constructor(parts: PollOptions) {
    this.#parts = parts
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /**
   * Polls again immediately. If a poll is running, another one follows, because the current one may have missed the new
   * work.
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
    const failures = new RepeatedFailureLog(log, {
      failing: `${subject} cannot be read; trying again`,
      over: `${subject} can be read again`,
    })
    /** Number of consecutive polls that found nothing due soon. */
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
