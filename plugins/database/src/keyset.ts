import { type EntityName, type EntityProperty, raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { familyOf } from './columns.ts'
import { exactInteger } from './contract.ts'
import { databaseError } from './errors.ts'

/** A value that rows are ordered by. A time is its milliseconds since 1970. */
export type KeyValue = string | number | boolean | null

export interface SortedBy {
  /** Property of the entity; its column must be short enough to travel in a cursor. */
  readonly property: string
  readonly direction: 'asc' | 'desc'
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

export interface FoundPage<T> {
  readonly items: readonly T[]
  /** Rows that fulfil the condition; `null` when they were not counted. */
  readonly total: number | null
  /** True when there are more than `total`. */
  readonly isCapped: boolean
  /** Position of the last row, `null` when no row follows. */
  readonly next: readonly KeyValue[] | null
}

/** Rows that a capped count counts. */
const countCap = 10_000
/** Times that all databases know. */
const latestTime = Date.UTC(9999, 11, 31)
const largestInt = 2 ** 31 - 1

type Position = KeyValue | Date

interface Key {
  readonly property: string
  readonly direction: 'asc' | 'desc'
  readonly column: EntityProperty
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
  options: { readonly exclude?: readonly (keyof T & string)[] } = {},
): Promise<FoundPage<T>> {
  const { size, offset, after, count } = window
  const keys = keysOf(em, entity, window.orderBy)
  const conditions = after === undefined ? [where] : [where, behind(em, entity, keys, after)]
  const found = (await em.find(entity, { $and: conditions } as never, {
    ...(options.exclude === undefined ? {} : { exclude: options.exclude as never }),
    orderBy: keys.map((key) => ({ [key.property]: orderOf(em, key) })) as never,
    limit: size + 1,
    offset,
  })) as T[]
  const items = found.slice(0, size)
  const last = items.at(-1)
  const next = found.length > size && last !== undefined ? keys.map(({ property }) => keyValue(last, property)) : null
  if (count === 'none') return { items, total: null, isCapped: false, next }
  // The last page of all says how many there are.
  const isEnd = after === undefined && next === null && (offset === 0 || items.length > 0)
  const total = isEnd ? offset + items.length : await countRows(em, entity, where, count)
  const isCapped = count === 'capped' && total > countCap
  return { items, total: isCapped ? countCap : total, isCapped, next }
}

function keysOf<T extends object>(em: SqlEntityManager, entity: EntityName<T>, orderBy: readonly SortedBy[]): Key[] {
  const { properties, primaryKeys, className } = em.getMetadata().get<T>(entity)
  const direction = orderBy.at(-1)?.direction ?? 'asc'
  const ties = primaryKeys.map((property) => ({ property: String(property), direction }))
  const keys = new Map<string, Key>()
  for (const rule of [...orderBy, ...ties]) {
    const column = (properties as Record<string, EntityProperty | undefined>)[rule.property]
    if (column === undefined) throw new RangeError(`${className} has no property "${rule.property}"`)
    if (ties.every(({ property }) => keys.has(property))) break
    if (!keys.has(rule.property)) keys.set(rule.property, { ...rule, column })
  }
  return [...keys.values()]
}

/** PostgreSQL alone takes null for the largest value. */
function orderOf(em: SqlEntityManager, { direction, column }: Key): string {
  if (!column.nullable || familyOf(em.getPlatform()) !== 'postgresql') return direction
  return direction === 'asc' ? 'asc nulls first' : 'desc nulls last'
}

function keyValue(row: object, property: string): KeyValue {
  const value = (row as Readonly<Record<string, unknown>>)[property]
  return value instanceof Date ? value.getTime() : ((value ?? null) as KeyValue)
}

/** Condition for the rows behind a position. */
function behind<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  keys: readonly Key[],
  after: readonly KeyValue[],
): object {
  const refuse = (reason: string): never => {
    throw databaseError('PLINTH_DATABASE_POSITION', { entity: em.getMetadata().get(entity).className, reason })
  }
  if (after.length !== keys.length) refuse('it has another number of values')
  const values = after.map((value, index) => {
    const { column, property } = keys[index] as Key
    if (!fits(column, value)) refuse(`"${property}" is of another type`)
    return column.runtimeType === 'Date' && value !== null ? new Date(value as number) : value
  })
  if (isOneSeek(em, keys)) return rowBehind(em, keys, values)
  return { $and: [bound(keys[0] as Key, values[0] as Position), stepsBehind(keys, values)] }
}

/** `(a, b) > (?, ?)` is one seek of an index on SQLite and PostgreSQL; MySQL reads the whole index for it. */
const isOneSeek = (em: SqlEntityManager, keys: readonly Key[]) =>
  familyOf(em.getPlatform()) !== 'mysql' &&
  keys.every(({ direction, column }) => direction === keys[0]?.direction && !column.nullable)

function rowBehind(em: SqlEntityManager, keys: readonly Key[], values: readonly Position[]): object {
  const platform = em.getPlatform()
  const names = keys.map(({ column }) => platform.quoteIdentifier(column.fieldNames[0] as string))
  const operator = keys[0]?.direction === 'desc' ? '<' : '>'
  const text = (alias: string) =>
    `(${names.map((name) => `${alias}.${name}`).join(', ')}) ${operator} (${names.map(() => '?').join(', ')})`
  const bound = values.map((value) => (value instanceof Date ? platform.processDateProperty(value) : value))
  return { [raw(text, bound)]: [] }
}

/** Says once more where the rows begin: databases read an index from there, and of alternatives they would read all. */
function bound({ property, direction, column }: Key, value: Position): object {
  if (value === null || (direction === 'desc' && column.nullable)) return {}
  return { [property]: { [direction === 'asc' ? '$gte' : '$lte']: value } }
}

/** `a > ? or (a = ? and (b > ? or ...))`, with null before all values. */
function stepsBehind(keys: readonly Key[], values: readonly Position[]): object {
  const [key, ...laterKeys] = keys
  const [value, ...laterValues] = values
  if (key === undefined || value === undefined) return {}
  const { property, direction, column } = key
  const isUp = direction === 'asc'
  const beyond =
    value === null
      ? isUp && [{ [property]: { $ne: null } }]
      : [{ [property]: { [isUp ? '$gt' : '$lt']: value } }, ...(!isUp && column.nullable ? [{ [property]: null }] : [])]
  const same = laterKeys.length > 0 && [{ $and: [{ [property]: value }, stepsBehind(laterKeys, laterValues)] }]
  return { $or: [...(beyond || []), ...(same || [])] }
}

/** Whether a value can be compared with a column: a cursor is the caller's, and servers refuse what has another type. */
function fits({ runtimeType, type, nullable }: EntityProperty, value: unknown): boolean {
  if (value === null) return nullable === true
  if (runtimeType === 'Date')
    return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= latestTime
  if (runtimeType === 'number') {
    return Number.isSafeInteger(value) && (type !== 'integer' || Math.abs(value as number) <= largestInt)
  }
  if (runtimeType === 'string') return typeof value === 'string' && !value.includes('\0')
  return typeof value === runtimeType
}

async function countRows<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  where: object,
  count: 'exact' | 'capped',
): Promise<number> {
  if (count === 'exact') return em.count(entity, where as never)
  const rows = em
    .createQueryBuilder(entity, 'e')
    .select(raw('1 as one') as never)
    .where(where as never)
    .limit(countCap + 1)
  const sql = `select count(*) as total from (${rows.getQuery()}) as counted`
  const [row] = await em.execute<{ total: unknown }[]>(sql, rows.getParams() as unknown[])
  return exactInteger(row?.total)
}
