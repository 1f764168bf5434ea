import type { Database } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'

/** Where rows go. Names are in snake_case. */
export interface RowTarget {
  readonly table: string
  /** In the order of the values of a row. */
  readonly columns: readonly string[]
}

type Target = Pick<Database, 'dialect' | 'execute'>
type Row = readonly Parameter[]

/** Rows of one statement. Few sizes keep the number of prepared texts small. */
const steps = [1_000, 100, 10, 1] as const
/** Values of one statement: every database binds so many. */
const mostValues = 30_000

/**
 * Inserts rows, many in a statement, but for those that are there already: what was written and not confirmed is written
 * again with no effect. A statement inserts all of its rows or none; for all statements that needs a transaction around.
 *
 * @param unique the columns whose unique index says that a row is there already
 * @throws as `Database.execute` does
 */
export async function insertMissing(
  db: Target,
  { unique, ...into }: RowTarget & { readonly unique: string | readonly string[] },
  rows: readonly Row[],
): Promise<void> {
  const columns = [unique].flat()
  const ignored = isMysql(db)
    ? `on duplicate key update ${columns[0]} = ${columns[0]}`
    : `on conflict (${columns.join(', ')}) do nothing`
  await insert(db, into, rows, ignored)
}

/**
 * Adds to the numbers of rows that are there, and inserts those that are not; many in a statement. No two of the rows may have
 * the same key. Transactions that add to the same rows name them in the same order.
 *
 * @param sums columns that are added up
 * @throws as `Database.execute` does
 */
export async function addToRows(
  db: Target,
  { key, sums, ...into }: RowTarget & { readonly key: readonly string[]; readonly sums: readonly string[] },
  rows: readonly Row[],
): Promise<void> {
  const added = (value: (column: string) => string) =>
    sums.map((column) => `${column} = ${into.table}.${column} + ${value(column)}`).join(', ')
  const update = isMysql(db)
    ? `on duplicate key update ${added((column) => `values(${column})`)}`
    : `on conflict (${key.join(', ')}) do update set ${added((column) => `excluded.${column}`)}`
  await insert(db, into, rows, update)
}

/**
 * Gives rows that are there new values, and inserts those that are not; many in a statement. No two of the rows may have the
 * same key.
 *
 * @param sets columns that get new values where the row is there
 * @throws as `Database.execute` does
 */
export async function putRows(
  db: Target,
  { key, sets, ...into }: RowTarget & { readonly key: string; readonly sets: readonly string[] },
  rows: readonly Row[],
): Promise<void> {
  const given = (value: (column: string) => string) => sets.map((column) => `${column} = ${value(column)}`).join(', ')
  const update = isMysql(db)
    ? `on duplicate key update ${given((column) => `values(${column})`)}`
    : `on conflict (${key}) do update set ${given((column) => `excluded.${column}`)}`
  await insert(db, into, rows, update)
}

async function insert(db: Target, { table, columns }: RowTarget, rows: readonly Row[], onConflict: string) {
  const places = `(${columns.map(() => '?').join(', ')})`
  let from = 0
  for (const step of steps.filter((rows) => rows === 1 || rows * columns.length <= mostValues)) {
    for (; rows.length - from >= step; from += step) {
      const values = Array(step).fill(places).join(', ')
      const statement = `insert into ${table} (${columns.join(', ')}) values ${values} ${onConflict}`
      await db.execute(statement, rows.slice(from, from + step).flat())
    }
  }
}

const isMysql = ({ dialect }: Target) => dialect === 'mysql' || dialect === 'mariadb'
