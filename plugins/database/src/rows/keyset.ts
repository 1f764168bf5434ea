import { type EntityName, type EntityProperty, type QueryOrderMap, raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { databaseError } from '../errors.ts'
import { dialectFamilyOf, isSmallInteger } from './columns.ts'

/** Value of a sort column. Times are milliseconds since the epoch. */
export type KeyValue = string | number | boolean | null

export interface SortProperty {
  /** Property to sort by. Its values must be short enough for a cursor. */
  readonly property: string
  readonly direction: 'asc' | 'desc'
}

type Position = KeyValue | Date

export interface SortKey extends SortProperty {
  readonly column: EntityProperty
  /** False if each row has a value, or if a condition excludes rows without a value. */
  readonly isNullable: boolean
}

/** Part of a sorted result that one index scan can return. */
export interface IndexScanPart {
  readonly where: readonly object[]
  readonly keys: readonly SortKey[]
  /** Position of the row before the first row of the part. */
  readonly after?: readonly Position[] | undefined
}

/** Latest time that all supported databases can store. */
const latestTime = Date.UTC(9999, 11, 31)
const largestInt = 2 ** 31 - 1
const isSafeInteger = (value: unknown): value is number => Number.isSafeInteger(value)

/** @throws RangeError for a property that the entity does not have */
export function propertyOf<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  name: string,
): EntityProperty {
  const { props, className } = em.getMetadata().get<T>(entity)
  const property = props.find((one) => one.name === name)
  if (property === undefined) throw new RangeError(`${className} has no property "${name}"`)
  return property
}

/**
 * Returns the sort columns up to the first unique combination. Further columns are omitted, because MySQL cannot use a
 * unique index to sort by them.
 */
export function sortKeysOf<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  orderBy: readonly SortProperty[],
): readonly SortKey[] {
  const { primaryKeys, uniques } = em.getMetadata().get<T>(entity)
  const unique = uniques.map(({ properties }) => [properties ?? []].flat().map(String))
  const direction = orderBy.at(-1)?.direction ?? 'asc'
  const ties = primaryKeys.map((property) => ({ property: String(property), direction }))
  const keys = new Map<string, SortKey>()
  for (const rule of [...orderBy, ...ties]) {
    const column = propertyOf(em, entity, rule.property)
    if (ties.every(({ property }) => keys.has(property))) break
    const isNullable = column.nullable === true
    if (!keys.has(rule.property)) keys.set(rule.property, { ...rule, column, isNullable })
    if (unique.some((columns) => columns.length > 0 && columns.every((name) => keys.get(name)?.isNullable === false)))
      break
  }
  return [...keys.values()]
}

/**
 * Checks a position that the caller sent, and converts its values.
 *
 * @throws PlinthError `PLINTH_DATABASE_POSITION` if it does not match the columns
 */
export function parseCursorPosition(
  entity: string,
  keys: readonly SortKey[],
  after: readonly KeyValue[],
): readonly Position[] {
  const reject = (reason: string): never => {
    throw databaseError('PLINTH_DATABASE_POSITION', { entity, reason })
  }
  if (after.length !== keys.length) reject('the number of its values differs')
  return keys.map(({ column, property }, index) => {
    const value = after[index] ?? null
    if (!fits(column, value)) reject(`"${property}" has a different type`)
    return column.runtimeType === 'Date' && typeof value === 'number' ? new Date(value) : value
  })
}

export function cursorPositionOf(row: object, keys: readonly SortKey[]): readonly KeyValue[] {
  return keys.map(({ property }) => {
    const value: Position | undefined = Object(row)[property]
    return value instanceof Date ? value.getTime() : (value ?? null)
  })
}

/**
 * Splits a sorted result into parts that one index scan can return. Rows with null in the first column are a separate
 * part, because databases sort null differently, and an index scan from a value does not include null.
 */
export function splitIntoIndexScans(whole: IndexScanPart): readonly IndexScanPart[] {
  const { where, keys, after } = whole
  const [key, ...later] = keys
  if (key?.isNullable !== true) return [whole]
  const isUp = key.direction === 'asc'
  const isAtNull = after?.[0] === null
  const isAtValue = after !== undefined && !isAtNull
  const without = splitIntoIndexScans({
    where: [...where, { [key.property]: null }],
    keys: later,
    after: isAtNull ? after.slice(1) : undefined,
  })
  const withValue: IndexScanPart = {
    where: [...where, { [key.property]: { $ne: null } }],
    keys: [{ ...key, isNullable: false }, ...later],
    after: isAtValue ? after : undefined,
  }
  if (isUp) return isAtValue ? [withValue] : [...without, withValue]
  return isAtNull ? without : [withValue, ...without]
}

export const orderByOf = <T>(em: SqlEntityManager, { keys }: IndexScanPart) =>
  keys.map((key) => ({ [key.property]: directionOf(em, key) })) as QueryOrderMap<T>[]

/** Sorts null before all other values. Only PostgreSQL treats null as the largest value. */
function directionOf(em: SqlEntityManager, { direction, isNullable }: SortKey): string {
  if (!isNullable || dialectFamilyOf(em.getPlatform()) !== 'postgresql') return direction
  return direction === 'asc' ? 'asc nulls first' : 'desc nulls last'
}

export function conditionOf(em: SqlEntityManager, { where, keys, after }: IndexScanPart): object {
  const [key] = keys
  const [start] = after ?? []
  if (after === undefined || key === undefined || start === undefined) return { $and: where }
  // This condition comes first, because SQLite starts its index scan at the first of two conditions on a column. The
  // other condition may start much earlier.
  if (isOneSeek(em, keys)) return { $and: [rowBehind(em, keys, after), ...where] }
  return { $and: [...where, bound(key, start), stepsBehind(keys, after)] }
}

/**
 * Returns true if `(a, b) > (?, ?)` can express the position. It is false on MySQL, which would read the whole index
 * for such a condition.
 */
const isOneSeek = (em: SqlEntityManager, keys: readonly SortKey[]) =>
  dialectFamilyOf(em.getPlatform()) !== 'mysql' &&
  keys.every(({ direction, isNullable }) => direction === keys[0]?.direction && !isNullable)

function rowBehind(em: SqlEntityManager, keys: readonly SortKey[], values: readonly Position[]): object {
  const platform = em.getPlatform()
  const names = keys.map(({ column }) => platform.quoteIdentifier(String(column.fieldNames[0])))
  const operator = keys[0]?.direction === 'desc' ? '<' : '>'
  const text = (alias: string) =>
    `(${names.map((name) => `${alias}.${name}`).join(', ')}) ${operator} (${names.map(() => '?').join(', ')})`
  const bound = values.map((value) => (value instanceof Date ? platform.processDateProperty(value) : value))
  return { [raw(text, bound)]: [] }
}

/**
 * Returns a simple condition at which databases start their index scan. With the exact condition of `stepsBehind`
 * alone, they would read the whole index.
 */
function bound({ property, direction }: SortKey, value: Position): object {
  return { [property]: { [direction === 'asc' ? '$gte' : '$lte']: value } }
}

/** Returns `a > ? or (a = ? and (b > ? or ...))`. Null comes before all values. */
function stepsBehind(keys: readonly SortKey[], values: readonly Position[]): object {
  const [key, ...laterKeys] = keys
  const [value, ...laterValues] = values
  if (key === undefined || value === undefined) return {}
  const { property, direction, isNullable } = key
  const isUp = direction === 'asc'
  const beyond =
    value === null
      ? isUp && [{ [property]: { $ne: null } }]
      : [{ [property]: { [isUp ? '$gt' : '$lt']: value } }, ...(!isUp && isNullable ? [{ [property]: null }] : [])]
  const same = laterKeys.length > 0 && [{ $and: [{ [property]: value }, stepsBehind(laterKeys, laterValues)] }]
  return { $or: [...(beyond || []), ...(same || [])] }
}

/**
 * Returns true if the value has the type of the column. Callers may change cursors, and servers reject values of
 * another type.
 */
function fits({ runtimeType, customType, nullable }: EntityProperty, value: unknown): boolean {
  if (value === null) return nullable === true
  if (runtimeType === 'Date') return isSafeInteger(value) && value >= 0 && value <= latestTime
  if (runtimeType === 'number') {
    return isSafeInteger(value) && (!isSmallInteger(customType?.constructor) || Math.abs(value) <= largestInt)
  }
  if (runtimeType === 'string') return typeof value === 'string' && !value.includes('\0')
  return typeof value === runtimeType
}
