import { startOfDay } from './zoned-time.ts'

const hourMs = 3_600_000

/** Lengths in hours of the presets that end at the current time. */
const presetHours = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 } as const
export const presets = ['today', '24h', '7d', '30d'] as const
export type Preset = (typeof presets)[number]

/**
 * Time range of a list, as stored in the address. `from` is a preset or a time, and `to` is a time. An empty text means
 * no limit.
 */
export interface TimeRange {
  readonly from: string
  readonly to: string
}

export const allTime: TimeRange = { from: '', to: '' }
export const isPreset = (text: string): text is Preset => (presets as readonly string[]).includes(text)
const isMoment = (text: string) => !Number.isNaN(Date.parse(text))

/** Reads the time range from the address. Unknown values are ignored. */
export function rangeIn(params: URLSearchParams): TimeRange {
  const [from, to] = [params.get('from') ?? '', params.get('to') ?? '']
  if (isPreset(from)) return { from, to: '' }
  return { from: isMoment(from) ? from : '', to: isMoment(to) ? to : '' }
}

/**
 * Returns the parameters of a call. A preset ends at the current time, so its limits move with each call.
 * @param zone time zone of the user, which determines when a day begins
 */
export function boundsOf({ from, to }: TimeRange, now: number, zone: string): Readonly<Record<string, string>> {
  const start = isPreset(from) ? startOf(from, now, zone) : from
  return { ...(start === '' ? {} : { from: start }), ...(to === '' ? {} : { to }) }
}

const startOf = (preset: Preset, now: number, zone: string) =>
  new Date(preset === 'today' ? startOfDay(now, zone) : now - presetHours[preset] * hourMs).toISOString()
