import type { AmountUnit, Column } from '../api/page-types.ts'
import { amountText } from './amounts.ts'

/** Formats numbers and times. All code of the pages that shows a number or a time uses these functions. */
export interface Formats {
  time(value: string): string
  exactTime(value: string): string
  /** Formats a time with seconds, for tables of numbers over time. */
  second(moment: Date): string
  /** Formats a time of day. */
  clock(moment: Date): string
  /** Formats a time of day without seconds, for axes. */
  minute(moment: Date): string
  /**
   * Formats a day.
   * @param isDay true if the value is a day in the form of midnight UTC
   */
  day(moment: Date, isDay?: boolean): string
  /** Formats a range of days. */
  days(first: Date, last: Date): string
  /** Formats a change in percent, with its sign. */
  change(percent: number): string
  count(value: number, unit?: Column['unit']): string
  /** Formats a number of an axis: large counts in a short form, such as 1.2M or 120万. */
  axis(value: number, unit?: Column['unit']): string
  /** Formats a number of a chart. @param amount unit of the number, for an amount */
  chart(value: number, unit: Column['unit'], amount: AmountUnit | undefined): string
  /**
   * Formats an amount.
   * @param minor minor units as text; not scaled if there is no unit
   */
  amount(minor: string, unit: AmountUnit | undefined): string
}

const known = new Map<string, Formats>()

/** Returns the formats for one language and time zone. */
export function formatsOf(language: string, timeZone: string): Formats {
  const name = `${language} ${timeZone}`
  const found = known.get(name)
  if (found !== undefined) return found
  const moment = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone })
  const exact = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeStyle: 'long', timeZone })
  const second = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium', timeZone })
  const clock = new Intl.DateTimeFormat(language, { timeStyle: 'medium', timeZone })
  const minute = new Intl.DateTimeFormat(language, { timeStyle: 'short', timeZone })
  const parts = { month: 'short', day: 'numeric' } as const
  const day = new Intl.DateTimeFormat(language, { ...parts, timeZone })
  const utcDay = new Intl.DateTimeFormat(language, { ...parts, timeZone: 'UTC' })
  const change = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1, signDisplay: 'always' })
  const numbers = new Intl.NumberFormat(language, { maximumFractionDigits: 2 })
  const short = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 2 })
  const at = (value: string, format: Intl.DateTimeFormat) => {
    const time = Date.parse(value)
    return Number.isNaN(time) ? value : format.format(time)
  }
  const made: Formats = {
    time: (value) => at(value, moment),
    exactTime: (value) => at(value, exact),
    second: (time) => second.format(time),
    clock: (time) => clock.format(time),
    minute: (time) => minute.format(time),
    days: (first, last) => day.formatRange(first, last),
    change: (percent) => change.format(percent / 100),
    day: (time, isDay = false) => (isDay ? utcDay : day).format(time),
    count(value, unit) {
      if (unit === 'bytes') return bytes(value, numbers)
      if (unit === 'ms' || unit === 's') return duration(unit === 's' ? value * 1000 : value, language)
      return unit === 'percent' ? `${numbers.format(value)} %` : numbers.format(value)
    },
    axis: (value, unit) => (unit === undefined ? short.format(value) : made.count(value, unit)),
    chart(value, unit, amount) {
      if (amount === undefined) return made.count(value, unit)
      return amountText(BigInt(Math.round(value * 10 ** amount.scale)).toString(), amount, language)
    },
    amount: (minor, unit) => amountText(minor, unit, language),
  }
  known.set(name, made)
  return made
}

/** Number of milliseconds of each unit of time, the longest first. */
const spans = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const

/** Formats a duration in the longest suitable unit: an hour and a half is 1.5 hours. */
function duration(value: number, language: string): string {
  const [unit, ms] = spans.find(([, ms]) => Math.abs(value) >= ms) ?? (['millisecond', 1] as const)
  const format = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 } as const
  return new Intl.NumberFormat(language, format).format(value / ms)
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function bytes(value: number, numbers: Intl.NumberFormat): string {
  let rest = value
  let unit = 0
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024
    unit += 1
  }
  return `${numbers.format(rest)} ${units[unit]}`
}
