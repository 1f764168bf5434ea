import type { Logger } from '@plinth/kernel'

export interface ReceivedMessage {
  readonly listener: (message: string) => void
  readonly onGap?: (() => void) | undefined
}

export class Listeners {
  readonly #byChannel = new Map<string, Set<ReceivedMessage>>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  get size(): number {
    return this.#byChannel.size
  }

  channels(): Iterable<string> {
    return this.#byChannel.keys()
  }

  /** Returns a function that removes the listener and returns how many listeners of the channel remain. */
  add(channel: string, { listener, onGap }: ReceivedMessage): () => number {
    const all = this.#byChannel.get(channel) ?? new Set()
    this.#byChannel.set(channel, all)
    // A new object, because the same function may be added twice.
    const own = { listener, onGap }
    all.add(own)
    return () => {
      all.delete(own)
      if (all.size === 0 && this.#byChannel.get(channel) === all) this.#byChannel.delete(channel)
      return all.size
    }
  }

  tell(channel: string, message: string): void {
    for (const { listener } of [...(this.#byChannel.get(channel) ?? [])]) this.#call(channel, () => listener(message))
  }

  tellGap(): void {
    for (const [channel, all] of [...this.#byChannel]) {
      for (const { onGap } of [...all]) if (onGap !== undefined) this.#call(channel, onGap)
    }
  }

  #call(channel: string, tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#log.error({ err: error, channel }, 'a listener failed')
    }
  }
}
