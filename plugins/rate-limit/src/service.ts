import { hash } from 'node:crypto'
import {
  BusinessError,
  type Clock,
  type Logger,
  nearest,
  PlinthError,
  type RateLimitDecision,
  type RateLimitRequest,
  type RateLimitStore,
  type StoreContext,
} from '@plinth/kernel'
import type { ConsumeRequest, JointResult, RateLimiter, RateLimitResult } from './contract.ts'
import { decideJointly } from './joint.ts'
import { StoreCall } from './store-call.ts'

/** Read at every call, so that a live change counts at once. */
export interface LimiterSettings {
  readonly enabled: boolean
  readonly defaultStore: string
  /** Milliseconds. */
  readonly defaultWindowMs: number
  /** <= 0: unlimited. */
  readonly defaultMaxAttempts: number
  readonly keyPrefix: string
  /** Milliseconds. */
  readonly storeDeadlineMs: number
}

export type Outcome = 'allowed' | 'rejected' | 'unlimited'

export interface LimiterParts {
  readonly stores: ReadonlyMap<string, RateLimitStore>
  readonly settings: LimiterSettings
  readonly clock: Clock
  readonly log: Logger
  /** Told every outcome of `consume`. */
  readonly count: (store: string, outcome: Outcome) => void
}

/** What a store is asked. Without a store nothing is limited. */
interface PreparedRequest {
  readonly storeName: string
  readonly store?: RateLimitStore
  readonly request: RateLimitRequest
}

type LimitedRequest = PreparedRequest & { readonly store: RateLimitStore }

/** A key that a caller forgot to hash must not fill a store. */
const longestKey = 256

/** SHA-256 in lower-case hex: how addresses, accounts and other personal data enter a key. */
export const sha256 = (text: string): string => hash('sha256', text)

/** Fills in defaults, prefixes the key, picks the store and asks it under a deadline (document 1, "Processing order"). */
export class StoreRateLimiter implements RateLimiter {
  readonly #parts: LimiterParts

  constructor(parts: LimiterParts) {
    this.#parts = parts
  }

  consume(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#decide(request, 'consume')
  }

  async assertAllowed(request: ConsumeRequest): Promise<RateLimitResult> {
    const result = await this.#decide(request, 'consume')
    if (!result.allowed) throw tooManyRequests(result)
    return result
  }

  peek(request: ConsumeRequest): Promise<RateLimitResult> {
    return this.#decide(request, 'peek')
  }

  async reset({ key, store }: Pick<ConsumeRequest, 'key' | 'store'>): Promise<void> {
    checkKey(key)
    const name = store || this.#parts.settings.defaultStore
    const chosen = this.storeNamed(name)
    await this.#ask(name, (context) => chosen.reset(this.#complete(key), context))
  }

  /** Throws `PLINTH_RATE_LIMIT_UNKNOWN_STORE`. */
  storeNamed(name: string): RateLimitStore {
    const { stores } = this.#parts
    const store = stores.get(name)
    if (store !== undefined) return store
    const near = nearest(name, stores.keys())
    const hint = near === undefined ? '' : ` Did you mean "${near}"?`
    const loaded = [...stores.keys()].sort().join(', ') || 'none'
    throw new PlinthError(
      'PLINTH_RATE_LIMIT_UNKNOWN_STORE',
      `No loaded plugin brings the rate limit store "${name}"; loaded: ${loaded}.${hint}`,
      'Add the plugin of that store to the product file, or name a store that is loaded.',
    )
  }

  async consumeAll(requests: readonly ConsumeRequest[]): Promise<JointResult> {
    const prepared = requests.map((request) => this.#prepare(request))
    checkDistinct(prepared)
    const limited = prepared.filter(({ store }) => store !== undefined) as LimitedRequest[]
    const decisions = await decideJointly(limited, (name, ask) => this.#ask(name, ask))
    const allowed = decisions.every((decision) => decision.allowed)
    const results = prepared.map((one) => {
      const decision = decisions[limited.indexOf(one as LimitedRequest)]
      if (decision === undefined || !decision.allowed || allowed) this.#count(one, decision)
      return this.#result(one, decision)
    })
    return { allowed, results }
  }

  async assertAllAllowed(requests: readonly ConsumeRequest[]): Promise<readonly RateLimitResult[]> {
    const { results } = await this.consumeAll(requests)
    const [denied, ...others] = results.filter(({ allowed }) => !allowed)
    if (denied === undefined) return results
    throw tooManyRequests({
      ...denied,
      retryAfter: Math.max(denied.retryAfter, ...others.map(({ retryAfter }) => retryAfter)),
    })
  }

  async #decide(request: ConsumeRequest, operation: 'consume' | 'peek'): Promise<RateLimitResult> {
    const prepared = this.#prepare(request)
    const { store } = prepared
    const decision =
      store && (await this.#ask(prepared.storeName, (context) => store[operation](prepared.request, context)))
    if (operation === 'consume') this.#count(prepared, decision)
    return this.#result(prepared, decision)
  }

  /** Fills in what the request leaves open. */
  #prepare(asked: ConsumeRequest): PreparedRequest {
    checkRequest(asked)
    const { settings } = this.#parts
    const limit = asked.maxAttempts ?? settings.defaultMaxAttempts
    const storeName = asked.store || settings.defaultStore
    const request = {
      key: this.#complete(asked.key),
      limit,
      windowMs: asked.windowMs ?? settings.defaultWindowMs,
      cost: asked.cost ?? 1,
    }
    if (!settings.enabled) return { storeName, request }
    const store = this.storeNamed(storeName)
    return limit <= 0 ? { storeName, request } : { storeName, store, request }
  }

  #count({ storeName }: PreparedRequest, decision: RateLimitDecision | undefined): void {
    const outcome = decision === undefined ? 'unlimited' : decision.allowed ? 'allowed' : 'rejected'
    this.#parts.count(storeName, outcome)
  }

  #result({ request: { key, limit } }: PreparedRequest, decision: RateLimitDecision | undefined): RateLimitResult {
    if (decision === undefined) {
      const resetAt = this.#parts.clock.now()
      // "Maximum" of decision B15: as large as a number in JSON gets exactly.
      return { allowed: true, key, limit: 0, remaining: Number.MAX_SAFE_INTEGER, resetAt, retryAfter: 0 }
    }
    const { allowed, remaining, resetAtMs, retryAfterMs } = decision
    return { allowed, key, limit, remaining, resetAt: resetAtMs, retryAfter: retryAfterMs }
  }

  async #ask<T>(name: string, ask: (context: StoreContext) => T | Promise<T>): Promise<T> {
    const call = this.#call()
    try {
      const answer = ask(call)
      // Awaiting what is no promise would still cost a turn of the microtask queue.
      return answer instanceof Promise ? await call.inTime(answer) : answer
    } catch (cause) {
      throw this.#unavailable(name, cause)
    } finally {
      call.end()
    }
  }

  #complete(key: string): string {
    const bounded = key.length > longestKey ? `sha256:${sha256(key)}` : key
    return `${this.#parts.settings.keyPrefix}:${bounded}`
  }

  #call(): StoreCall {
    return new StoreCall(this.#parts.clock, this.#parts.settings.storeDeadlineMs)
  }

  /** A store that fails refuses the call: letting it pass would switch the limit off for whoever can overload the store. */
  #unavailable(store: string, cause: unknown): BusinessError {
    this.#parts.log.error({ err: cause, store }, 'rate limit store failed')
    return new BusinessError('503', 'The request could not be counted. Try again later.', {
      reason: 'rate-limit.store-unavailable',
      cause,
    })
  }
}

/** The error of a denial (document 1, "Errors" 2). */
export function tooManyRequests({ retryAfter }: RateLimitResult): BusinessError {
  const seconds = retryAfterSeconds(retryAfter)
  return new BusinessError('429', `Too many requests. Try again in ${seconds} s.`, {
    reason: 'rate-limit.exceeded',
    params: { seconds },
    data: { retryAfter: seconds },
  })
}

/** Whole seconds, rounded up: a client that waits them is allowed. At least 1. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

function checkKey(key: string): void {
  if (typeof key !== 'string' || key.trim() === '') {
    throw new RangeError('Rate limit "key" must not be empty: it names whose quota it is')
  }
}

/**
 * Stores disagree about bad numbers (some add quota for a negative cost, some never limit again after NaN), so none of
 * them gets to see one.
 */
export function checkRequest({ key, maxAttempts, windowMs, cost }: ConsumeRequest): void {
  checkKey(key)
  const whole = (name: string, value: number | undefined, least: number) => {
    if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return
    const range = least === 1 ? ' from 1' : ''
    throw new RangeError(`Rate limit "${name}" must be a whole number${range} up to 2^53 - 1, not ${String(value)}`)
  }
  whole('maxAttempts', maxAttempts, Number.MIN_SAFE_INTEGER)
  whole('windowMs', windowMs, 1)
  whole('cost', cost, 1)
}

/** Two limits on one key would count in one window, and no store could tell what to take. */
function checkDistinct(requests: readonly PreparedRequest[]): void {
  const seen = new Set<string>()
  for (const { storeName, request } of requests) {
    const name = `${storeName}\0${request.key}`
    if (seen.has(name)) throw new RangeError(`Joint rate limits must differ in "key": ${request.key} comes twice`)
    seen.add(name)
  }
}
