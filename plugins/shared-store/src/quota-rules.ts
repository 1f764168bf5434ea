import { hash } from 'node:crypto'
import type { RateLimitDecision, RateLimitRequest } from '@plinth/kernel'
import { maxDurationMs, type QuotaAlgorithm } from './contract.ts'

/** Kind of a name. Each kind is a separate namespace. */
export type Kind = 'value' | 'counter' | 'lock' | 'windows' | 'bucket' | 'channel'

/** Namespaces of quotas. An earlier version used `window`, with one window per key, so old entries may exist there. */
export const quotaKinds = { window: 'windows', bucket: 'bucket' } as const satisfies Record<QuotaAlgorithm, Kind>

const maxKeyLength = 200
const hashPrefix = 'sha256:'

/**
 * Returns the stored name of a key. Different keys have different names. Escapes braces, which are hash tags in Redis,
 * and control characters, because PostgreSQL rejects NUL. Hashes long keys.
 *
 * @throws RangeError for text with an unpaired surrogate, which cannot be encoded
 */
export const entryNameOf = (kind: Kind, key: string): string => prefixedEntryName(`${kind}:`, key)

/**
 * Like `entryNameOf`, with a prefix that the caller has already joined, because every decision builds names.
 *
 * @param head ends with the kind and a colon
 */
export function prefixedEntryName(head: string, key: string): string {
  if (typeof key !== 'string' || !key.isWellFormed())
    throw new RangeError(`A key needs well-formed text, after ${head}`)
  if (key.length > maxKeyLength || key.startsWith(hashPrefix)) return `${head}${hashPrefix}${hash('sha256', key)}`
  return head + (special.test(key) ? key.replaceAll(specials, escaped) : key)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to escape
const special = /[\u0000-\u001f%{}]/
const specials = new RegExp(special, 'g')
const escaped = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/** @throws RangeError for malformed text, and for text with NUL, which not all databases can store */
export function checkContent(text: string): void {
  if (typeof text !== 'string' || !text.isWellFormed() || text.includes('\0')) {
    throw new RangeError('Values and messages must be well-formed text without NUL')
  }
}

export function checkMs(name: string, ms: number): void {
  if (Number.isSafeInteger(ms) && ms >= 1 && ms <= maxDurationMs) return
  throw new RangeError(`"${name}" must be whole milliseconds from 1 to ${maxDurationMs}, not ${String(ms)}`)
}

export function checkAmount(by: number): void {
  if (Number.isSafeInteger(by) && by >= 1) return
  throw new RangeError(`"by" must be a whole number from 1, not ${String(by)}`)
}

/** A decision with times relative to now. */
export interface QuotaDecision {
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until the window ends. For a bucket: the time in which it refills. */
  readonly resetInMs: number
  /** 0 if allowed, otherwise 1 to `windowMs`. */
  readonly retryAfterMs: number
}

/** @param now time in milliseconds since the epoch, on the clock that callers see */
export const toRateLimitDecision = (decision: QuotaDecision, now: number): RateLimitDecision => {
  const { allowed, remaining, resetInMs, retryAfterMs } = decision
  return { allowed, remaining, resetAtMs: now + resetInMs, retryAfterMs }
}

interface Ruling<State> {
  readonly decision: QuotaDecision
  /** New state. Absent if the state does not change. */
  readonly state?: State
  /** Time in milliseconds at which the state can be deleted, because it then has the same effect as no state. */
  readonly forgetAt?: number
}

export interface WindowState {
  readonly used: number
  readonly endsAt: number
}

/**
 * Decides with a fixed window. It starts with its first request and is never extended. If `held` ends later than one
 * window from now, the clock was set back; the window then ends one window from now.
 */
export function decideWindow(
  held: WindowState | undefined,
  request: RateLimitRequest,
  now: number,
  take: boolean,
): Ruling<WindowState> {
  const { limit, cost } = request
  const windowMs = Math.min(request.windowMs, maxDurationMs)
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

/** Integer units of a bucket. One unit of quota has `ticks` parts, and `limit` parts are refilled per tick. */
interface BucketScale {
  readonly limit: number
  readonly ticks: number
  /** Length of a tick in milliseconds. It is 1 unless limit times window exceeds the safe integers. */
  readonly tickMs: number
}

export function bucketScale(limit: number, window: number): BucketScale {
  const windowMs = Math.min(window, maxDurationMs)
  const maxTicks = Math.max(1, Math.floor(Number.MAX_SAFE_INTEGER / limit))
  const tickMs = Math.ceil(windowMs / maxTicks)
  return { limit, ticks: Math.ceil(windowMs / tickMs), tickMs }
}

export interface BucketState {
  /** Remaining parts: an integer from 0 to `limit * ticks`. */
  readonly level: number
  readonly at: number
}

/**
 * Decides with a bucket that starts full and refills evenly. Uses only integers, so that no quota is lost by rounding.
 */
export function decideBucket(
  held: BucketState | undefined,
  request: RateLimitRequest,
  now: number,
  take: boolean,
): Ruling<BucketState> {
  const { limit, cost } = request
  const windowMs = Math.min(request.windowMs, maxDurationMs)
  const scale = bucketScale(limit, windowMs)
  const { ticks, tickMs } = scale
  const { level, at } = refilled(held, scale, now)
  if (cost > limit || cost * ticks > level) {
    const ms = cost > limit ? windowMs : quotientUp(cost * ticks - level, limit) * tickMs - (now - at)
    const retryAfterMs = Math.min(windowMs, Math.max(1, ms))
    const decision = { allowed: false, remaining: quotient(level, ticks), resetInMs: windowMs, retryAfterMs }
    // If the clock was set back, the level gets the new time. Otherwise the bucket would not refill until the clock has
    // caught up.
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

/** Returns the whole quotient, exact up to 2^53. A plain division may round up. */
const quotient = (of: number, by: number) => (of - (of % by)) / by
const quotientUp = (of: number, by: number) => quotient(of, by) + (of % by > 0 ? 1 : 0)
