import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changeSetsOf, IdSource, type IdSourceTables, openOrm, type ServerSettings } from '@plinth/database/parts'
import type { Product } from '@plinth/kernel'
import { kernelVersion, planProduct, type RunningProduct, type StartOptions } from '@plinth/kernel/host'
import {
  type CompiledChangeSet,
  changelogTables,
  compileChangeSets,
  type Dialect,
  Migrator,
  type PluginChangeSets,
} from '@plinth/migrations'
import { CompiledQuery, type Kysely } from 'kysely'
import { manualClock, startForTest } from '../index.ts'
import { serverSettings } from './test-database.ts'

/**
 * Starts a product like `startForTest`, but an empty database on a server becomes a copy of a migrated one, which is
 * much faster. Use it for tests that are not about migrations. A product that does not migrate at its start, as in the
 * role `cli`, keeps its empty database.
 */
export async function startMigrated(product: Product, options: StartOptions = {}): Promise<RunningProduct> {
  const { roles = ['web', 'worker'] } = options
  const migrates =
    product.config['platform.database.migrate-at-start'] !== false && !roles.every((role) => role === 'cli')
  const settings = migrates ? serverSettings(product.config) : undefined
  const { plugins, problems } = planProduct(settings === undefined ? [] : product.plugins, { kernelVersion, roles })
  if (settings !== undefined && problems.length === 0) await fillFromTemplate(settings, changeSetsOf(plugins))
  return startForTest(product, options)
}

/**
 * Statements that create a migrated database, by name of the template. All test processes share the templates in the
 * directory `shared`. The name is a hash of the statements and of the source of the data steps. If a data step calls a
 * function of another module and only that function changes, delete `.tap/templates`.
 */
const known = new Map<string, string>()
const sharedDirectory = process.env['PLINTH_TEST_TEMPLATES']

/**
 * Time of the migration. It is before the clocks of all tests, so that ids and times of the template are in the past.
 */
const migratedAt = Date.UTC(2025, 0, 2)

/**
 * Migrates an empty database. The first call applies the change sets, later calls copy the result. Do not use it for
 * SQLite, where a migration is fast.
 */
export async function fillFromTemplate(
  settings: ServerSettings,
  changeSets: readonly PluginChangeSets[],
): Promise<void> {
  const compiled = compileChangeSets(changeSets, settings.type)
  const parts = compiled.map(({ plugin, id, statements, definition }) => [
    plugin,
    id,
    String(definition.data),
    statements,
  ])
  const name = `${settings.type}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex')}`
  await connected(settings, async (db) => {
    const server = settings.type === 'postgresql' ? postgresql : mariadb
    if ((await server.tablesOf(db)).length > 0) return
    const template = read(name)
    if (template !== undefined) return void (await db.executeQuery(CompiledQuery.raw(template)))
    await migrate(db, settings.type, changeSets)
    keep(name, await server.exportOf(db, compiled))
  })
}

async function connected(settings: ServerSettings, work: (db: Kysely<unknown>) => Promise<void>): Promise<void> {
  const failures = { failed: () => {}, succeeded: () => {} }
  const { orm, connect, close } = await openOrm(settings, { entities: [], warn: () => {}, failures })
  try {
    await connect()
    await work(orm.driver.getConnection().getClient())
  } finally {
    await close()
  }
}

async function migrate(db: Kysely<unknown>, dialect: Dialect, plugins: readonly PluginChangeSets[]): Promise<void> {
  const clock = manualClock(migratedAt)
  const ids = new IdSource(() => db.withTables<IdSourceTables>(), clock, randomUUID())
  await new Migrator({ db, dialect, plugins, clock, newId: () => ids.next(), beforeData: () => ids.claim() }).migrate()
  await ids.release()
}

function read(name: string): string | undefined {
  const own = known.get(name)
  if (own !== undefined || sharedDirectory === undefined || !existsSync(join(sharedDirectory, name))) return own
  const template = readFileSync(join(sharedDirectory, name), 'utf8')
  known.set(name, template)
  return template
}

/**
 * Stores a template. Another process may store the same one at the same time. Because of the rename, readers always see
 * a complete file.
 */
function keep(name: string, template: string): void {
  known.set(name, template)
  if (sharedDirectory === undefined) return
  const draft = join(sharedDirectory, `${name}.${process.pid}`)
  writeFileSync(draft, template)
  renameSync(draft, join(sharedDirectory, name))
}

async function rowsOf<Row>(db: Kysely<unknown>, sql: string): Promise<Row[]> {
  return (await db.executeQuery<Row>(CompiledQuery.raw(sql))).rows
}

interface Server {
  tablesOf(db: Kysely<unknown>): Promise<readonly { readonly name: string }[]>
  /** Returns statements that create all tables and rows. */
  exportOf(db: Kysely<unknown>, compiled: readonly CompiledChangeSet[]): Promise<string>
}

/** Returns the statements of the change sets, followed by inserts of the rows. */
const postgresql: Server = {
  tablesOf: (db) => rowsOf(db, `select tablename as name from pg_tables where schemaname = 'public'`),
  async exportOf(db, compiled) {
    const statements = [
      ...changelogTables('postgresql').map(({ sql }) => sql),
      ...compiled.flatMap((changeSet) => changeSet.statements),
    ]
    const rows: string[] = []
    for (const { name } of await this.tablesOf(db)) {
      const literal = `select quote_literal(json_agg(row)::text) as text from "${name}" row`
      const [all] = await rowsOf<{ text: string | null }>(db, literal)
      if (all?.text == null) continue
      rows.push(`insert into "${name}" select * from json_populate_recordset(null::"${name}", ${all.text})`)
    }
    return ['begin', `set local session_replication_role = replica`, ...statements, ...rows, 'commit'].join(';\n')
  },
}

/** Exports the final tables. MariaDB commits after each statement, so repeating all change sets would be slow. */
const mariadb: Server = {
  tablesOf: (db) =>
    rowsOf(db, 'select table_name as name from information_schema.tables where table_schema = database()'),
  async exportOf(db) {
    const texts: string[] = []
    for (const { name } of await this.tablesOf(db)) {
      const [made] = await rowsOf<{ 'Create Table': string }>(db, `show create table \`${name}\``)
      texts.push(made?.['Create Table'] ?? '')
      const columns = await rowsOf<{ name: string; bytes: number }>(
        db,
        `select column_name as name, data_type in ('binary', 'varbinary', 'tinyblob', 'blob', 'mediumblob', 'longblob') as bytes
           from information_schema.columns where table_schema = database() and table_name = '${name}'
           and is_generated = 'NEVER' order by ordinal_position`,
      )
      const literals = columns.map(({ name: column, bytes }) =>
        Number(bytes) === 1
          ? `convert(coalesce(concat('0x', hex(\`${column}\`)), 'NULL') using utf8mb4)`
          : `convert(quote(\`${column}\`) using utf8mb4)`,
      )
      const values = `select concat('(', concat_ws(', ', ${literals.join(', ')}), ')') as text from \`${name}\``
      const rows = await rowsOf<{ text: string }>(db, values)
      if (rows.length === 0) continue
      const names = columns.map(({ name: column }) => `\`${column}\``).join(', ')
      texts.push(`insert into \`${name}\` (${names}) values ${rows.map(({ text }) => text).join(', ')}`)
    }
    return `begin not atomic\nset session foreign_key_checks = 0;\n${texts.join(';\n')};\nend`
  },
}
