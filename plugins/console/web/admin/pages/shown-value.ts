import { useLanguage } from '../../app/app.tsx'
import type { AmountUnit, Column, ListPage } from '../api/page-types.ts'
import { labelOf, type Row, valueAt } from '../api/row-values.ts'
import { useSite } from '../shell/site-context.ts'
import { useZone } from '../shell/zone.ts'
import { unitOfColumn } from './amounts.ts'
import { type Formats, formatsOf } from './formats.ts'

/** @param zone time zone; default: the zone in which the user sees times */
export function useFormats(zone?: string): Formats {
  const { language } = useLanguage()
  const { name } = useZone()
  return formatsOf(language, zone ?? name)
}

/** Returns the name of a member as words: `orderNo` becomes `Order no`. */
export function spoken(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[-_.]+/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

/** True for an object with named members. */
export const isStructure = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns any value as one line of text, never as JSON. Control characters are made visible.
 *
 * @param titles titles of members by name
 */
export function plainText(value: unknown, titles: Readonly<Record<string, string>> = {}): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map((item) => plainText(item, titles)).join(', ')
  if (isStructure(value))
    return Object.entries(value)
      .map(([name, member]) => `${titles[name] ?? spoken(name)}: ${plainText(member, titles)}`)
      .join(' · ')
  const text = String(value)
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (sign) => (sign === '\n' || sign === '\t' ? ' ' : '\u{fffd}'))
}

/** Formats an amount in its unit. If the unit is unknown, returns the number in minor units with the code. */
export function amountOf(
  formats: Formats,
  units: Readonly<Record<string, AmountUnit>>,
  column: Column,
  row: Row,
): string {
  const { unit, code } = unitOfColumn(column, units, row)
  const text = formats.amount(String(valueAt(row, column.field)), unit)
  return unit === undefined && code !== '' ? `${text} ${plainText(code)}` : text
}

/** Formats a member of a row as one line of text, in the format of its column. */
export function columnText(
  column: Column | undefined,
  name: string,
  row: Row,
  { formats, units }: { readonly formats: Formats; readonly units: Readonly<Record<string, AmountUnit>> },
): string {
  const value = valueAt(row, name)
  if (column === undefined || value === null || value === undefined) return plainText(value)
  if (column.as === 'amount') return amountOf(formats, units, column, row)
  if (column.as === 'time') return formats.time(String(value))
  if (column.as === 'count' && column.unit !== undefined) return formats.count(Number(value), column.unit)
  return labelOf(column, value) ?? plainText(value)
}

/** Returns the column that names a row: the link to its page, or otherwise the first column. */
export const namingColumn = (columns: readonly Column[]): Column | undefined =>
  columns.find(({ link }) => link) ?? columns[0]

/** Returns a function that returns the name of a row, in the format of the column that names it. */
export function useRowName({ columns, key }: Pick<ListPage, 'columns' | 'key'>): (row: Row) => string {
  const surroundings = { formats: useFormats(), units: useSite().units }
  const column = namingColumn(columns)
  return (row) => (column && columnText(column, column.field, row, surroundings)) || String(valueAt(row, key))
}
