import { LRUCache } from 'lru-cache'

/** Formats by time zone, cached because it is slow to create one. The limit is larger than the number of time zones. */
const zoneFormats = new LRUCache<string, Intl.DateTimeFormat>({ max: 600, memoMethod: createFormat })

function createFormat(timeZone: string): Intl.DateTimeFormat {
  const numeric = { hour: '2-digit', minute: '2-digit', second: '2-digit', day: '2-digit', month: '2-digit' } as const
  return new Intl.DateTimeFormat('en', { ...numeric, year: 'numeric', calendar: 'iso8601', hourCycle: 'h23', timeZone })
}

/** Returns the offset of a time zone from UTC at a time. Both values are in milliseconds. */
export function offsetAt(timeZone: string, ms: number): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of zoneFormats.memo(timeZone).formatToParts(ms)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000
}

/** Returns the first time after `before` at which `holds` is true. It must be true at `after`. */
export function firstMoment(before: number, after: number, holds: (ms: number) => boolean): number {
  let [low, high] = [before, after]
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}
