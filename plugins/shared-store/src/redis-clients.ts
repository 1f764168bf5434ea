import { hostAndPort } from '@plinth/kernel'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { SharedStoreConfig } from './config.ts'
import type { RedisClient } from './contract.ts'
import { sharedStoreError } from './redis-errors.ts'

export interface RedisNode {
  readonly host: string
  readonly port: number
}

/** Options of a connection to one server. `replyMapping` would change the types of all responses. */
export type NodeOptions = Omit<RedisOptions, 'replyMapping'>

export interface RedisLogin {
  readonly db: number
  readonly username?: string
  readonly password?: string
  readonly tls?: { readonly rejectUnauthorized: boolean }
  readonly connectTimeout: number
  readonly keepAlive: number
  readonly disconnectTimeout: number
}

export interface RedisSettings {
  readonly mode: 'single' | 'sentinel' | 'cluster'
  /** The server, the sentinels, or the nodes that report all nodes of the cluster. At least one. */
  readonly nodes: readonly RedisNode[]
  /** Options that only sentinels need. */
  readonly sentinel: Readonly<Pick<RedisOptions, 'name' | 'sentinelUsername' | 'sentinelPassword'>>
  readonly login: RedisLogin
  readonly commandTimeoutMs: number
}

/** Idle time in milliseconds after which the operating system checks the connection. */
const keepAliveMs = 30_000
/** A socket that is still open after this time in milliseconds is destroyed. */
const disconnectMs = 500

/**
 * Reads the configuration, except the password, and checks the keys together.
 *
 * @throws PlinthError `PLINTH_SHARED_STORE_SETTINGS`
 */
export function readRedisSettings(config: SharedStoreConfig, password: string): RedisSettings {
  const mode = config.get('platform.cache.mode')
  const username = config.get('platform.cache.username')
  const tls = config.get('platform.cache.tls')
  const name = config.get('platform.cache.sentinel.name')
  const sentinelUsername = config.get('platform.cache.sentinel.username')
  const sentinelPassword = config.get('platform.cache.sentinel.password')
  const nodes = {
    single: [{ host: config.get('platform.cache.host'), port: config.get('platform.cache.port') }],
    sentinel: config.get('platform.cache.sentinel.nodes').map(nodeOf),
    cluster: config.get('platform.cache.cluster.nodes').map(nodeOf),
  }[mode]
  const db = config.get('platform.cache.database')
  const reject = (key: string, rule: string) => {
    const parts = { key: `platform.cache.${key}`, rule, other: 'platform.cache.mode', value: mode }
    throw sharedStoreError('PLINTH_SHARED_STORE_SETTINGS', parts)
  }
  if (nodes.length === 0) reject(`${mode}.nodes`, 'contain at least one address')
  if (mode === 'sentinel' && name === '') reject('sentinel.name', 'contain the name of the primary')
  if (mode === 'cluster' && db !== 0) reject('database', 'be 0')
  return {
    mode,
    nodes,
    sentinel: {
      name,
      ...(sentinelUsername === '' ? {} : { sentinelUsername }),
      ...(sentinelPassword === '' ? {} : { sentinelPassword }),
    },
    login: {
      db,
      connectTimeout: config.get('platform.cache.connect-timeout'),
      keepAlive: keepAliveMs,
      disconnectTimeout: disconnectMs,
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password }),
      ...(tls === 'off' ? {} : { tls: { rejectUnauthorized: tls === 'verify' } }),
    },
    commandTimeoutMs: config.get('platform.cache.command-timeout'),
  }
}

/** @param address `host:port`; an IPv6 address is in brackets */
function nodeOf(address: string): RedisNode {
  const { hostname, port } = new URL(`redis://${address}`)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}

/** Returns the place of the servers for messages, without credentials. */
export function placeOf({ mode, nodes, sentinel }: RedisSettings): string {
  const places = nodes.map(({ host, port }) => hostAndPort(host, port)).join(', ')
  return mode === 'sentinel' ? `${sentinel.name} (sentinels ${places})` : places
}

/** Returns the connections to single servers: the nodes of a cluster, or the client itself. */
export const nodesOf = (client: RedisClient, role: 'all' | 'master' = 'all'): Redis[] =>
  client instanceof Cluster ? client.nodes(role) : [client]

/** Closes all sockets immediately. A client that only disconnects waits for the other end of each socket. */
export function destroyClient(client: RedisClient): void {
  const nodes = nodesOf(client)
  client.disconnect()
  for (const node of nodes) node.stream?.destroy()
}

/** Minimum time in milliseconds after which a silent node of a cluster loses its connection. */
const minSocketTimeoutMs = 2000
const firstRetryMs = 20
const maxRetryMs = 1000

export const retryDelayMs = (attempts: number) => Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(attempts, 10))

/** Opens all connections to Redis, so that server, credentials and failover are configured in one place. */
export class RedisClients {
  readonly settings: RedisSettings
  #password: string | undefined
  #turn = 0

  constructor(settings: RedisSettings) {
    this.settings = settings
    this.#password = settings.login.password
  }

  /** Connections that open later sign in with this password. Open connections stay signed in. */
  usePassword(password: string): void {
    this.#password = password
  }

  /** @param options options of a connection to one server; those of a cluster are derived from them */
  open(options: NodeOptions): RedisClient {
    const { mode } = this.settings
    if (mode === 'cluster') return this.#openCluster(options)
    return this.#prepared(new Redis(mode === 'sentinel' ? this.#sentinelOptions(options) : this.#nodeOptions(options)))
  }

  /**
   * Opens a connection for messages. Every node of a cluster delivers all messages, so one connection is enough. Each
   * attempt to connect uses the next node of the configuration.
   */
  openForMessages(options: NodeOptions): RedisClient {
    if (this.settings.mode !== 'cluster') return this.open(options)
    const { retryStrategy } = options
    const client = new Redis({
      ...this.#nodeOptions(options),
      retryStrategy: (attempts) => {
        Object.assign(client.options, this.#nextNode())
        return retryStrategy?.(attempts)
      },
    })
    return this.#prepared(client)
  }

  get #login(): RedisLogin {
    const { login } = this.settings
    return this.#password === undefined ? login : { ...login, password: this.#password }
  }

  #nextNode(): RedisNode {
    const { nodes } = this.settings
    return nodes[this.#turn++ % nodes.length] as RedisNode
  }

  #nodeOptions(options: NodeOptions): NodeOptions {
    return { reconnectOnError: hasBecomeReplica, ...this.#login, ...this.#nextNode(), ...options }
  }

  #sentinelOptions(options: NodeOptions): NodeOptions {
    const { nodes, sentinel } = this.settings
    const { tls, connectTimeout } = this.#login
    return {
      ...this.#login,
      ...sentinel,
      sentinels: [...nodes],
      ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
      // The old primary accepts writes until a sentinel makes it a replica. Such writes are lost.
      failoverDetector: true,
      reconnectOnError: hasBecomeReplica,
      // All sentinels and the primary are tried within the connect timeout.
      sentinelCommandTimeout: Math.ceil(connectTimeout / (nodes.length + 1)),
      sentinelRetryStrategy: retryDelayMs,
      ...options,
    }
  }

  #openCluster(options: NodeOptions): Cluster {
    const { nodes, commandTimeoutMs } = this.settings
    const login = this.#login
    const { lazyConnect = false, enableOfflineQueue = true, retryStrategy = retryDelayMs, ...rest } = options
    const { db: _db, ...nodeLogin } = login
    // The client would send a command again if a connection was lost. The command may have been executed.
    const repeats = rest.maxRetriesPerRequest === 0 ? { retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 } : {}
    const client = new Cluster([...nodes], {
      ...repeats,
      lazyConnect,
      // Queues of the single nodes stay enabled, because the client itself sends commands to them.
      enableOfflineQueue,
      // A command reports a cluster that is down, so no right for `CLUSTER INFO` is needed.
      enableReadyCheck: false,
      clusterRetryStrategy: (attempts) => retryStrategy?.(attempts),
      slotsRefreshTimeout: Math.ceil(login.connectTimeout / 2),
      // Host names stay names, so that the names in certificates match.
      dnsLookup: (host, done) => done(null, host),
      redisOptions: { socketTimeout: Math.max(commandTimeoutMs, minSocketTimeoutMs), ...nodeLogin, ...rest },
    })
    client.on('+node', (node: Redis) => this.#followPassword(node))
    client.on('node error', removeArguments)
    client.on('error', removeArguments)
    return client
  }

  #prepared(client: Redis): Redis {
    this.#followPassword(client)
    return client.on('error', removeArguments)
  }

  /** A client that connects again reads its options again. */
  #followPassword({ options }: Redis): void {
    Object.defineProperty(options, 'password', { get: () => this.#password, enumerable: true, configurable: true })
  }
}

/** A primary that a failover made a replica, also behind a host name that now leads to another server. */
const hasBecomeReplica = (error: Error) => error.message.startsWith('READONLY')

/** Removes the arguments of the command from its error, because those of a login contain the password. */
function removeArguments(error: { command?: unknown; lastNodeError?: { command?: unknown } }): void {
  delete error.command
  delete error.lastNodeError?.command
}

/** Rejects after this time. Reads the sockets first, because a response may have arrived while this process was busy. */
export function withinTime<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(late())), ms)
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
}
