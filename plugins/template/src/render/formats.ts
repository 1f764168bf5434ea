import { LRUCache } from 'lru-cache'
import { dateStyles, type FormatName } from '../compile/program.ts'
import type { TemplateValue } from '../contract.ts'

/** How dates and numbers are written for the reader of a message. */
export interface ReaderFormat {
  /** BCP 47 tag. */
  readonly locale: string
  /** Name in the IANA time zone database. */
  readonly timeZone: string
  /** Milliseconds since the epoch, for `relative`. */
  readonly now: number
}

type Value = TemplateValue | undefined
/** Formatters and plural rules. Creating one takes about 30 microseconds, so they are kept. */
const created = new LRUCache<string, object>({ max: 500 })

/** @param key kind, language and options of the object */
function kept<T extends object>(key: readonly unknown[], create: () => T): T {
  const name = JSON.stringify(key)
  const known = created.get(name) as T | undefined
  if (known !== undefined) return known
  const one = create()
  created.set(name, one)
  return one
}

type DateStyle = (typeof dateStyles)[number]

/** `dateTime` with the style `full` names the time zone. */
const dateOptions = {
  date: (style: DateStyle) => ({ dateStyle: style }),
  time: (style: DateStyle) => ({ timeStyle: style }),
  dateTime: (style: DateStyle) => ({ dateStyle: style, timeStyle: style === 'full' ? 'long' : 'short' }),
} as const satisfies Record<string, (style: DateStyle) => Intl.DateTimeFormatOptions>

const dayPattern = /^\d{4}-\d{2}-\d{2}$/
const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

/** Returns milliseconds since the epoch. Undefined for a value that is not a moment. */
function momentOf(value: Value): number | undefined {
  const isText = typeof value === 'string' && (dayPattern.test(value) || instantPattern.test(value))
  const at = typeof value === 'number' ? value : isText ? Date.parse(value) : Number.NaN
  return Number.isNaN(new Date(at).getTime()) ? undefined : at
}

function dated(kind: keyof typeof dateOptions, value: Value, style: Value, { locale, timeZone }: ReaderFormat) {
  const at = momentOf(value)
  const chosen = dateStyles.find((one) => one === (style ?? 'medium'))
  if (at === undefined || chosen === undefined) return undefined
  // A date without a time is the same day in each time zone.
  const zone = typeof value === 'string' && dayPattern.test(value) ? 'UTC' : timeZone
  const create = () => new Intl.DateTimeFormat(locale, { ...dateOptions[kind](chosen), timeZone: zone })
  return kept([kind, chosen, locale, zone], create).format(at)
}

/** The lengths are limited, because `Intl` writes all digits of a number with an exponent. */
const decimalPattern = /^-?\d{1,40}(?:\.(\d{1,20}))?$/

/** Returns an exact decimal and its number of decimals. Undefined for a value that is not a number. */
function decimalOf(value: Value): { readonly text: `${number}`; readonly decimals: number } | undefined {
  const text = typeof value === 'number' ? String(value) : value
  const match = typeof text === 'string' ? decimalPattern.exec(text) : null
  return match === null ? undefined : { text: match[0] as `${number}`, decimals: match[1]?.length ?? 0 }
}

function numbered(value: Value, more: Intl.NumberFormatOptions, { locale }: ReaderFormat): string | undefined {
  const decimal = decimalOf(value)
  if (decimal === undefined) return undefined
  return kept(['number', locale, more], () => new Intl.NumberFormat(locale, more)).format(decimal.text)
}

/** Writes an amount with all its decimals; it is never rounded. */
function money(amount: Value, currency: Value, format: ReaderFormat): string | undefined {
  const decimal = decimalOf(amount)
  if (decimal === undefined || typeof currency !== 'string' || !/^[A-Za-z]{3}$/.test(currency)) return undefined
  const usual =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2
  const maximumFractionDigits = Math.max(usual, decimal.decimals)
  return numbered(amount, { style: 'currency', currency, maximumFractionDigits }, format)
}

const units = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

function relative(value: Value, { locale, now }: ReaderFormat): string | undefined {
  const at = momentOf(value)
  if (at === undefined) return undefined
  const [unit, length] = units.find(([, ms]) => Math.abs(at - now) >= ms) ?? (['second', 1_000] as const)
  const create = () => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  return kept(['relative', locale], create).format(Math.trunc((at - now) / length), unit)
}

/** Selects the text of the plural category (CLDR), or `none` for exactly 0. `#` in the text stands for the number. */
function plural(value: Value, texts: ReadonlyMap<string, string>, format: ReaderFormat): string | undefined {
  const shown = numbered(value, { maximumFractionDigits: 20 }, format)
  if (shown === undefined) return undefined
  const number = Number(value)
  const rules = kept(['plural', format.locale], () => new Intl.PluralRules(format.locale))
  const text = (number === 0 ? texts.get('none') : undefined) ?? texts.get(rules.select(number)) ?? texts.get('other')
  return text?.replaceAll('#', () => shown)
}

function listed(items: readonly string[], kind: Value, { locale }: ReaderFormat): string {
  const type = kind === 'or' ? 'disjunction' : 'conjunction'
  return kept(['list', locale, type], () => new Intl.ListFormat(locale, { type })).format(items)
}

interface FormatCall {
  readonly values: readonly Value[]
  readonly options: ReadonlyMap<string, string>
  readonly format: ReaderFormat
  readonly textOf: (value: Value) => string
}

const formats: Readonly<Record<FormatName, (call: FormatCall) => string | undefined>> = {
  date: ({ values: [value, style], format }) => dated('date', value, style, format),
  time: ({ values: [value, style], format }) => dated('time', value, style, format),
  dateTime: ({ values: [value, style], format }) => dated('dateTime', value, style, format),
  number: ({ values: [value], format }) => numbered(value, { maximumFractionDigits: 20 }, format),
  money: ({ values: [amount, currency], format }) => money(amount, currency, format),
  plural: ({ values: [value], options, format }) => plural(value, options, format),
  relative: ({ values: [value], format }) => relative(value, format),
  list: ({ values: [value, kind], format, textOf }) =>
    Array.isArray(value) ? listed(value.map(textOf), kind, format) : undefined,
}

/**
 * Formats a value for the reader. A value that the helper cannot format is printed unchanged, because a message with an
 * unexpected value is better than none.
 */
export const formatted = (name: FormatName, call: FormatCall): string =>
  formats[name](call) ?? call.textOf(call.values[0])
