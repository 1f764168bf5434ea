import type { Database } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import {
  columnOf,
  type Entity,
  type Exactly,
  type NewRow,
  type PropertyOf,
  type RowChanges,
  type RowOf,
  type Table,
  tableOf,
} from './row-table.ts'
import { appendRow, assignments, expressionOf, type WithSqlValues } from './row-values.ts'

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

interface Versioned {
  readonly version: number
  /** Name of who wrote it last, where that is known. */
  readonly updatedBy?: string | null | undefined
  readonly updatedAt: Date
}

/** What the refusal of a change says of the row that stands there instead of the one that the change started from (decision E15). */
export const conflictData = ({ version, updatedBy, updatedAt }: Versioned) => ({
  currentVersion: version,
  updatedBy: updatedBy ?? null,
  updatedAt: updatedAt.toISOString(),
})

type Target = Pick<Database, 'dialect' | 'execute'>
type Rows<E extends Entity, Given> = readonly Exactly<Given, NewRow<E>>[]
/** The properties whose unique index decides whether a row exists. */
type Unique<E extends Entity> = PropertyOf<E> | readonly PropertyOf<E>[]

/** Rows of one statement. Few sizes keep the number of prepared texts small; small ones are what callers who meet bring. */
const steps = [1_000, 500, 100, 32, 16, 8, 4, 2, 1] as const
/** Values of one statement: every database binds so many. */
const mostValues = 30_000

/**
 * Inserts rows, many in a statement. A statement inserts all of its rows or none; for all statements that needs a transaction
 * around.
 *
 * @throws TypeError for a column without a value that must have one, and as `Database.execute` does
 */
export async function insertRows<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  rows: Rows<E, Given>,
): Promise<void> {
  await insert(db, tableOf(entity), rows, '')
}

/**
 * Inserts one row, of which the database may compute values: `sqlValue`.
 *
 * @throws as `insertRows` does
 */
export async function insertRow<E extends Entity, Given extends WithSqlValues<NewRow<E>>>(
  db: Target,
  entity: E,
  row: Exactly<Given, NewRow<E>>,
): Promise<void> {
  const { name, columns } = tableOf(entity)
  const parameters: Parameter[] = []
  const values = columns.map((column) => expressionOf(parameters, column, row[column.property as keyof Given]))
  const list = columns.map((column) => column.name).join(', ')
  await db.execute(`insert into ${name} (${list}) values (${values.join(', ')})`, parameters)
}

/**
 * As `insertMissing`, and returns how many rows were new: fewer than were given when some existed, or came twice. For rows
 * whose values were checked before: MySQL cuts a text that is too long then, and takes an absent value for a default.
 *
 * @throws as `insertRows` does
 */
export async function insertNew<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  unique: Unique<E>,
  rows: Rows<E, Given>,
): Promise<number> {
  const table = tableOf(entity)
  // `on duplicate key update` counts a row that stays as it is like one that is new.
  if (isMysql(db)) return insert(db, table, rows, '', 'insert ignore')
  return insert(db, table, rows, `on conflict (${namesOf(table, unique).join(', ')}) do nothing`)
}

/**
 * Inserts rows, many in a statement, except those that exist: what was written and not confirmed is written again with no
 * effect. A statement inserts all of its rows or none; for all statements that needs a transaction around.
 *
 * @param unique `any`: whatever unique index says that a row exists
 * @throws as `insertRows` does
 */
export async function insertMissing<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  unique: Unique<E> | 'any',
  rows: Rows<E, Given>,
): Promise<void> {
  const table = tableOf(entity)
  const names = unique === 'any' ? [] : namesOf(table, unique as Unique<E>)
  const [first = table.columns[0]?.name] = names
  const ignored = isMysql(db)
    ? `on duplicate key update ${first} = ${table.name}.${first}`
    : `on conflict ${names.length === 0 ? '' : `(${names.join(', ')}) `}do nothing`
  await insert(db, table, rows, ignored)
}

/**
 * Adds to the numbers of rows that exist, and inserts those that do not; many in a statement. No two of the rows may have
 * the same key. Transactions that add to the same rows name them in the same order.
 *
 * @param change properties that are added up, and those that get the new value
 * @throws as `insertRows` does
 */
export async function addToRows<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  change: {
    readonly key: Unique<E>
    readonly sums: readonly PropertyOf<E>[]
    readonly sets?: readonly PropertyOf<E>[]
  },
  rows: Rows<E, Given>,
): Promise<void> {
  await insert(db, tableOf(entity), rows, upsertOf(db, tableOf(entity), change))
}

/**
 * Gives rows that exist new values, and inserts those that do not; many in a statement. No two of the rows may have the
 * same key.
 *
 * @param change properties that get the new value where the row exists
 * @throws as `insertRows` does
 */
export async function putRows<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  change: { readonly key: Unique<E>; readonly sets: readonly PropertyOf<E>[] },
  rows: Rows<E, Given>,
): Promise<void> {
  await insert(db, tableOf(entity), rows, upsertOf(db, tableOf(entity), change))
}

interface Upsert {
  readonly key: string | readonly string[]
  readonly sums?: readonly string[]
  readonly sets?: readonly string[]
}

function upsertOf(db: Target, table: Table, { key, sums = [], sets = [] }: Upsert): string {
  const isValues = isMysql(db)
  const given = (name: string) => (isValues ? `values(${name})` : `excluded.${name}`)
  const changes = [
    ...namesOf(table, sums).map((name) => `${name} = ${table.name}.${name} + ${given(name)}`),
    ...namesOf(table, sets).map((name) => `${name} = ${given(name)}`),
  ].join(', ')
  return isValues
    ? `on duplicate key update ${changes}`
    : `on conflict (${namesOf(table, key).join(', ')}) do update set ${changes}`
}

async function insert(
  db: Target,
  table: Table,
  rows: readonly object[],
  onConflict: string,
  verb = 'insert',
): Promise<number> {
  let from = 0
  let affected = 0
  for (const step of steps.filter((rows) => rows === 1 || rows * table.columns.length <= mostValues)) {
    for (; rows.length - from >= step; from += step) {
      const parameters: Parameter[] = []
      for (let at = from; at < from + step; at++) appendRow(parameters, table, rows[at] as Record<string, unknown>)
      affected += await db.execute(statementOf(verb, table, onConflict, step), parameters)
    }
  }
  return affected
}

/** The same text each time: a text that is built again is also hashed again by who looks it up. */
function statementOf(verb: string, { name, columns, texts }: Table, onConflict: string, rows: number): string {
  const key = `${rows} ${verb} ${onConflict}`
  let text = texts.get(key)
  if (text === undefined) {
    const places = `(${columns.map(() => '?').join(', ')})`
    const list = columns.map((column) => column.name).join(', ')
    text = `${verb} into ${name} (${list}) values ${Array(rows).fill(places).join(', ')} ${onConflict}`
    texts.set(key, text)
  }
  return text
}

const namesOf = (table: Table, properties: string | readonly string[]): readonly string[] =>
  [properties].flat().map((property) => columnOf(table, property).name)

const isMysql = ({ dialect }: Target) => dialect === 'mysql' || dialect === 'mariadb'
