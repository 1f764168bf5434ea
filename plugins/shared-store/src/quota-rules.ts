import { hash } from 'node:crypto'
import type { RateLimitDecision, RateLimitRequest } from '@plinth/kernel'
import { longestMs, type QuotaAlgorithm } from './contract.ts'

/** What a name is used for; each kind is a namespace of its own. */
export type Kind = 'value' | 'counter' | 'lock' | 'windows' | 'bucket' | 'channel'

/** The namespaces of quotas. `window` was that of one window per key, which an earlier version may have left. */
export const quotaKinds = { window: 'windows', bucket: 'bucket' } as const satisfies Record<QuotaAlgorithm, Kind>

const longest = 200
const hashed = 'sha256:'

/**
 * The name of a key in the store. Different keys have different names: braces (Redis would take their content for a hash
 * tag) and control characters (PostgreSQL refuses NUL) are escaped, long keys are hashed.
 *
 * @throws RangeError for text with half a surrogate pair, which has no bytes of its own
 */
export const nameOf = (kind: Kind, key: string): string => nameUnder(`${kind}:`, key)

/**
 * As `nameOf`, with what stands before the key already joined: names are built for every call of a limit.
 *
 * @param head ends with the kind and a colon
 */
export function nameUnder(head: string, key: string): string {
  if (typeof key !== 'string' || !key.isWellFormed())
    throw new RangeError(`A key needs well-formed text, after ${head}`)
  if (key.length > longest || key.startsWith(hashed)) return `${head}${hashed}${hash('sha256', key)}`
  return head + (special.test(key) ? key.replaceAll(specials, escaped) : key)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to escape
const special = /[\u0000-\u001f%{}]/
const specials = new RegExp(special, 'g')
const escaped = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/** Contents travel as text, which ends at NUL in one database and cannot hold it in another. */
export function checkContent(text: string): void {
  if (typeof text !== 'string' || !text.isWellFormed() || text.includes('\0')) {
    throw new RangeError('Values and messages must be well-formed text without NUL')
  }
}

export function checkMs(name: string, ms: number): void {
  if (Number.isSafeInteger(ms) && ms >= 1 && ms <= longestMs) return
  throw new RangeError(`"${name}" must be whole milliseconds from 1 to ${longestMs}, not ${String(ms)}`)
}

export function checkAmount(by: number): void {
  if (Number.isSafeInteger(by) && by >= 1) return
  throw new RangeError(`"by" must be a whole number from 1, not ${String(by)}`)
}

/** A decision on no clock of its own. */
export interface QuotaDecision {
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until the window ends; of a bucket its refill period. */
  readonly resetInMs: number
  /** 0 when allowed, otherwise from 1 to `windowMs`. */
  readonly retryAfterMs: number
}

/** @param now milliseconds since the epoch, of the clock that callers see */
export const shown = (decision: QuotaDecision, now: number): RateLimitDecision => {
  const { allowed, remaining, resetInMs, retryAfterMs } = decision
  return { allowed, remaining, resetAtMs: now + resetInMs, retryAfterMs }
}

/** A decision, and what has to be remembered because of it. */
interface Ruling<State> {
  readonly decision: QuotaDecision
  /** Absent when nothing changes. */
  readonly state?: State
  /** When the state has become the same as none; milliseconds on the caller's clock. */
  readonly forgetAt?: number
}

export interface WindowState {
  readonly used: number
  readonly endsAt: number
}

/**
 * A fixed window that starts with its first hit and is never extended; `held` is of the same length. Where more of it is
 * left than it has, the clock went back, and it ends in time by the clock as it is now.
 */
export function decideWindow(
  held: WindowState | undefined,
  request: RateLimitRequest,
  now: number,
  take: boolean,
): Ruling<WindowState> {
  const { limit, cost } = request
  const windowMs = Math.min(request.windowMs, longestMs)
  const runs = held !== undefined && held.endsAt > now
  const used = runs ? held.used : 0
  const left = runs ? Math.min(held.endsAt - now, windowMs) : windowMs
  const free = Math.max(0, limit - used)
  const allowed = cost <= free
  const decision = {
    allowed,
    remaining: allowed ? free - cost : free,
    resetInMs: left,
    retryAfterMs: allowed ? 0 : left,
  }
  const cut = runs && held.endsAt > now + left
  if (!take || (!allowed && !cut)) return { decision }
  const endsAt = now + left
  return { decision, state: { used: allowed ? used + cost : used, endsAt }, forgetAt: endsAt }
}

/** The scale on which a bucket is counted in whole numbers: a unit holds `ticks` parts, and `limit` parts refill per tick. */
interface BucketScale {
  readonly limit: number
  /** Refill period in ticks. */
  readonly ticks: number
  /** Milliseconds of a tick: 1, unless limit and window are so large that their product would not be exact. */
  readonly tickMs: number
}

export function bucketScale(limit: number, window: number): BucketScale {
  const windowMs = Math.min(window, longestMs)
  const mostTicks = Math.max(1, Math.floor(Number.MAX_SAFE_INTEGER / limit))
  const tickMs = Math.ceil(windowMs / mostTicks)
  return { limit, ticks: Math.ceil(windowMs / tickMs), tickMs }
}

export interface BucketState {
  /** Parts that are left: whole, from 0 to `limit * ticks`. */
  readonly level: number
  /** Moment of the level. */
  readonly at: number
}

/** Starts full and refills evenly. Whole numbers only, so that nothing is gained or lost by rounding. */
export function decideBucket(
  held: BucketState | undefined,
  request: RateLimitRequest,
  now: number,
  take: boolean,
): Ruling<BucketState> {
  const { limit, cost } = request
  const windowMs = Math.min(request.windowMs, longestMs)
  const scale = bucketScale(limit, windowMs)
  const { ticks, tickMs } = scale
  const { level, at } = refilled(held, scale, now)
  if (cost > limit || cost * ticks > level) {
    const ms = cost > limit ? windowMs : quotientUp(cost * ticks - level, limit) * tickMs - (now - at)
    const retryAfterMs = Math.min(windowMs, Math.max(1, ms))
    const decision = { allowed: false, remaining: quotient(level, ticks), resetInMs: windowMs, retryAfterMs }
    // A clock that went back would hold the refill up until it has caught up.
    const wentBack = take && held !== undefined && held.at > now
    return wentBack ? { decision, state: { level, at }, forgetAt: fullAt(level, at, scale) } : { decision }
  }
  const left = level - cost * ticks
  const decision = { allowed: true, remaining: quotient(left, ticks), resetInMs: windowMs, retryAfterMs: 0 }
  return take ? { decision, state: { level: left, at }, forgetAt: fullAt(left, at, scale) } : { decision }
}

function refilled(held: BucketState | undefined, { limit, ticks, tickMs }: BucketScale, now: number): BucketState {
  const full = { level: limit * ticks, at: now }
  if (held === undefined) return full
  if (held.at > now) return { level: held.level, at: now }
  const elapsed = quotient(now - held.at, tickMs)
  if (elapsed >= ticks || held.level + elapsed * limit >= full.level) return full
  return { level: held.level + elapsed * limit, at: held.at + elapsed * tickMs }
}

const fullAt = (level: number, at: number, { limit, ticks, tickMs }: BucketScale) =>
  at + quotientUp(limit * ticks - level, limit) * tickMs

/** Exact up to 2^53, where a division alone may round up. */
const quotient = (of: number, by: number) => (of - (of % by)) / by
const quotientUp = (of: number, by: number) => quotient(of, by) + (of % by > 0 ? 1 : 0)
