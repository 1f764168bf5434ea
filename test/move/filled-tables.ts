/** Fills tables with invented rows that contain the values on which a move could fail. */

import {
  findStoredTables,
  insertStoredRows,
  type KnownColumn,
  type StoredDatabase,
  type StoredRow,
  type StoredTable,
  type StoredValue,
} from '@plinth/database/stored-data'
import type { PluginChangeSets } from '@plinth/migrations'
import { CompiledQuery } from 'kysely'

/** Times at the limits, and times with milliseconds. */
const times = [
  0,
  Date.UTC(9999, 0, 1),
  Date.UTC(9999, 11, 31, 23, 59, 59, 999),
  Date.UTC(1969, 11, 31, 23, 59, 59, 999),
  Date.UTC(2026, 1, 28, 23, 59, 59, 1),
]
const words = ['a', 'A', 'a ', 'ß', 'ss', 'é', 'e\u0301', '漢字', '😀', "'quoted' \\n \"", '', '\t\n', '\ufeffbom', '0']
const documents = [
  '{}',
  '[]',
  '{"b":1,"a":[true,null,"\\u00e9",{"z":{},"y":[]}]}',
  '{"digits":12345678901234567890.12345,"same":1.50e1}',
  '{"twice":1,"twice":2}',
  '["\\ud83d\\ude00","漢","\\"\\\\\\/"]',
]
const largest256 = String(2n ** 256n - 1n)

/** Values of a kind for the row with a number. Values of one column differ, because it may have a unique index. */
const values: Readonly<Record<KnownColumn['kind'], (row: number, length: number) => StoredValue>> = {
  id: (row) => String(row),
  integer: (row) => String(row === 1 ? -(2 ** 31) : row === 2 ? 2 ** 31 - 1 : row),
  bigint: (row) => String(row === 1 ? Number.MAX_SAFE_INTEGER : row === 2 ? -Number.MAX_SAFE_INTEGER : row),
  boolean: (row) => String(row % 2),
  text: (row, length) => {
    const number = row.toString(36)
    const rest = words[row % words.length] ?? ''
    return [...number, ...rest.repeat(row % 7 === 0 ? length : 1)].slice(0, length).join('')
  },
  longText: (row) => `${row} ${words[row % words.length]}`.repeat(row % 11 === 0 ? 3_000 : 1),
  timestamp: (row) => String((times[row % times.length] ?? 0) + (row > times.length ? -row : 0)),
  json: (row) => documents[row % documents.length] ?? '{}',
  uint256: (row) => (row === 1 ? largest256 : String(row)),
  binary: (row) => Buffer.from([0, 255, row % 256, 10, 13, 39, 92]),
}

function rowOf({ columns, primaryKey }: StoredTable, nullable: ReadonlySet<string>, row: number): StoredRow {
  return columns.map((column) => {
    const isKey = primaryKey.includes(column)
    if (!isKey && nullable.has(column.name) && row % 3 === 0) return null
    // Numbers of processes and days are small. Keys are 1, 2, 3, so that foreign keys find their rows.
    return isKey && column.kind !== 'text' ? String(row) : values[column.kind](row, column.length ?? 40)
  })
}

const nullableQueries = {
  sqlite: (table: string) => `select name from pragma_table_info('${table}') where "notnull" = 0`,
  server: (table: string) =>
    `select column_name as name from information_schema.columns where table_name = '${table}' and is_nullable = 'YES'`,
}

/** Replaces the rows of all tables. Returns the tables. The tables must exist. */
export async function fillTables(
  database: StoredDatabase,
  changeSets: readonly PluginChangeSets[],
  rows: number,
): Promise<readonly StoredTable[]> {
  const { tables } = await findStoredTables(database, changeSets)
  const { db, dialect } = database
  const nullableIn = nullableQueries[dialect === 'sqlite' ? 'sqlite' : 'server']
  await db.transaction().execute(async (transaction) => {
    for (const { table } of tables.toReversed()) await transaction.deleteFrom(table).execute()
    for (const table of tables) {
      const found = await transaction.executeQuery<{ name: string }>(CompiledQuery.raw(nullableIn(table.table)))
      const nullable = new Set(found.rows.map(({ name }) => name))
      // A number of a process that is reserved now would count as a running process.
      const isNodes = table.table === 'database_id_node'
      const made = Array.from({ length: isNodes ? 3 : rows }, (_, index) => {
        const row = rowOf(table, nullable, index + 1)
        return isNodes ? row.map((value, place) => (table.columns[place]?.kind === 'bigint' ? '5' : value)) : row
      })
      await insertStoredRows({ ...database, db: transaction }, table, made)
    }
  })
  return tables
}
