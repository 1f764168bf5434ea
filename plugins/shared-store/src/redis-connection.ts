import { codeOf, hostAndPort, type Logger, type PlinthError, reasonOf } from '@plinth/kernel'
import { Command, Redis, type RedisOptions } from 'ioredis'
import type { SharedStoreConfig } from './config.ts'
import { sharedStoreError } from './errors.ts'
import type { Script } from './redis-scripts.ts'

/**
 * Notices that a server has stopped answering. One timer for all commands, which runs out at most once in its time: a
 * timer for each command would cost as much as sending it.
 */
class AnswerWatch {
  readonly #ms: number
  readonly #giveUp: () => void
  #open = 0
  /** When the last answer came, or the oldest open command was sent. */
  #since = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param ms time for which commands may be open without any answer
   * @param giveUp called when it has passed
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

  /** A command has its answer, or has failed. */
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
    const leftMs = this.#ms - (performance.now() - this.#since)
    if (leftMs > 0) this.#timer = setTimeout(this.#look, Math.ceil(leftMs))
    // Where the process was busy, the answer may lie in the socket already.
    else setImmediate(this.#lookAgain, this.#since)
  }

  readonly #lookAgain = (since: number) => {
    if (this.#open === 0) return
    if (this.#since === since) this.#giveUp()
    this.#timer ??= setTimeout(this.#look, this.#ms)
  }
}

/** Idle time after which the system asks whether the other side is still there, milliseconds. */
const keepAliveMs = 30_000
/** A socket that has not closed by then is destroyed, milliseconds. */
const disconnectMs = 500

/** Where and as whom to connect, and the end of connecting and of disconnecting. Holds the password. */
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
  /** Called whenever the connection stands, also after it was lost. */
  readonly onReady?: () => void
}

export const noAnswer = 'no answer in time'

/** The client speaks of its own options where an operator wants to know what happened. */
const plainReasons: readonly (readonly [string, string])[] = [
  ['Reached the max retries', 'the connection was lost'],
  ["Stream isn't writeable", 'not connected'],
]

const firstRetryMs = 20
const longestRetryMs = 1000

/**
 * A connection that answers in time or fails. Only a deadline notices a server that is frozen; the socket is given up with
 * it, so that until Redis is back every call fails at once instead of waiting again. Nothing is queued and nothing is
 * sent twice: a command whose answer is lost may have been carried out.
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
      // It would forget what it listened to when the connection is lost before the answer, and reject a promise of nobody.
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(times, 10)),
    })
    // The client's own deadline ends when the socket is open; what it then asks for could wait for ever.
    let handshake: NodeJS.Timeout | undefined
    client.on('connect', () => {
      handshake = setTimeout(giveUp, server.connectTimeout, client)
    })
    for (const end of ['ready', 'close']) client.on(end, () => clearTimeout(handshake))
    let told = false
    client.on('error', (error: unknown) => {
      if (!told) log.error({ err: error, place: this.#place }, 'no connection to Redis')
      told = true
    })
    client.on('ready', () => {
      if (told) log.info({ place: this.#place }, 'connected to Redis again')
      told = false
      onReady?.()
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
    const client = this.#client
    client.on('error', listen)
    try {
      await client.connect()
    } catch (error) {
      // The next command begins with a client that knows of no failure.
      client.disconnect()
      this.#client = this.#create(this.#options)
      throw this.#failure(reason ?? error)
    } finally {
      client.off('error', listen)
    }
  }

  /** Sends a command, connecting first where nobody has. */
  send<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    return this.#connecting !== undefined || this.#client.status === 'wait'
      ? this.connect().then(() => this.#sent(command))
      : this.#sent(command)
  }

  #sent<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    const answer = command(this.#client)
    this.#watch.sent()
    return answer.then(
      (told) => {
        this.#watch.ended()
        return told
      },
      (error: unknown) => {
        this.#watch.ended()
        throw this.#failure(error)
      },
    )
  }

  /**
   * Runs a script, which Redis forgets when it restarts.
   *
   * @param rest the keys, then its other parameters
   * @param texts whether texts of the answer come as such, or as bytes
   */
  run(script: Script, keys: readonly string[], rest: readonly (string | number)[], texts = true): Promise<unknown> {
    const parameters = [keys.length, ...keys, ...rest]
    return this.send((redis) =>
      sendTo(redis, 'evalsha', [script.sha, ...parameters], texts).catch((error: unknown) => {
        if (!reasonOf(error).startsWith('NOSCRIPT')) throw error
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
   * Checks that Redis fits what is stored in it. Returns warnings, each with its fix. Redis may forbid the question; then there
   * is no result.
   *
   * @throws PlinthError `PLINTH_SHARED_STORE_CLUSTER`, `PLINTH_SHARED_STORE_UNAVAILABLE`
   */
  async inspect(): Promise<readonly string[]> {
    const info = await this.send((redis) => redis.info()).catch((error: unknown) => {
      if (codeOf(error) === 'PLINTH_SHARED_STORE_REFUSED') return ''
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

  /** What Redis said no to, or why it said nothing. */
  refusal(reason: string): PlinthError {
    return sharedStoreError('PLINTH_SHARED_STORE_REFUSED', { place: this.#place, reason })
  }

  #failure(error: unknown): PlinthError {
    const code =
      (error as Error)?.name === 'ReplyError' ? 'PLINTH_SHARED_STORE_REFUSED' : 'PLINTH_SHARED_STORE_UNAVAILABLE'
    // What Node.js reports of several addresses at once has no message of its own.
    const told = reasonOf(error) || String(codeOf(error))
    const [, reason = told] = plainReasons.find(([start]) => told.startsWith(start)) ?? []
    return sharedStoreError(code, { place: this.#place, reason }, error)
  }
}

const giveUp = (client: Redis) => client.stream?.destroy(new Error(noAnswer))

/** The same as `redis.evalsha(...)`, without its detour over variable arguments and automatic pipelines. */
function sendTo(redis: Redis, name: string, parameters: (string | number)[], texts: boolean): Promise<unknown> {
  const command = new Command(name, parameters, { replyEncoding: texts ? 'utf8' : null })
  void redis.sendCommand(command)
  return command.promise
}
