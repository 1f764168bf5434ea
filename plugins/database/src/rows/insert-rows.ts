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
import { appendRow, assertColumnStores, assignments, expressionOf, type WithSqlValues } from './row-values.ts'

/** New values of some columns, which may be SQL expressions. */
export type Changes<E extends Entity> = WithSqlValues<RowChanges<E>>

/**
 * Changes rows in one statement.
 *
 * @param where values that the rows must have; null matches null
 * @param changes `plus(by)` adds to a number; `sqlValue` is an expression
 * @returns number of affected rows
 * @throws TypeError for `undefined`, PlinthError `PLINTH_DATABASE_VALUE`, and the errors of `Database.execute`
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
  readonly updatedBy?: string | null | undefined
  readonly updatedAt: Date
}

/** Returns the details of a version conflict for the response, from the newer row in the database. */
export const versionConflictData = ({ version, updatedBy, updatedAt }: Versioned) => ({
  currentVersion: version,
  updatedBy: updatedBy ?? null,
  updatedAt: updatedAt.toISOString(),
})

type Target = Pick<Database, 'dialect' | 'execute'>
type Rows<E extends Entity, Given> = readonly Exactly<Given, NewRow<E>>[]
/** Properties of the unique index that decides whether a row exists. */
type Unique<E extends Entity> = PropertyOf<E> | readonly PropertyOf<E>[]

/** Numbers of rows per statement. There are only a few, because each needs its own prepared statement. */
const steps = [1_000, 500, 100, 32, 16, 8, 4, 2, 1] as const
/** Maximum number of values per statement on all databases. */
const maxValues = 30_000

/**
 * Inserts many rows per statement. A statement inserts all of its rows or none. To insert all rows together, use a
 * transaction.
 *
 * @throws TypeError for a required column without a value, PlinthError `PLINTH_DATABASE_VALUE`, and the errors of
 *   `Database.execute`
 */
export async function insertRows<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  rows: Rows<E, Given>,
): Promise<void> {
  await insert(db, tableOf(entity), rows, '')
}

/**
 * Inserts one row. Its values may be SQL expressions; see `sqlValue`.
 *
 * @throws the errors of `insertRows`
 */
export async function insertRow<E extends Entity, Given extends WithSqlValues<NewRow<E>>>(
  db: Target,
  entity: E,
  row: Exactly<Given, NewRow<E>>,
): Promise<void> {
  const table = tableOf(entity)
  const { name, columns } = table
  const parameters: Parameter[] = []
  const values = columns.map((column) => {
    const value = row[column.property as keyof Given]
    assertColumnStores(table, column, value)
    return expressionOf(parameters, column, value)
  })
  const list = columns.map((column) => column.name).join(', ')
  await db.execute(`insert into ${name} (${list}) values (${values.join(', ')})`, parameters)
}

/**
 * Inserts rows that do not exist, and returns their number. Validate the values first, because MySQL stores other values
 * instead of values that violate a rule of the table, for example defaults for missing values.
 *
 * @throws the errors of `insertRows`
 */
export async function insertRowsIfAbsent<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  unique: Unique<E>,
  rows: Rows<E, Given>,
): Promise<number> {
  const table = tableOf(entity)
  // `insert ignore` is used, because MySQL would also count unchanged rows with `on duplicate key update`.
  if (isMysql(db)) return insert(db, table, rows, '', 'insert ignore')
  return insert(db, table, rows, `on conflict (${namesOf(table, unique).join(', ')}) do nothing`)
}

/**
 * Inserts rows that do not exist. If it is unknown whether an insert succeeded, repeat it. A statement inserts all of
 * its new rows or none. To insert all rows together, use a transaction.
 *
 * @param unique `any`: a conflict in any unique index means that the row exists
 * @throws the errors of `insertRows`
 */
export async function insertMissingRows<E extends Entity, Given extends NewRow<E>>(
  db: Target,
  entity: E,
  unique: Unique<E> | 'any',
  rows: Rows<E, Given>,
): Promise<void> {
  const table = tableOf(entity)
  const names = unique === 'any' ? [] : namesOf(table, unique)
  const [first = table.columns[0]?.name] = names
  const ignored = isMysql(db)
    ? `on duplicate key update ${first} = ${table.name}.${first}`
    : `on conflict ${names.length === 0 ? '' : `(${names.join(', ')}) `}do nothing`
  await insert(db, table, rows, ignored)
}

/**
 * Inserts rows, or adds to the numbers of existing rows. Two rows must not have the same key. Concurrent transactions
 * must pass rows in the same order, to avoid deadlocks.
 *
 * @param change `sums` are added, `sets` are replaced
 * @throws the errors of `insertRows`
 */
export async function insertOrAddToRows<E extends Entity, Given extends NewRow<E>>(
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
 * Inserts rows, or replaces values of existing rows. Two rows must not have the same key.
 *
 * @param change `sets` are replaced
 * @throws the errors of `insertRows`
 */
export async function insertOrReplaceRows<E extends Entity, Given extends NewRow<E>>(
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
  for (const step of steps.filter((rows) => rows === 1 || rows * table.columns.length <= maxValues)) {
    for (; rows.length - from >= step; from += step) {
      const parameters: Parameter[] = []
      for (let at = from; at < from + step; at++) appendRow(parameters, table, rows[at] as Record<string, unknown>)
      affected += await db.execute(statementOf(verb, table, onConflict, step), parameters)
    }
  }
  return affected
}

/** Returns the same string each time, so that its hash is calculated only once. */
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
