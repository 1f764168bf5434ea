import { type EntityName, raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { exactInteger } from '../contract.ts'
import { familyOf } from './columns.ts'
import {
  conditionOf,
  type Key,
  type KeyValue,
  keysOf,
  orderOf,
  positionIn,
  positionOf,
  type SortedBy,
  type Stretch,
  stretchesOf,
} from './keyset.ts'
import { countsInOrder, mostCounted } from './selection.ts'

/**
 * Text that a row must hold in one of its columns, anywhere in it. Letters A to Z count in any case; all others do in columns
 * that hold `foldText` of their text, because databases fold differently. There are no wild cards.
 */
export interface TextSearch {
  readonly text: string
  /** Properties of the entity, or of the one in `of`; of JSON its text counts. */
  readonly properties: readonly string[]
  /** Another entity that has the properties: the property `by` of the rows holds its primary key. */
  // biome-ignore lint/suspicious/noExplicitAny: the rows of any entity
  readonly of?: { readonly entity: EntityName<any>; readonly by: string }
}

/**
 * The form in which texts are equal that differ in case or compatible characters alone, in the way of NFKC_Casefold (UAX 31,
 * 5): also where a case has several small letters (final sigma, dotless i, sharp s).
 */
export const foldText = (text: string) =>
  text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')

/** Whether one of the texts holds another, folded: the search of lists that lie in memory. */
export function holdsText(texts: readonly string[], wanted: string): boolean {
  const folded = foldText(wanted)
  return texts.some((text) => foldText(text).includes(folded))
}

interface SqlText {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** Condition of a search. A function and not `like`, whose wild cards and escapes differ between databases. */
function holdsSql<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  { text, properties }: TextSearch,
  alias: string,
): SqlText {
  const family = familyOf(em.getPlatform())
  const find = family === 'postgresql' ? 'strpos' : 'instr'
  const type = family === 'mysql' ? 'char' : 'text'
  const { properties: columns } = em.getMetadata().get<T>(entity)
  // What the database folds keeps letters that folding as a whole replaces, such as sharp s; SQLite folds A to Z alone.
  const inAscii = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const forms = [...new Set([foldText(text), text.normalize('NFKC').toLowerCase(), inAscii])]
  const terms = properties.flatMap((property) => {
    const [column] = (columns as Readonly<Record<string, { fieldNames: string[] }>>)[property]?.fieldNames ?? []
    return forms.map((form) => ({ sql: `${find}(lower(cast(${alias}.${column} as ${type})), ?) > 0`, form }))
  })
  return { sql: `(${terms.map(({ sql }) => sql).join(' or ')})`, parameters: terms.map(({ form }) => form) }
}

/** Which rows of a list are wanted. */
export interface PageWindow {
  /**
   * In order of precedence. Ties are broken by the primary key, in the direction of the last rule; null counts as smaller
   * than any value, on every database.
   */
  readonly orderBy: readonly SortedBy[]
  /** Rows at most, 1 or more. */
  readonly size: number
  /** Rows to skip; the database reads each of them. 0 with `after`. */
  readonly offset: number
  /** Begins after this position, which an earlier page answered as `next`. */
  readonly after?: readonly KeyValue[] | undefined
  /** What `total` costs: all rows are counted, at most 10,000, or none. */
  readonly count: 'exact' | 'capped' | 'none'
}

export interface PageOptions<T> {
  /** Properties that are not read. */
  readonly exclude?: readonly (keyof T & string)[]
  /**
   * Text that the rows must hold; all rows when it is empty. No index answers it, so a page looks at 3,000 rows of its order
   * at most: it may have fewer rows than its size although `next` goes on. `total` counts those of the first 3,000, also
   * for `exact`. The entity has one primary key.
   */
  readonly search?: TextSearch | undefined
}

export interface FoundPage<T> {
  readonly items: readonly T[]
  /** Rows that fulfil the condition; `null` when they were not counted. */
  readonly total: number | null
  /** True when there are, or after a search may be, more than `total`. */
  readonly isCapped: boolean
  /** Position that the page reached, `null` when no row follows. */
  readonly next: readonly KeyValue[] | null
}

/** Rows that a search looks at: a page of many costs at most three times that of a thousand. */
const searched = 3_000

interface List<T> extends PageOptions<T> {
  readonly em: SqlEntityManager
  readonly entity: EntityName<T>
}

/**
 * One page of the rows of an entity that fulfil a condition. A page after a position costs the same wherever it lies, as
 * long as an index of the condition's columns and the order exists, and a walk along `next` meets every row that stays
 * exactly once, whatever is inserted and removed meanwhile.
 *
 * @throws PlinthError `PLINTH_DATABASE_POSITION` when `after` is no position in this order; RangeError for a property that
 *   the entity does not have
 */
export async function findPage<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  where: object,
  window: PageWindow,
  { search, ...options }: PageOptions<T> = {},
): Promise<FoundPage<T>> {
  const { size, offset, count } = window
  const list = { em, entity, ...options, search: search?.text === '' ? undefined : search }
  const keys = keysOf(em, entity, window.orderBy)
  const after = window.after && positionOf(em.getMetadata().get<T>(entity).className, keys, window.after)
  const { found, end } = await walk(list, stretchesOf({ where: [where], keys, after }), size + 1, offset, keys)
  const items = found.slice(0, size)
  const last = items.at(-1)
  const next = found.length > size && last !== undefined ? positionIn(last, keys) : end
  if (count === 'none') return { items, total: null, isCapped: false, next }
  // The last page of all says how many there are.
  const isEnd = after === undefined && found.length <= size && (offset === 0 || items.length > 0)
  // A search that stopped before has counted what it looked at.
  if (isEnd) return { items, total: offset + items.length, isCapped: next !== null, next }
  return { items, next, ...(await counted(list, { where: [where], keys }, count)) }
}

/** The first rows behind an offset. `end` is where a search stopped short of the end of the list. */
async function walk<T extends object>(
  list: List<T>,
  stretches: readonly Stretch[],
  wanted: number,
  offset: number,
  keys: readonly Key[],
): Promise<{ readonly found: readonly T[]; readonly end: readonly KeyValue[] | null }> {
  const { em, entity, exclude, search } = list
  const found: T[] = []
  let left = offset
  for (const stretch of stretches) {
    const where = search === undefined ? conditionOf(em, stretch) : holdingText(list, search, stretch)
    const rows = (await em.find(entity, where as never, {
      ...(exclude === undefined ? {} : { exclude: exclude as never }),
      orderBy: orderOf(em, stretch) as never,
      limit: wanted - found.length,
      offset: left,
    })) as T[]
    found.push(...rows)
    if (found.length === wanted) break
    const last = search === undefined ? undefined : await lastLookedAt(list, stretch, keys)
    if (last !== undefined) return { found, end: positionIn(last, keys) }
    if (left > 0) left = rows.length > 0 ? 0 : left - (await em.count(entity, conditionOf(em, stretch) as never))
  }
  return { found, end: null }
}

/** The row that a search ends at, if others follow. */
async function lastLookedAt<T extends object>({ em, entity }: List<T>, stretch: Stretch, keys: readonly Key[]) {
  const [last, another] = await em.find(entity, conditionOf(em, stretch) as never, {
    fields: keys.map(({ property }) => property) as never,
    orderBy: orderOf(em, stretch) as never,
    limit: 2,
    offset: searched - 1,
  })
  return another === undefined ? undefined : (last as object)
}

/** Condition for those of the rows looked at that hold the text. */
function holdingText<T extends object>({ em, entity }: List<T>, search: TextSearch, stretch: Stretch): object {
  const { primaryKeys } = em.getMetadata().get<T>(entity)
  const id = primaryKeyOf(em, entity)
  const { columns, holds } = searchedText({ em, entity }, search)
  const rows = em
    .createQueryBuilder(entity, 'e')
    .select([...new Set<string>([...primaryKeys, ...columns])] as never)
    .where(conditionOf(em, stretch) as never)
    .orderBy(orderOf(em, stretch) as never)
    .limit(searched)
  const text = (alias: string) =>
    `${alias}.${id} in (select looked.${id} from (${rows.getQuery()}) as looked where ${holds.sql})`
  return { [raw(text, [...bindable(em, rows.getParams()), ...holds.parameters])]: [] }
}

/**
 * Where the text of a search lies: in the rows that are looked at, or in rows of another table that they name. Those are asked
 * row by row: for a join PostgreSQL may read the whole other table first.
 */
function searchedText<T extends object>(
  { em, entity }: Pick<List<T>, 'em' | 'entity'>,
  search: TextSearch,
): { readonly columns: readonly string[]; readonly holds: SqlText } {
  const { of } = search
  if (of === undefined) return { columns: search.properties, holds: holdsSql(em, entity, search, 'looked') }
  const { properties } = em.getMetadata().get<T>(entity)
  const [column] = (properties as Readonly<Record<string, { fieldNames: string[] }>>)[of.by]?.fieldNames ?? []
  const { tableName } = em.getMetadata().get(of.entity)
  const { sql, parameters } = holdsSql(em, of.entity, search, 'held')
  const asked = `(select ${sql} from ${tableName} held where held.${primaryKeyOf(em, of.entity)} = looked.${column})`
  return { columns: [of.by], holds: { sql: asked, parameters } }
}

function primaryKeyOf<T extends object>(em: SqlEntityManager, entity: EntityName<T>): string {
  const { properties, primaryKeys } = em.getMetadata().get<T>(entity)
  const [id] = primaryKeys.map((key) => properties[key].fieldNames[0] as string)
  return String(id)
}

const bindable = (em: SqlEntityManager, parameters: readonly unknown[]) =>
  parameters.map((value) => (value instanceof Date ? em.getPlatform().processDateProperty(value) : value))

async function counted<T extends object>(list: List<T>, whole: Stretch, count: 'exact' | 'capped') {
  const { em, entity, search } = list
  if (search === undefined && count === 'exact') {
    return { total: await em.count(entity, conditionOf(em, whole) as never), isCapped: false }
  }
  const isInOrder = search !== undefined || countsInOrder(familyOf(em.getPlatform()))
  let total = 0
  let isCapped = false
  for (const stretch of isInOrder ? stretchesOf(whole) : [whole]) {
    const part = await countUpToCap(list, stretch, isInOrder)
    total += part.total
    isCapped ||= part.isCapped
    if (total > mostCounted) break
  }
  return { total: Math.min(total, mostCounted), isCapped: isCapped || total > mostCounted }
}

async function countUpToCap<T extends object>({ em, entity, search }: List<T>, stretch: Stretch, isInOrder: boolean) {
  const all = { columns: raw('1 as one'), holds: { sql: '1 = 1', parameters: [] } }
  const { columns, holds } = search === undefined ? all : searchedText({ em, entity }, search)
  const most = search === undefined ? mostCounted + 1 : searched
  const rows = em
    .createQueryBuilder(entity, 'e')
    .select(columns as never)
    .where(conditionOf(em, stretch) as never)
    .limit(most)
  if (isInOrder) rows.orderBy(orderOf(em, stretch) as never)
  const sql = `select count(*) as looked, count(case when ${holds.sql} then 1 end) as total
    from (${rows.getQuery()}) as looked`
  const [row] = await em.execute<{ looked: unknown; total: unknown }[]>(sql, [...holds.parameters, ...rows.getParams()])
  return { total: exactInteger(row?.total), isCapped: exactInteger(row?.looked) === most }
}
