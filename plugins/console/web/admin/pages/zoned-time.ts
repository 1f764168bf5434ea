/* Conversions between moments and the wall clock of a time zone. */

const dayMs = 86_400_000

/** Formats by time zone. They are stored, because creating one takes as long as formatting hundreds of times. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const number = 'numeric'
  const time = { hourCycle: 'h23', hour: number, minute: number, second: number } as const
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en', { year: number, month: number, day: number, ...time, timeZone })
  formats.set(timeZone, format)
  return format
}

/** Returns the offset of a time zone from UTC at a given time, in milliseconds. */
function offsetAt(ms: number, zone: string): number {
  const parts = formatOf(zone).formatToParts(ms)
  const at = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  const shown = Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second'))
  return shown - Math.floor(ms / 1000) * 1000
}

/**
 * Returns the local time of a zone in the format of browser inputs: `2026-01-31T12:00`. Returns an empty text for an
 * invalid time, or one that has no local time.
 */
export function wallClock(ms: number, zone: string): string {
  const local = new Date(Number.isNaN(new Date(ms).getTime()) ? Number.NaN : ms + offsetAt(ms, zone))
  return Number.isNaN(local.getTime()) ? '' : local.toISOString().slice(0, 16)
}

/**
 * Converts a local time of a zone to milliseconds since the epoch; `undefined` if the text is not a time. If a local
 * time occurs twice, the first is used. If a clock change skips the local time, the result is later by the skipped
 * time.
 */
export function momentOf(wall: string, zone: string): number | undefined {
  const asUtc = Date.parse(`${wall}Z`)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(wall) || Number.isNaN(asUtc)) return undefined
  // The clock changes at most once between the day before and the day after.
  const [before, after] = [asUtc - dayMs, asUtc + dayMs].map((ms) => asUtc - offsetAt(ms, zone)) as [number, number]
  const found = [before, after].filter((ms) => ms + offsetAt(ms, zone) === asUtc)
  return found.length === 0 ? before : Math.min(...found)
}

/** Returns the start of the local day of a zone, in milliseconds since the epoch. */
export const startOfDay = (ms: number, zone: string): number =>
  momentOf(`${wallClock(ms, zone).slice(0, 10)}T00:00`, zone) ?? ms
