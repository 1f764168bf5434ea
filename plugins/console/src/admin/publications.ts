import type { FailureLog } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'

interface PublicationParts {
  /** Absent where a product is one process. */
  readonly store: Pick<SharedStore, 'publish'> | undefined
  readonly channel: string
  readonly failures: FailureLog
}

/** Messages to the other processes of the product. One that gets lost is worth a line in the log and nothing more. */
export class Publications<Message> {
  readonly #parts: PublicationParts
  readonly #sending = new Set<Promise<void>>()

  constructor(parts: PublicationParts) {
    this.#parts = parts
  }

  send(message: Message): void {
    const { store, channel, failures } = this.#parts
    if (store === undefined) return
    const sending = store
      .publish(channel, JSON.stringify(message))
      .then(() => failures.succeeded())
      .catch((error: unknown) => failures.failed(error))
      .finally(() => this.#sending.delete(sending))
    this.#sending.add(sending)
  }

  /** Ends when all that was sent has left, or failed. */
  async sent(): Promise<void> {
    await Promise.all(this.#sending)
  }
}
