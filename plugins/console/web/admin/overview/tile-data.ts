import type { Tile } from '../api/page-types.ts'
import { type Row, type Rows, rowsOf, valueAt } from '../api/row-values.ts'

/** The sum of one unit. */
export interface TileSum {
  /** Asset or currency; empty for a number without a unit of money. */
  readonly code: string
  /** Integer number of minor units for an amount; a number for everything else. */
  readonly value: number | bigint
}

/**
 * Adds up the rows of a response. Amounts of different units are never added up. A unit whose sum is zero is omitted, if
 * there is another one.
 */
export function sumsOf({ field, currency }: Tile, response: Rows | readonly Row[] | Row): readonly TileSum[] {
  const rows = Array.isArray(response) || 'items' in response ? rowsOf(response as Rows).items : [response as Row]
  if (currency === undefined)
    return [{ code: '', value: rows.reduce((sum, row) => sum + Number(valueAt(row, field) ?? 0), 0) }]
  const sums = new Map<string, bigint>()
  for (const row of rows) {
    const code = String(valueAt(row, currency) ?? '')
    sums.set(code, (sums.get(code) ?? 0n) + BigInt(String(valueAt(row, field) ?? 0)))
  }
  const found = [...sums].map(([code, value]) => ({ code, value }))
  const shown = found.filter(({ value }) => value !== 0n)
  // Without rows there is no currency, but the sum is known.
  const none = found.length === 0 ? [{ code: '', value: 0 }] : found.slice(0, 1)
  return shown.length === 0 ? none : shown
}

/** Counts the rows with a good value, and those with a good or bad one. */
export function partOf({ field, good = [], bad }: Tile, response: Rows | readonly Row[]) {
  const values = rowsOf(response).items.map((row) => valueAt(row, field))
  const isIn = (list: readonly unknown[]) => (value: unknown) => list.includes(value)
  const count = values.filter(isIn(good)).length
  return { count, total: bad === undefined ? values.length : count + values.filter(isIn(bad)).length }
}

/**
 * Returns the change in percent, rounded to one decimal place; `undefined` if there is nothing to compare with.
 * Amounts are divided as integers.
 */
export function changeOf(now: number | bigint, before: number | bigint): number | undefined {
  if (before === 0 || before === 0n) return undefined
  if (typeof now === 'bigint' && typeof before === 'bigint') return Number(((now - before) * 1000n) / before) / 10
  return Math.round(((Number(now) - Number(before)) / Number(before)) * 1000) / 10
}
