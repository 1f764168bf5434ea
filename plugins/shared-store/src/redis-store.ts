import { randomUUID } from 'node:crypto'
import type { Logger, RateLimitRequest } from '@plinth/kernel'
import {
  type Counted,
  type Lease,
  longestMs,
  type QuotaAlgorithm,
  type QuotaDecision,
  type QuotaOptions,
  type RedisServer,
  type SharedQuota,
  type SharedStore,
} from './contract.ts'
import { Listeners } from './listeners.ts'
import { MicroBatch } from './micro-batch.ts'
import { checkAmount, checkContent, checkMs, type Kind, nameOf } from './names.ts'
import { bucketScale } from './quota-rules.ts'
import type { RedisConnection } from './redis-connection.ts'
import { acquireScript, holdScript, incrementScript, jointScript, quotaScript } from './redis-scripts.ts'

/** About 0.3 ms of Redis, during which it serves nobody else. */
const batchSize = 128

interface QuotaQuestion {
  readonly key: string
  readonly algorithm: QuotaAlgorithm
  readonly request: RateLimitRequest
  readonly take: boolean
}

/** The store on Redis. Every operation is one command or one script on keys of one name. */
export class RedisStore implements SharedStore, SharedQuota {
  readonly driver = 'redis'
  readonly redis: RedisServer
  readonly quota: SharedQuota = this
  readonly #connection: RedisConnection
  readonly #listeners: Listeners
  readonly #questions: MicroBatch<QuotaQuestion, QuotaDecision>

  constructor(connection: RedisConnection, server: RedisServer, log: Logger) {
    this.#connection = connection
    this.redis = server
    this.#listeners = new Listeners(log)
    this.#questions = new MicroBatch({
      size: batchSize,
      concurrency: Number.POSITIVE_INFINITY,
      eager: true,
      run: (questions) => this.#decideAll(questions),
    })
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
    const answer = await this.#connection.send((redis) =>
      ttlMs === undefined ? redis.set(name, value, 'NX') : redis.set(name, value, 'PX', ttlMs, 'NX'),
    )
    return answer === 'OK'
  }

  async take(key: string): Promise<string | undefined> {
    const name = this.#name('value', key)
    return (await this.#connection.send((redis) => redis.getdel(name))) ?? undefined
  }

  async delete(key: string): Promise<boolean> {
    const name = this.#name('value', key)
    return (await this.#connection.send((redis) => redis.del(name))) === 1
  }

  async increment(key: string, ttlMs: number, by = 1): Promise<Counted> {
    checkMs('ttlMs', ttlMs)
    checkAmount(by)
    const answer = await this.#connection.run(incrementScript, [this.#name('counter', key)], [by, ttlMs])
    const [value, left] = answer as [number, number]
    return { value, ttlMs: left }
  }

  async acquire(key: string, leaseMs: number): Promise<Lease | undefined> {
    checkMs('leaseMs', leaseMs)
    // One hash tag, so that a cluster keeps both on one node.
    const tagged = `{${nameOf('lock', key)}}`
    const lock = `${this.redis.keyPrefix}:${tagged}`
    const owner = randomUUID()
    const fence = await this.#connection.run(acquireScript, [lock, `${lock}:fence`], [owner, leaseMs])
    if (fence === null) return undefined
    const hold = async (...lease: number[]) => (await this.#connection.run(holdScript, [lock], [owner, ...lease])) === 1
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
    await this.#connection.send((redis) => redis.publish(name, message))
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    const name = this.#name('channel', channel)
    const remove = this.#listeners.add(name, listener)
    try {
      await this.#connection.subscribe(name, (from, message) => this.#listeners.tell(from, message))
    } catch (error) {
      remove()
      throw error
    }
    return async () => {
      if (remove() === 0) await this.#connection.unsubscribe(name)
    }
  }

  async decide(algorithm: QuotaAlgorithm, request: RateLimitRequest, options: QuotaOptions): Promise<QuotaDecision> {
    const key = this.#name(algorithm, request.key)
    return this.#questions.ask({ key, algorithm, request, take: options.take }, options.signal)
  }

  async decideAll(
    algorithm: QuotaAlgorithm,
    requests: readonly RateLimitRequest[],
    signal?: AbortSignal,
  ): Promise<QuotaDecision[]> {
    const questions = requests.map((request) => {
      return { key: this.#name(algorithm, request.key), algorithm, request, take: false }
    })
    signal?.throwIfAborted()
    const keys = questions.map(({ key }) => key)
    const answers = await this.#connection.run(jointScript, keys, questions.flatMap(quotaArguments))
    return questions.map((question, index) => this.#decision(question, index, answers as unknown[]))
  }

  async reset(algorithm: QuotaAlgorithm, key: string): Promise<void> {
    const name = this.#name(algorithm, key)
    await this.#connection.send((redis) => redis.del(name))
  }

  /** Throws when Redis does not answer. */
  async ping(): Promise<void> {
    await this.#connection.send((redis) => redis.ping())
  }

  #name(kind: Kind, key: string): string {
    return `${this.redis.keyPrefix}:${nameOf(kind, key)}`
  }

  #valueName(key: string, value: string, ttlMs: number | undefined): string {
    checkContent(value)
    if (ttlMs !== undefined) checkMs('ttlMs', ttlMs)
    return this.#name('value', key)
  }

  async #decideAll(questions: readonly QuotaQuestion[]): Promise<(QuotaDecision | Error)[]> {
    const keys = questions.map(({ key }) => key)
    const answers = (await this.#connection.run(quotaScript, keys, questions.flatMap(quotaArguments))) as unknown[]
    return questions.map((question, index) => {
      if (answers[3 * index] === -1) return this.#connection.refusal(String(answers[3 * index + 1]))
      return this.#decision(question, index, answers)
    })
  }

  #decision({ algorithm, request }: QuotaQuestion, index: number, answers: readonly unknown[]): QuotaDecision {
    const [allowed, remaining, ms] = answers.slice(3 * index, 3 * index + 3) as [number, number | string, number]
    const windowMs = Math.min(request.windowMs, longestMs)
    return {
      allowed: allowed === 1,
      remaining: Number(remaining),
      resetInMs: algorithm === 'window' ? ms : windowMs,
      retryAfterMs: allowed === 1 ? 0 : Math.min(windowMs, Math.max(1, ms)),
    }
  }
}

/** As `quotaScript` reads them. */
function quotaArguments({ algorithm, request, take }: QuotaQuestion): (string | number)[] {
  const { limit, cost } = request
  const windowMs = Math.min(request.windowMs, longestMs)
  const op = take ? 't' : 'p'
  if (algorithm === 'window') return [`w${op}`, limit, windowMs, cost, 0, 0]
  const { ticks, tickMs } = bucketScale(limit, windowMs)
  return [`b${op}`, limit, windowMs, cost, ticks, tickMs]
}
