import { firstMoment, offsetAt } from '@plinth/inbox'
import { LRUCache } from 'lru-cache'

/**
 * A slot is a wall time such as `daily 08:00` or `mon 08:00`. A slot key is its local date and time, `2027-03-28 08:00`.
 * Keys sort by time. The instant of a key is computed late, because the time zone of a person may change.
 */

export const slotPattern = '^(?:daily|mon|tue|wed|thu|fri|sat|sun) (?:[01][0-9]|2[0-3]):[0-5][0-9]$'

const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const dayMs = 86_400_000
/** Days that contain the next slot: a week, and dates that a time zone leaves out. */
const maxDaysAhead = 16

/** Returns the wall time of an instant, as the milliseconds of the same wall time in UTC. */
const wallAt = (timeZone: string, at: number): number => at + offsetAt(timeZone, at)

/** Instants by slot key and time zone, cached because one takes many formats, and one call asks for many users. */
const instants = new LRUCache<string, { readonly at: number | undefined }>({ max: 10_000 })

/**
 * Returns the instant of a slot key in milliseconds since the epoch: in an overlap the first one, in a gap the end of the
 * gap. Undefined if the time zone leaves the date out, as Pacific/Apia did with 2011-12-30.
 */
export function instantOf(key: string, timeZone: string): number | undefined {
  const name = `${key} ${timeZone}`
  const known = instants.get(name)
  if (known !== undefined) return known.at
  const at = computeInstant(key, timeZone)
  instants.set(name, { at })
  return at
}

function computeInstant(key: string, timeZone: string): number | undefined {
  const wall = Date.parse(`${key.replace(' ', 'T')}Z`)
  const date = Math.floor(wall / dayMs)
  // The offset from UTC is less than a day, so the instant is between these.
  const [before, after] = [wall - dayMs, wall + dayMs]
  const candidates = [before, after].map((near) => wall - (wallAt(timeZone, near) - near))
  const exact = candidates.filter((at) => wallAt(timeZone, at) === wall)
  if (exact.length > 0) return Math.min(...exact)
  const [low, high] = [Math.min(...candidates), Math.max(...candidates)]
  const end = firstMoment(low - 1, high, (at) => wallAt(timeZone, at) >= wall)
  const isOnDate = [end - 1, end].some((at) => Math.floor(wallAt(timeZone, at) / dayMs) === date)
  return isOnDate ? end : undefined
}

/** A slot that comes next. */
export interface NextSlot {
  readonly key: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * Returns the first slot after an instant.
 *
 * @param slots one or more slots, see `slotPattern`
 * @param after milliseconds since the epoch
 * @param last slot key that was used last; the result is later, so that a changed time zone never repeats a local date
 */
export function nextSlot(slots: readonly string[], timeZone: string, after: number, last = ''): NextSlot {
  const times = slots
    .map((slot) => slot.split(' ') as [string, string])
    .toSorted(([, one], [, other]) => (one < other ? -1 : 1))
  const today = Math.floor(wallAt(timeZone, after) / dayMs)
  for (let day = today - 1; day <= today + maxDaysAhead; day++) {
    const date = new Date(day * dayMs)
    for (const [on, time] of times) {
      if (on !== 'daily' && on !== days[date.getUTCDay()]) continue
      const key = `${date.toISOString().slice(0, 10)} ${time}`
      const at = key > last ? instantOf(key, timeZone) : undefined
      if (at !== undefined && at > after) return { key, at }
    }
  }
  throw new RangeError(`No slot of "${slots.join(', ')}" within ${maxDaysAhead} days`)
}
