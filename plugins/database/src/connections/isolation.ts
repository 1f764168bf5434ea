import { CompiledQuery, type Kysely } from 'kysely'
import { databaseError } from '../errors.ts'
import { type ConnectionSettings, databaseLocationText } from './connection-failure.ts'

/**
 * Isolation level of each transaction on a server. A statement after a lock then reads what the previous owner of the
 * lock has committed. Services decide about money after such a lock. SQLite runs one transaction after the other.
 */
export const isolationLevel = 'read committed'

/**
 * @param requested isolation level of a new transaction or savepoint; undefined for the level of the product
 * @throws PlinthError `PLINTH_DATABASE_TRANSACTION_ISOLATION` if it is another level
 */
export function assertRequestedIsolation(requested: string | undefined): void {
  if (requested === undefined || requested === isolationLevel) return
  throw databaseError('PLINTH_DATABASE_TRANSACTION_ISOLATION', { level: requested })
}

/** Names of the variable: MariaDB has the first, MySQL the second, and newer versions of MariaDB have both. */
const mysqlLevel = `show variables where Variable_name in ('tx_isolation', 'transaction_isolation')`
const levelQueries = {
  postgresql: `select current_setting('transaction_isolation') as "Value"`,
  mysql: mysqlLevel,
  mariadb: mysqlLevel,
} as const

/**
 * Asks a server inside a transaction for its isolation level. A server, or a proxy before it, may replace the level
 * without an error.
 *
 * @throws PlinthError `PLINTH_DATABASE_SERVER_ISOLATION` if it is not `isolationLevel`
 */
export async function assertServerIsolation(db: Kysely<unknown>, settings: ConnectionSettings): Promise<void> {
  if (settings.type === 'sqlite') return
  const query = CompiledQuery.raw(levelQueries[settings.type])
  const { rows } = await db
    .transaction()
    .execute((transaction) => transaction.executeQuery<{ readonly Value: string }>(query))
  for (const { Value: value } of rows) {
    const level = value.toLowerCase().replace('-', ' ')
    if (level !== isolationLevel)
      throw databaseError('PLINTH_DATABASE_SERVER_ISOLATION', {
        type: settings.type,
        place: databaseLocationText(settings),
        level,
      })
  }
}
