import { service } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'

/**
 * The methods of the database service that this file uses. The kernel depends on no plugin, so it declares them itself.
 */
interface Database {
  readonly dialect: string
  query<Row extends object>(sql: string): Promise<Row[]>
  execute(sql: string): Promise<number>
  migrationStatus(): Promise<{ readonly unknown: readonly { readonly plugin: string; readonly id: string }[] }>
}
const database = service<Database>('database')

/** A table of the previous version with its number of rows. */
export interface SeededTable {
  readonly table: string
  readonly rows: number
}

interface Column {
  readonly name: string
  readonly type: string
}

const columnQueries: Readonly<Record<string, (table: string) => string>> = {
  sqlite: (table) => `select name, type from pragma_table_info('${table}')`,
  postgresql: (table) =>
    `select column_name as name, data_type as type from information_schema.columns where table_schema = current_schema() and table_name = '${table}'`,
  mysql: (table) =>
    `select column_name as name, data_type as type from information_schema.columns where table_schema = database() and table_name = '${table}'`,
}

const quoted = ({ dialect }: Database, name: string) =>
  ['sqlite', 'postgresql'].includes(dialect) ? `"${name}"` : `\`${name}\``

/** A time as SQL, for databases that do not store times as text. SQLite stores them as milliseconds. */
const moments: Readonly<Record<string, string>> = { sqlite: '1767322985000' }

/** Returns a value for a column as SQL. `number` is the number of the row, so that most values of a table differ. */
function valueFor(dialect: string, { type }: Column, number: number): string {
  const known: readonly (readonly [pattern: RegExp, value: string])[] = [
    [/bool/i, 'true'],
    [/time|date/i, moments[dialect] ?? "'2026-01-02 03:04:05'"],
    [/json/i, "'{}'"],
    [/int|numeric|decimal|real|double|float/i, String(number)],
  ]
  return known.find(([pattern]) => pattern.test(type))?.[1] ?? `'${number}'`
}

/** Number of rows that are stored in each table. */
const rowCount = 2

/**
 * Stores invented rows in tables and returns the number of their rows. If the constraints of a table reject the
 * invented rows, the table contains only the rows that the plugin has stored.
 */
export async function seedRows(running: RunningProduct, tables: ReadonlySet<string>): Promise<readonly SeededTable[]> {
  if (tables.size === 0) return []
  const db = running.service(database)
  const seeded: { table: string; rows: number }[] = []
  for (const table of tables) {
    const columns = await db.query<Column>((columnQueries[db.dialect] ?? columnQueries['mysql'])?.(table) ?? '')
    const names = columns.map(({ name }) => quoted(db, name)).join(', ')
    for (let number = 1; number <= rowCount; number++) {
      const values = columns.map((column) => valueFor(db.dialect, column, number)).join(', ')
      await db.execute(`insert into ${quoted(db, table)} (${names}) values (${values})`).catch(() => undefined)
    }
    seeded.push({ table, rows: await countOf(db, table) })
  }
  return seeded
}

async function countOf(db: Database, table: string): Promise<number> {
  const [row] = await db.query<{ readonly n: unknown }>(`select count(*) as n from ${quoted(db, table)}`)
  return Number(row?.n ?? 0)
}

/** Returns the number of rows of each table; 0 for a table that does not exist any more. */
export async function countRows(running: RunningProduct, tables: readonly SeededTable[]): Promise<readonly number[]> {
  if (tables.length === 0) return []
  const db = running.service(database)
  const counts: number[] = []
  for (const { table } of tables) counts.push(await countOf(db, table).catch(() => 0))
  return counts
}

/** Returns the applied change sets of a plugin that its loaded version does not declare. */
export async function unknownChangeSets(running: RunningProduct, plugin: string): Promise<readonly string[]> {
  if (!running.plan.providers.has(database.id)) return []
  const { unknown } = await running.service(database).migrationStatus()
  return unknown.filter((one) => one.plugin === plugin).map(({ id }) => id)
}
