import { connect, Socket } from 'node:net'
import type { ServerSettings } from './connection-failure.ts'
import { isolationLevel } from './isolation.ts'
import { lastUsedConnection, type NativeConnection, type SessionStatements } from './leasing-driver.ts'
import { type PreparedStatements, preparedStatementLimit } from './prepared-statements.ts'

/**
 * Parameter lists of statements that must be prepared. Kysely passes on the same array, so it can be recognised in the
 * network driver.
 */
const prepared = new WeakSet<readonly unknown[]>()

export function markForPreparation(parameters: readonly unknown[]): void {
  prepared.add(parameters)
}

const isMarked = (values: unknown) => Array.isArray(values) && prepared.has(values)

/**
 * Parameter list that stands for the process number of the connection. The number is inserted when the statement is
 * sent.
 */
const ownBackend: readonly unknown[] = Object.freeze([])

/** Idle milliseconds until the operating system checks whether the other host responds. */
const keepAliveMs = 30_000

/**
 * Milliseconds by which a timeout on the server is longer than the same timeout in this process. The server only needs
 * to end work whose process has disappeared.
 */
const graceMs = 5_000

type Query = (...query: unknown[]) => unknown

interface PostgresClient {
  readonly processID: number | null
  query(...query: unknown[]): unknown
  connection: { stream: Socket }
}
interface PostgresPool {
  Client: new (...options: unknown[]) => PostgresClient
  options: { types: { setTypeParser(oid: number, parser: (text: string) => unknown): void } }
}

export class ServerSockets {
  readonly #open = new Set<Socket>()
  readonly #keepAlive = { keepAlive: true, keepAliveInitialDelay: keepAliveMs, noDelay: true }

  /** Returns a socket that the driver connects itself. */
  unconnected(): Socket {
    return this.#track(new Socket(this.#keepAlive))
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

/** @param stream returns the current socket, because TLS replaces it */
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

/** Returns an integer as a number if the number is exact, otherwise as text. The other drivers do the same. */
function parseInt8(text: string): number | string {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}

export function postgresOptions(
  { tls, connectTimeoutMs }: ServerSettings,
  sockets: ServerSockets,
  statements: PreparedStatements,
) {
  return {
    connectionTimeoutMillis: connectTimeoutMs,
    stream: () => sockets.unconnected(),
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify' } }),
    onPoolCreated: (pool: PostgresPool) => {
      pool.options.types.setTypeParser(int8, parseInt8)
      pool.Client = class extends pool.Client {
        readonly #native = nativeConnection(() => this.connection.stream)

        override query(...query: unknown[]): unknown {
          lastUsedConnection.connection = this.#native
          const [text, values] = query
          if (values === ownBackend) return super.query(text, [this.processID])
          const isPrepared = typeof text === 'string' && statements.isUsed && isMarked(values)
          return isPrepared ? super.query({ name: statements.nameOf(text), text, values }) : super.query(...query)
        }
      }
    },
  }
}

export function mysqlOptions({ host, port, tls, connectTimeoutMs }: ServerSettings, sockets: ServerSockets) {
  return {
    connectTimeout: connectTimeoutMs,
    stream: () => sockets.connected(host, port),
    maxPreparedStatements: preparedStatementLimit,
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify' } }),
  }
}

interface MysqlPool {
  on(event: 'connection', listener: (connection: { query: Query; execute: Query; stream: Socket }) => void): void
}

/**
 * Lets the server prepare statements. In mysql2, only `execute` binds values, while `query` inserts them into the text.
 */
export function prepareOnMysql(pool: MysqlPool, statements: PreparedStatements): void {
  pool.on('connection', (connection) => {
    const native = nativeConnection(() => connection.stream)
    const query = connection.query.bind(connection)
    connection.query = (...statement) => {
      lastUsedConnection.connection = native
      const isPrepared = statements.isUsed && isMarked(statement[1])
      return isPrepared ? connection.execute(...statement) : query(...statement)
    }
  })
}

/**
 * Returns the statements that set the timeouts of a session. These timeouts end work and release locks if the process
 * has disappeared. Migrations disable the statement timeout.
 */
export function createSessionStatements(settings: ServerSettings, statements: PreparedStatements): SessionStatements {
  const statementMs = settings.queryTimeoutMs + graceMs
  const idleMs = settings.transactionTimeoutMs + graceMs
  if (settings.type === 'postgresql') return postgresSession(statementMs, idleMs, statements)
  const statementLimit = (ms: number) =>
    `/*M! max_statement_time = ${ms / 1000} */ /*!50708 max_execution_time = ${ms} */`
  const idleLimit = `/*M! , idle_transaction_timeout = ${Math.ceil(idleMs / 1000)} */`
  return {
    async open(run) {
      await run(`set session transaction isolation level ${isolationLevel}`)
      // Invalid values are errors, times are in UTC, a statement outside a transaction commits, and a commit begins no
      // other transaction, whatever the defaults of the server are.
      await run(
        `set session autocommit = 1, completion_type = 'NO_CHAIN', sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', ` +
          `time_zone = '+00:00', ${statementLimit(statementMs)} ${idleLimit}`,
      )
      return true
    },
    disableTimeouts: `set session ${statementLimit(0)}`,
    restoreTimeouts: `set session ${statementLimit(statementMs)}`,
  }
}

/**
 * Sets timeouts only if the session belongs to one client: its process number equals the number that the client
 * received. A pooler gives sessions with their settings to several clients, and sends an invented number.
 */
const postgresSession = (statementMs: number, idleMs: number, statements: PreparedStatements): SessionStatements => ({
  async open(run) {
    if (!statements.isUsed) return false
    const { rows } = await run(
      `select set_config('statement_timeout', '${statementMs}', false), ` +
        `set_config('idle_in_transaction_session_timeout', '${idleMs}', false) where pg_backend_pid() = $1`,
      ownBackend,
    )
    if (rows.length > 0) return true
    statements.foundPooler()
    return false
  },
  // It is part of the statement that begins a transaction, because a pooler may assign another session each time.
  isolationLevel,
  disableTimeouts: 'set statement_timeout = 0',
  restoreTimeouts: `set statement_timeout = ${statementMs}`,
  disableTimeoutsInTransaction: 'set local statement_timeout = 0',
})
