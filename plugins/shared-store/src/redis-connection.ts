import { type Logger, type PlinthError, reasonOf } from '@plinth/kernel'
import { Redis } from 'ioredis'
import type { SharedStoreConfig } from './config.ts'
import type { RedisServer } from './contract.ts'
import { sharedStoreError } from './errors.ts'
import type { Script } from './redis-scripts.ts'

/** Where and as whom to connect. */
export function connectionOptions(config: SharedStoreConfig): RedisServer['options'] {
  const username = config.get('platform.cache.username')
  const password = config.get('platform.cache.password')
  const tls = config.get('platform.cache.tls')
  return {
    host: config.get('platform.cache.host'),
    port: config.get('platform.cache.port'),
    db: config.get('platform.cache.database'),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(tls === 'off' ? {} : { tls: { rejectUnauthorized: tls === 'verify' } }),
  }
}

export interface RedisConnectionOptions {
  readonly server: RedisServer['options']
  readonly commandTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly log: Logger
}

/** The client speaks of its own options where an operator wants to know what happened. */
const plainReasons: readonly (readonly [string, string])[] = [
  ['Command timed out', 'no answer in time'],
  ['Reached the max retries', 'the connection was lost'],
  ["Stream isn't writeable", 'not connected'],
]

const firstRetryMs = 20
const longestRetryMs = 1000

/**
 * Connections that answer in time or fail. Only a deadline notices a server that is frozen; the socket is given up with
 * it, so that until Redis is back every call fails at once instead of waiting again. Nothing is queued and nothing is
 * sent twice: a command whose answer is lost may have been carried out.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions
  readonly #place: string
  readonly #commands: Redis
  #connecting: Promise<void> | undefined
  #subscriber: { readonly client: Redis; readonly ready: Promise<void> } | undefined

  constructor(options: RedisConnectionOptions) {
    this.#options = options
    this.#place = `${options.server.host}:${options.server.port}`
    this.#commands = this.#client()
  }

  #client(): Redis {
    const { server, commandTimeoutMs, connectTimeoutMs, log } = this.#options
    const client = new Redis({
      ...server,
      lazyConnect: true,
      connectTimeout: connectTimeoutMs,
      commandTimeout: commandTimeoutMs,
      socketTimeout: commandTimeoutMs,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(times, 10)),
    })
    let told = false
    client.on('error', (error: unknown) => {
      if (!told) log.error({ err: error, place: this.#place }, 'no connection to Redis')
      told = true
    })
    client.on('ready', () => {
      if (told) log.info({ place: this.#place }, 'connected to Redis again')
      told = false
    })
    return client
  }

  /** @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`; it does not go on trying then */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(): Promise<void> {
    let reason: unknown
    const listen = (error: unknown) => {
      reason = error
    }
    this.#commands.on('error', listen)
    try {
      await this.#commands.connect()
    } catch (error) {
      this.#commands.disconnect()
      throw this.#failure(reason ?? error)
    } finally {
      this.#commands.off('error', listen)
    }
  }

  /** Sends a command, connecting first where nobody has. */
  async send<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    if (this.#connecting !== undefined || this.#commands.status === 'wait') await this.connect()
    try {
      return await command(this.#commands)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** Runs a script, which Redis forgets when it restarts. */
  run(script: Script, keys: readonly string[], parameters: readonly (string | number)[]): Promise<unknown> {
    return this.send(async (redis) => {
      try {
        return await redis.evalsha(script.sha, keys.length, ...keys, ...parameters)
      } catch (error) {
        if (!reasonOf(error).startsWith('NOSCRIPT')) throw error
        return redis.eval(script.text, keys.length, ...keys, ...parameters)
      }
    })
  }

  /** A connection that only listens. It subscribes again by itself when it was lost. */
  async subscribe(channel: string, listener: (channel: string, message: string) => void): Promise<void> {
    try {
      this.#subscriber ??= this.#openSubscriber(listener)
      const { client, ready } = this.#subscriber
      await ready
      await client.subscribe(channel)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  #openSubscriber(listener: (channel: string, message: string) => void) {
    const client = this.#client()
    client.on('message', listener)
    const ready = client.connect().catch((error: unknown) => {
      this.#subscriber = undefined
      client.disconnect()
      throw error
    })
    return { client, ready }
  }

  async unsubscribe(channel: string): Promise<void> {
    try {
      await this.#subscriber?.client.unsubscribe(channel)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  close(): void {
    this.#commands.disconnect()
    this.#subscriber?.client.disconnect()
  }

  /** What Redis said no to, or why it said nothing. */
  refusal(reason: string): PlinthError {
    return sharedStoreError('PLINTH_SHARED_STORE_REFUSED', { place: this.#place, reason })
  }

  #failure(error: unknown): PlinthError {
    const code =
      (error as Error)?.name === 'ReplyError' ? 'PLINTH_SHARED_STORE_REFUSED' : 'PLINTH_SHARED_STORE_UNAVAILABLE'
    // What Node.js reports of several addresses at once has no message of its own.
    const told = reasonOf(error) || String((error as { code?: unknown }).code)
    const [, reason = told] = plainReasons.find(([start]) => told.startsWith(start)) ?? []
    return sharedStoreError(code, { place: this.#place, reason }, error)
  }
}
