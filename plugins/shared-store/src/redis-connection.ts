import { errorCodeOf, errorReason, errorTable, hostAndPort, type Logger, type PlinthError } from '@plinth/kernel'
import { Command, Redis, type RedisOptions } from 'ioredis'
import type { SharedStoreConfig } from './config.ts'
import type { Script } from './redis-scripts.ts'

/**
 * Detects a server that has stopped responding. Uses one timer for all commands, because a timer per command would cost
 * as much as sending it.
 */
class AnswerWatch {
  readonly #ms: number
  readonly #giveUp: () => void
  #open = 0
  /** Time of the last response, or the time at which the oldest command without a response was sent. */
  #since = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param ms maximum time in milliseconds without any response while commands wait for one
   * @param giveUp called when this time has passed
   */
  constructor(ms: number, giveUp: () => void) {
    this.#ms = ms
    this.#giveUp = giveUp
  }

  sent(): void {
    if (this.#open === 0) this.#since = performance.now()
    this.#open += 1
    this.#timer ??= setTimeout(this.#look, this.#ms)
  }

  /** Called when a command has its response or has failed. */
  ended(): void {
    this.#open -= 1
    this.#since = performance.now()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #look = () => {
    this.#timer = undefined
    if (this.#open === 0) return
    const remainingMs = this.#ms - (performance.now() - this.#since)
    if (remainingMs > 0) this.#timer = setTimeout(this.#look, Math.ceil(remainingMs))
    // If this process was busy, the response may already be in the socket, so the socket is read first.
    else setImmediate(this.#lookAgain, this.#since)
  }

  readonly #lookAgain = (since: number) => {
    if (this.#open === 0) return
    if (this.#since === since) this.#giveUp()
    this.#timer ??= setTimeout(this.#look, this.#ms)
  }
}

/** Idle time in milliseconds after which the operating system checks the connection. */
const keepAliveMs = 30_000
/** A socket that is still open after this time in milliseconds is destroyed. */
const disconnectMs = 500

export type RedisLogin = Readonly<
  Pick<RedisOptions, 'db' | 'username' | 'password' | 'tls'> &
    Required<Pick<RedisOptions, 'connectTimeout' | 'keepAlive' | 'disconnectTimeout'>> & { host: string; port: number }
>

export function connectionOptions(config: SharedStoreConfig): RedisLogin {
  const username = config.get('platform.cache.username')
  const password = config.get('platform.cache.password')
  const tls = config.get('platform.cache.tls')
  return {
    host: config.get('platform.cache.host'),
    port: config.get('platform.cache.port'),
    db: config.get('platform.cache.database'),
    connectTimeout: config.get('platform.cache.connect-timeout'),
    keepAlive: keepAliveMs,
    disconnectTimeout: disconnectMs,
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(tls === 'off' ? {} : { tls: { rejectUnauthorized: tls === 'verify' } }),
  }
}

export interface RedisConnectionOptions {
  readonly server: RedisLogin
  readonly commandTimeoutMs: number
  readonly log: Logger
  /** Called after each connection, including reconnections. */
  readonly onReady?: () => void
}

export const noResponseReason = 'no answer in time'

/** Replaces messages about client options with reasons that operators understand. */
const plainReasons: readonly (readonly [string, string])[] = [
  ['Reached the max retries', 'the connection was lost'],
  ["Stream isn't writeable", 'not connected'],
]

const firstRetryMs = 20
const maxRetryMs = 1000

/**
 * A Redis connection whose commands get a response in time or fail. If the server does not respond, the socket is
 * destroyed, so that calls fail immediately until Redis is back. Commands are not queued and not sent again, because a
 * command without a response may have been executed.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions
  readonly #place: string
  readonly #watch: AnswerWatch
  #client: Redis
  #connecting: Promise<void> | undefined

  constructor(options: RedisConnectionOptions) {
    this.#options = options
    this.#place = hostAndPort(options.server.host, options.server.port)
    this.#client = this.#create(options)
    this.#watch = new AnswerWatch(options.commandTimeoutMs, () => giveUp(this.#client))
  }

  #create({ server, log, onReady }: RedisConnectionOptions): Redis {
    const client = new Redis({
      ...server,
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      // With `true`, the client could lose subscriptions and leave a rejected promise without a handler if the
      // connection is lost before the response.
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(times, 10)),
    })
    // The timeout of the client only covers opening the socket. The commands that it then sends could wait forever.
    let handshake: NodeJS.Timeout | undefined
    client.on('connect', () => {
      handshake = setTimeout(giveUp, server.connectTimeout, client)
    })
    for (const end of ['ready', 'close']) client.on(end, () => clearTimeout(handshake))
    let reported = false
    client.on('error', (error: unknown) => {
      if (!reported) log.error({ err: error, place: this.#place }, 'no connection to Redis')
      reported = true
    })
    client.on('ready', () => {
      if (reported) log.info({ place: this.#place }, 'connected to Redis again')
      reported = false
      onReady?.()
    })
    return client
  }

  /** @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE` after one failed attempt */
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
    const client = this.#client
    client.on('error', listen)
    try {
      await client.connect()
    } catch (error) {
      // The next command uses a new client.
      client.disconnect()
      this.#client = this.#create(this.#options)
      throw this.#failure(reason ?? error)
    } finally {
      client.off('error', listen)
    }
  }

  /** Sends a command. Connects first if necessary. */
  send<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    return this.#connecting !== undefined || this.#client.status === 'wait'
      ? this.connect().then(() => this.#sent(command))
      : this.#sent(command)
  }

  #sent<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    const response = command(this.#client)
    this.#watch.sent()
    return response.then(
      (reported) => {
        this.#watch.ended()
        return reported
      },
      (error: unknown) => {
        this.#watch.ended()
        throw this.#failure(error)
      },
    )
  }

  /**
   * Runs a script. If Redis does not know it, for example after a restart, sends its text.
   *
   * @param rest values of ARGV
   * @param texts true: strings in the result are text; false: they are bytes
   */
  run(script: Script, keys: readonly string[], rest: readonly (string | number)[], texts = true): Promise<unknown> {
    const parameters = [keys.length, ...keys, ...rest]
    return this.send((redis) =>
      sendTo(redis, 'evalsha', [script.sha, ...parameters], texts).catch((error: unknown) => {
        if (!errorReason(error).startsWith('NOSCRIPT')) throw error
        return sendTo(redis, 'eval', [script.text, ...parameters], texts)
      }),
    )
  }

  close(): void {
    this.#watch.stop()
    this.#client.disconnect()
    this.#client.stream?.destroy()
  }

  /**
   * Checks that Redis is suitable. Returns warnings with their fixes, or none if Redis forbids the command `INFO`.
   *
   * @throws PlinthError `PLINTH_SHARED_STORE_CLUSTER`, `PLINTH_SHARED_STORE_UNAVAILABLE`
   */
  async inspect(): Promise<readonly string[]> {
    const info = await this.send((redis) => redis.info()).catch((error: unknown) => {
      if (errorCodeOf(error) === 'PLINTH_SHARED_STORE_REFUSED') return ''
      throw error
    })
    const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
    if (read('redis_mode') === 'cluster') throw sharedStoreError('PLINTH_SHARED_STORE_CLUSTER', { place: this.#place })
    const policy = read('maxmemory_policy') ?? 'noeviction'
    if (policy === 'noeviction') return []
    return [
      `Redis at ${this.#place} has the maxmemory-policy ${policy}, so it removes counters and locks when its memory is full. ` +
        'Set maxmemory-policy to noeviction.',
    ]
  }

  rejection(reason: string): PlinthError {
    return sharedStoreError('PLINTH_SHARED_STORE_REFUSED', { place: this.#place, reason })
  }

  #failure(error: unknown): PlinthError {
    const isRejection = error instanceof Error && error.name === 'ReplyError'
    const code = isRejection ? 'PLINTH_SHARED_STORE_REFUSED' : 'PLINTH_SHARED_STORE_UNAVAILABLE'
    // If a host has several addresses, the error of Node.js has an empty message.
    const reported = errorReason(error) || String(errorCodeOf(error))
    const [, reason = reported] = plainReasons.find(([start]) => reported.startsWith(start)) ?? []
    return sharedStoreError(code, { place: this.#place, reason }, error)
  }
}

const giveUp = (client: Redis) => client.stream?.destroy(new Error(noResponseReason))

/** Like `redis.evalsha(...)`, but without the cost of variable arguments and automatic pipelines. */
function sendTo(redis: Redis, name: string, parameters: (string | number)[], texts: boolean): Promise<unknown> {
  const command = new Command(name, parameters, { replyEncoding: texts ? 'utf8' : null })
  void redis.sendCommand(command)
  return command.promise
}

export const sharedStoreError = errorTable(
  {
    PLINTH_SHARED_STORE_UNAVAILABLE: `Redis at {{place}} does not respond: {{reason}}.
    Start Redis, or correct platform.cache.host, platform.cache.port, platform.cache.tls and the credentials. The connection is restored automatically.`,
    PLINTH_SHARED_STORE_CLUSTER: `Redis at {{place}} is a node of a Redis Cluster, which is not supported.
    Use a single Redis server, or a primary with replicas, and correct platform.cache.host and platform.cache.port.`,
    PLINTH_SHARED_STORE_REFUSED: `Redis at {{place}} rejected a command: {{reason}}.
    Correct the cause that Redis reports. Redis must be version 6.2 or later, and no other program may use keys below platform.cache.key-prefix.`,
  },
  { unavailable: ['PLINTH_SHARED_STORE_UNAVAILABLE'] },
)
