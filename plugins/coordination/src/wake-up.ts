import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'

/** Messages between instances, implemented by the shared store. */
export interface InstanceMessages {
  publish(channel: string, message: string): Promise<void>
  /** @param onGap called when messages may have been lost */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): Promise<() => Promise<void>>
}

export interface WakeUpOptions {
  /** Undefined if the product has only one process. */
  readonly messages: InstanceMessages | undefined
  readonly channel: string
  /** Name of the work in log messages, for example `new events`. */
  readonly subject: string
  /** Makes this process poll again. */
  readonly wake: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** Minimum interval in milliseconds between two messages of a process. */
const betweenMs = 100

/**
 * Tells the poll loops of all instances that there is work. Errors are only logged, because after a lost message the
 * work starts at the next poll.
 */
export class WakeUpSignal {
  readonly #parts: WakeUpOptions
  readonly #failures: RepeatedFailureLog
  readonly #stopped = new AbortController()
  #sending: Promise<void> | undefined
  #isMore = false
  #stopListening: (() => Promise<void>) | undefined

  constructor(parts: WakeUpOptions) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
      failing: `other instances are not told about ${parts.subject}; they find them later`,
      over: `other instances are told about ${parts.subject} again`,
    })
  }

  /** Wakes this process immediately and the others by a message. Must be called after the commit. */
  send(): void {
    this.#parts.wake()
    this.tellOthers()
  }

  /** Wakes the other processes by a message. Must be called after the commit. */
  tellOthers(): void {
    const { messages } = this.#parts
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

  /** Unsubscribes, and sends a pending message. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#stopListening?.().catch((error: unknown) => this.#failures.failed(error))
    await this.#sending
  }

  async #send(messages: InstanceMessages): Promise<void> {
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
