import type { Database } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import { columnOf, type Entity, type Exactly, type RowChanges, type RowOf, tableOf } from './row-table.ts'
import { assignments, expressionOf, type WithSqlValues } from './sql-value.ts'

/** New values of some columns. */
export type Changes<E extends Entity> = WithSqlValues<RowChanges<E>>

/**
 * Gives rows new values under a condition, in one statement.
 *
 * @param where values that the row must have; null: the column must be null
 * @param changes `plus(by)` adds to a number; `sqlValue` is an expression
 * @returns rows affected: 0 when no row meets the condition
 * @throws TypeError for `undefined`, and as `Database.execute` does
 */
export function updateRows<E extends Entity, Where extends Partial<RowOf<E>>, Given extends Changes<E>>(
  db: Pick<Database, 'execute'>,
  entity: E,
  where: Exactly<Where, RowOf<E>>,
  changes: Exactly<Given, RowOf<E>>,
): Promise<number> {
  const table = tableOf(entity)
  const parameters: Parameter[] = []
  const set = assignments(table, changes, parameters).map(([column, value]) => `${column} = ${value}`)
  const conditions = Object.entries(where).map(([property, value]) => {
    const column = columnOf(table, property)
    if (value === undefined) throw new TypeError(`${table.name}: the condition for ${property} is undefined.`)
    return value === null ? `${column.name} is null` : `${column.name} = ${expressionOf(parameters, column, value)}`
  })
  return db.execute(`update ${table.name} set ${set.join(', ')} where ${conditions.join(' and ')}`, parameters)
}
