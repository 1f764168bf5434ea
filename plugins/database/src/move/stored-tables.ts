import {
  changelogTableNames,
  type Dialect,
  type PluginChangeSets,
  type TableShape,
  tableShapes,
} from '@plinth/migrations'
import { CompiledQuery, type Kysely } from 'kysely'
import { readColumns } from '../entity-check.ts'
import { moveTableNames } from './move-state.ts'
import { familyOf, type KnownColumn } from './stored-values.ts'

/** An open database. */
export interface StoredDatabase {
  // biome-ignore lint/suspicious/noExplicitAny: the change sets define the schema
  readonly db: Kysely<any>
  readonly dialect: Dialect
}

/** A table whose rows are the data of a product. Columns are sorted by name; generated columns are omitted. */
export interface StoredTable {
  readonly plugin: string
  readonly table: string
  readonly columns: readonly KnownColumn[]
  readonly primaryKey: readonly KnownColumn[]
}

export interface TableProblem {
  readonly table: string
  readonly column?: string
  readonly rule: 'unknown-table' | 'missing-table' | 'unknown-column' | 'missing-column' | 'no-primary-key' | 'cycle'
  readonly message: string
}

export interface StoredTables {
  /** All tables; a table comes after the tables to which its foreign keys refer. */
  readonly tables: readonly StoredTable[]
  readonly problems: readonly TableProblem[]
}

const tableQueries = {
  sqlite: `select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
  postgresql:
    `select relname as name from pg_catalog.pg_class where relkind in ('r', 'p') and not relispartition ` +
    'and relnamespace = (select oid from pg_catalog.pg_namespace where nspname = current_schema())',
  mysql: `select table_name as name from information_schema.tables where table_schema = database() and table_type = 'BASE TABLE'`,
} as const

/** Returns the names of all tables in the catalogue, without views. */
export async function tableNamesOf({ db, dialect }: StoredDatabase): Promise<ReadonlySet<string>> {
  const query = CompiledQuery.raw(tableQueries[familyOf(dialect)])
  return new Set((await db.executeQuery<{ name: string }>(query)).rows.map(({ name }) => name))
}

/**
 * Returns the tables of a product. They come from the change sets of all plugins, and the catalogue of the database must
 * agree: a table or column that only one of them contains is a problem, because its rows would be lost or invented.
 *
 * `plinth database move` uses this list, the rows of `stored-rows.ts` and their hashes. A backup can use the same ones.
 */
export async function findStoredTables(
  database: StoredDatabase,
  changeSets: readonly PluginChangeSets[],
): Promise<StoredTables> {
  const { db, dialect } = database
  const names = await tableNamesOf(database)
  const columns = await readColumns(dialect, async (sql) => (await db.executeQuery<never>(CompiledQuery.raw(sql))).rows)
  const shapes = tableShapes(changeSets, dialect)
  const declared = new Set(shapes.map(({ table }) => table))
  const known = new Set([...declared, ...changelogTableNames, ...moveTableNames])
  const unknown = [...names].filter((name) => !known.has(name))
  const { sorted, cycles } = parentsFirst(shapes)
  return {
    tables: sorted.map(storedTableOf),
    problems: [
      ...unknown.map((table) =>
        problem(
          table,
          'unknown-table',
          'no loaded plugin created this table. Load its plugin, or move or drop the table',
        ),
      ),
      ...cycles.map((table) =>
        problem(table, 'cycle', 'foreign keys form a cycle, so no order of the tables is right'),
      ),
      ...shapes.flatMap((shape) => problemsOf(shape, names.has(shape.table) ? columns.get(shape.table) : undefined)),
    ],
  }
}

const problem = (table: string, rule: TableProblem['rule'], message: string, column?: string): TableProblem => ({
  table,
  ...(column === undefined ? {} : { column }),
  rule,
  message,
})

function problemsOf(
  { table, columns, primaryKey }: TableShape,
  existing: ReadonlyMap<string, unknown> | undefined,
): readonly TableProblem[] {
  if (existing === undefined) return [problem(table, 'missing-table', 'the table does not exist')]
  const declared = new Set(columns.map(({ name }) => name))
  return [
    ...(primaryKey.length > 0 ? [] : [problem(table, 'no-primary-key', 'the table has no primary key')]),
    ...columns.flatMap(({ name, kind, isGenerated }) => {
      if (!existing.has(name)) return [problem(table, 'missing-column', 'the column does not exist', name)]
      const isUnknown = kind === undefined && !isGenerated
      return isUnknown ? [problem(table, 'unknown-column', 'the change set does not use a type of `type`', name)] : []
    }),
    ...[...existing.keys()]
      .filter((name) => !declared.has(name))
      .map((name) => problem(table, 'unknown-column', 'no change set of a loaded plugin created this column', name)),
  ]
}

function storedTableOf({ plugin, table, columns, primaryKey }: TableShape): StoredTable {
  const known = columns
    .filter((column): column is KnownColumn => column.kind !== undefined && !column.isGenerated)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const keyColumns = primaryKey.flatMap((name) => known.find((column) => column.name === name) ?? [])
  return { plugin, table, columns: known, primaryKey: keyColumns }
}

/** Sorts tables so that each one comes after its parents. */
function parentsFirst(shapes: readonly TableShape[]) {
  const sorted: TableShape[] = []
  let rest = [...shapes]
  for (;;) {
    const open = new Set(rest.map(({ table }) => table))
    const free = rest.filter(({ parents }) => parents.every((parent) => !open.has(parent)))
    if (free.length === 0) return { sorted: [...sorted, ...rest], cycles: rest.map(({ table }) => table) }
    sorted.push(...free)
    rest = rest.filter((shape) => !free.includes(shape))
    if (rest.length === 0) return { sorted, cycles: [] }
  }
}
