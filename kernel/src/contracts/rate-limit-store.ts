import { shape } from '@plinth/config-schema/shapes'
import { extensionPoint } from '../refs.ts'

export interface RateLimitRequest {
  /** Complete key with its prefix. The store must not interpret it. */
  readonly key: string
  /** Units per window, an integer from 1 to 2^53 - 1. */
  readonly limit: number
  /** Length of the window, or time to refill a bucket, in milliseconds; at least 1. */
  readonly windowMs: number
  /** Units to take, an integer from 1 to 2^53 - 1. A cost above the limit is denied and changes nothing. */
  readonly cost: number
}

/**
 * Checks a request before a store counts it. Otherwise a cost below 1 could add units in some stores, and after NaN no
 * limit would apply.
 *
 * @throws RangeError if cost, limit or window is not an integer from 1 to 2^53 - 1
 */
export function checkRateLimitRequest({ cost, limit, windowMs }: RateLimitRequest): void {
  if (!isWholeFromOne(cost) || !isWholeFromOne(limit) || !isWholeFromOne(windowMs)) reject({ cost, limit, windowMs })
}

/** A separate function, so that V8 can inline the check above. */
function reject(numbers: Omit<RateLimitRequest, 'key'>): never {
  const [name, value] = Object.entries(numbers).find(([, one]) => !isWholeFromOne(one)) ?? []
  throw new RangeError(`Rate limit "${name}" must be a whole number from 1 up to 2^53 - 1, not ${String(value)}`)
}

const isWholeFromOne = (value: number): boolean => Number.isSafeInteger(value) && value >= 1

export interface RateLimitDecision {
  readonly allowed: boolean
  /** Units that remain after this decision; at least 0. */
  readonly remaining: number
  /** End of the window in milliseconds since the epoch. For a bucket, an estimate. */
  readonly resetAtMs: number
  /** Milliseconds until the same request can be allowed. 0 if it is allowed; from 1 to `windowMs` if it is denied. */
  readonly retryAfterMs: number
}

export interface StoreContext {
  /** Aborts at the deadline of the caller. A store that has not decided by then must throw. */
  readonly signal: AbortSignal
  /**
   * Returns true if the deadline has passed. Present if the caller itself stops to wait at its deadline. A store that
   * calls this before each decision does not have to watch `signal`, whose creation for each call would take longer
   * than a decision.
   */
  isOver?(): boolean
  /**
   * Calls `giveUp` once when the deadline passes, unless the returned function was called before. Present for a store
   * with `traits.endsCalls`. All calls within one millisecond share one context, so one callback must cancel all of
   * them.
   */
  onEnd?(giveUp: (reason: Error) => void): () => void
}

type Awaitable<T> = T | Promise<T>

/**
 * Counts units for a rate limit. Requests with the same key and window share their units. In a token bucket, they share
 * their units only if their limits are equal too. Requests with different windows do not affect each other. Each
 * decision is one atomic step, and a denied request takes no units. If a store cannot decide in time, it throws. It
 * must never allow a request because of an error. A store removes a key at the first purge after its window.
 */
export interface RateLimitStore {
  /**
   * @example traits: { shared: false, algorithm: 'fixed-window' }
   */
  readonly traits: {
    /** True if several processes share the units of a key. */
    readonly shared: boolean
    readonly algorithm: 'fixed-window' | 'token-bucket' | 'sliding-window'
    /**
     * True if the store itself enforces the deadline: `consume` and `peek` throw when the deadline of their context
     * passes, whatever they are waiting for. See `StoreContext.onEnd`. The limiter then needs no timer for each call.
     */
    readonly endsCalls?: boolean
  }
  /**
   * Takes `cost` units if the limit allows it. A store in the same process may return the decision without a promise.
   *
   * @throws RangeError for a request out of range, see `checkRateLimitRequest`; `peek` and `consumeAll` also throw it
   *
   * @example consume: ({ key, cost, ...window }) => decide(window, used.add(key, cost))
   */
  consume(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /**
   * Returns the decision that `consume` would return. Takes no units.
   *
   * @example peek: ({ key, ...window }) => decide(window, used.of(key))
   */
  peek(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /**
   * Takes the costs of all requests, or of none, in one atomic step. The keys must differ. Returns one decision for
   * each request, in the same order: `allowed` is true if that request alone would be allowed. If one is denied, no
   * units are taken, and `remaining` shows the unchanged units. If this method is absent, the limiter calls `peek` for
   * all requests and then `consume` one by one. Concurrent callers may then lose units when few are left.
   *
   * @example consumeAll: (requests) => requests.map(({ key, cost, ...window }) => decide(window, used.add(key, cost)))
   */
  consumeAll?(requests: readonly RateLimitRequest[], context?: StoreContext): Awaitable<readonly RateLimitDecision[]>
  /**
   * Returns units that `consume` took in the window that is active now, at most those that are used. Omit it for token
   * buckets, which refill evenly. If it is absent, the units stay used.
   *
   * @example refund: ({ key, cost }) => used.subtract(key, cost)
   */
  refund?(request: RateLimitRequest, context?: StoreContext): Awaitable<void>
  /**
   * Removes all windows of a key.
   *
   * @example reset: (key) => used.forget(key)
   */
  reset(key: string, context?: StoreContext): Awaitable<void>
}

/** Stores by name. A plugin contributes one with `ctx.contribute(rateLimitStore, 'memory', store)`. */
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
    { consumeAll: shape.function, refund: shape.function },
  ),
})
