import type { ConnectionSecret } from '@plinth/database'
import { type RateLimitDecision, type RateLimitRequest, service } from '@plinth/kernel'
import type { Redis, RedisOptions } from 'ioredis'

/** Longest time to live, lease or window: 100 years of 365 days. */
export const maxMs = 100 * 365 * 86_400_000

/**
 * State that all instances of a product share: values, counters, locks, messages and quotas. It is stored in Redis or
 * in the database. A Redis that restarts empty has lost all of it, so data that must not get lost belongs in a separate
 * table.
 *
 * Keys are any well-formed text. Values, counters, locks and channels have separate namespaces. Times are integers in
 * milliseconds, from 1 to `maxMs`. Do not call it inside a database transaction: with the database driver the call
 * would be part of the transaction, with Redis it would not.
 *
 * @throws RangeError for arguments out of range
 * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE` if Redis does not respond in time: the call may still have
 * taken effect and is not repeated. `PLINTH_SHARED_STORE_REFUSED` if Redis responds with an error. Database errors are
 * those of `Database.execute`.
 */
export interface SharedStore {
  readonly driver: 'redis' | 'database'

  get(key: string): Promise<string | undefined>
  /** Without `ttlMs`, the value stays until it is deleted. */
  set(key: string, value: string, ttlMs?: number): Promise<void>
  /** Sets the value if there is no value yet. Returns true to the one caller that set it. */
  setIfAbsent(key: string, value: string, ttlMs?: number): Promise<boolean>
  /** Reads and deletes in one step: only one of several callers gets the value. */
  take(key: string): Promise<string | undefined>
  /** Returns true if there was a value. */
  delete(key: string): Promise<boolean>
  /** Deletes the value in one step if it equals `value`. Only one of several callers gets true. */
  deleteIf(key: string, value: string): Promise<boolean>

  /**
   * Adds to a counter in one atomic step. The first call sets the time to live. Later calls never extend it.
   *
   * @param by integer from 1, default 1
   */
  increment(key: string, ttlMs: number, by?: number): Promise<Counted>

  /**
   * Takes a lock for `leaseMs`, or returns `undefined` immediately if it is taken. The lease expires if its owner
   * stops. An owner that may have outlived its lease must pass `fence` to the store that it writes to.
   */
  acquire(key: string, leaseMs: number): Promise<Lease | undefined>

  /** Notifies all subscribers of all instances, at most once. A subscriber that is not connected misses the message. */
  publish(channel: string, message: string): Promise<void>
  /**
   * Subscribes until the returned function is called. That function does not fail if Redis is unavailable. A
   * subscription survives a restart of Redis but misses the messages sent meanwhile. Errors of a listener are logged.
   *
   * @param onGap called when messages may have been missed, after the subscription is active again. A listener that
   * tracks a state then reads all of it.
   */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): Promise<() => Promise<void>>

  readonly quota: SharedQuota
  /** For engines that need their own connections, such as queues. Undefined for the database driver. */
  readonly redis: RedisServer | undefined
}

export interface Counted {
  readonly value: number
  /** Remaining time to live. */
  readonly ttlMs: number
}

export interface Lease {
  readonly key: string
  /** Grows with each acquisition of the lock, so that late writes of an earlier owner can be detected. */
  readonly fence: number
  /** Lets the lease end `leaseMs` from now. Returns false if the lease was already over. */
  renew(leaseMs: number): Promise<boolean>
  /** Returns false if the lease was already over. */
  release(): Promise<boolean>
}

export type QuotaAlgorithm = 'window' | 'bucket'

/** How long a caller waits. A call that was not sent by then has no effect. */
export interface Patience {
  /** The call throws when this signal aborts. */
  readonly signal?: AbortSignal | undefined
  /**
   * Returns true when the caller has stopped waiting. If it is set, `signal` is ignored, because its listener costs
   * more.
   */
  isOver?(): boolean
  /** Calls `giveUp` when the call must end. Callers may share it; see `StoreContext.onEnd`. */
  onEnd?(giveUp: (reason: Error) => void): () => void
}

/**
 * Quotas for rate limit stores. Each decision is one atomic step. Decisions of one tick are sent together. Windows and
 * buckets have separate namespaces. Under one key, windows of different lengths are separate, and so are buckets of
 * different limits or windows. Decisions use the time of the server. Only `resetAtMs`, which callers see, uses the
 * clock of this process.
 */
export interface SharedQuota {
  /**
   * @param take false: only reads
   * @throws RangeError for a request out of range; see `RateLimitRequest`
   */
  decide(
    algorithm: QuotaAlgorithm,
    request: RateLimitRequest,
    take: boolean,
    patience?: Patience,
  ): Promise<RateLimitDecision>
  /**
   * Takes the costs of all requests or of none; see `RateLimitStore.consumeAll`. The keys must differ. At most 128
   * requests.
   */
  decideAll(
    algorithm: QuotaAlgorithm,
    requests: readonly RateLimitRequest[],
    patience?: Patience,
  ): Promise<RateLimitDecision[]>
  /** Deletes all windows, or all buckets, of the key. */
  reset(algorithm: QuotaAlgorithm, key: string): Promise<void>
}

/** Connection options that the caller chooses. */
export type RedisClientOptions = Pick<
  RedisOptions,
  'socketTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'connectionName'
>

export interface RedisServer {
  /**
   * Opens a separate connection. The caller closes it. The shared store sets the server, the credentials and the
   * timeouts for connecting and disconnecting. The caller sets queues and retries. Set `socketTimeout` too: it destroys
   * the socket of a command without a response. `commandTimeout` would leave a dead socket in use.
   */
  connect(options: RedisClientOptions): Redis
  /** A server without a response in this time is treated as unavailable; milliseconds. */
  readonly commandTimeoutMs: number
  /** First part of every key of this product. */
  readonly keyPrefix: string
}

/** Values that a user enters to reach a Redis server. */
export interface RedisTarget {
  readonly host: string
  readonly port: number
  readonly database: number
  /** Empty: no password. */
  readonly password: string
}

/** Tests the connection to a Redis server without changing anything, also if the product does not use Redis. */
export interface RedisProbe {
  /**
   * Returns the time of the server in milliseconds since the epoch. Without a target, asks the configured server.
   *
   * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`, `PLINTH_SHARED_STORE_REFUSED`
   */
  time(target?: RedisTarget, signal?: AbortSignal): Promise<number>
}

export const redisProbe = service<RedisProbe>('shared-store.redis-probe', { from: '@plinth/shared-store' })

/** The configured Redis password. The installer keeps it if the form contains no other password. */
export const redisSecret = service<ConnectionSecret>('shared-store.redis-secret', { from: '@plinth/shared-store' })

export const sharedStore = service<SharedStore>('shared-store', { from: '@plinth/shared-store' })
