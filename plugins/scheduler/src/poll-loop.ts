import { type Clock, type Logger, reasonOf } from '@plinth/kernel'

export interface PollParts {
  /** Answers the milliseconds after which there is something to do, as far as can be known now. */
  readonly look: () => Promise<number>
  /** Longest pause between two looks, in milliseconds; read before each. */
  readonly pollMs: () => number
  /** What it looks for, for the log: `scheduled tasks`. */
  readonly subject: string
  readonly clock: Clock
  readonly log: Logger
}

/** Looks when there is something to do, and at least once per poll interval; goes on when a look fails. */
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

  /** Looks again at once. */
  wake(): void {
    this.#pause.abort()
  }

  async stop(): Promise<void> {
    this.#end.abort()
    this.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { look, pollMs, subject, clock, log } = this.#parts
    let isFailing = false
    while (!this.#end.signal.aborted) {
      this.#pause = new AbortController()
      let wait = pollMs()
      try {
        wait = Math.min(wait, await look())
        if (isFailing) log.info(`${subject} can be read again`)
        isFailing = false
      } catch (error) {
        if (!isFailing) log.error({ reason: reasonOf(error) }, `${subject} cannot be read; trying again`)
        isFailing = true
      }
      if (wait > 0 && !this.#end.signal.aborted) await clock.sleep(wait, this.#pause.signal)
    }
  }
}
