import { type Clock, FailureLog, type Logger } from '@plinth/kernel'

export interface PollParts {
  /**
   * Answers the milliseconds after which there is something to do, as far as can be known now; infinity when nothing is
   * known. What is due and does not begin is worth another look after `pollMs`.
   */
  readonly look: (pollMs: number) => Promise<number>
  /** Longest pause between two looks while something happens, in milliseconds; read before each. */
  readonly pollMs: () => number
  /** Longest pause while nothing happens, in milliseconds; without it, the same. */
  readonly idleMs?: () => number
  /** What it looks for, for the log: `scheduled tasks`. */
  readonly subject: string
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Looks when there is something to do, and at least once per poll interval; goes on when a look fails. While looks find
 * nothing that is due within the interval, the pauses double up to the idle one; whoever does something wakes it.
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

  /** Looks again at once; once more when a look is under way, because that may have begun too early. */
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
    /** Looks in a row that found nothing to do soon. */
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
