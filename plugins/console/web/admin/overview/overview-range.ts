import { createContext } from 'react'
import { isPreset, type TimeRange } from '../pages/time-range.ts'
import { startOfDay } from '../pages/zoned-time.ts'

const dayMs = 86_400_000
const halfDayMs = dayMs / 2

/** Presets of the overview. They consist of local days of the site, and the last of these days is today. */
export const overviewPresets = ['today', '7d', '30d'] as const
export const isOverviewPreset = (text: string) => (overviewPresets as readonly string[]).includes(text)
const daysOf: Readonly<Record<string, number>> = { today: 1, '7d': 7, '30d': 30 }

/** Maximum length of a range. It is the limit of the operations. */
export const maxRangeDays = 100

export const defaultRange: TimeRange = { from: '7d', to: '' }

/** A time span in milliseconds since the epoch. `to` is excluded. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Returns the span of a range, and the span before it with which it is compared. Both end at the same time of day, so a
 * day that has not ended is compared with the same part of an earlier day.
 *
 * @param zone time zone of the site, which determines when a day begins
 */
export function spansOf(
  { from, to }: TimeRange,
  now: number,
  zone: string,
): { readonly now: Span; readonly before: Span } {
  const days = daysOf[from]
  if (days !== undefined) {
    const dayBefore = (start: number, count: number) => startOfDay(start - count * dayMs + halfDayMs, zone)
    const today = startOfDay(now, zone)
    const start = dayBefore(today, days - 1)
    return { now: { from: start, to: now }, before: { from: dayBefore(start, days), to: now - days * dayMs } }
  }
  const end = to === '' ? now : Date.parse(to)
  const start = from === '' || isPreset(from) ? end - 7 * dayMs : Date.parse(from)
  return { now: { from: start, to: end }, before: { from: start - (end - start), to: start } }
}

export const queryOf = ({ from, to }: Span) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
})

/** The range that the tiles and charts of a page follow. */
export const RangeContext = createContext<TimeRange>(defaultRange)
