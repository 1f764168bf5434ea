import type { AmountUnit, Column } from '../api/page-types.ts'
import { type Row, valueAt } from '../api/row-values.ts'
import { unitOfColumn } from './amounts.ts'

/** Sum of a column over rows with one unit. `unit` and `code` are those of an amount. */
export interface ColumnSum {
  readonly value: string
  readonly unit: AmountUnit | undefined
  readonly code: string
}

/**
 * Returns the sums of a column, one for each unit of its amounts, in the order of the rows. Empty values are skipped.
 * Returns nothing if a value is not a number.
 */
export function sumsOf(column: Column, rows: readonly Row[], units: Readonly<Record<string, AmountUnit>>): ColumnSum[] {
  const sums = new Map<string, ColumnSum>()
  for (const row of rows) {
    const value = valueAt(row, column.field)
    if (value === null || value === undefined) continue
    const own = column.as === 'amount' ? unitOfColumn(column, units, row) : { unit: undefined, code: '' }
    const key = JSON.stringify(own)
    const sum = added(sums.get(key)?.value ?? '0', value, column)
    if (sum === undefined) return []
    sums.set(key, { ...own, value: sum })
  }
  return [...sums.values()]
}

/** Adds two numbers. Amounts are integers of any size. */
function added(sum: string, value: unknown, { as }: Column): string | undefined {
  if (as === 'amount') return /^-?\d+$/.test(String(value)) ? String(BigInt(sum) + BigInt(String(value))) : undefined
  return typeof value === 'number' ? String(Number(sum) + value) : undefined
}
