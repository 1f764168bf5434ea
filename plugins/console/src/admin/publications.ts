import type { RepeatedFailureLog } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'

interface PublicationDependencies {
  /** The shared store; `undefined` in a product with a single process. */
  readonly store: Pick<SharedStore, 'publish'> | undefined
  readonly channel: string
  readonly failures: RepeatedFailureLog
}

/** Sends messages to the other processes of the product. A lost message is only logged. */
export class Publications<Message> {
  readonly #parts: PublicationDependencies
  readonly #sending = new Set<Promise<void>>()

  constructor(parts: PublicationDependencies) {
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

  /** Resolves when all pending messages were sent or have failed. */
  async sent(): Promise<void> {
    await Promise.all(this.#sending)
  }
}
