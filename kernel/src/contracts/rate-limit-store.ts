import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

export interface RateLimitRequest {
  /** Complete key, prefix included. The store treats it as opaque. */
  readonly key: string
  /** Quota per window, a safe integer >= 1. */
  readonly limit: number
  /** Window, or refill period of a bucket, in milliseconds, >= 1. */
  readonly windowMs: number
  /** Units to take, a safe integer >= 1; what is less is refused as invalid. A cost above the limit is denied and changes nothing. */
  readonly cost: number
}

/**
 * What every store asks of a request before it counts. A cost below 1 would add quota in one store and be free in another,
 * and after NaN nothing is ever limited again.
 *
 * @throws RangeError for a cost, a limit or a window that is no safe integer from 1
 */
export function checkRateLimitRequest({ cost, limit, windowMs }: RateLimitRequest): void {
  if (!isWholeFromOne(cost) || !isWholeFromOne(limit) || !isWholeFromOne(windowMs)) refuse({ cost, limit, windowMs })
}

/** Apart, so that the check is short enough to become part of each decision. */
function refuse(numbers: Omit<RateLimitRequest, 'key'>): never {
  const [name, value] = Object.entries(numbers).find(([, one]) => !isWholeFromOne(one)) ?? []
  throw new RangeError(`Rate limit "${name}" must be a whole number from 1 up to 2^53 - 1, not ${String(value)}`)
}

const isWholeFromOne = (value: number): boolean => Number.isSafeInteger(value) && value >= 1

export interface RateLimitDecision {
  readonly allowed: boolean
  /** Units left after this decision, >= 0. */
  readonly remaining: number
  /** When the window ends, or for a bucket a hint; milliseconds since the epoch. */
  readonly resetAtMs: number
  /** Milliseconds to wait before the same request can pass; 0 when allowed, >= 1 and <= windowMs when denied. */
  readonly retryAfterMs: number
}

export interface StoreContext {
  /** The caller's deadline. A store that cannot decide before it aborts must throw. */
  readonly signal: AbortSignal
  /**
   * True when the deadline has passed. Given by a caller that stops waiting then by itself, so that a store which asks
   * here before it acts can leave the signal alone: making one for every call costs more than deciding.
   */
  isOver?(): boolean
  /**
   * Calls back once when the deadline passes, unless the returned function was called before. Given to a store whose
   * `traits.endsCalls` is true, which gets one context for all calls of one millisecond: it ends what it asked for together
   * with one callback.
   */
  onEnd?(giveUp: (reason: Error) => void): () => void
}

type Awaitable<T> = T | Promise<T>

/**
 * Decides quota. Requests of one key and one window share a quota (a bucket is of one limit as well). Requests of one key with
 * different windows count apart: what one takes or starts never shortens, extends or lifts what another limits. Every decision is one atomic step; all or nothing: a denied request takes no quota.
 * A store either answers in time or throws: it never allows because it failed. No key outlives its window by more than
 * one purge.
 */
export interface RateLimitStore {
  /**
   * @example traits: { shared: false, algorithm: 'fixed-window' }
   */
  readonly traits: {
    /** True when several processes share one quota. */
    readonly shared: boolean
    readonly algorithm: 'fixed-window' | 'token-bucket' | 'sliding-window'
    /**
     * True when `consume` and `peek` throw by themselves as soon as the deadline of their context passes, whatever they wait
     * for: see `StoreContext.onEnd`. The limiter then keeps no deadline of its own for each call.
     */
    readonly endsCalls?: boolean
  }
  /**
   * Takes `cost` units. In-process stores may answer synchronously.
   *
   * @throws RangeError for a request out of range, as `peek` and `consumeAll` do; see `checkRateLimitRequest`
   *
   * @example consume: ({ key, cost, ...window }) => decide(window, used.add(key, cost))
   */
  consume(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /**
   * What `consume` would answer, taking nothing.
   *
   * @example peek: ({ key, ...window }) => decide(window, used.of(key))
   */
  peek(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /**
   * Takes the costs of all requests or of none, in one atomic step. Their keys differ. Answers in the order of the
   * requests: `allowed` says whether that request alone could pass. Nothing was taken unless all of them are, and then
   * `remaining` is what is left untouched. Absent: the limiter peeks at all and takes one after the other, so that callers
   * that meet at the last unit may lose what they took before.
   *
   * @example consumeAll: (requests) => requests.map(({ key, cost, ...window }) => decide(window, used.add(key, cost)))
   */
  consumeAll?(requests: readonly RateLimitRequest[], context?: StoreContext): Awaitable<readonly RateLimitDecision[]>
  /**
   * Forgets the key with all of its windows.
   *
   * @example reset: (key) => used.forget(key)
   */
  reset(key: string, context?: StoreContext): Awaitable<void>
}

/** Stores, contributed under their names: `ctx.contribute(rateLimitStore, 'memory', store)`. */
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
