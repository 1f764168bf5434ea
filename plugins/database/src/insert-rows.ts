import type { Parameter } from './bound-parameters.ts'
import type { Database } from './contract.ts'

/** Where rows go. Names are in snake_case. */
export interface RowTarget {
  readonly table: string
  /** In the order of the values of a row. */
  readonly columns: readonly string[]
  /** The column whose unique index says that a row is there already. */
  readonly unique: string
}

/** Rows of one statement. Few sizes keep the number of prepared texts small. */
const steps = [100, 10, 1] as const

/**
 * Inserts rows, many in a statement, but for those that are there already: what was written and not confirmed is written
 * again with no effect. A statement inserts all of its rows or none; for all statements that needs a transaction around.
 *
 * @throws as `Database.execute` does
 */
export async function insertMissing(
  db: Pick<Database, 'dialect' | 'execute'>,
  { table, columns, unique }: RowTarget,
  rows: readonly (readonly Parameter[])[],
): Promise<void> {
  const isMysql = db.dialect === 'mysql' || db.dialect === 'mariadb'
  const ignored = isMysql ? `on duplicate key update ${unique} = ${unique}` : `on conflict (${unique}) do nothing`
  const places = `(${columns.map(() => '?').join(', ')})`
  let from = 0
  for (const step of steps) {
    for (; rows.length - from >= step; from += step) {
      const values = Array(step).fill(places).join(', ')
      const insert = `insert into ${table} (${columns.join(', ')}) values ${values} ${ignored}`
      await db.execute(insert, rows.slice(from, from + step).flat())
    }
  }
}
