import type { EntityName, EntityProperty } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { firstIdAt } from './id-source.ts'

/** A time that rows are of. */
export interface MomentRange {
  /** Property that contains the moment of a row. */
  readonly property: string
  /** Property with the id that a row got at about this moment, within a day. */
  readonly id?: string | undefined
  /** Start, included, milliseconds since the epoch. */
  readonly from?: number | undefined
  /** End, excluded, milliseconds since the epoch. */
  readonly to?: number | undefined
}

/** Maximum difference between the moment of a row and its id: clocks of processes, and moments that wait in a file. */
const slack = 86_400_000

/**
 * Returns the conditions for the rows of a time. The bounds of ids select the part of an index that has the rows. The
 * bounds of the moment decide.
 *
 * @throws RangeError for a property that the entity does not have
 */
export function withinRange<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  range: MomentRange | undefined,
): readonly object[] {
  if (range === undefined) return []
  const { property, id, from, to } = range
  const { properties, className } = em.getMetadata().get<T>(entity)
  const column = (properties as Record<string, EntityProperty | undefined>)[property]
  if (column === undefined) throw new RangeError(`${className} has no property "${property}"`)
  const bound = (ms: number) => (column.runtimeType === 'Date' ? new Date(ms) : ms)
  return [
    ...(from === undefined ? [] : [{ [property]: { $gte: bound(from) } }]),
    ...(to === undefined ? [] : [{ [property]: { $lt: bound(to) } }]),
    ...(id === undefined || from === undefined ? [] : [{ [id]: { $gte: firstIdAt(from - slack) } }]),
    ...(id === undefined || to === undefined ? [] : [{ [id]: { $lt: firstIdAt(to + slack) } }]),
  ]
}
