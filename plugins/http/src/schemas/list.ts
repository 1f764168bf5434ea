import { createHash } from 'node:crypto'
import { Type } from '@plinth/config-schema/typebox'
import { errorCodeOf, omitUndefined } from '@plinth/kernel'
import type { TArray, TOptional, TSchema, TString } from 'typebox'
import type { ListKey, ListOrder, ListPage, ListQuery, ListQueryWindow, ListRows, ListTimeRange } from '../contract.ts'
import { messages } from '../texts.ts'
import { InvalidInput } from './input-validation.ts'
import type { FilterQuery } from './list-filter.ts'

const largestPage = 200

/**
 * Query of a short list in memory (decision B32). For tables use `listQuery`. Spread its members: `Type.Object({
 * ...pageQuery.properties, keyword: ... })`.
 */
export const pageQuery = Type.Object({
  page: Type.Integer({ minimum: 1, default: 1, description: 'Page number. The first page is 1.' }),
  size: Type.Integer({ minimum: 1, maximum: largestPage, default: 20, description: 'Number of items per page.' }),
})

/** Returns the response schema of a list that uses `pageQuery`. */
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
  /** Returns the rules, the most important one first; the default order if `sort` is empty. */
  parse(sort: readonly string[] | undefined): readonly SortRule<P>[]
}

/**
 * Creates the query parameter `sort` for the given properties and their columns: `sortQuery({ createdAt: 'created_at'
 * }, '-createdAt')`. Callers write `sort=createdAt`, `sort=-createdAt` or `sort=createdAt,desc`, and repeat the
 * parameter for further rules. Other values are rejected, so text of the caller never becomes SQL (requirements C-015
 * to C-017).
 *
 * @throws RangeError if `fallback` is not in the list
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

/** Maximum number of rows that a page number may skip, because the database reads each skipped row. */
const deepestOffset = 100_000
const maxCursorLength = 4_096
const counts = ['exact', 'capped', 'none'] as const

/**
 * Query of a list from a table (decision E14): page number or cursor, page size, and how to count. Spread its members:
 * `Type.Object({ ...listQuery.properties, keyword: ... })`.
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

/** Returns the response schema of a list that uses `listQuery`. */
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
        '`exact`: `total` includes all items. `capped`: there are more items, or may be more if a keyword or a filter is given. `none`: items were not counted.',
    }),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'Cursor of the next page. Null on the last page.',
    }),
  })
}

const { from, to } = messages.en.http.fields
const chinese = messages['zh-CN'].http.fields
/** Titles of time ranges. A plugin may use the names `from` and `to` for other members too, for example addresses. */
const titles = {
  from: { title: from, 'x-title': { en: from, 'zh-CN': chinese.from } },
  to: { title: to, 'x-title': { en: to, 'zh-CN': chinese.to } },
}

const momentOf = (name: keyof typeof titles, description: string, options: object = {}) =>
  Type.Optional(Type.String({ ...titles[name], format: 'date-time', description, ...options }))

export interface RangeQuery {
  /** Members for the query schema of the route. */
  readonly properties: { readonly from: TOptional<TString>; readonly to: TOptional<TString> }
  /**
   * Returns the requested time range; `undefined` if there is none.
   *
   * @throws InvalidInput if the range ends before it starts
   */
  parse(query: Pick<ListQuery, 'from' | 'to'>): ListTimeRange | undefined
}

/**
 * Creates the query parameters `from` (included) and `to` (excluded). Pass the result to `listResponse`. The back
 * office shows a control for the range.
 *
 * @param property row member and entity property with the time
 * @param id property with an id that was created within a day of the time in `property`. If it is undefined, the table
 *   needs an index on the time.
 */
export function rangeQuery(property: string, id?: string): RangeQuery {
  return {
    properties: {
      from: momentOf('from', `Rows whose \`${property}\` is at this moment or later.`, { 'x-range': property }),
      to: momentOf('to', `Rows whose \`${property}\` is before this moment.`),
    },
    parse(query) {
      const [from, to] = [query.from, query.to].map((text) => (text === undefined ? undefined : storable(text)))
      if (from === undefined && to === undefined) return undefined
      if (from !== undefined && to !== undefined && to < from) throw problem('to', 'afterFrom')
      return omitUndefined({ property, id, from, to })
    },
  }
}

const dayMs = 86_400_000
/** Maximum length of the time span of figures. */
const maxSpanDays = 100

/**
 * Query of figures over time: the number or sum of rows `from` (included) until `to` (excluded). The overview of the
 * back office passes the range that the user has chosen.
 */
export const spanQuery = {
  properties: {
    from: momentOf('from', 'Start of the time span. Default: seven days before its end.'),
    to: momentOf('to', `End of the time span, at most ${maxSpanDays} days after its start. Default: now.`),
  },
  /**
   * Returns the requested time span in milliseconds since the epoch.
   *
   * @param now current time, in milliseconds since the epoch
   * @throws InvalidInput if the span ends before it starts, or is too long
   */
  parse(query: Pick<ListQuery, 'from' | 'to'>, now: number): { readonly from: number; readonly to: number } {
    const to = query.to === undefined ? now : storable(query.to)
    const from = query.from === undefined ? Math.max(0, to - 7 * dayMs) : storable(query.from)
    if (to < from) throw problem('to', 'afterFrom')
    if (to - from > maxSpanDays * dayMs) throw problem('to', 'span', { limit: maxSpanDays })
    return { from, to }
  },
}

/** Latest time that all supported databases can store. */
const latestTime = Date.UTC(9999, 11, 31)
const storable = (text: string) => Math.min(Math.max(Date.parse(text), 0), latestTime)

/** Default sort order: newest rows first. Ids increase with time. */
export const newestFirst: ListOrder = [{ property: 'id', direction: 'desc' }]

/**
 * Returns one page of a list and the cursor of the next page.
 *
 * @param orderBy sort order, to which `find` must add a unique property
 * @param find usually `(window) => findPage(db.fork(), Entity, where, window)` of `@plinth/database`
 * @param range the range whose parameters the query of the route contains, if any
 * @param filter the filter whose parameter the query of the route contains, if any
 * @throws InvalidInput for a page beyond the maximum offset, a cursor of another order, a range that ends before it
 *   starts, or an invalid condition
 */
export async function listResponse<T>(
  query: ListQuery,
  orderBy: ListOrder,
  find: (window: ListQueryWindow) => Promise<ListRows<T>>,
  range?: RangeQuery,
  filter?: FilterQuery,
): Promise<Omit<ListPage<T>, 'items'> & { items: T[] }> {
  const { page, size, cursor } = query
  if (cursor !== undefined && page > 1) throw problem('page', 'cursorAlone')
  const offset = (page - 1) * size
  if (offset + size > deepestOffset) throw problem('page', 'depth', { limit: deepestOffset })
  const after = cursor === undefined ? undefined : positionOf(cursor, orderBy)
  const count = query.count ?? (after === undefined ? 'exact' : 'none')
  const limits = { range: range?.parse(query), conditions: filter?.parse(query) ?? [] }
  const rows = await find({ orderBy, size, offset, after, count, ...limits }).catch((error: unknown) => {
    throw isForeignPosition(error) ? problem('cursor', 'cursor') : error
  })
  return {
    items: [...rows.items],
    page,
    size,
    total: rows.total,
    counted: rows.total === null ? 'none' : rows.isCapped ? 'capped' : 'exact',
    next: rows.next === null ? null : cursorOf(rows.next, orderBy),
  }
}

export const mapListRows = <T, V>(rows: ListRows<T>, view: (row: T) => V): ListRows<V> => ({
  ...rows,
  items: rows.items.map((row) => view(row)),
})

const problem = (field: string, rule: string, params: Readonly<Record<string, number>> = {}) =>
  new InvalidInput([{ field, rule, params: { field, rule, ...params } }])

/**
 * Returns true if the database rejected the cursor. The error is identified by its code, because this package does not
 * import the database plugin.
 */
const isForeignPosition = (error: unknown) =>
  error instanceof Error && errorCodeOf(error) === 'PLINTH_DATABASE_POSITION'

/**
 * Returns a checksum, which detects damaged cursors and cursors of another sort order. It needs no secret key, because
 * a cursor gives no access to additional rows.
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
    // The cursor is not valid JSON or not a list. It is rejected below.
  }
  throw problem('cursor', 'cursor')
}
