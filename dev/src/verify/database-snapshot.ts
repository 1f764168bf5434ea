import { service } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'

/**
 * The methods of the database service that this file uses. The kernel depends on no plugin, so it declares them itself.
 */
interface Queries {
  readonly dialect: keyof typeof dialects
  query<Row extends object>(sql: string): Promise<Row[]>
  execute(sql: string): Promise<number>
}
const database = service<Queries>('database')

/** The rows of each table as texts. */
export type DatabaseSnapshot = ReadonlyMap<string, ReadonlySet<string>>

const maxRows = 5000

const catalogue = (kind: string, schema: string) =>
  `select table_name as name from information_schema.tables where table_type = '${kind}' and table_schema = ${schema}`

const mysql = {
  tables: catalogue('BASE TABLE', 'database()'),
  views: catalogue('VIEW', 'database()'),
  quote: '`',
}

/** Statements that list the tables and the views of each database, and its quotation mark for names. */
const dialects = {
  sqlite: {
    tables: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    views: "select name from sqlite_master where type = 'view'",
    quote: '"',
  },
  postgresql: {
    tables: catalogue('BASE TABLE', 'current_schema()'),
    views: catalogue('VIEW', 'current_schema()'),
    quote: '"',
  },
  mysql,
  mariadb: mysql,
}

function databaseOf(running: RunningProduct) {
  if (!running.plan.providers.has(database.id)) return undefined
  const service = running.service(database)
  const { tables, views, quote } = dialects[service.dialect]
  const names = async (sql: string) => (await service.query<{ readonly name: string }>(sql)).map(({ name }) => name)
  return {
    service,
    tables: () => names(tables),
    views: () => names(views),
    quoted: (name: string) => quote + name + quote,
  }
}

/** Returns the names of all tables and views. Returns none if the product has no database. */
export async function tablesIn(running: RunningProduct): Promise<readonly string[]> {
  const found = databaseOf(running)
  return found === undefined ? [] : [...(await found.tables()), ...(await found.views())]
}

/** Reads all tables of a product. */
export async function snapshotOf(running: RunningProduct): Promise<DatabaseSnapshot> {
  const found = databaseOf(running)
  const snapshot = new Map<string, ReadonlySet<string>>()
  for (const table of (await found?.tables()) ?? []) {
    const rows = await found?.service.query(`select * from ${found.quoted(table)} limit ${maxRows}`)
    const text = (row: object) =>
      JSON.stringify(row, (_name, value) => (typeof value === 'bigint' ? String(value) : value))
    snapshot.set(table, new Set(rows?.map(text)))
  }
  return snapshot
}

/** Returns the names of tables whose rows differ. */
export const changedTables = (before: DatabaseSnapshot, after: DatabaseSnapshot): readonly string[] =>
  [...after.keys()].filter((table) => {
    return addedRows(before, after, table).length + addedRows(after, before, table).length > 0
  })

/** Returns the rows of a table that exist only in the second snapshot. */
export function addedRows(before: DatabaseSnapshot, after: DatabaseSnapshot, table: string): readonly string[] {
  const known = before.get(table)
  return [...(after.get(table) ?? [])].filter((row) => known?.has(row) !== true)
}

/** Drops all tables and views. A table to which other tables refer is dropped after them. */
export async function dropAllTables(running: RunningProduct): Promise<void> {
  const found = databaseOf(running)
  if (found === undefined) return
  for (const view of await found.views()) await found.service.execute(`drop view ${found.quoted(view)}`)
  for (let remaining = await found.tables(); remaining.length > 0; ) {
    for (const table of remaining) {
      await found.service.execute(`drop table ${found.quoted(table)}`).catch(() => undefined)
    }
    const left = await found.tables()
    if (left.length === remaining.length) return
    remaining = left
  }
}
