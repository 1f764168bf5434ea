/** Records the tables and the change sets of a product on each database. */
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDatabase, TestDialect } from '@plinth/dev/testing/database'
import { defineProduct } from '@plinth/kernel'

interface Line {
  readonly line: string
}

const linesOf = async (db: Database, sql: string) => (await db.query<Line>(sql)).map(({ line }) => line)

/** Functions that return the definitions of all columns, indexes, constraints and views of a database. */
const definitions: Readonly<Record<TestDialect, (db: Database) => Promise<readonly string[]>>> = {
  sqlite: (db) =>
    linesOf(db, "select sql as line from sqlite_master where sql is not null and name not like 'sqlite_%'"),
  postgresql: (db) =>
    linesOf(
      db,
      `select concat_ws(' ', table_name, column_name, ordinal_position, udt_name, character_maximum_length, numeric_precision,
         numeric_scale, is_nullable, column_default, collation_name) as line
       from information_schema.columns where table_schema = current_schema()
       union all select indexdef from pg_indexes where schemaname = current_schema()
       union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
       from pg_constraint where connamespace = current_schema()::regnamespace
       union all select concat_ws(' ', viewname, definition) from pg_views where schemaname = current_schema()`,
    ),
  async mariadb(db) {
    const tables = await linesOf(
      db,
      'select table_name as line from information_schema.tables where table_schema = database()',
    )
    const found = []
    for (const table of tables) {
      const [row = {}] = await db.query<Record<string, string>>(`show create table \`${table}\``)
      found.push((row['Create Table'] ?? row['Create View'] ?? '').replace(/ AUTO_INCREMENT=\d+/, ''))
    }
    return found
  },
}

/** Returns the schema and the checksums of the change sets of a migrated database, as the content of files by name. */
export async function schemaRecord(db: TestDatabase): Promise<ReadonlyMap<string, string>> {
  const config = { ...db.config, 'platform.database.migrate-at-start': false }
  const running = await startForTest(defineProduct({ name: 'reader', plugins: [databasePlugin], config }), {
    roles: ['cli'],
  })
  try {
    const service = running.service(database)
    const changeSets = await linesOf(
      service,
      `select concat(plugin, ' ', change_set, ' ', checksum) as line from schema_changelog`,
    )
    const text = (lines: readonly string[]) => `${lines.toSorted().join('\n')}\n`
    return new Map([
      [`schemas/${db.dialect}.txt`, text(await definitions[db.dialect](service))],
      [`change-sets/${db.dialect}.txt`, text(changeSets)],
    ])
  } finally {
    await running.stop('recorded')
  }
}
