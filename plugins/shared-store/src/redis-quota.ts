import { type Clock, checkRateLimitRequest, type RateLimitDecision, type RateLimitRequest } from '@plinth/kernel'
import { longestMs, type Patience, type QuotaAlgorithm, type SharedQuota } from './contract.ts'
import { MicroBatch } from './micro-batch.ts'
import { nameOf, quotaKinds } from './names.ts'
import { bucketScale } from './quota-rules.ts'
import type { RedisConnection } from './redis-connection.ts'
import { quotaScripts, type Script } from './redis-scripts.ts'

/** About 0.2 ms of Redis, during which it serves nobody else. A byte tells the terms of so many elements apart. */
const batchSize = 128

interface Question {
  readonly key: string
  readonly request: RateLimitRequest
  readonly take: boolean
}

/** Quotas on Redis: what is asked in one turn of the event loop travels in one script. */
export class RedisQuota implements SharedQuota {
  readonly #connection: RedisConnection
  readonly #prefix: string
  readonly #clock: Pick<Clock, 'now'>
  readonly #questions: Readonly<Record<QuotaAlgorithm, MicroBatch<Question, RateLimitDecision>>>
  /** Each a script of its own. */
  readonly #joint: Readonly<Record<QuotaAlgorithm, MicroBatch<readonly Question[], RateLimitDecision[]>>>

  constructor(connection: RedisConnection, prefix: string, clock: Pick<Clock, 'now'>) {
    this.#clock = clock
    this.#connection = connection
    this.#prefix = `${prefix}:`
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
    patience?: Patience,
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
    patience: Patience = {},
  ): Promise<RateLimitDecision[]> {
    if (requests.length > batchSize) throw new RangeError(`At most ${batchSize} limits can be decided together`)
    if (requests.length === 0) return []
    const questions = requests.map((request) => ({ key: this.#keyOf(algorithm, request), request, take: true }))
    return this.#joint[algorithm].ask(questions, patience)
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
    return this.#prefix + nameOf(quotaKinds[algorithm], key)
  }

  #runAlone(algorithm: QuotaAlgorithm, question: Question): Promise<[RateLimitDecision | Error]> {
    const script = quotaScripts[algorithm].alone
    const terms = termsOf(algorithm, question.request)
    return this.#connection
      .run(script, [1, question.key, ...terms])
      .then((told) => [this.#decision(algorithm, question, unpacked(told, question.request), 0, this.#clock.now())])
  }

  #runEach(algorithm: QuotaAlgorithm, questions: readonly Question[]): Promise<(RateLimitDecision | Error)[]> {
    return this.#runMany(algorithm, quotaScripts[algorithm].oneByOne, questions)
  }

  async #runTogether(algorithm: QuotaAlgorithm, questions: readonly Question[]): Promise<[RateLimitDecision[]]> {
    return [(await this.#runMany(algorithm, quotaScripts[algorithm].together, questions)) as RateLimitDecision[]]
  }

  async #runMany(
    algorithm: QuotaAlgorithm,
    script: Script,
    questions: readonly Question[],
  ): Promise<(RateLimitDecision | Error)[]> {
    const keys = questions.map(({ key }) => key)
    const answers = (await this.#connection.run(script, [
      keys.length,
      ...keys,
      ...scriptArguments(algorithm, questions),
    ])) as unknown[]
    const now = this.#clock.now()
    return questions.map((question, index) => this.#decision(algorithm, question, answers, 2 * index, now))
  }

  #decision(
    algorithm: QuotaAlgorithm,
    { request }: Question,
    answers: readonly unknown[],
    at: number,
    now: number,
  ): RateLimitDecision | Error {
    const told = answers[at]
    if (typeof told !== 'number') return this.#connection.refusal(String(told))
    const windowMs = Math.min(request.windowMs, longestMs)
    const ms = answers[at + 1] as number
    const allowed = told >= 0
    return {
      allowed,
      remaining: allowed ? told : -1 - told,
      resetAtMs: now + (algorithm === 'window' ? ms : windowMs),
      retryAfterMs: allowed ? 0 : Math.min(windowMs, Math.max(1, ms)),
    }
  }
}

/** As the scripts read them; see `reading` there. */
function scriptArguments(algorithm: QuotaAlgorithm, questions: readonly Question[]): string[] {
  const numberOf = new Map<string, number>()
  let numbers = ''
  let last: Question | undefined
  let number = 0
  for (const question of questions) {
    if (last === undefined || !sameTerms(last, question)) {
      const terms = `${question.take ? 1 : 0} ${termsOf(algorithm, question.request).join(' ')}`
      number = numberOf.get(terms) ?? numberOf.size
      numberOf.set(terms, number)
      last = question
    }
    numbers += String.fromCharCode(number)
  }
  return [numbers, ...numberOf.keys()]
}

const sameTerms = ({ request: one, take }: Question, { request: other, take: otherTake }: Question) =>
  one.limit === other.limit && one.windowMs === other.windowMs && one.cost === other.cost && take === otherTake

/** What a script needs to know of a request besides its key. */
function termsOf(algorithm: QuotaAlgorithm, { limit, windowMs, cost }: RateLimitRequest): number[] {
  const spanMs = Math.min(windowMs, longestMs)
  if (algorithm === 'window') return [limit, spanMs, cost]
  const { ticks, tickMs } = bucketScale(limit, spanMs)
  return [limit, spanMs, cost, ticks, tickMs]
}

/** The two answers of `alone`, which come as one number where they fit into it. */
function unpacked(told: unknown, { windowMs }: RateLimitRequest): readonly unknown[] {
  if (typeof told !== 'number') return told as unknown[]
  const step = Math.min(windowMs, longestMs) + 1
  const both = told < 0 ? -1 - told : told
  const ms = both % step
  const remaining = (both - ms) / step
  return [told < 0 ? -1 - remaining : remaining, ms]
}
