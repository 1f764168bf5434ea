import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'

const channel = 'events.published'

/** Milliseconds between two messages of a process, however much it publishes. */
const betweenMs = 100

/**
 * Tells processes that deliver about events that others publish. A message may get lost: the next look of a dispatcher finds
 * what it was about.
 */
export class WakeUps {
  readonly #store: SharedStore
  readonly #clock: Clock
  readonly #failures: FailureLog
  readonly #stopped = new AbortController()
  #isSending = false
  #isMore = false
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(store: SharedStore, clock: Clock, log: Logger) {
    this.#store = store
    this.#clock = clock
    this.#failures = new FailureLog(log, {
      failing: 'other processes are not told about new events; they find them later',
      over: 'other processes are told about new events again',
    })
  }

  /** After a commit. Returns at once. */
  announce(): void {
    this.#isMore = true
    if (!this.#isSending && !this.#stopped.signal.aborted) void this.#send()
  }

  /** @throws what subscribing throws */
  async listen(wake: () => void): Promise<void> {
    this.#unsubscribe = await this.#store.subscribe(channel, wake, wake)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#unsubscribe?.()
  }

  async #send(): Promise<void> {
    this.#isSending = true
    while (this.#isMore && !this.#stopped.signal.aborted) {
      this.#isMore = false
      try {
        await this.#store.publish(channel, '')
        this.#failures.succeeded()
      } catch (error) {
        this.#failures.failed(error)
      }
      await this.#clock.sleep(betweenMs, this.#stopped.signal)
    }
    this.#isSending = false
  }
}
