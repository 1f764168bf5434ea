import { type Logger, reasonOf } from '@plinth/kernel'
import type { SharedStore } from './contract.ts'

export interface WakeUpParts {
  /** Absent where a product is one process. */
  readonly store: SharedStore | undefined
  /** Name of the channel. */
  readonly channel: string
  /** Looks again in this process. */
  readonly wake: () => void
  readonly log: Logger
}

/**
 * Tells the poll loops of all instances that there is something to do. A message that gets lost costs one pause of a loop,
 * so a failure is worth a line in the log and nothing more.
 */
export class WakeUp {
  readonly #parts: WakeUpParts
  readonly #sent = new Set<Promise<void>>()
  #stopListening: (() => Promise<void>) | undefined

  constructor(parts: WakeUpParts) {
    this.#parts = parts
  }

  /** Wakes this process at once and the others as soon as they hear of it. To be called after the commit. */
  send(): void {
    const { store, channel, wake } = this.#parts
    wake()
    if (store === undefined) return
    const sent = store.publish(channel, '').catch((error: unknown) => this.#failed(error))
    this.#sent.add(sent)
    void sent.finally(() => this.#sent.delete(sent))
  }

  async listen(): Promise<void> {
    const { store, channel, wake } = this.#parts
    this.#stopListening = await store?.subscribe(channel, wake, wake).catch((error: unknown) => this.#failed(error))
  }

  /** Listens no more, and waits for what was sent. */
  async stop(): Promise<void> {
    await this.#stopListening?.().catch((error: unknown) => this.#failed(error))
    this.#stopListening = undefined
    await Promise.all(this.#sent)
  }

  #failed(error: unknown): undefined {
    const { channel, log } = this.#parts
    log.warn({ channel, reason: reasonOf(error) }, 'instances are not woken; they look by themselves')
  }
}
