import { connect, Socket } from 'node:net'
import { StatementCache } from '../rows/bound-parameters.ts'
import type { ServerSettings } from './connection-settings.ts'
import { type LeaseRules, lastUsed, type NativeConnection } from './leasing-driver.ts'

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

/** Milliseconds without a word after which the kernel asks whether the other host is still there. */
const keepAliveMs = 30_000

/** Milliseconds that the server waits longer than this process: its limits end what nobody waits for any more. */
const graceMs = 5_000

type Query = (...query: unknown[]) => unknown

interface PostgresClient {
  query(...query: unknown[]): unknown
  connection: { stream: Socket }
}
interface PostgresPool {
  Client: new (...options: unknown[]) => PostgresClient
  options: { types: { setTypeParser(oid: number, parser: (text: string) => unknown): void } }
}

/** The sockets of one pool. */
export class ServerSockets {
  readonly #open = new Set<Socket>()
  readonly #keepAlive = { keepAlive: true, keepAliveInitialDelay: keepAliveMs, noDelay: true }

  /** A socket that the driver connects by itself. */
  unconnected(): Socket {
    return this.#track(new Socket(this.#keepAlive as object))
  }

  connected(host: string, port: number): Socket {
    return this.#track(connect({ host, port, ...this.#keepAlive }))
  }

  closeAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  #track(socket: Socket): Socket {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    return socket
  }
}

/** @param stream of the moment: TLS puts another one in its place */
const nativeConnection = (stream: () => Socket): NativeConnection => ({
  destroy: (reason) =>
    new Promise((resolve) => {
      const socket = stream()
      if (socket.closed) return resolve()
      socket.once('close', () => resolve())
      socket.destroy(reason)
    }),
})

const int8 = 20

/** 64-bit integers as numbers while they are exact, otherwise as text, as the other drivers do. */
function parseInt8(text: string): number | string {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}

export function postgresOptions({ tls, connectTimeoutMs }: ServerSettings, sockets: ServerSockets) {
  return {
    connectionTimeoutMillis: connectTimeoutMs,
    stream: () => sockets.unconnected(),
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify' } }),
    onPoolCreated: (pool: PostgresPool) => {
      pool.options.types.setTypeParser(int8, parseInt8)
      const names = new StatementCache<string>(keptStatements)
      let count = 0
      pool.Client = class extends pool.Client {
        readonly #native = nativeConnection(() => this.connection.stream)

        override query(...query: unknown[]): unknown {
          lastUsed.connection = this.#native
          const [text, values] = query
          if (typeof text !== 'string' || !prepared.has(values as readonly unknown[])) return super.query(...query)
          const name = names.get(text, () => `plinth_${++count}`)
          return super.query({ name, text, values })
        }
      }
    },
  }
}

export function mysqlOptions({ host, port, tls, connectTimeoutMs }: ServerSettings, sockets: ServerSockets) {
  return {
    connectTimeout: connectTimeoutMs,
    stream: () => sockets.connected(host, port),
    maxPreparedStatements: keptStatements,
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify' } }),
  }
}

interface MysqlPool {
  on(event: 'connection', listener: (connection: { query: Query; execute: Query; stream: Socket }) => void): void
}

/** mysql2 writes values into the text of `query`; only `execute` binds them. */
export function prepareOnMysql(pool: MysqlPool): void {
  pool.on('connection', (connection) => {
    const native = nativeConnection(() => connection.stream)
    const query = connection.query.bind(connection)
    connection.query = (...statement) => {
      lastUsed.connection = native
      return prepared.has(statement[1] as readonly unknown[]) ? connection.execute(...statement) : query(...statement)
    }
  })
}

/**
 * Statements for a session. What a server does or holds for a process that has gone ends by the limits of the server; a
 * migration lifts that of statements. A proxy that pools by transaction would give the limits to others, so it gets none.
 */
export function sessionStatements(settings: ServerSettings): LeaseRules['session'] {
  const statementMs = settings.queryTimeoutMs + graceMs
  const idleMs = settings.transactionTimeoutMs + graceMs
  if (settings.type === 'postgresql') {
    if (!settings.preparedStatements) return { open: [], lift: [], restore: [] }
    return {
      open: [
        `select set_config('statement_timeout', '${statementMs}', false), ` +
          `set_config('idle_in_transaction_session_timeout', '${idleMs}', false)`,
      ],
      lift: ['set statement_timeout = 0'],
      restore: [`set statement_timeout = ${statementMs}`],
    }
  }
  const statementLimit = (ms: number) =>
    `/*M! max_statement_time = ${ms / 1000} */ /*!50708 max_execution_time = ${ms} */`
  const idleLimit = `/*M! , idle_transaction_timeout = ${Math.ceil(idleMs / 1000)} */`
  return {
    // An insert that lost a race must see the winner's row, values that do not fit are errors, and times are UTC.
    open: [
      'set session transaction isolation level read committed',
      `set session sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', ` +
        `time_zone = '+00:00', ${statementLimit(statementMs)} ${idleLimit}`,
    ],
    lift: [`set session ${statementLimit(0)}`],
    restore: [`set session ${statementLimit(statementMs)}`],
  }
}
