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

/** Rows of one statement. Few sizes keep the number of prepared texts small; small ones are what callers who meet bring. */
const steps = [1_000, 500, 100, 32, 16, 8, 4, 2, 1] as const
/** Values of one statement: every database binds so many. */
const mostValues = 30_000

/**
 * Inserts rows, many in a statement. A statement inserts all of its rows or none; for all statements that needs a transaction
 * around.
 *
 * @throws as `Database.execute` does
 */
export async function insertRows(db: Target, into: RowTarget, rows: readonly Row[]): Promise<void> {
  await insert(db, into, rows, '')
}

/**
 * As `insertMissing`, and says how many rows were new: fewer than were given when some were there already, or came twice. For
 * rows whose values were checked before: MySQL cuts a text that is too long then, and takes an absent value for a default.
 *
 * @param unique the columns whose unique index says that a row is there already
 */
export async function insertNew(
  db: Target,
  { unique, ...into }: RowTarget & { readonly unique: string | readonly string[] },
  rows: readonly Row[],
): Promise<number> {
  // `on duplicate key update` counts a row that stays as it is like one that is new.
  if (isMysql(db)) return insert(db, into, rows, '', 'insert ignore')
  return insert(db, into, rows, `on conflict (${[unique].flat().join(', ')}) do nothing`)
}

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

async function insert(
  db: Target,
  { table, columns }: RowTarget,
  rows: readonly Row[],
  onConflict: string,
  verb = 'insert',
): Promise<number> {
  let from = 0
  let affected = 0
  for (const step of steps.filter((rows) => rows === 1 || rows * columns.length <= mostValues)) {
    for (; rows.length - from >= step; from += step) {
      affected += await db.execute(
        statementOf(verb, table, columns, onConflict, step),
        step === rows.length ? rows.flat() : rows.slice(from, from + step).flat(),
      )
    }
  }
  return affected
}

/** Texts by their columns, which callers keep: a text that is put together anew is also hashed anew by who looks it up. */
const texts = new WeakMap<readonly string[], Map<string, string>>()

function statementOf(
  verb: string,
  table: string,
  columns: readonly string[],
  onConflict: string,
  rows: number,
): string {
  let known = texts.get(columns)
  if (known === undefined) {
    known = new Map()
    texts.set(columns, known)
  }
  const name = `${rows} ${verb} ${table} ${onConflict}`
  let text = known.get(name)
  if (text === undefined) {
    const places = `(${columns.map(() => '?').join(', ')})`
    text = `${verb} into ${table} (${columns.join(', ')}) values ${Array(rows).fill(places).join(', ')} ${onConflict}`
    known.set(name, text)
  }
  return text
}

const isMysql = ({ dialect }: Target) => dialect === 'mysql' || dialect === 'mariadb'
