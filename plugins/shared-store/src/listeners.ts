import type { Logger } from '@plinth/kernel'

/** Who listens to which channel in this process. */
export class Listeners {
  readonly #byChannel = new Map<string, Set<(message: string) => void>>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  get size(): number {
    return this.#byChannel.size
  }

  /** Answers a function that removes the listener and says how many are left on the channel. */
  add(channel: string, listener: (message: string) => void): () => number {
    const listeners = this.#byChannel.get(channel) ?? new Set()
    this.#byChannel.set(channel, listeners)
    // One function may listen twice.
    const own = (message: string) => listener(message)
    listeners.add(own)
    return () => {
      listeners.delete(own)
      if (listeners.size === 0 && this.#byChannel.get(channel) === listeners) this.#byChannel.delete(channel)
      return listeners.size
    }
  }

  tell(channel: string, message: string): void {
    for (const listener of [...(this.#byChannel.get(channel) ?? [])]) {
      try {
        listener(message)
      } catch (error) {
        this.#log.error({ err: error, channel }, 'a listener failed')
      }
    }
  }
}
