import { CompiledQuery, type DatabaseConnection } from 'kysely'
import { StatementCache } from './bound-parameters.ts'
import type { ServerSettings } from './connection-settings.ts'

/**
 * Parameter lists of statements that are to be prepared on the server. Kysely passes a list on as it is, so the hooks
 * below find it again when it reaches the network driver.
 */
const prepared = new WeakSet<readonly unknown[]>()

export function markPrepared(parameters: readonly unknown[]): void {
  prepared.add(parameters)
}

/** Statements that a connection keeps prepared on the server. */
const keptStatements = 256

type Query = (...query: unknown[]) => unknown
interface PostgresPool {
  Client: new (...options: unknown[]) => { query(...query: unknown[]): unknown }
  options: { types: { setTypeParser(oid: number, parser: (text: string) => unknown): void } }
}

const int8 = 20

/** 64-bit integers as numbers while they are exact, otherwise as text, as the other drivers do. */
function parseInt8(text: string): number | string {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}

export function postgresOptions({ tls, connectTimeoutMs }: ServerSettings) {
  return {
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify' } }),
    onPoolCreated: (pool: PostgresPool) => {
      pool.options.types.setTypeParser(int8, parseInt8)
      const names = new StatementCache<string>(keptStatements)
      let count = 0
      pool.Client = class extends pool.Client {
        override query(...query: unknown[]): unknown {
          const [text, values] = query
          if (typeof text !== 'string' || !prepared.has(values as readonly unknown[])) return super.query(...query)
          const name = names.get(text, () => `plinth_${++count}`)
          return super.query({ name, text, values })
        }
      }
    },
  }
}

export function mysqlOptions({ tls, connectTimeoutMs }: ServerSettings) {
  return {
    connectTimeout: connectTimeoutMs,
    maxPreparedStatements: keptStatements,
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify' } }),
  }
}

interface MysqlPool {
  on(event: 'connection', listener: (connection: { query: Query; execute: Query }) => void): void
}

/** mysql2 writes values into the text of `query`; only `execute` binds them. */
export function prepareOnMysql(pool: MysqlPool): void {
  pool.on('connection', (connection) => {
    const query = connection.query.bind(connection)
    connection.query = (...statement) =>
      prepared.has(statement[1] as readonly unknown[]) ? connection.execute(...statement) : query(...statement)
  })
}

/**
 * What a new session of MySQL or MariaDB needs to behave like the others: an insert that lost a race must see the
 * winner's row, values that do not fit are errors, and times are UTC.
 */
const mysqlSession = [
  'set session transaction isolation level read committed',
  `set session sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', ` +
    `time_zone = '+00:00'`,
]

export async function openMysqlSession(connection: unknown): Promise<void> {
  const session = connection as DatabaseConnection
  for (const statement of mysqlSession) await session.executeQuery(CompiledQuery.raw(statement))
}
