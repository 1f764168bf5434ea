import { isPlinthError } from '@plinth/kernel'
import { CompiledQuery } from 'kysely'
import { type ConnectionSettings, connectionErrorOf } from '../connections/connection-failure.ts'
import { openOrm } from '../open-orm.ts'
import type { StoredDatabase } from './stored-tables.ts'

/** Limits of a move: statements over whole tables take long, and its lock is held by an idle transaction. */
const limits = { queryTimeoutMs: 60 * 60 * 1000, transactionTimeoutMs: 7 * 24 * 60 * 60 * 1000 } as const

const noFailureLog = { failed: () => {}, succeeded: () => {} }

/**
 * Opens a database with connections of its own, and closes them after the work.
 *
 * @throws PlinthError like `Database.probe` if the database cannot be opened
 */
export async function withDatabase<T>(
  settings: ConnectionSettings,
  work: (database: StoredDatabase) => Promise<T>,
): Promise<T> {
  const server = settings.type === 'sqlite' ? {} : { poolSize: 2, preparedStatements: true }
  const options = { entities: [], warn: () => {}, failures: noFailureLog }
  const { orm, connect, close } = await openOrm({ ...settings, ...limits, ...server }, options)
  try {
    await connect()
      .then(() => orm.driver.getConnection().getClient().executeQuery(CompiledQuery.raw('select 1')))
      .catch((error: unknown) => {
        throw isPlinthError(error) ? error : connectionErrorOf(settings, error)
      })
    return await work({ db: orm.driver.getConnection().getClient(), dialect: settings.type })
  } finally {
    await close()
  }
}
