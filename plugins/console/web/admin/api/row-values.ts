import type { Value } from './operations.ts'
import type { Attention, Column, Source, Sources, StoredFile } from './page-types.ts'

/* Rows of responses, and the values that the pages take from them. */

/** A row of a list, or the data of a page that shows a single object. */
export type Row = Readonly<Record<string, unknown>>

export interface Rows {
  readonly items: readonly Row[]
  readonly total: number | null
  readonly counted?: 'exact' | 'capped' | 'none'
  readonly next?: string | null
}

/** Returns the rows of a list response. The response may be a plain array. */
export const rowsOf = (answer: Rows | readonly Row[]): Rows =>
  'items' in answer ? answer : { items: answer, total: answer.length, next: null }

/** Returns the value at a dotted name such as `user.name`. */
export function valueAt(row: unknown, name: string): unknown {
  let value = row
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Row)[part]
  }
  return value
}

/** Returns the parameters of a call from a row and from the declaration. */
export const valuesFromRow = (sources: Sources | undefined, row: Row): Record<string, Value> =>
  Object.fromEntries(Object.entries(sources ?? {}).map(([name, source]) => [name, taken(source, row) as Value]))

function taken(source: Source, row: Row): unknown {
  if ('field' in source) return valueAt(row, source.field)
  return 'list' in source ? source.list.map((name) => valueAt(row, name)) : source.value
}

/** Returns the display name of a value; `undefined` without one. Values such as `toString` have no inherited name. */
export const labelOf = ({ labels = {} }: Pick<Column, 'labels'>, value: unknown): string | undefined =>
  Object.hasOwn(labels, String(value)) ? labels[String(value)] : undefined

export const isStoredFile = (value: unknown): value is StoredFile =>
  ['id', 'name', 'url'].every((member) => typeof valueAt(value, member) === 'string')

/** Returns the count from the response of its operation. */
export function countOf({ count, where = {}, filled }: Attention, answer: unknown): number {
  const found = count === undefined ? rowsOf(answer as Rows | readonly Row[]).items : valueAt(answer, count)
  if (!Array.isArray(found)) return Number(found ?? 0)
  return found
    .filter((item) => Object.entries(where).every(([name, value]) => valueAt(item, name) === value))
    .filter((item) => filled === undefined || isFilled(valueAt(item, filled))).length
}

const isFilled = (value: unknown) =>
  value !== undefined && value !== null && value !== '' && value !== 0 && !(Array.isArray(value) && value.length === 0)

/** Returns the external address to which a value links; `undefined` if there is no https address. */
export function addressElsewhere({ opens, traceLink, field }: Column, row: Row): string | undefined {
  const value = valueAt(row, field)
  // A trace id that a caller chose is a part of the address and cannot change the rest of it.
  if (traceLink !== undefined && typeof value === 'string' && value !== '')
    return traceLink.replaceAll('{{traceId}}', encodeURIComponent(value))
  const base = opens === undefined ? undefined : valueAt(row, opens.base)
  if (opens === undefined || typeof base !== 'string' || !/^https:\/\/[^/\\]/i.test(base)) return undefined
  return `${base}/${opens.path}/${encodeURIComponent(String(value))}`
}
