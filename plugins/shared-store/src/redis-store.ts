import { randomUUID } from 'node:crypto'
import type { Clock, HealthReport } from '@plinth/kernel'
import type { IncrementResult, Lease, RedisServer, SharedQuota, SharedStore } from './contract.ts'
import { checkAmount, checkContent, checkMs, entryNameOf, type Kind } from './quota-rules.ts'
import type { RedisConnection } from './redis-connection.ts'
import type { RedisMessages } from './redis-messages.ts'
import { RedisQuota } from './redis-quota.ts'
import { acquireScript, extendOrDeleteScript, incrementScript } from './redis-scripts.ts'

/** The shared store in Redis. Each operation is one command or one script, so it is atomic. */
export class RedisStore implements SharedStore {
  readonly driver = 'redis'
  readonly redis: RedisServer
  readonly quota: SharedQuota
  readonly #connection: RedisConnection
  readonly #messages: RedisMessages
  readonly #publisher: RedisConnection

  /**
   * @param isCluster true if the keys are distributed over several nodes
   * @param clock for the reset times of quotas that callers see
   */
  constructor(
    connection: RedisConnection,
    messages: RedisMessages,
    server: RedisServer,
    isCluster: boolean,
    clock: Pick<Clock, 'now'>,
  ) {
    this.#connection = connection
    this.redis = server
    this.#messages = messages
    // The client of a cluster sends each message to another node, so messages of one instance would arrive in any order.
    this.#publisher = isCluster ? messages.connection : connection
    this.quota = new RedisQuota(connection, server.keyPrefix, isCluster, clock)
  }

  async get(key: string): Promise<string | undefined> {
    const name = this.#name('value', key)
    return (await this.#connection.send((redis) => redis.get(name))) ?? undefined
  }

  async set(key: string, value: string, ttlMs?: number): Promise<void> {
    const name = this.#valueName(key, value, ttlMs)
    await this.#connection.send((redis) =>
      ttlMs === undefined ? redis.set(name, value) : redis.set(name, value, 'PX', ttlMs),
    )
  }

  async setIfAbsent(key: string, value: string, ttlMs?: number): Promise<boolean> {
    const name = this.#valueName(key, value, ttlMs)
    const response = await this.#connection.send((redis) =>
      ttlMs === undefined ? redis.set(name, value, 'NX') : redis.set(name, value, 'PX', ttlMs, 'NX'),
    )
    return response === 'OK'
  }

  async take(key: string): Promise<string | undefined> {
    const name = this.#name('value', key)
    return (await this.#connection.send((redis) => redis.getdel(name))) ?? undefined
  }

  async delete(key: string): Promise<boolean> {
    const name = this.#name('value', key)
    return (await this.#connection.send((redis) => redis.del(name))) === 1
  }

  async deleteIf(key: string, value: string): Promise<boolean> {
    const name = this.#valueName(key, value, undefined)
    return (await this.#connection.run(extendOrDeleteScript, [name], [value])) === 1
  }

  async increment(key: string, ttlMs: number, by = 1): Promise<IncrementResult> {
    checkMs('ttlMs', ttlMs)
    checkAmount(by)
    const response = await this.#connection.run(incrementScript, [this.#name('counter', key)], [by, ttlMs])
    const [value, left] = response as [number, number]
    return { value, ttlMs: left }
  }

  async acquire(key: string, leaseMs: number): Promise<Lease | undefined> {
    checkMs('leaseMs', leaseMs)
    // The names of the lock and of its fence have the same hash tag, so that a cluster stores both keys on one node.
    const tagged = `{${entryNameOf('lock', key)}}`
    const lock = `${this.redis.keyPrefix}:${tagged}`
    const owner = randomUUID()
    const fence = await this.#connection.run(acquireScript, [lock, `${lock}:fence`], [owner, leaseMs])
    if (fence === null) return undefined
    const hold = async (...lease: number[]) =>
      (await this.#connection.run(extendOrDeleteScript, [lock], [owner, ...lease])) === 1
    return {
      key,
      fence: Number(fence),
      renew: async (ms) => {
        checkMs('leaseMs', ms)
        return hold(ms)
      },
      release: () => hold(),
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    checkContent(message)
    const name = this.#name('channel', channel)
    await this.#publisher.send((redis) => redis.publish(name, message))
  }

  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): Promise<() => Promise<void>> {
    return this.#messages.subscribe(this.#name('channel', channel), { listener, onGap })
  }

  /** Health check. Throws if Redis does not respond or is not suitable. */
  check(): Promise<HealthReport> {
    return this.#connection.inspect()
  }

  #name(kind: Kind, key: string): string {
    return `${this.redis.keyPrefix}:${entryNameOf(kind, key)}`
  }

  #valueName(key: string, value: string, ttlMs: number | undefined): string {
    checkContent(value)
    if (ttlMs !== undefined) checkMs('ttlMs', ttlMs)
    return this.#name('value', key)
  }
}
