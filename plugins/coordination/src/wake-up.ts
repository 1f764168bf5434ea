import { type Clock, FailureLog, type Logger } from '@plinth/kernel'

/** How instances speak to each other; the shared store does. */
export interface Messages {
  publish(channel: string, message: string): Promise<void>
  /** @param onGap called when something may have been missed */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): Promise<() => Promise<void>>
}

export interface WakeUpParts {
  /** Absent where a product is one process. */
  readonly messages: Messages | undefined
  /** Name of the channel. */
  readonly channel: string
  /** What it is about, for the log: `new events`. */
  readonly subject: string
  /** Looks again in this process. */
  readonly wake: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** Milliseconds between two messages of a process, however often it has something to say. */
const betweenMs = 100

/**
 * Tells the loops of all instances that there is something to do. A message that gets lost costs one pause of a loop, so a
 * failure is worth a line in the log and nothing more.
 */
export class WakeUp {
  readonly #parts: WakeUpParts
  readonly #failures: FailureLog
  readonly #stopped = new AbortController()
  #sending: Promise<void> | undefined
  #isMore = false
  #stopListening: (() => Promise<void>) | undefined

  constructor(parts: WakeUpParts) {
    this.#parts = parts
    this.#failures = new FailureLog(parts.log, {
      failing: `other instances are not told about ${parts.subject}; they find them later`,
      over: `other instances are told about ${parts.subject} again`,
    })
  }

  /** Wakes this process at once and the others as soon as they hear of it. To be called after the commit. */
  send(): void {
    const { messages, wake } = this.#parts
    wake()
    if (messages === undefined || this.#stopped.signal.aborted) return
    this.#isMore = true
    this.#sending ??= this.#send(messages)
  }

  async listen(): Promise<void> {
    const { messages, channel, wake } = this.#parts
    this.#stopListening = await messages
      ?.subscribe(channel, wake, wake)
      .catch((error: unknown) => void this.#failures.failed(error, { channel }))
  }

  /** Listens no more, sends what is left and then nothing more. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#stopListening?.().catch((error: unknown) => this.#failures.failed(error))
    await this.#sending
  }

  async #send(messages: Messages): Promise<void> {
    const { channel, clock } = this.#parts
    while (this.#isMore) {
      this.#isMore = false
      try {
        await messages.publish(channel, '')
        this.#failures.succeeded()
      } catch (error) {
        this.#failures.failed(error, { channel })
      }
      await clock.sleep(betweenMs, this.#stopped.signal)
    }
    this.#sending = undefined
  }
}
