import type { Kysely } from 'kysely'
import { type ChangelogDb, changelogTable, readTableNames, unlessMissing } from './changelog.ts'
import { compilerFor, type Dialect } from './dialect.ts'

/** A table with the number of its rows. */
export interface TableSize {
  readonly table: string
  readonly rows: number
}

// biome-ignore lint/suspicious/noExplicitAny: the change sets define the schema
type AnyDb = Kysely<any>

/** Returns the sizes of those tables that exist. Reads only. */
export async function sizesOf(db: AnyDb, dialect: Dialect, tables: readonly string[]): Promise<readonly TableSize[]> {
  const existing = await readTableNames(db, dialect)
  const sizes: TableSize[] = []
  for (const table of new Set(tables)) {
    if (!existing.has(table)) continue
    const { size } = await db
      .selectFrom(table)
      .select((q) => q.fn.countAll().as('size'))
      .executeTakeFirstOrThrow()
    sizes.push({ table, rows: Number(size) })
  }
  return sizes
}

/** Returns the number of applied change sets of a plugin. */
export async function countApplied(db: ChangelogDb, plugin: string): Promise<number> {
  const rows = await unlessMissing(() =>
    db.selectFrom(changelogTable).select('change_set').where('plugin', '=', plugin).execute(),
  )
  return rows?.length ?? 0
}

/** Drops tables, the last created first, and forgets the change sets of a plugin. Another call continues after a crash. */
export async function dropTables(db: ChangelogDb, dialect: Dialect, plugin: string, tables: readonly string[]) {
  const { schema } = compilerFor(dialect)
  for (const table of tables.toReversed()) await db.executeQuery(schema.dropTable(table).ifExists().compile())
  await db.deleteFrom('schema_changelog_step').where('plugin', '=', plugin).execute()
  await db.deleteFrom(changelogTable).where('plugin', '=', plugin).execute()
}
