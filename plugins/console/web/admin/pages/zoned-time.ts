/* Conversions between moments and the wall clock of a time zone. */

const dayMs = 86_400_000

/** Returns the milliseconds that the clock of a zone is ahead of UTC at a moment. */
function offsetAt(ms: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(ms)
  const at = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  const shown = Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second'))
  return shown - Math.floor(ms / 1000) * 1000
}

/** Returns the wall clock at a moment, as inputs of the browser write it: `2026-01-31T12:00`. */
export const wallClock = (ms: number, zone: string): string =>
  new Date(ms + offsetAt(ms, zone)).toISOString().slice(0, 16)

/**
 * Returns the moment at which the clock of a zone shows a time; `undefined` for another text. A time that occurs twice
 * is the first. A time that a clock change skips is as much later.
 */
export function momentOf(wall: string, zone: string): number | undefined {
  const asUtc = Date.parse(`${wall}Z`)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(wall) || Number.isNaN(asUtc)) return undefined
  // A clock changes at most once between a day before and a day after.
  const [before, after] = [asUtc - dayMs, asUtc + dayMs].map((ms) => asUtc - offsetAt(ms, zone)) as [number, number]
  const found = [before, after].filter((ms) => ms + offsetAt(ms, zone) === asUtc)
  return found.length === 0 ? before : Math.min(...found)
}

/** Returns the first moment of the day that the clock of a zone shows. */
export const startOfDay = (ms: number, zone: string): number =>
  momentOf(`${wallClock(ms, zone).slice(0, 10)}T00:00`, zone) ?? ms
