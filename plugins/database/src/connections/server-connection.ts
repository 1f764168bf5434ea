import { connect, Socket } from 'node:net'
import type { ServerSettings } from './connection-failure.ts'
import { lastUsed, type NativeConnection, type SessionRules } from './leasing-driver.ts'
import { keptStatements, type PreparedStatements } from './prepared-statements.ts'

/**
 * Parameter lists of statements that must be prepared on the server. Kysely passes a list unchanged, so the hooks below
 * can identify it when it reaches the network driver.
 */
const prepared = new WeakSet<readonly unknown[]>()

export function markPrepared(parameters: readonly unknown[]): void {
  prepared.add(parameters)
}

const isMarked = (values: unknown) => Array.isArray(values) && prepared.has(values)

/**
 * Parameters of a statement that compares its session with its connection. The pool replaces them by the process number
 * that PostgreSQL or a pooler gave the connection when it was opened.
 */
const ownBackend: readonly unknown[] = Object.freeze([])

/** Idle time after which the kernel checks whether the other host is still alive, milliseconds. */
const keepAliveMs = 30_000

/**
 * The timeouts of the server are longer than those of this process by this time, milliseconds. They end work that no
 * process waits for.
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

/** The sockets of one pool. */
export class ServerSockets {
  readonly #open = new Set<Socket>()
  readonly #keepAlive = { keepAlive: true, keepAliveInitialDelay: keepAliveMs, noDelay: true }

  /** Returns a socket that the driver connects. */
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

/** @param stream returns the current stream, because TLS replaces it */
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

/** Returns 64-bit integers as numbers if they are exact, otherwise as text, like the other drivers. */
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
          lastUsed.connection = this.#native
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
    maxPreparedStatements: keptStatements,
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify' } }),
  }
}

interface MysqlPool {
  on(event: 'connection', listener: (connection: { query: Query; execute: Query; stream: Socket }) => void): void
}

/** mysql2 inserts values into the text of `query`. Only `execute` binds them. */
export function prepareOnMysql(pool: MysqlPool, statements: PreparedStatements): void {
  pool.on('connection', (connection) => {
    const native = nativeConnection(() => connection.stream)
    const query = connection.query.bind(connection)
    connection.query = (...statement) => {
      lastUsed.connection = native
      const isPrepared = statements.isUsed && isMarked(statement[1])
      return isPrepared ? connection.execute(...statement) : query(...statement)
    }
  })
}

/**
 * Returns statements for a session. Timeouts of the server end work and locks of a process that has disappeared. A
 * migration disables the statement timeout.
 */
export function sessionRules(settings: ServerSettings, statements: PreparedStatements): SessionRules {
  const statementMs = settings.queryTimeoutMs + graceMs
  const idleMs = settings.transactionTimeoutMs + graceMs
  if (settings.type === 'postgresql') return postgresSession(statementMs, idleMs, statements)
  const statementLimit = (ms: number) =>
    `/*M! max_statement_time = ${ms / 1000} */ /*!50708 max_execution_time = ${ms} */`
  const idleLimit = `/*M! , idle_transaction_timeout = ${Math.ceil(idleMs / 1000)} */`
  return {
    async open(run) {
      // An insert that lost a race must see the row of the winner. Invalid values are errors. Times are UTC.
      await run('set session transaction isolation level read committed')
      await run(
        `set session sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', ` +
          `time_zone = '+00:00', ${statementLimit(statementMs)} ${idleLimit}`,
      )
      return true
    },
    lift: `set session ${statementLimit(0)}`,
    restore: `set session ${statementLimit(statementMs)}`,
  }
}

/**
 * A pooler in transaction mode gives a session with its settings to other clients after each transaction. So timeouts
 * are only set if the session belongs to the connection. PostgreSQL reports the process number of the session to the
 * client, and a pooler invents one.
 */
const postgresSession = (statementMs: number, idleMs: number, statements: PreparedStatements): SessionRules => ({
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
  lift: 'set statement_timeout = 0',
  restore: `set statement_timeout = ${statementMs}`,
  liftInTransaction: 'set local statement_timeout = 0',
})
