import { errorCodeOf, errorReason, type Logger } from '@plinth/kernel'
import type { Redis } from 'ioredis'
import { Listeners, type ReceivedMessage } from './listeners.ts'
import { RedisConnection, type RedisConnectionOptions } from './redis-connection.ts'

/** Ping interval in milliseconds. Without pings, a connection that only receives does not detect a silent server. */
const heartbeatMs = 10_000

/**
 * Receives messages on a separate connection. After a lost connection, subscribes to all channels again and reports
 * that messages may have been missed.
 */
export class RedisMessages {
  readonly connection: RedisConnection
  readonly #listeners: Listeners
  readonly #log: Logger
  #heartbeat: NodeJS.Timeout | undefined
  #heardClient: Redis | undefined
  #hasStood = false

  constructor(options: Pick<RedisConnectionOptions, 'clients' | 'log'>) {
    this.#log = options.log
    this.#listeners = new Listeners(options.log)
    this.connection = new RedisConnection({ ...options, receives: true, onReady: () => void this.#listenAgain() })
  }

  async subscribe(channel: string, received: ReceivedMessage): Promise<() => Promise<void>> {
    const remove = this.#listeners.add(channel, received)
    try {
      await this.connection.send((redis) => {
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

  /** If the connection is lost, there is nothing to unsubscribe. */
  async #leave(channel: string): Promise<void> {
    try {
      await this.connection.send((redis) => redis.unsubscribe(channel))
    } catch (error) {
      if (errorCodeOf(error) !== 'PLINTH_SHARED_STORE_UNAVAILABLE') throw error
    }
  }

  close(): void {
    clearInterval(this.#heartbeat)
    this.connection.close()
  }

  async #listenAgain(): Promise<void> {
    // On the first connection, the method `subscribe` sends the command. Later connections must subscribe to all
    // channels here.
    const isAgain = this.#hasStood
    this.#hasStood = true
    const channels = [...this.#listeners.channels()]
    if (!isAgain || channels.length === 0) return
    try {
      await this.connection.send((redis) => redis.subscribe(...channels))
    } catch (error) {
      // If the connection was lost again, the next one subscribes. If Redis rejected the command, the operator must
      // know.
      this.#log.warn({ err: error }, `messages cannot be received at the moment: ${errorReason(error)}`)
      return
    }
    this.#listeners.tellGap()
  }

  async #beat(): Promise<void> {
    // If the ping gets no response, the connection is destroyed and opened again, which is the purpose of the ping.
    await this.connection.send((redis) => redis.ping()).catch(() => {})
  }
}
