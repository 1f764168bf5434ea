import { randomBytes } from 'node:crypto'
import { errorCodeOf, errorReason, isPlinthError } from '@plinth/kernel'
import { type Dialect, Migrator, type PluginChangeSets } from '@plinth/migrations'
import { CompiledQuery, type Kysely } from 'kysely'
import {
  type ConnectionSettings,
  connectionErrorOf,
  databaseLocationText,
  type ProbeTarget,
} from './connections/connection-failure.ts'
import { assertServerIsolation } from './connections/isolation.ts'
import type { ServerInfo } from './contract.ts'
import { databaseError } from './errors.ts'
import { openOrm } from './open-orm.ts'

/** `alter` includes indexes. `write` includes reading, changing and deleting rows. */
export type TablePermission = 'create' | 'alter' | 'write' | 'drop'

export interface MissingTablePermission {
  readonly right: TablePermission
  readonly error: unknown
}

const statements = (table: string): readonly (readonly [TablePermission, string])[] => [
  ['create', `create table ${table} (id integer not null)`],
  ['alter', `create unique index ${table}_unique on ${table} (id)`],
  ['alter', `alter table ${table} add column note varchar(16)`],
  ['write', `insert into ${table} (id, note) values (1, 'probe')`],
  ['write', `update ${table} set note = 'changed' where id = 1`],
  ['write', `select note from ${table}`],
  ['write', `delete from ${table} where id = 1`],
]

/**
 * Tests all rights with a table of a random name, which is dropped at the end.
 *
 * @param execute runs one statement and commits it
 * @returns the first missing right; the table remains only if this right is `drop`
 */
export async function findMissingTablePermission(
  execute: (sql: string) => Promise<unknown>,
): Promise<MissingTablePermission | undefined> {
  const table = `plinth_preflight_${randomBytes(6).toString('hex')}`
  let missing: MissingTablePermission | undefined
  for (const [right, sql] of statements(table)) {
    await execute(sql).catch((error: unknown) => {
      missing = { right, error }
    })
    if (missing !== undefined) break
  }
  if (missing?.right === 'create') return missing
  await execute(`drop table ${table}`).catch((error: unknown) => {
    missing ??= { right: 'drop', error }
  })
  return missing
}

const versionQuery: Readonly<Record<Dialect, string>> = {
  sqlite: 'select sqlite_version() as version',
  postgresql: `select current_setting('server_version') as version`,
  mysql: 'select version() as version',
  mariadb: 'select version() as version',
}

/**
 * Returns product and version of the server. MySQL and MariaDB use the same protocol, so the settings do not show which
 * one it is.
 */
export async function readServerInfo(db: Kysely<unknown>, dialect: Dialect): Promise<ServerInfo> {
  const { rows } = await db.executeQuery<{ version: string }>(CompiledQuery.raw(versionQuery[dialect]))
  const version = rows[0]?.version ?? ''
  if (dialect === 'sqlite') return { product: 'SQLite', version }
  if (dialect === 'postgresql') return { product: 'PostgreSQL', version }
  return { product: /mariadb/i.test(version) ? 'MariaDB' : 'MySQL', version }
}

/** Settings of a probe. Each of its waits ends within five seconds. */
const probeDefaults = {
  busyTimeoutMs: 1_000,
  synchronous: 'full',
  tls: 'off',
  poolSize: 1,
  connectTimeoutMs: 5_000,
  queryTimeoutMs: 5_000,
  transactionTimeoutMs: 5_000,
  preparedStatements: false,
} as const

/** Logs nothing, because the caller receives the error of the probe. */
const noFailureLog = { failed: () => {}, succeeded: () => {} }

const activities: Readonly<Record<TablePermission, string>> = {
  create: 'create tables',
  alter: 'change tables and create indexes',
  write: 'read, insert, update and delete rows',
  drop: 'drop tables',
}

/** Error codes for a table that the user may not read, for example because another user owns it. */
const deniedCodes: ReadonlySet<unknown> = new Set(['42501', 'ER_TABLEACCESS_DENIED_ERROR'])

export async function probeTarget(target: ProbeTarget, changeSets: readonly PluginChangeSets[]): Promise<ServerInfo> {
  const settings: ConnectionSettings = { ...probeDefaults, ...target }
  const open = await openOrm(settings, { entities: [], warn: () => {}, failures: noFailureLog })
  try {
    await open.connect()
    const db: Kysely<unknown> = open.orm.driver.getConnection().getClient()
    const server = await readServerInfo(db, settings.type)
    await assertServerIsolation(db, settings)
    // The settings may be the same for MySQL and MariaDB, but their change sets differ.
    const dialect = server.product === 'MariaDB' ? 'mariadb' : settings.type
    await new Migrator({ db, dialect, plugins: changeSets }).plan().catch((error: unknown) => {
      throw deniedCodes.has(errorCodeOf(error)) ? rightError(settings, 'write', error) : error
    })
    const missing = await findMissingTablePermission((sql) => db.executeQuery(CompiledQuery.raw(sql)))
    if (missing === undefined) return server
    throw isPlinthError(missing.error) ? missing.error : rightError(settings, missing.right, missing.error)
  } catch (error) {
    throw isPlinthError(error) ? error : connectionErrorOf(settings, error)
  } finally {
    await open.close()
  }
}

function rightError(settings: ConnectionSettings, right: TablePermission, error: unknown) {
  const details = {
    type: settings.type,
    place: databaseLocationText(settings),
    user: settings.type === 'sqlite' ? '' : settings.username,
    activity: activities[right],
    reason: errorReason(error),
  }
  return databaseError('PLINTH_DATABASE_RIGHTS', details, error)
}
