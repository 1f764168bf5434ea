import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

export interface RateLimitRequest {
  /** Complete key with its prefix. The store does not interpret it. */
  readonly key: string
  /** Quota per window, a safe integer >= 1. */
  readonly limit: number
  /** Window, or refill period of a bucket, in milliseconds, >= 1. */
  readonly windowMs: number
  /**
   * Units to take, a safe integer >= 1; smaller values are rejected as invalid. A cost above the limit is denied and
   * changes nothing.
   */
  readonly cost: number
}

/**
 * Checks a request before a store counts it. A cost below 1 would add quota in one store and be free in another, and
 * after NaN no limit would apply.
 *
 * @throws RangeError if a cost, a limit or a window is not a safe integer of at least 1
 */
export function checkRateLimitRequest({ cost, limit, windowMs }: RateLimitRequest): void {
  if (!isWholeFromOne(cost) || !isWholeFromOne(limit) || !isWholeFromOne(windowMs)) reject({ cost, limit, windowMs })
}

/** A separate function, so that the check is short enough to be inlined. */
function reject(numbers: Omit<RateLimitRequest, 'key'>): never {
  const [name, value] = Object.entries(numbers).find(([, one]) => !isWholeFromOne(one)) ?? []
  throw new RangeError(`Rate limit "${name}" must be a whole number from 1 up to 2^53 - 1, not ${String(value)}`)
}

const isWholeFromOne = (value: number): boolean => Number.isSafeInteger(value) && value >= 1

export interface RateLimitDecision {
  readonly allowed: boolean
  /** Units that remain after this decision, >= 0. */
  readonly remaining: number
  /** End of the window, or an estimate for a bucket; milliseconds since the epoch. */
  readonly resetAtMs: number
  /** Milliseconds to wait before the same request can pass; 0 when allowed, >= 1 and <= windowMs when denied. */
  readonly retryAfterMs: number
}

export interface StoreContext {
  /** Deadline of the caller. A store that cannot decide before it aborts must throw. */
  readonly signal: AbortSignal
  /**
   * Returns true if the deadline has passed. Present if the caller itself stops waiting at its deadline. A store that
   * calls this before it acts need not read `signal`. Creating a signal for each call would cost more than the
   * decision.
   */
  isOver?(): boolean
  /**
   * Calls `giveUp` once when the deadline passes, unless the returned function was called before. Present for a store
   * with `traits.endsCalls`. All calls of one millisecond share one context, so one callback cancels all of them.
   */
  onEnd?(giveUp: (reason: Error) => void): () => void
}

type Awaitable<T> = T | Promise<T>

/**
 * Decides quota. Requests with the same key and window share a quota; a bucket also depends on the limit. Requests with
 * the same key and different windows are counted separately and do not affect each other. Every decision is one atomic
 * step: a denied request takes no quota. A store either decides in time or throws: it never allows a request because of
 * an error. A key is stored at most until the first purge after its window.
 */
export interface RateLimitStore {
  /**
   * @example traits: { shared: false, algorithm: 'fixed-window' }
   */
  readonly traits: {
    /** True if several processes share one quota. */
    readonly shared: boolean
    readonly algorithm: 'fixed-window' | 'token-bucket' | 'sliding-window'
    /**
     * True if the store enforces the deadline itself: `consume` and `peek` throw as soon as the deadline of their
     * context passes, whatever they wait for. See `StoreContext.onEnd`. The limiter then does not track a deadline for
     * each call.
     */
    readonly endsCalls?: boolean
  }
  /**
   * Takes `cost` units. In-process stores may return synchronously.
   *
   * @throws RangeError for a request out of range, as `peek` and `consumeAll` do; see `checkRateLimitRequest`
   *
   * @example consume: ({ key, cost, ...window }) => decide(window, used.add(key, cost))
   */
  consume(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /**
   * Returns the result that `consume` would return, without taking units.
   *
   * @example peek: ({ key, ...window }) => decide(window, used.of(key))
   */
  peek(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /**
   * Takes the costs of all requests or of none, in one atomic step. The keys are distinct. Returns the decisions in the
   * order of the requests: `allowed` is true if that request alone could pass. Units are only taken if all are allowed;
   * otherwise `remaining` is the unchanged quota. If absent, the limiter peeks at all and then takes one after another,
   * so that concurrent callers at the last unit may lose units that they took before.
   *
   * @example consumeAll: (requests) => requests.map(({ key, cost, ...window }) => decide(window, used.add(key, cost)))
   */
  consumeAll?(requests: readonly RateLimitRequest[], context?: StoreContext): Awaitable<readonly RateLimitDecision[]>
  /**
   * Removes the key with all its windows.
   *
   * @example reset: (key) => used.forget(key)
   */
  reset(key: string, context?: StoreContext): Awaitable<void>
}

/** Stores, by name: `ctx.contribute(rateLimitStore, 'memory', store)`. */
export const rateLimitStore = extensionPoint<RateLimitStore>('rate-limit.store', {
  from: '@plinth/rate-limit',
  names: shape.kebab,
  shape: shape.object<RateLimitStore>(
    {
      traits: shape.object<RateLimitStore['traits']>(
        { shared: shape.flag, algorithm: shape.among(['fixed-window', 'token-bucket', 'sliding-window']) },
        { endsCalls: shape.flag },
      ),
      consume: shape.function,
      peek: shape.function,
      reset: shape.function,
    },
    { consumeAll: shape.function },
  ),
})
