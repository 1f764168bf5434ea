import { codeOf, type Logger, reasonOf } from '@plinth/kernel'
import type { Redis } from 'ioredis'
import { RedisConnection, type RedisConnectionOptions } from './redis-connection.ts'

export interface Heard {
  readonly listener: (message: string) => void
  readonly onGap?: (() => void) | undefined
}

/** Who listens to which channel in this process. */
export class Listeners {
  readonly #byChannel = new Map<string, Set<Heard>>()
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

  /** Answers a function that removes the listener and says how many are left on the channel. */
  add(channel: string, { listener, onGap }: Heard): () => number {
    const all = this.#byChannel.get(channel) ?? new Set()
    this.#byChannel.set(channel, all)
    // One function may listen twice.
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

  /** Tells all that they may have missed something. */
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

/** A connection that only listens notices by this that nobody speaks any more, milliseconds. */
const heartbeatMs = 10_000

/**
 * What is heard on a connection of its own. When that was lost, it listens again to everything as soon as Redis is back,
 * and says that something may have been missed.
 */
export class RedisMessages {
  readonly #connection: RedisConnection
  readonly #listeners: Listeners
  readonly #log: Logger
  #heartbeat: NodeJS.Timeout | undefined
  /** Whose messages are heard already. */
  #heardClient: Redis | undefined
  #hasStood = false

  constructor(options: Omit<RedisConnectionOptions, 'onReady'>) {
    this.#log = options.log
    this.#listeners = new Listeners(options.log)
    this.#connection = new RedisConnection({ ...options, onReady: () => void this.#listenAgain() })
  }

  async subscribe(channel: string, heard: Heard): Promise<() => Promise<void>> {
    const remove = this.#listeners.add(channel, heard)
    try {
      await this.#connection.send((redis) => {
        if (this.#heardClient !== redis) redis.on('message', (from, text) => this.#listeners.tell(from, text))
        this.#heardClient = redis
        return redis.subscribe(channel)
      })
    } catch (error) {
      remove()
      throw error
    }
    this.#heartbeat ??= setInterval(() => void this.#beat(), heartbeatMs).unref()
    return async () => {
      if (remove() === 0) await this.#leave(channel)
    }
  }

  /** A connection that was lost has forgotten the channel, and the next one does not listen to it. */
  async #leave(channel: string): Promise<void> {
    try {
      await this.#connection.send((redis) => redis.unsubscribe(channel))
    } catch (error) {
      if (codeOf(error) !== 'PLINTH_SHARED_STORE_UNAVAILABLE') throw error
    }
  }

  close(): void {
    clearInterval(this.#heartbeat)
    this.#connection.close()
  }

  async #listenAgain(): Promise<void> {
    // The first time, whoever made it connect listens by itself.
    const isAgain = this.#hasStood
    this.#hasStood = true
    const channels = [...this.#listeners.channels()]
    if (!isAgain || channels.length === 0) return
    try {
      await this.#connection.send((redis) => redis.subscribe(...channels))
    } catch (error) {
      // Lost once more: the next connection listens again. What Redis refuses, an operator must know.
      this.#log.warn({ err: error }, `messages are not heard for now: ${reasonOf(error)}`)
      return
    }
    this.#listeners.tellGap()
  }

  async #beat(): Promise<void> {
    // Without an answer the connection is given up and made anew, which is all that is wanted.
    await this.#connection.send((redis) => redis.ping()).catch(() => {})
  }
}
