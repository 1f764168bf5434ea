import { type EntityName, raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { exactInteger } from '../contract.ts'
import { dialectFamilyOf } from './columns.ts'
import { firstIdAt } from './id-source.ts'
import {
  conditionOf,
  cursorPositionOf,
  type IndexScanPart,
  type KeyValue,
  orderByOf,
  parseCursorPosition,
  propertyOf,
  type SortKey,
  type SortProperty,
  sortKeysOf,
  splitIntoIndexScans,
} from './keyset.ts'
import { type RowCondition, rowConditions } from './row-conditions.ts'
import { maxCounted, mustSortCappedCount } from './selection.ts'

/**
 * Text that a row must contain. A to Z match in any case. Other letters match in any case only in columns that store
 * results of `foldText`, because databases differ. There are no wildcards.
 */
export interface TextSearch {
  readonly text: string
  /** Properties of the entity, or of the entity in `of`. JSON is searched as text. */
  readonly properties: readonly string[]
  /**
   * Set it to search the properties of another entity. The property `by` of a row contains the primary key of that
   * entity.
   */
  // biome-ignore lint/suspicious/noExplicitAny: accepts the rows of any entity
  readonly of?: { readonly entity: EntityName<any>; readonly by: string }
}

/**
 * Returns the same result for texts that differ only in case or in compatible characters, like NFKC_Casefold (UAX 31,
 * section 5). This includes letters with several lower-case forms (final sigma, dotless i, sharp s).
 */
export const foldText = (text: string) =>
  text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')

/** Returns true if one of the texts contains `expected`, in any case. Use it for searches in memory. */
export function containsFoldedText(texts: readonly string[], expected: string): boolean {
  const folded = foldText(expected)
  return texts.some((text) => foldText(text).includes(folded))
}

interface SqlText {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/**
 * Returns the condition of a search. `like` is not used, because its wildcards and escapes differ between databases.
 */
function holdsSql<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  { text, properties }: TextSearch,
  alias: string,
): SqlText {
  const family = dialectFamilyOf(em.getPlatform())
  const find = family === 'postgresql' ? 'strpos' : 'instr'
  const type = family === 'mysql' ? 'char' : 'text'
  // SQLite ignores the case only of A to Z, and databases do not replace letters such as sharp s. So several forms are
  // searched.
  const inAscii = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const forms = [...new Set([foldText(text), text.normalize('NFKC').toLowerCase(), inAscii])]
  const terms = properties.flatMap((property) => {
    const [column] = propertyOf(em, entity, property).fieldNames
    return forms.map((form) => ({ sql: `${find}(lower(cast(${alias}.${column} as ${type})), ?) > 0`, form }))
  })
  return { sql: `(${terms.map(({ sql }) => sql).join(' or ')})`, parameters: terms.map(({ form }) => form) }
}

export interface PageWindow {
  /**
   * The first rule has the highest precedence. The primary key is added in the direction of the last rule. Null is the
   * smallest value.
   */
  readonly orderBy: readonly SortProperty[]
  /** Maximum number of rows of the page, at least 1. */
  readonly size: number
  /** Number of rows to skip; 0 if `after` is set. The database reads each skipped row. */
  readonly offset: number
  /** The page starts after this position: the value `next` of an earlier page. */
  readonly after?: readonly KeyValue[] | undefined
  /** How `total` is counted: all rows, at most 10,000 rows, or not at all. */
  readonly count: 'exact' | 'capped' | 'none'
  readonly range?: TimeRange | undefined
  /**
   * A row must meet all of them. If they include more than one value of an indexed column, a page examines at most
   * 20,000 rows, as described for `search`.
   */
  readonly conditions?: readonly RowCondition[]
}

export interface PageOptions<T> {
  readonly exclude?: readonly (keyof T & string)[]
  /**
   * Text that the rows must contain; empty for no restriction. A page examines at most 3,000 rows, because no index
   * supports a search within texts. It may have fewer rows than `size` although more follow. `total` counts matches in
   * the first 3,000 rows. The primary key must be a single column.
   */
  readonly search?: TextSearch | undefined
}

export interface FoundPage<T> {
  readonly items: readonly T[]
  /** Number of matching rows; `null` if the rows were not counted. */
  readonly total: number | null
  /**
   * True if there are more rows than `total`. After a search that has not examined all rows, there may be more rows.
   */
  readonly isCapped: boolean
  /** Position of the last row; `null` if no row follows. */
  readonly next: readonly KeyValue[] | null
}

/** Maximum number of rows that a search examines, and a page with conditions that no index supports. */
const maxSearchedRows = 3_000
const maxFilteredRows = 20_000

interface List<T> extends PageOptions<T> {
  readonly em: SqlEntityManager
  readonly entity: EntityName<T>
  /** Conditions that no index supports. */
  readonly unindexed: readonly object[]
}

/** True if a page examines a limited number of rows. */
const isLimited = <T>({ search, unindexed }: List<T>): boolean => search !== undefined || unindexed.length > 0
const maxExaminedRows = <T>({ search }: List<T>) => (search === undefined ? maxFilteredRows : maxSearchedRows)

/**
 * Returns one page of the rows that match a condition. With an index for the condition and the order, each page costs
 * the same. A caller that follows `next` gets each row exactly once, even if rows are inserted or deleted meanwhile.
 *
 * @throws PlinthError `PLINTH_DATABASE_POSITION` if `after` does not match the order
 * @throws RangeError for a property that the entity does not have
 */
export async function findPage<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  where: object,
  window: PageWindow,
  { search, ...options }: PageOptions<T> = {},
): Promise<FoundPage<T>> {
  const { size, offset, count } = window
  const { indexed, unindexed } = rowConditions(em, entity, window.conditions ?? [])
  const list = { em, entity, ...options, search: search?.text === '' ? undefined : search, unindexed }
  const keys = sortKeysOf(em, entity, window.orderBy)
  const after = window.after && parseCursorPosition(em.getMetadata().get<T>(entity).className, keys, window.after)
  const conditions = [where, ...indexed, ...timeRangeConditions(em, entity, window.range)]
  const { found, end } = await walk(
    list,
    splitIntoIndexScans({ where: conditions, keys, after }),
    size + 1,
    offset,
    keys,
  )
  const items = found.slice(0, size)
  const last = items.at(-1)
  const next = found.length > size && last !== undefined ? cursorPositionOf(last, keys) : end
  if (count === 'none') return { items, total: null, isCapped: false, next }
  // On the last page, the total number is known without counting.
  const isEnd = after === undefined && found.length <= size && (offset === 0 || items.length > 0)
  // If the page stopped early, the total contains only the examined rows.
  if (isEnd) return { items, total: offset + items.length, isCapped: next !== null, next }
  return { items, next, ...(await counted(list, { where: conditions, keys }, count)) }
}

/** Returns rows after an offset. `end` is set if a limited page stopped before the end of the list. */
async function walk<T extends object>(
  list: List<T>,
  stretches: readonly IndexScanPart[],
  expected: number,
  offset: number,
  keys: readonly SortKey[],
): Promise<{ readonly found: readonly T[]; readonly end: readonly KeyValue[] | null }> {
  const { em, entity, exclude } = list
  const found: T[] = []
  let left = offset
  for (const stretch of stretches) {
    const where = isLimited(list) ? amongExamined(list, stretch) : conditionOf(em, stretch)
    const rows = (await em.find(entity, where, {
      ...(exclude === undefined ? {} : { exclude: exclude as never }),
      orderBy: orderByOf<T>(em, stretch),
      limit: expected - found.length,
      offset: left,
    })) as T[]
    found.push(...rows)
    if (found.length === expected) break
    const last = isLimited(list) ? await lastExamined(list, stretch, keys) : undefined
    if (last !== undefined) return { found, end: cursorPositionOf(last, keys) }
    if (left > 0) left = rows.length > 0 ? 0 : left - (await em.count(entity, where))
  }
  return { found, end: null }
}

/** Returns the last row that a limited page examines; `undefined` if no rows follow it. */
async function lastExamined<T extends object>(list: List<T>, stretch: IndexScanPart, keys: readonly SortKey[]) {
  const { em, entity } = list
  const [last, another] = await em.find(entity, conditionOf(em, stretch), {
    fields: keys.map(({ property }) => property) as never,
    orderBy: orderByOf<T>(em, stretch),
    limit: 2,
    offset: maxExaminedRows(list) - 1,
  })
  return another === undefined ? undefined : (last as object)
}

/** Returns a condition for examined rows that contain the text and meet the conditions. */
function amongExamined<T extends object>(list: List<T>, stretch: IndexScanPart): object {
  const { em, entity, search, unindexed } = list
  const { primaryKeys } = em.getMetadata().get<T>(entity)
  if (primaryKeys.length > 1) throw new RangeError('A limited page needs a primary key of one column')
  const id = primaryKeyOf(em, entity)
  const { columns, holds } = searchedText(list, search)
  const rows = em
    .createQueryBuilder(entity, 'e')
    .select([...new Set<string>([...primaryKeys, ...columns])] as never)
    .where(conditionOf(em, stretch))
    .orderBy(orderByOf<T>(em, stretch))
    .limit(maxExaminedRows(list))
  const text = (alias: string) =>
    `${alias}.${id} in (select looked.${id} from (${rows.getQuery()}) as looked where ${holds.sql})`
  return { $and: [{ [raw(text, [...bindable(em, rows.getParams()), ...holds.parameters])]: [] }, ...unindexed] }
}

/**
 * Returns the columns that a search reads, and its condition. Another table is searched with a subquery, because for a
 * join PostgreSQL might read the whole other table.
 */
function searchedText<T extends object>(
  { em, entity }: Pick<List<T>, 'em' | 'entity'>,
  search: TextSearch | undefined,
): { readonly columns: readonly string[]; readonly holds: SqlText } {
  if (search === undefined) return { columns: [], holds: { sql: '1 = 1', parameters: [] } }
  const { of } = search
  if (of === undefined) return { columns: search.properties, holds: holdsSql(em, entity, search, 'looked') }
  const [column] = propertyOf(em, entity, of.by).fieldNames
  const { tableName } = em.getMetadata().get(of.entity)
  const { sql, parameters } = holdsSql(em, of.entity, search, 'held')
  const requested = `(select ${sql} from ${tableName} held where held.${primaryKeyOf(em, of.entity)} = looked.${column})`
  return { columns: [of.by], holds: { sql: requested, parameters } }
}

function primaryKeyOf<T extends object>(em: SqlEntityManager, entity: EntityName<T>): string {
  const { properties, primaryKeys } = em.getMetadata().get<T>(entity)
  const [id] = primaryKeys.map((key) => properties[key].fieldNames[0])
  return String(id)
}

const bindable = (em: SqlEntityManager, parameters: readonly unknown[]) =>
  parameters.map((value) => (value instanceof Date ? em.getPlatform().processDateProperty(value) : value))

async function counted<T extends object>(list: List<T>, whole: IndexScanPart, count: 'exact' | 'capped') {
  const { em, entity } = list
  if (!isLimited(list) && count === 'exact') {
    return { total: await em.count(entity, conditionOf(em, whole)), isCapped: false }
  }
  const isInOrder = isLimited(list) || mustSortCappedCount(dialectFamilyOf(em.getPlatform()))
  let total = 0
  let isCapped = false
  for (const stretch of isInOrder ? splitIntoIndexScans(whole) : [whole]) {
    if (isLimited(list)) {
      total += await em.count(entity, amongExamined(list, stretch))
      isCapped ||= (await lastExamined(list, stretch, whole.keys)) !== undefined
    } else total += await countUpToCap(list, stretch, isInOrder)
    if (total > maxCounted) break
  }
  return { total: Math.min(total, maxCounted), isCapped: isCapped || total > maxCounted }
}

async function countUpToCap<T extends object>(
  { em, entity }: List<T>,
  stretch: IndexScanPart,
  isInOrder: boolean,
): Promise<number> {
  const rows = em
    .createQueryBuilder(entity, 'e')
    .select(raw('1 as one') as never)
    .where(conditionOf(em, stretch))
    .limit(maxCounted + 1)
  if (isInOrder) rows.orderBy(orderByOf<T>(em, stretch))
  const sql = `select count(*) as total from (${rows.getQuery()}) as looked`
  const [row] = await em.execute<{ total: unknown }[]>(sql, [...rows.getParams()])
  return exactInteger(row?.total)
}

export interface TimeRange {
  /** Property that contains the time of a row. */
  readonly property: string
  /** Property with an id of the row. The id must have been created within a day of the time in `property`. */
  readonly id?: string | undefined
  /** Start in milliseconds since the epoch; this time is included. */
  readonly from?: number | undefined
  /** End in milliseconds since the epoch; this time is excluded. */
  readonly to?: number | undefined
}

/**
 * Maximum milliseconds between the time of a row and of its id. Clocks differ, and rows may wait in a file before they
 * are stored.
 */
const slack = 86_400_000

/**
 * Returns the conditions for a time range. The range of ids lets the database use an index. The range of times is
 * exact.
 *
 * @throws RangeError for a property that the entity does not have
 */
function timeRangeConditions<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  range: TimeRange | undefined,
): readonly object[] {
  if (range === undefined) return []
  const { property, id, from, to } = range
  const column = propertyOf(em, entity, property)
  const bound = (ms: number) => (column.runtimeType === 'Date' ? new Date(ms) : ms)
  return [
    ...(from === undefined ? [] : [{ [property]: { $gte: bound(from) } }]),
    ...(to === undefined ? [] : [{ [property]: { $lt: bound(to) } }]),
    ...(id === undefined || from === undefined ? [] : [{ [id]: { $gte: firstIdAt(from - slack) } }]),
    ...(id === undefined || to === undefined ? [] : [{ [id]: { $lt: firstIdAt(to + slack) } }]),
  ]
}
