import { extensionPoint } from '../refs.ts'

export interface RateLimitRequest {
  /** Complete key, prefix included. The store treats it as opaque. */
  readonly key: string
  /** Quota per window, a safe integer >= 1. */
  readonly limit: number
  /** Window, or refill period of a bucket, in milliseconds, >= 1. */
  readonly windowMs: number
  /** Units to take, a safe integer >= 1. A cost above the limit is denied and changes nothing. */
  readonly cost: number
}

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
}

type Awaitable<T> = T | Promise<T>

/**
 * Decides quota. Every decision is one atomic step; all or nothing: a denied request takes no quota.
 * A store either answers in time or throws: it never allows because it failed. No key outlives its window by more than
 * one purge.
 */
export interface RateLimitStore {
  readonly traits: {
    /** True when several processes share one quota. */
    readonly shared: boolean
    readonly algorithm: 'fixed-window' | 'token-bucket' | 'sliding-window'
  }
  /** Takes `cost` units. In-process stores may answer synchronously. */
  consume(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /** What `consume` would answer, taking nothing. */
  peek(request: RateLimitRequest, context?: StoreContext): Awaitable<RateLimitDecision>
  /**
   * Takes the costs of all requests or of none, in one atomic step. Their keys differ. Answers in the order of the
   * requests: `allowed` says whether that request alone could pass. Nothing was taken unless all of them are, and then
   * `remaining` is what is left untouched. Absent: the limiter peeks at all and takes one after the other, so that callers
   * that meet at the last unit may lose what they took before.
   */
  consumeAll?(requests: readonly RateLimitRequest[], context?: StoreContext): Awaitable<readonly RateLimitDecision[]>
  /** Forgets the key. */
  reset(key: string, context?: StoreContext): Awaitable<void>
}

/** Stores, contributed under their names: `ctx.contribute(rateLimitStore, 'memory', store)`. */
export const rateLimitStore = extensionPoint<RateLimitStore>('rate-limit.store', { from: '@plinth/rate-limit' })
