import { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { everyDialect, startMigrated } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import type { DatabaseService } from '../src/database-service.ts'
import { createDatabase, productOn, type TestDatabase } from './fixtures/databases.ts'
import samplePlugin from './fixtures/sample-plugin.ts'

/** Queries that read the whole content of a database, except times and ids, which always differ. */
const looks = {
  postgresql: [
    `select table_name, column_name, data_type, character_maximum_length, is_nullable, column_default
       from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position`,
    `select tablename, indexdef from pg_indexes where schemaname = 'public' order by indexname`,
    `select conrelid::regclass::text as on_table, conname, pg_get_constraintdef(oid) as rule
       from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`,
  ],
  mariadb: [
    `select table_name, column_name, column_type, collation_name, is_nullable, column_default
       from information_schema.columns where table_schema = database() order by table_name, ordinal_position`,
    `select table_name, engine, table_collation from information_schema.tables where table_schema = database() order by 1`,
    `select table_name, index_name, non_unique, seq_in_index, column_name
       from information_schema.statistics where table_schema = database() order by 1, 2, 4`,
    `select table_name, constraint_name, constraint_type
       from information_schema.table_constraints where table_schema = database() order by 1, 2`,
  ],
}
const rows = [
  'select plugin, change_set, checksum, statements from schema_changelog order by plugin, change_set',
  'select * from schema_changelog_step',
  'select * from schema_changelog_lock',
  'select name from sample_counter order by name',
  'select node from database_id_node',
]

async function contents(t: Test, db: TestDatabase, start: typeof startForTest) {
  const running = await start(productOn(db, samplePlugin))
  t.teardown(() => running.stop('test ended'))
  const service = running.service(database) as DatabaseService
  const found: object[] = []
  for (const sql of [...looks[db.dialect as keyof typeof looks], ...rows]) found.push(await service.query(sql))
  const [holder] = await service.query<{ holder: string }>('select holder from database_id_node')
  const [last] = await service.query<{ id: unknown }>('select max(id) as id from sample_counter')
  t.ok(service.newId() > Number(last?.id), 'ids go on after those of the rows')
  t.match(await service.migrate(), { upToDate: true }, 'nothing is pending')
  return { found, holder: holder?.holder }
}

for (const { dialect, skip } of everyDialect.filter((candidate) => candidate.dialect !== 'sqlite')) {
  t.test(`a copy of a migrated database equals a migrated database (${dialect})`, { skip }, async (t) => {
    const databases = await Promise.all([1, 2, 3].map(() => createDatabase(dialect)))
    t.teardown(() => Promise.all(databases.map((db) => db.drop())))
    const [real, first, copy] = databases as [TestDatabase, TestDatabase, TestDatabase]
    const migrated = await contents(t, real, startForTest)
    const template = await contents(t, first, startMigrated)
    const copied = await contents(t, copy, startMigrated)
    t.same(template.found, migrated.found)
    t.same(copied.found, migrated.found)
    t.equal(new Set([migrated, template, copied].map(({ holder }) => holder)).size, 3, 'each reserved ids of its own')
  })
}
