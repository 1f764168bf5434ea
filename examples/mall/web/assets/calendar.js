import { element, language, number, translate } from './shop.js'

const dayMs = 86_400_000
/** Days of the programme, independent of the browser time zone. Counted in UTC, where each day has 24 hours. */
const utc = (date) => {
  const [year, month, day] = date.split('-').map(Number)
  return Date.UTC(year, month - 1, day)
}
const written = (time) => new Date(time).toISOString().slice(0, 10)
const format = (options) => new Intl.DateTimeFormat(language, { timeZone: 'UTC', ...options })
const monthName = format({ year: 'numeric', month: 'long' })
const dayName = format({ dateStyle: 'long' })
const [shortWeekday, longWeekday] = ['short', 'long'].map((weekday) => format({ weekday }))
/** 1 is Monday, 7 is Sunday. */
const firstWeekday = new Intl.Locale(language).getWeekInfo?.().firstDay ?? 1

/** Returns the `YYYY-MM` of a later month. */
export function monthAfter(month, count) {
  const [year, number] = month.split('-').map(Number)
  return written(Date.UTC(year, number - 1 + count, 1)).slice(0, 7)
}

export const nameOfMonth = (month) => monthName.format(utc(`${month}-01`))

/** Returns the month as a table of weeks with the check-in days. */
export function calendar({ month, today, days }) {
  const done = new Map(days.map((day) => [day.date, day]))
  const first = utc(`${month}-01`)
  const before = (new Date(first).getUTCDay() - (firstWeekday % 7) + 7) % 7
  const start = first - before * dayMs
  const end = utc(`${monthAfter(month, 1)}-01`)
  const weeks = Array.from({ length: Math.ceil((end - start) / (7 * dayMs)) }, (_, week) =>
    Array.from({ length: 7 }, (_, day) => start + (week * 7 + day) * dayMs),
  )
  const heads = weeks[0].map((time) =>
    element('th', { scope: 'col', abbr: longWeekday.format(time) }, shortWeekday.format(time)),
  )
  const cell = (time) => {
    if (time < first || time >= end) return element('td')
    const date = written(time)
    const day = done.get(date)
    const told = [
      dayName.format(time),
      ...(date === today ? [translate('today')] : []),
      ...(day === undefined ? [] : [translate('dayDone', { points: number(day.points) })]),
    ]
    return element(
      'td',
      { 'data-date': date, 'data-done': day !== undefined, 'data-today': date === today, title: told.join(', ') },
      element('span', { class: 'day', 'aria-hidden': 'true' }, String(new Date(time).getUTCDate())),
      element('span', { class: 'heard' }, told.join(', ')),
    )
  }
  return element(
    'table',
    { class: 'calendar' },
    element('caption', { class: 'heard' }, nameOfMonth(month)),
    element('thead', {}, element('tr', {}, heads)),
    element(
      'tbody',
      {},
      weeks.map((week) => element('tr', {}, week.map(cell))),
    ),
  )
}
