import { errorReason, type HealthReport, type Logger, type PlinthError } from '@plinth/kernel'
import { Cluster, Command, type Redis } from 'ioredis'
import type { RedisClient } from './contract.ts'
import { destroyClient, nodesOf, placeOf, type RedisClients, retryDelayMs, withinTime } from './redis-clients.ts'
import { clientError, noResponseReason, responseError, sharedStoreError } from './redis-errors.ts'
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

export interface RedisConnectionOptions {
  readonly clients: RedisClients
  readonly log: Logger
  /** True for a connection that receives messages. */
  readonly receives?: boolean
  /** Called after each connection, including reconnections. */
  readonly onReady?: () => void
}

/**
 * A Redis connection whose commands get a response in time or fail. If the server does not respond, the socket is
 * destroyed, so that calls fail immediately until Redis is back. Commands are not queued and not sent again, because a
 * command without a response may have been executed.
 *
 * In a cluster, one node may be silent while others respond. So each command has its own time limit there, which also
 * covers redirections, and the client closes the connection to a silent node.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions
  readonly #place: string
  readonly #watch: AnswerWatch
  #client: RedisClient
  #connecting: Promise<void> | undefined

  constructor(options: RedisConnectionOptions) {
    const { settings } = options.clients
    this.#options = options
    this.#place = placeOf(settings)
    this.#client = this.#create(options)
    this.#watch = new AnswerWatch(settings.commandTimeoutMs, () => giveUp(this.#client))
  }

  #create({ clients, log, receives, onReady }: RedisConnectionOptions): RedisClient {
    let hasConnected = false
    const options = {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      // With `true`, the client could lose subscriptions and leave a rejected promise without a handler if the
      // connection is lost before the response.
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
      retryStrategy: retryDelayMs,
      // The first attempt must end, so that the start of the product fails.
      sentinelRetryStrategy: (attempts: number) => (hasConnected ? retryDelayMs(attempts) : null),
    }
    const client = receives === true ? clients.openForMessages(options) : clients.open(options)
    /** Places without a connection. */
    const lost = new Set<string>()
    const report = (place: string, error: unknown) => {
      if (!lost.has(place)) log.error({ err: error, place }, 'no connection to Redis')
      lost.add(place)
    }
    const isBack = (place: string) => {
      if (lost.delete(place)) log.info({ place }, 'connected to Redis again')
    }
    client.on('error', (error: unknown) => report(this.#place, error))
    client.on('ready', () => {
      hasConnected = true
      isBack(this.#place)
      onReady?.()
    })
    if (client instanceof Cluster) {
      client.on('node error', (error: unknown, place: string) => report(place, error))
      client.on('+node', (node: Redis) => {
        const { host = '', port = null } = node.options
        node.on('ready', () => isBack(`${host}:${port}`))
      })
      return client
    }
    // The timeout of the client only covers opening the socket. The commands that it then sends could wait forever.
    let handshake: NodeJS.Timeout | undefined
    client.on('connect', () => {
      handshake = setTimeout(giveUp, clients.settings.login.connectTimeout, client)
    })
    for (const end of ['ready', 'close']) client.on(end, () => clearTimeout(handshake))
    return client
  }

  /** @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE` after one failed attempt, in a cluster one for each node */
  connect(): Promise<void> {
    const { mode, nodes } = this.#options.clients.settings
    // In a cluster, the connection for messages uses one node, and each attempt uses the next one.
    const attempts = this.#options.receives === true && mode === 'cluster' ? nodes.length : 1
    this.#connecting ??= this.#connect(attempts).finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(attempts: number): Promise<void> {
    let reason: unknown
    const listen = (error: unknown) => {
      reason = error
    }
    const client = this.#client
    client.on('error', listen)
    try {
      // The limit covers opening the socket and the commands that the client then sends.
      const limitMs = 2 * this.#options.clients.settings.login.connectTimeout
      await withinTime(limitMs, client.connect(), () => new Error(noResponseReason))
    } catch (error) {
      // The next command uses a new client.
      client.disconnect()
      this.#client = this.#create(this.#options)
      if (attempts === 1) throw clientError(this.#place, reason ?? error)
    } finally {
      client.off('error', listen)
    }
    if (client !== this.#client) await this.#connect(attempts - 1)
  }

  /** Sends a command. Connects first if necessary. */
  send<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    return this.#connecting !== undefined || this.#client.status === 'wait'
      ? this.connect().then(() => this.#sent(command))
      : this.#sent(command)
  }

  #sent<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    const client = this.#client
    if (client instanceof Cluster) {
      const { commandTimeoutMs } = this.#options.clients.settings
      // The client of a cluster has the same commands.
      const response = command(client as unknown as Redis)
      return withinTime(commandTimeoutMs, response, () => new Error(noResponseReason)).catch((error: unknown) => {
        throw clientError(this.#place, error)
      })
    }
    const response = command(client)
    this.#watch.sent()
    return response.then(
      (reported) => {
        this.#watch.ended()
        return reported
      },
      (error: unknown) => {
        this.#watch.ended()
        throw clientError(this.#place, error)
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
    destroyClient(this.#client)
  }

  /**
   * Checks that Redis is suitable. Returns warnings with their fixes.
   *
   * @throws PlinthError `PLINTH_SHARED_STORE_CLUSTER`, `PLINTH_SHARED_STORE_UNAVAILABLE`
   */
  async inspect(): Promise<HealthReport> {
    const infos = await this.#infos()
    const { mode } = this.#options.clients.settings
    if (mode !== 'cluster' && infos.some((info) => readInfo(info, 'redis_mode') === 'cluster')) {
      throw sharedStoreError('PLINTH_SHARED_STORE_CLUSTER', { place: this.#place })
    }
    const policy = worstPolicy(infos)
    if (policy === 'noeviction') return { warnings: [] }
    const warning =
      policy === undefined
        ? `Redis at ${this.#place} does not permit the command INFO, so its maxmemory-policy is unknown. Permit INFO, and set maxmemory-policy to noeviction.`
        : `Redis at ${this.#place} has the maxmemory-policy ${policy}, so it removes counters and locks when its memory is full. Set maxmemory-policy to noeviction.`
    return { warnings: [warning] }
  }

  /** See `RedisServer.evictionPolicy`. */
  async evictionPolicy(): Promise<string | undefined> {
    return worstPolicy(await this.#infos())
  }

  /** Returns the text of INFO of each primary. It is empty if Redis forbids the command. */
  #infos(): Promise<string[]> {
    return this.send(async () => {
      const nodes = nodesOf(this.#client, 'master')
      // The client of a cluster forgets nodes that it has lost.
      if (nodes.length === 0) throw new Error('not connected')
      return Promise.all(
        nodes.map((node) =>
          node.info().catch((error: unknown) => {
            if (errorReason(error).startsWith('NOPERM')) return ''
            throw error
          }),
        ),
      )
    })
  }

  /** Returns the error for a response that contains the text of an error. */
  rejection(reason: string): PlinthError {
    return responseError(this.#place, reason)
  }
}

const readInfo = (info: string, name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]

/** Returns the first policy that is not `noeviction`. Undefined: a policy is unknown. */
function worstPolicy(infos: readonly string[]): string | undefined {
  const policies = infos.map((info) => readInfo(info, 'maxmemory_policy'))
  const isBad = (policy: string | undefined) => policy !== undefined && policy !== 'noeviction'
  return policies.find(isBad) ?? (policies.includes(undefined) ? undefined : 'noeviction')
}

const giveUp = (client: RedisClient) => {
  for (const node of nodesOf(client)) node.stream?.destroy(new Error(noResponseReason))
}

/** Like `redis.evalsha(...)`, but without the cost of variable arguments and automatic pipelines. */
function sendTo(redis: Redis, name: string, parameters: (string | number)[], texts: boolean): Promise<unknown> {
  const command = new Command(name, parameters, { replyEncoding: texts ? 'utf8' : null })
  void redis.sendCommand(command)
  return command.promise
}
