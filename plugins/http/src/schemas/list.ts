import { createHash } from 'node:crypto'
import { codeOf, defined } from '@plinth/kernel'
import type { TArray, TOptional, TSchema, TString } from 'typebox'
import type { ListKey, ListOrder, ListPage, ListQuery, ListRange, ListRows, ListWindow } from '../contract.ts'
import { InvalidInput } from './input-validation.ts'
import { Type } from './schema-builders.ts'

const largestPage = 200

/**
 * Query of a short list in memory (decision B32). For tables use `listQuery`. Spread its members: `Type.Object({
 * ...pageQuery.properties, keyword: ... })`.
 */
export const pageQuery = Type.Object({
  page: Type.Integer({ minimum: 1, default: 1, description: 'Page number. The first page is 1.' }),
  size: Type.Integer({ minimum: 1, maximum: largestPage, default: 20, description: 'Number of items per page.' }),
})

/** Returns the schema of one page for `pageQuery`. */
export function page<T extends TSchema>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    page: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 1 }),
    total: Type.Integer({ minimum: 0, description: 'Number of items on all pages.' }),
  })
}

export interface SortRule<P extends string = string> {
  readonly property: P
  readonly column: string
  readonly direction: 'asc' | 'desc'
}

export interface SortQuery<P extends string> {
  /** Members for the query schema of the route. */
  readonly properties: { readonly sort: TOptional<TArray<TString>> }
  /**
   * Returns the rules in order of precedence, each property once. Returns the fallback if the caller specifies none.
   */
  parse(sort: readonly string[] | undefined): readonly SortRule<P>[]
}

/**
 * Creates a whitelist of sortable properties with their columns: `sortQuery({ createdAt: 'created_at' },
 * '-createdAt')`. Callers write `sort=createdAt`, `sort=-createdAt` or `sort=createdAt,desc`, with the property or the
 * column name, and repeat the parameter for further rules. Other values are invalid. SQL only contains the names given
 * here, never text of the caller (C-015 to C-017).
 *
 * @throws RangeError if the fallback is not in the list
 */
export function sortQuery<const C extends Readonly<Record<string, string>>>(
  columns: C,
  fallback: `${'' | '-'}${keyof C & string}`,
): SortQuery<keyof C & string> {
  type P = keyof C & string
  const properties = new Map<string, P>()
  for (const property in columns) properties.set(String(columns[property]), property)
  for (const property in columns) properties.set(property, property)

  const names = [...properties.keys()].map(escapePattern).join('|')
  const spelling = Type.String({ pattern: `^(?:-?(?:${names})|(?:${names}),(?:asc|desc))$` })
  const description = `Properties to sort by: ${Object.keys(columns).join(', ')}; descending with a leading minus.`

  const ruleOf = (text: string): SortRule<P> | undefined => {
    const [name = '', order] = text.replace(/^-/, '').split(',')
    const property = properties.get(name)
    if (property === undefined) return undefined
    const direction = text.startsWith('-') || order === 'desc' ? 'desc' : 'asc'
    return { property, column: String(columns[property]), direction }
  }
  if (ruleOf(fallback) === undefined) throw new RangeError(`The fallback "${fallback}" is no sortable property`)
  return {
    properties: {
      sort: Type.Optional(
        Type.Array(spelling, { maxItems: properties.size, description, 'x-sort': Object.keys(columns) }),
      ),
    },
    parse(sort) {
      const rules = new Map<string, SortRule<P>>()
      for (const text of sort === undefined || sort.length === 0 ? [fallback] : sort) {
        const rule = ruleOf(text)
        if (rule !== undefined && !rules.has(rule.property)) rules.set(rule.property, rule)
      }
      return [...rules.values()]
    },
  }
}

const escapePattern = (name: string) => name.replace(/[^\w]/g, '\\$&')

/** Maximum number of rows that `page` may skip, because a database reads each of them. */
const deepestOffset = 100_000
const maxCursorLength = 4_096
const counts = ['exact', 'capped', 'none'] as const

/**
 * Query of a list from a table (decision E14): `page` and `size`, or `cursor` and `size`, and the kind of count. Spread
 * its members: `Type.Object({ ...listQuery.properties, keyword: ... })`.
 */
export const listQuery = Type.Object({
  ...pageQuery.properties,
  page: Type.Integer({
    minimum: 1,
    default: 1,
    description: `Page number. The first page is 1. Page numbers reach row ${deepestOffset}; a cursor reaches all rows.`,
  }),
  cursor: Type.Optional(
    Type.String({
      maxLength: maxCursorLength,
      description:
        'Starts after an earlier page: the value `next` of its response. Sort order and filters must be the same.',
    }),
  ),
  count: Type.Optional(
    Type.Enum(counts, {
      description:
        'How `total` is counted: all items, at most 10,000, or not at all. Default: all items, or not at all if a cursor is given.',
    }),
  ),
})

/** Returns the schema of one page for `listQuery`. */
export function listPage<T extends TSchema>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    page: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 1 }),
    total: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Number of items on all pages, as far as counted. Null only in requests with `cursor` or `count`.',
      'x-null-with': ['cursor', 'count'],
    }),
    counted: Type.Enum(counts, {
      description:
        '`exact`: `total` includes all items. `capped`: there are more items, or may be more if a keyword is given. `none`: items were not counted.',
    }),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'Cursor of the next page. Null on the last page.',
    }),
  })
}

const momentOf = (description: string, options: object = {}) =>
  Type.Optional(Type.String({ format: 'date-time', description, ...options }))

export interface RangeQuery {
  /** Members for the query schema of the route. */
  readonly properties: { readonly from: TOptional<TString>; readonly to: TOptional<TString> }
  /**
   * Returns the time that the caller asks for; `undefined` for all.
   *
   * @throws InvalidInput if it ends before it begins
   */
  parse(query: Pick<ListQuery, 'from' | 'to'>): ListRange | undefined
}

/**
 * Creates the time range of a list: the parameters `from` (included) and `to` (excluded). Pass the result to
 * `listResponse`. The back office shows a control for it on each page of the list.
 *
 * @param property member of a row, and property of its entity, that contains the moment
 * @param id property with the id that a row gets at this moment, within a day. Without it the order of the list or
 * another index must contain the moment.
 */
export function rangeQuery(property: string, id?: string): RangeQuery {
  return {
    properties: {
      from: momentOf(`Rows whose \`${property}\` is at this moment or later.`, { 'x-range': property }),
      to: momentOf(`Rows whose \`${property}\` is before this moment.`),
    },
    parse(query) {
      const [from, to] = [query.from, query.to].map((text) => (text === undefined ? undefined : storable(text)))
      if (from === undefined && to === undefined) return undefined
      if (from !== undefined && to !== undefined && to < from) throw problem('to', 'afterFrom')
      return defined({ property, id, from, to })
    },
  }
}

/** Latest time that all databases support. */
const latestTime = Date.UTC(9999, 11, 31)
const storable = (text: string) => Math.min(Math.max(Date.parse(text), 0), latestTime)

/** Default order of lists. Ids sort by time. */
export const newestFirst: ListOrder = [{ property: 'id', direction: 'desc' }]

/**
 * Returns one page of a list: reads the cursor, calls the source for the rows and creates the cursor of the next page.
 *
 * @param orderBy the source must break ties
 * @param find usually `(window) => findPage(db.fork(), Entity, where, window)` of `@plinth/database`
 * @param range only if the query of the route has its members
 * @throws InvalidInput for a page beyond the maximum offset, for a cursor of another order, and for a range that ends
 * before it begins
 */
export async function listResponse<T>(
  query: ListQuery,
  orderBy: ListOrder,
  find: (window: ListWindow) => Promise<ListRows<T>>,
  range?: RangeQuery,
): Promise<Omit<ListPage<T>, 'items'> & { items: T[] }> {
  const { page, size, cursor } = query
  if (cursor !== undefined && page > 1) throw problem('page', 'cursorAlone')
  const offset = (page - 1) * size
  if (offset + size > deepestOffset) throw problem('page', 'depth', { limit: deepestOffset })
  const after = cursor === undefined ? undefined : positionOf(cursor, orderBy)
  const count = query.count ?? (after === undefined ? 'exact' : 'none')
  const rows = await find({ orderBy, size, offset, after, count, range: range?.parse(query) }).catch(
    (error: unknown) => {
      throw isForeignPosition(error) ? problem('cursor', 'cursor') : error
    },
  )
  return {
    items: [...rows.items],
    page,
    size,
    total: rows.total,
    counted: rows.total === null ? 'none' : rows.isCapped ? 'capped' : 'exact',
    next: rows.next === null ? null : cursorOf(rows.next, orderBy),
  }
}

/** Converts the rows of a list for the response. */
export const rowsAs = <T, V>(rows: ListRows<T>, view: (row: T) => V): ListRows<V> => ({
  ...rows,
  items: rows.items.map((row) => view(row)),
})

const problem = (field: string, rule: string, params: Readonly<Record<string, number>> = {}) =>
  new InvalidInput([{ field, rule, params: { field, rule, ...params } }])

/** Identified by its code, because http does not depend on the database. */
const isForeignPosition = (error: unknown) => error instanceof Error && codeOf(error) === 'PLINTH_DATABASE_POSITION'

/**
 * A cursor gives access to no more rows than a filter, so a checksum against mistakes and other orders is sufficient.
 */
function checkOf(position: readonly ListKey[], orderBy: ListOrder): string {
  const order = orderBy.map(({ property, direction }) => [property, direction])
  return createHash('sha256')
    .update(JSON.stringify([order, position]))
    .digest('base64url')
    .slice(0, 10)
}

const cursorOf = (position: readonly ListKey[], orderBy: ListOrder) =>
  Buffer.from(JSON.stringify([checkOf(position, orderBy), ...position])).toString('base64url')

function positionOf(cursor: string, orderBy: ListOrder): readonly ListKey[] {
  try {
    const [check, ...position]: [string, ...ListKey[]] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (check === checkOf(position, orderBy)) return position
  } catch {
    // Invalid JSON or not a list, so not a cursor.
  }
  throw problem('cursor', 'cursor')
}
