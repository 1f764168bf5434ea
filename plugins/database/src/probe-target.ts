import { codeOf, isPlinthError, reasonOf } from '@plinth/kernel'
import { Migrator, type PluginChangeSets } from '@plinth/migrations'
import { CompiledQuery, type Kysely } from 'kysely'
import { connectionFailure, placeOf } from './connections/connection-failure.ts'
import type { ConnectionSettings, ProbeTarget } from './connections/connection-settings.ts'
import { findMissingRight, type TableRight } from './connections/missing-right.ts'
import { readServerInfo } from './connections/server-info.ts'
import type { ServerInfo } from './contract.ts'
import { databaseError } from './errors.ts'
import { openOrm } from './open-orm.ts'

/** Settings of a probe that no target chooses. Each of its waits ends within five seconds. */
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

/** The caller of a probe receives its error, so nothing is logged. */
const noFailureLog = { failed: () => {}, succeeded: () => {} }

/** Words for a missing right. */
const activities: Readonly<Record<TableRight, string>> = {
  create: 'create tables',
  alter: 'change tables and create indexes',
  write: 'read, insert, update and delete rows',
  drop: 'drop tables',
}

/** A table of the product that another user owns may be forbidden to this one. */
const deniedCodes: ReadonlySet<unknown> = new Set(['42501', 'ER_TABLEACCESS_DENIED_ERROR'])

/** Implements `Database.probe`. */
export async function probeTarget(target: ProbeTarget, changeSets: readonly PluginChangeSets[]): Promise<ServerInfo> {
  const settings: ConnectionSettings = { ...probeDefaults, ...target }
  const open = await openOrm(settings, { entities: [], warn: () => {}, failures: noFailureLog })
  try {
    await open.connect()
    const db = open.orm.driver.getConnection().getClient() as Kysely<unknown>
    const server = await readServerInfo(db, settings.type)
    // MySQL and MariaDB share a protocol, but not the text of their change sets.
    const dialect = server.product === 'MariaDB' ? 'mariadb' : settings.type
    await new Migrator({ db, dialect, plugins: changeSets }).plan().catch((error: unknown) => {
      throw deniedCodes.has(codeOf(error)) ? rightError(settings, 'write', error) : error
    })
    const missing = await findMissingRight((sql) => db.executeQuery(CompiledQuery.raw(sql)))
    if (missing === undefined) return server
    throw isPlinthError(missing.error) ? missing.error : rightError(settings, missing.right, missing.error)
  } catch (error) {
    throw isPlinthError(error) ? error : connectionFailure(settings, error)
  } finally {
    await open.close()
  }
}

function rightError(settings: ConnectionSettings, right: TableRight, error: unknown) {
  const details = {
    type: settings.type,
    place: placeOf(settings),
    user: settings.type === 'sqlite' ? '' : settings.username,
    activity: activities[right],
    reason: reasonOf(error),
  }
  return databaseError('PLINTH_DATABASE_RIGHTS', details, error)
}
