/** A daily window of local wall-clock time; it goes over midnight when it ends before it begins. */
export interface QuietHours {
  /** IANA time zone. */
  readonly timeZone: string
  /** Minutes since midnight, 0 to 1,439. */
  readonly start: number
  /** Minutes since midnight, other than `start`; not quiet any more. */
  readonly end: number
}

const minuteMs = 60_000
const dayMs = 86_400_000

/** A format costs far more than its use. As many as there are time zones at most: names are checked when they are saved. */
const formats = new Map<string, Intl.DateTimeFormat>()
const mostFormats = 600

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  if (formats.size >= mostFormats) formats.clear()
  const numeric = { hour: '2-digit', minute: '2-digit', second: '2-digit', day: '2-digit', month: '2-digit' } as const
  const format = new Intl.DateTimeFormat('en', {
    ...numeric,
    year: 'numeric',
    calendar: 'iso8601',
    hourCycle: 'h23',
    timeZone,
  })
  formats.set(timeZone, format)
  return format
}

/** Milliseconds that the clocks of a zone are ahead of UTC at a moment. */
function offsetAt(timeZone: string, ms: number): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of formatOf(timeZone).formatToParts(ms)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000
}

const modulo = (value: number, by: number) => ((value % by) + by) % by

/**
 * When the quiet hours end that a moment lies in; `undefined` when it lies in none. Clocks that are put forward over the end end
 * them; while clocks that were put back show the window once more, it is quiet once more.
 *
 * @param nowMs milliseconds since the epoch, as is the answer
 */
export function quietEnd({ timeZone, start, end }: QuietHours, nowMs: number): number | undefined {
  const [startMs, endMs] = [start * minuteMs, end * minuteMs]
  const isQuiet = (intoDay: number) =>
    start < end ? intoDay >= startMs && intoDay < endMs : intoDay >= startMs || intoDay < endMs
  const offset = offsetAt(timeZone, nowMs)
  const intoDay = modulo(nowMs + offset, dayMs)
  if (!isQuiet(intoDay)) return undefined
  const endsAt = nowMs + modulo(endMs - intoDay, dayMs)
  const offsetThen = offsetAt(timeZone, endsAt)
  if (offsetThen === offset) return endsAt
  const changedAt = firstMoment(nowMs, endsAt, (ms) => offsetAt(timeZone, ms) !== offset)
  const intoDayThen = modulo(changedAt + offsetThen, dayMs)
  return isQuiet(intoDayThen) ? changedAt + modulo(endMs - intoDayThen, dayMs) : changedAt
}

/** The first moment after `before` for which the condition holds, which it does at `after`. */
function firstMoment(before: number, after: number, holds: (ms: number) => boolean): number {
  let [low, high] = [before, after]
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}
