import type { ConnectionSecret } from '@plinth/database'
import { type RateLimitDecision, type RateLimitRequest, service } from '@plinth/kernel'
import type { Cluster, Redis, RedisOptions } from 'ioredis'

/** Maximum lifetime, lease or window: 100 years in milliseconds. */
export const maxDurationMs = 100 * 365 * 86_400_000

/**
 * State that all instances of a product share: values, counters, locks, messages and quotas. It is stored in Redis or
 * in the database. Redis may lose all of it in a restart, so use a table for data that must not get lost.
 *
 * Keys are any well-formed text. Values, counters, locks and channels have separate namespaces. Times are integers from
 * 1 to `maxDurationMs` in milliseconds. Must not be called inside a database transaction, because only the database driver
 * would roll the call back.
 *
 * @throws RangeError for arguments out of range
 * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE` if Redis does not respond in time. The call may have taken
 *   effect and is not repeated. `PLINTH_SHARED_STORE_REFUSED` if Redis responds with an error. Errors of the database
 *   driver are those of `Database.execute`.
 */
export interface SharedStore {
  readonly driver: 'redis' | 'database'

  get(key: string): Promise<string | undefined>
  /** Without `ttlMs`, the value never expires. */
  set(key: string, value: string, ttlMs?: number): Promise<void>
  /** Sets the value if none exists. Among concurrent callers, only one gets true. */
  setIfAbsent(key: string, value: string, ttlMs?: number): Promise<boolean>
  /** Returns and deletes the value in one step. Among concurrent callers, only one gets it. */
  take(key: string): Promise<string | undefined>
  /** Returns true if a value existed. */
  delete(key: string): Promise<boolean>
  /** Deletes the value if it equals `value`. Among concurrent callers, only one gets true. */
  deleteIf(key: string, value: string): Promise<boolean>

  /**
   * Adds to a counter atomically. The first call sets its lifetime, which later calls do not extend.
   *
   * @param by integer from 1; default: 1
   */
  increment(key: string, ttlMs: number, by?: number): Promise<IncrementResult>

  /**
   * Takes a lock for `leaseMs`. Returns `undefined` if another owner holds it. The lease expires if its owner stops. An
   * owner whose lease may have expired must pass `fence` to the store that it writes to, so that the store can reject
   * the write.
   */
  acquire(key: string, leaseMs: number): Promise<Lease | undefined>

  /** Notifies all subscribers on all instances at most once. A subscriber without a connection misses the message. */
  publish(channel: string, message: string): Promise<void>
  /**
   * Calls the listener for each message. Call the returned function to unsubscribe; it does not fail if Redis is
   * unavailable. A subscription survives a restart of Redis, but misses messages sent during the restart. Errors of a
   * listener are logged.
   *
   * @param onGap called after messages may have been missed, so that the listener can read the current state
   */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): Promise<() => Promise<void>>

  readonly quota: SharedQuota
  /** Redis server for libraries that need their own connections, such as queues. Undefined for the database driver. */
  readonly redis: RedisServer | undefined
}

export interface IncrementResult {
  readonly value: number
  readonly ttlMs: number
}

export interface Lease {
  readonly key: string
  /**
   * Number that grows with each acquisition of the lock, so that a store can reject late writes of an earlier owner.
   */
  readonly fence: number
  /** Makes the lease expire `leaseMs` from now. Returns false if it had already expired. */
  renew(leaseMs: number): Promise<boolean>
  /** Ends the lease. Returns false if it had already expired. */
  release(): Promise<boolean>
}

export type QuotaAlgorithm = 'window' | 'bucket'

/** How long a caller waits. A call that was not sent before the caller stopped waiting has no effect. */
export interface WaitLimit {
  /** The call fails when this signal aborts. */
  readonly signal?: AbortSignal | undefined
  /**
   * Returns true when the caller has stopped waiting. If present, `signal` is ignored, because a listener on the signal
   * costs more.
   */
  isOver?(): boolean
  /**
   * Registers a function that is called when the call must end. Several callers may share one `onEnd`; see
   * `StoreContext.onEnd`.
   */
  onEnd?(giveUp: (reason: Error) => void): () => void
}

/**
 * Quotas for rate limit stores. Each decision is atomic, and decisions of one tick of the event loop are sent together.
 * Windows and buckets have separate namespaces. For one key, windows of different lengths are separate, and buckets of
 * different limits or windows are separate. Decisions use the clock of the server. Only `resetAtMs` uses the clock of
 * this process.
 */
export interface SharedQuota {
  /**
   * @param take false: only reads the quota
   * @throws RangeError for a request out of range; see `RateLimitRequest`
   */
  decide(
    algorithm: QuotaAlgorithm,
    request: RateLimitRequest,
    take: boolean,
    patience?: WaitLimit,
  ): Promise<RateLimitDecision>
  /**
   * Takes the costs of all requests or of none; see `RateLimitStore.consumeAll`. At most 128 requests, with different
   * keys.
   */
  decideAll(
    algorithm: QuotaAlgorithm,
    requests: readonly RateLimitRequest[],
    patience?: WaitLimit,
  ): Promise<RateLimitDecision[]>
  /**
   * Returns units that `decide` took in the active window, at most those that are used. Ignores `limit`.
   *
   * @throws RangeError for a request out of range
   */
  refund(request: RateLimitRequest): Promise<void>
  /** Deletes all windows or all buckets of the key. */
  reset(algorithm: QuotaAlgorithm, key: string): Promise<void>
}

/** Connection options that the caller sets. */
export type RedisClientOptions = Pick<
  RedisOptions,
  'socketTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'connectionName'
>

/** A client of one server, which may be the current primary of a sentinel, or of a cluster. Both have the same commands. */
export type RedisClient = Redis | Cluster

/** The configured server, the current primary of the configured sentinels, or the configured cluster. */
export interface RedisServer {
  /**
   * Opens a separate connection, which the caller must close. The shared store sets the server, the credentials, and
   * the timeouts for connecting and disconnecting. The caller sets queues and retries. It should also set
   * `socketTimeout`, which closes the socket if a command gets no response. With `commandTimeout`, the dead socket
   * would stay in use. In a cluster, all keys of a script or a transaction must be in one slot: use a hash tag.
   */
  connect(options: RedisClientOptions): RedisClient
  /**
   * Returns the `maxmemory-policy` of Redis. If the primaries of a cluster have several policies, returns one that is
   * not `noeviction`. Undefined: unknown, because the user may not use the command `INFO`.
   *
   * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`
   */
  evictionPolicy(): Promise<string | undefined>
  /** If the server does not respond within this time, it counts as unavailable; milliseconds. */
  readonly commandTimeoutMs: number
  /** Prefix of all keys of this product. */
  readonly keyPrefix: string
}

/** Values that a user enters for a Redis server. With sentinels or a cluster, only the password is used. */
export interface RedisTarget {
  readonly host: string
  readonly port: number
  readonly database: number
  /** Empty: no password. */
  readonly password: string
}

/** Tests the connection to a Redis server without changing anything, even if the product does not use Redis. */
export interface RedisProbe {
  /**
   * Returns the time of the server in milliseconds since the epoch. Without a target, uses the configured server.
   *
   * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`, `PLINTH_SHARED_STORE_REFUSED`
   */
  time(target?: RedisTarget, signal?: AbortSignal): Promise<number>
}

export const redisProbe = service<RedisProbe>('shared-store.redis-probe', { from: '@plinth/shared-store' })

/** The configured Redis password. The installer keeps it if the user enters no other password. */
export const redisSecret = service<ConnectionSecret>('shared-store.redis-secret', { from: '@plinth/shared-store' })

export const sharedStore = service<SharedStore>('shared-store', { from: '@plinth/shared-store' })
