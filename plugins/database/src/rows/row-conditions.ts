import type { EntityName, EntityProperty } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { isSmallInteger } from './columns.ts'
import { propertyOf } from './keyset.ts'

/** A condition that a caller chose for the rows of a list. */
export interface RowCondition {
  readonly property: string
  /**
   * `in`: the value is one of `values`. `gte`, `lte`: the value is at least, or at most, the only one of `values`.
   * `empty`: there is no value, or there is one if `values` contains false.
   */
  readonly operator: 'in' | 'gte' | 'lte' | 'empty'
  /** Times are milliseconds since the epoch. */
  readonly values: readonly (string | number | boolean)[]
}

interface RowConditions {
  /** An index finds the rows in the order of their ids. */
  readonly indexed: readonly object[]
  readonly unindexed: readonly object[]
}

/**
 * Returns conditions of the entity manager. A condition is `indexed` if it allows one value only, and an index begins
 * with the column. For several values or a range, a database would read and sort all matching rows.
 *
 * @throws RangeError for a property that the entity does not have
 */
export function rowConditions<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  conditions: readonly RowCondition[],
): RowConditions {
  const { indexes, uniques, primaryKeys } = em.getMetadata().get<T>(entity)
  const leading = new Set<string>([...indexes, ...uniques].flatMap(({ properties }) => String([properties].flat()[0])))
  leading.add(String(primaryKeys[0]))
  const isIndexed = ({ property, operator, values }: RowCondition) =>
    leading.has(property) && values.length === 1 && (operator === 'in' || (operator === 'empty' && values[0] === true))
  const found = Map.groupBy(conditions, isIndexed)
  const objects = (isWanted: boolean) =>
    (found.get(isWanted) ?? []).map((condition) => conditionOn(propertyOf(em, entity, condition.property), condition))
  return { indexed: objects(true), unindexed: objects(false) }
}

const smallest = -(2 ** 31)
const largest = 2 ** 31 - 1
/** Latest time that all supported databases can store. */
const latestTime = Date.UTC(9999, 11, 31)
const within = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max)

/** PostgreSQL rejects numbers that a 32-bit column cannot store, and databases differ in the times that they accept. */
function conditionOn(column: EntityProperty, { property, operator, values }: RowCondition): object {
  const isTime = column.runtimeType === 'Date'
  const isSmall = isSmallInteger(column.customType?.constructor)
  const fits = (value: unknown) => !isSmall || (Number(value) >= smallest && Number(value) <= largest)
  const bound = (value: string | number | boolean | undefined) =>
    isTime ? new Date(within(Number(value), 0, latestTime)) : value
  const [value] = values
  switch (operator) {
    case 'in':
      return { [property]: { $in: values.filter(fits).map(bound) } }
    case 'empty':
      return { [property]: value === true ? null : { $ne: null } }
    case 'gte':
      return { [property]: fits(value) ? { $gte: bound(value) } : Number(value) < 0 ? { $ne: null } : { $in: [] } }
    case 'lte':
      return { [property]: fits(value) ? { $lte: bound(value) } : Number(value) > 0 ? { $ne: null } : { $in: [] } }
  }
}
