import { type Database, exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'

/**
 * Whether rows that are counted up to a cap are asked for in the order of their index. Without one PostgreSQL may read the
 * table itself until it has met as many; with one MariaDB may sort all that another index finds.
 */
export const countsInOrder = (dialect: string) => dialect === 'postgresql'

/** Rows that are counted where nothing else is said: of more the exact number tells nobody anything. */
export const mostCounted = 10_000

/** Rows of a table. */
export interface WantedRows {
  /** In snake_case. */
  readonly table: string
  /** Condition with `?` for its parameters. */
  readonly where: string
  readonly parameters: readonly Parameter[]
  /** Columns, in the order of an index that answers the condition. */
  readonly orderBy: string
}

export interface RowCount {
  /** At most as many as were to be counted. */
  readonly total: number
  /** True when there are more. */
  readonly isCapped: boolean
}

/**
 * Counts rows, but no further than `most`: what it costs does not grow with the table.
 *
 * @param most 1 or more; 10,000 when absent
 * @throws what `Database.query` throws
 */
export async function countRows(db: Database, rows: WantedRows, most = mostCounted): Promise<RowCount> {
  const { table, where, parameters, orderBy } = rows
  const order = countsInOrder(db.dialect) ? ` order by ${orderBy}` : ''
  const [row] = await db.query<{ total: unknown }>(
    `select count(*) as total from (select 1 as one from ${table} where ${where}${order} limit ?) as counted`,
    [...parameters, most + 1],
  )
  const total = exactInteger(row?.total)
  return { total: Math.min(total, most), isCapped: total > most }
}
