import { type Clock, checkRateLimitRequest, type RateLimitDecision, type RateLimitRequest } from '@plinth/kernel'
import { maxDurationMs, type QuotaAlgorithm, type SharedQuota, type WaitLimit } from './contract.ts'
import { MicroBatch } from './micro-batch.ts'
import { bucketScale, prefixedEntryName, quotaKinds } from './quota-rules.ts'
import type { RedisConnection } from './redis-connection.ts'
import { quotaScripts, refundScript, type Script } from './redis-scripts.ts'

/**
 * Maximum number of requests per script. Such a script blocks Redis for about 0.2 ms, and an index into the
 * combinations of limit, window and cost fits in one byte.
 */
const batchSize = 128

interface Question {
  readonly key: string
  readonly request: RateLimitRequest
  readonly take: boolean
}

/** Quotas in Redis. All requests of one tick of the event loop are sent in one script. */
export class RedisQuota implements SharedQuota {
  readonly #connection: RedisConnection
  readonly #heads: Readonly<Record<QuotaAlgorithm, string>>
  readonly #clock: Pick<Clock, 'now'>
  readonly #questions: Readonly<Record<QuotaAlgorithm, MicroBatch<Question, RateLimitDecision>>>
  /** Lists of requests that are decided together. Each list runs in its own script. */
  readonly #joint: Readonly<Record<QuotaAlgorithm, MicroBatch<readonly Question[], RateLimitDecision[]>>>

  /** @param oneSlot true in a cluster, where a script can only use keys of one slot */
  constructor(connection: RedisConnection, prefix: string, oneSlot: boolean, clock: Pick<Clock, 'now'>) {
    this.#clock = clock
    this.#connection = connection
    const head = (algorithm: QuotaAlgorithm) => {
      const name = `${prefix}:${quotaKinds[algorithm]}`
      return oneSlot ? `{${name}}:` : `${name}:`
    }
    this.#heads = { window: head('window'), bucket: head('bucket') }
    const sending = { concurrency: Number.POSITIVE_INFINITY, eager: true }
    const batch = (algorithm: QuotaAlgorithm) =>
      new MicroBatch<Question, RateLimitDecision>({
        ...sending,
        size: batchSize,
        run: (questions) => {
          const [first] = questions
          return questions.length === 1 && first?.take
            ? this.#runAlone(algorithm, first)
            : this.#runEach(algorithm, questions)
        },
      })
    const single = (algorithm: QuotaAlgorithm) =>
      new MicroBatch<readonly Question[], RateLimitDecision[]>({
        ...sending,
        size: 1,
        run: ([questions = []]) => this.#runTogether(algorithm, questions),
      })
    this.#questions = { window: batch('window'), bucket: batch('bucket') }
    this.#joint = { window: single('window'), bucket: single('bucket') }
  }

  decide(
    algorithm: QuotaAlgorithm,
    request: RateLimitRequest,
    take: boolean,
    patience?: WaitLimit,
  ): Promise<RateLimitDecision> {
    let key: string
    try {
      key = this.#keyOf(algorithm, request)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#questions[algorithm].ask({ key, request, take }, patience)
  }

  async decideAll(
    algorithm: QuotaAlgorithm,
    requests: readonly RateLimitRequest[],
    patience: WaitLimit = {},
  ): Promise<RateLimitDecision[]> {
    if (requests.length > batchSize) throw new RangeError(`At most ${batchSize} limits can be decided together`)
    if (requests.length === 0) return []
    const questions = requests.map((request) => ({ key: this.#keyOf(algorithm, request), request, take: true }))
    return this.#joint[algorithm].ask(questions, patience)
  }

  async refund(request: RateLimitRequest): Promise<void> {
    const name = this.#keyOf('window', request)
    const [, spanMs = 0, cost = 0] = termsOf('window', request)
    await this.#connection.run(refundScript, [name], [spanMs, cost])
  }

  async reset(algorithm: QuotaAlgorithm, key: string): Promise<void> {
    const name = this.#name(algorithm, key)
    await this.#connection.send((redis) => redis.del(name))
  }

  #keyOf(algorithm: QuotaAlgorithm, request: RateLimitRequest): string {
    checkRateLimitRequest(request)
    return this.#name(algorithm, request.key)
  }

  #name(algorithm: QuotaAlgorithm, key: string): string {
    return prefixedEntryName(this.#heads[algorithm], key)
  }

  #runAlone(algorithm: QuotaAlgorithm, { key, request }: Question): Promise<[RateLimitDecision | Error]> {
    const script = quotaScripts[algorithm].alone
    return this.#connection.run(script, [key], termsOf(algorithm, request)).then((reported) => {
      const [remaining, ms] = unpacked(reported, request)
      return [this.#decision(algorithm, request, remaining, ms, this.#clock.now())]
    })
  }

  #runEach(algorithm: QuotaAlgorithm, questions: readonly Question[]): Promise<(RateLimitDecision | Error)[]> {
    return this.#ask(algorithm, quotaScripts[algorithm].oneByOne, questions, false).then((reported) =>
      reported instanceof Buffer
        ? this.#packed(algorithm, questions, reported)
        : this.#listed(algorithm, questions, reported),
    )
  }

  async #runTogether(algorithm: QuotaAlgorithm, questions: readonly Question[]): Promise<[RateLimitDecision[]]> {
    const reported = await this.#ask(algorithm, quotaScripts[algorithm].together, questions, true)
    return [this.#listed(algorithm, questions, reported) as RateLimitDecision[]]
  }

  #ask(algorithm: QuotaAlgorithm, script: Script, questions: readonly Question[], texts: boolean): Promise<unknown> {
    const keys = questions.map(({ key }) => key)
    return this.#connection.run(script, keys, scriptArguments(algorithm, questions), texts)
  }

  /** Parses results that contain only numbers. */
  #packed(algorithm: QuotaAlgorithm, questions: readonly Question[], reported: Buffer): RateLimitDecision[] {
    const now = this.#clock.now()
    const numbers = new DataView(reported.buffer, reported.byteOffset, reported.length)
    return questions.map(({ request }, index) => {
      const [remaining, ms] = [numbers.getFloat64(16 * index, true), numbers.getFloat64(16 * index + 8, true)]
      return this.#decided(algorithm, request, remaining, ms, now)
    })
  }

  /** Parses results that may contain errors. */
  #listed(algorithm: QuotaAlgorithm, questions: readonly Question[], reported: unknown): (RateLimitDecision | Error)[] {
    const responses = reported as unknown[]
    const now = this.#clock.now()
    return questions.map(({ request }, index) =>
      this.#decision(algorithm, request, responses[2 * index], responses[2 * index + 1], now),
    )
  }

  #decision(
    algorithm: QuotaAlgorithm,
    request: RateLimitRequest,
    reported: unknown,
    ms: unknown,
    now: number,
  ): RateLimitDecision | Error {
    if (typeof reported !== 'number') return this.#connection.rejection(String(reported))
    return this.#decided(algorithm, request, reported, ms as number, now)
  }

  /** @param reported remaining quota, or `-1 - remaining` if the request is denied */
  #decided(
    algorithm: QuotaAlgorithm,
    request: RateLimitRequest,
    reported: number,
    ms: number,
    now: number,
  ): RateLimitDecision {
    const windowMs = Math.min(request.windowMs, maxDurationMs)
    const allowed = reported >= 0
    return {
      allowed,
      remaining: allowed ? reported : -1 - reported,
      resetAtMs: now + (algorithm === 'window' ? ms : windowMs),
      retryAfterMs: allowed ? 0 : Math.min(windowMs, Math.max(1, ms)),
    }
  }
}

/**
 * Returns the arguments of the scripts, which `reading` in `redis-scripts.ts` describes. Neighbouring requests usually
 * have equal terms, so each iteration handles all of them at once.
 */
function scriptArguments(algorithm: QuotaAlgorithm, questions: readonly Question[]): string[] {
  const numberOf = new Map<string, number>()
  let numbers = ''
  for (let from = 0; from < questions.length; ) {
    const first = questions[from] as Question
    let to = from + 1
    while (to < questions.length && sameTerms(first, questions[to] as Question)) to += 1
    const terms = `${first.take ? 1 : 0} ${termsOf(algorithm, first.request).join(' ')}`
    const number = numberOf.get(terms) ?? numberOf.size
    numberOf.set(terms, number)
    numbers += String.fromCharCode(number).repeat(to - from)
    from = to
  }
  return [numbers, ...numberOf.keys()]
}

const sameTerms = ({ request: one, take }: Question, { request: other, take: otherTake }: Question) =>
  one.limit === other.limit && one.windowMs === other.windowMs && one.cost === other.cost && take === otherTake

/** Returns the values of a request that a script needs besides the key. */
function termsOf(algorithm: QuotaAlgorithm, { limit, windowMs, cost }: RateLimitRequest): number[] {
  const spanMs = Math.min(windowMs, maxDurationMs)
  if (algorithm === 'window') return [limit, spanMs, cost]
  const { ticks, tickMs } = bucketScale(limit, spanMs)
  return [limit, spanMs, cost, ticks, tickMs]
}

/** Returns the two results of the script `alone`, which packs them into one number if they fit. */
function unpacked(reported: unknown, { windowMs }: RateLimitRequest): readonly unknown[] {
  if (typeof reported !== 'number') return reported as unknown[]
  const step = Math.min(windowMs, maxDurationMs) + 1
  const both = reported < 0 ? -1 - reported : reported
  const ms = both % step
  const remaining = (both - ms) / step
  return [reported < 0 ? -1 - remaining : remaining, ms]
}
