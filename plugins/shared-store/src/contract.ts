import type { ConnectionSecret } from '@plinth/database'
import { type RateLimitDecision, type RateLimitRequest, service } from '@plinth/kernel'
import type { Redis, RedisOptions } from 'ioredis'

/** Longest time to live, lease or window: 100 years of 365 days. */
export const longestMs = 100 * 365 * 86_400_000

/**
 * What all instances of a product share: values, counters, locks, messages and quotas, on Redis or on the database.
 * It is a cache in the sense that a Redis which restarts empty has forgotten all of it: what must not get lost belongs
 * into a table of its own.
 *
 * Keys are any well-formed text; values, counters, locks and channels have separate names. Times are milliseconds, whole
 * numbers from 1 to `longestMs`. Do not call it inside a database transaction: on the database driver the call would be
 * part of the transaction, on Redis it would not.
 *
 * @throws RangeError for arguments out of range
 * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE` when Redis does not answer in time. The call may have had its
 *   effect all the same, and is not repeated. `PLINTH_SHARED_STORE_REFUSED` when it answers with an error. Errors of the
 *   database are those of `Database.execute`.
 */
export interface SharedStore {
  readonly driver: 'redis' | 'database'

  get(key: string): Promise<string | undefined>
  /** Without `ttlMs` the value stays until it is deleted. */
  set(key: string, value: string, ttlMs?: number): Promise<void>
  /** Sets the value where there is none. True for the one caller that did. */
  setIfAbsent(key: string, value: string, ttlMs?: number): Promise<boolean>
  /** Reads and deletes in one step: of several callers one gets the value. */
  take(key: string): Promise<string | undefined>
  /** True when there was a value. */
  delete(key: string): Promise<boolean>
  /** Deletes the value if it still is this one, in one step: a newer one stays, and of several callers one gets true. */
  deleteIf(key: string, value: string): Promise<boolean>

  /**
   * Adds to a counter in one atomic step. The first hit sets the time to live; later ones never extend it.
   *
   * @param by whole number from 1, default 1
   */
  increment(key: string, ttlMs: number, by?: number): Promise<Counted>

  /**
   * Takes a lock for `leaseMs`, or answers `undefined` at once when somebody holds it. It ends by itself when its holder
   * dies. A holder that may have outlived its lease must hand `fence` to what it writes to.
   */
  acquire(key: string, leaseMs: number): Promise<Lease | undefined>

  /** Tells all subscribers of all instances. At most once: who does not listen right then misses it. */
  publish(channel: string, message: string): Promise<void>
  /**
   * Listens until the returned function is called, which does not fail because Redis is away. A subscriber survives a
   * restart of Redis, but misses what was said meanwhile. A listener that throws is logged.
   *
   * @param onGap called when something may have been missed, after the subscriber listens again: who follows a state by
   *   messages reads all of it then
   */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): Promise<() => Promise<void>>

  readonly quota: SharedQuota
  /** For engines that need connections of their own, such as queues. Absent on the database driver. */
  readonly redis: RedisServer | undefined
}

export interface Counted {
  readonly value: number
  /** What is left of the time to live. */
  readonly ttlMs: number
}

export interface Lease {
  readonly key: string
  /** Grows with every acquisition of the lock, so that a late write of an earlier holder can be told. */
  readonly fence: number
  /** The lease lasts for `leaseMs` from now. False when it is not held any more. */
  renew(leaseMs: number): Promise<boolean>
  /** False when it was not held any more. */
  release(): Promise<boolean>
}

export type QuotaAlgorithm = 'window' | 'bucket'

/** How long a caller waits. A call that was not sent by then takes nothing. */
export interface Patience {
  /** The call throws when it aborts. */
  readonly signal?: AbortSignal | undefined
  /** Of a caller who stops waiting by itself: true when it has. Then the signal, which costs more, is left alone. */
  isOver?(): boolean
  /** Of a caller for whom the call must end by itself, and who may share this with others; see `StoreContext.onEnd`. */
  onEnd?(giveUp: (reason: Error) => void): () => void
}

/**
 * Quotas for rate limit stores. Each decision is one atomic step; many of one moment travel together. Windows and buckets
 * have separate names. Under one key, windows of different lengths are separate, and so are buckets of different limits or
 * windows: what is taken from one leaves the others alone. The decision and its time are
 * those of the server; only `resetAtMs`, which is shown to callers, is on the clock of this process.
 */
export interface SharedQuota {
  /**
   * @param take false: only looks
   * @throws RangeError for a request out of range; see `RateLimitRequest`
   */
  decide(
    algorithm: QuotaAlgorithm,
    request: RateLimitRequest,
    take: boolean,
    patience?: Patience,
  ): Promise<RateLimitDecision>
  /** Takes the costs of all requests, whose keys differ, or of none; see `RateLimitStore.consumeAll`. At most 128. */
  decideAll(
    algorithm: QuotaAlgorithm,
    requests: readonly RateLimitRequest[],
    patience?: Patience,
  ): Promise<RateLimitDecision[]>
  /** Forgets all windows, or all buckets, of the key. */
  reset(algorithm: QuotaAlgorithm, key: string): Promise<void>
}

/** What the opener of a connection chooses. */
export type RedisClientOptions = Pick<
  RedisOptions,
  'socketTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'connectionName'
>

export interface RedisServer {
  /**
   * Opens a connection of its own; the caller closes it. Where and as whom, and the end of connecting and of disconnecting,
   * are the shared store's; queues and retries are the caller's. Give its commands an end too (`socketTimeout`, which destroys
   * the socket; not `commandTimeout`, which leaves a dead one in use).
   */
  connect(options: RedisClientOptions): Redis
  /** A server that has not answered a command by then counts as gone; milliseconds. */
  readonly commandTimeoutMs: number
  /** First part of every key of this product. */
  readonly keyPrefix: string
}

/** What a person fills in to reach a Redis. */
export interface RedisTarget {
  readonly host: string
  readonly port: number
  readonly database: number
  /** Empty for none. */
  readonly password: string
}

/** Tries a Redis out, whether the product uses it or not, and leaves everything as it is. */
export interface RedisProbe {
  /**
   * Time of a server, milliseconds since the epoch; of the configured one without a target.
   *
   * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`, `PLINTH_SHARED_STORE_REFUSED`
   */
  time(target?: RedisTarget, signal?: AbortSignal): Promise<number>
}

export const redisProbe = service<RedisProbe>('shared-store.redis-probe', { from: '@plinth/shared-store' })

/** The password that the product's Redis takes: for an installation, which keeps it when the form does not name another. */
export const redisSecret = service<ConnectionSecret>('shared-store.redis-secret', { from: '@plinth/shared-store' })

export const sharedStore = service<SharedStore>('shared-store', { from: '@plinth/shared-store' })
