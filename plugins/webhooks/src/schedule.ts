const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** Pauses before the attempts, in milliseconds, as the Standard Webhooks recommend: 75 hours and 35 minutes in total. */
export const schedule = [0, 5 * second, 5 * minute, 30 * minute, 2, 5, 10, 14, 20, 24].map((pause, at) =>
  at < 4 ? pause : pause * hour,
)

/** Largest share of a pause that is added at random, so that the retries of an outage do not arrive together. */
const jitter = 0.1
/** A receiver cannot delay the next attempt by more than this with `Retry-After`. */
export const maxRetryAfterMs = 24 * hour

/**
 * Returns the pause before the attempt with this index in milliseconds, or `undefined` after the last one.
 *
 * @param retryAfterMs minimum pause that the receiver asked for
 * @param random returns a number from 0 to 1
 */
export function pauseBefore(step: number, retryAfterMs: number, random: () => number): number | undefined {
  const pause = schedule[step]
  if (pause === undefined) return undefined
  return Math.max(Math.round(pause * (1 + jitter * random())), Math.min(retryAfterMs, maxRetryAfterMs))
}

/**
 * Returns the milliseconds of a header `Retry-After`: seconds or a date. Returns 0 without a valid header.
 *
 * @param now milliseconds since the epoch
 */
export function retryAfterMsOf(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * second : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}

/** An endpoint is reported if every attempt failed for this time, in milliseconds. */
export const warnAfterMs = 24 * hour
/** An endpoint is suspended if every attempt failed for this time, and there were this many. */
export const suspendAfterMs = 5 * 24 * hour
export const minFailedAttempts = 10
