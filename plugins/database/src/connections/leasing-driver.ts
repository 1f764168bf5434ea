import type { AsyncLocalStorage } from 'node:async_hooks'
import { errorCodeOf, isPlinthError, type PlinthError, type RepeatedFailureLog } from '@plinth/kernel'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryCompiler,
  type TransactionSettings,
} from 'kysely'
import { databaseError } from '../errors.ts'
import { ConnectionQueue, type PoolStatementLog, type WaitTimeouts } from './connection-queue.ts'
import { assertRequestedIsolation, type isolationLevel } from './isolation.ts'
import type { TableWriteNotifier } from './written-tables.ts'

/** Requirements of the calling code for its connections. */
export interface ConnectionOptions {
  /** If true, the statement may use the connections that are reserved for leases and health checks. */
  readonly reserved?: boolean
  /** Statement timeout in milliseconds instead of the default; `Infinity` for none. */
  readonly statementMs?: number
}

/** A connection of the network driver, which Kysely hides. */
export interface NativeConnection {
  /** Closes the connection. Resolves when the socket is closed. */
  destroy(reason: Error): Promise<void>
}

/**
 * The network connection that received the last statement, because Kysely does not show it. Clear this field, start a
 * statement, and read the field in the same tick.
 */
export const lastUsedConnection: { connection: NativeConnection | undefined } = { connection: undefined }

/** Runs a statement on a new connection, with the default timeout. */
type RunOnSession = (sql: string, parameters?: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** Statements that set up a session and change its timeouts. */
export interface SessionStatements {
  /**
   * Sets up the session. Returns true if no other client shares the session, so that its settings remain in effect.
   */
  open(run: RunOnSession): Promise<boolean>
  /** Disables the timeout of a session that is not shared. */
  readonly disableTimeouts: string
  /** Restores the timeout of a session that is not shared. */
  readonly restoreTimeouts: string
  /** Isolation level of each transaction, if the session does not set it. */
  readonly isolationLevel?: typeof isolationLevel
  /** Disables the timeout for one transaction, on a session that may be shared. */
  readonly disableTimeoutsInTransaction?: string
}

export interface ConnectionLeaseOptions {
  /** Maximum number of connections in use. */
  readonly size: number
  /** Number of additional connections for reserved statements. */
  readonly reserved: number
  /** Maximum time in milliseconds that a statement waits for a connection. */
  readonly waitMs: number
  /** Statement timeout in milliseconds. `Infinity` for SQLite, which needs none. */
  readonly statementMs: number
  readonly waits: WaitTimeouts
  readonly demand: AsyncLocalStorage<ConnectionOptions>
  readonly written: TableWriteNotifier
  /** Rules for sessions; undefined for SQLite, which has no sessions. */
  readonly session?: SessionStatements
  /** Receives successful statements, timeouts and connection failures. */
  readonly log: Pick<RepeatedFailureLog, 'failed' | 'succeeded'>
  /** Receives the successes and failures of statements in the pool. */
  readonly pooledStatements: Pick<PoolStatementLog, 'failed' | 'succeeded'>
  /**
   * Throws if the calling code must not use a connection, for example a second connection inside a transaction on
   * SQLite.
   */
  admit(): void
  /** Returns the error to throw if no connection could be opened. */
  failure(error: unknown): unknown
  /** Returns the error to throw for an error of a statement. */
  outage(error: unknown): unknown
  /** Returns true if the connection must be replaced after the error. */
  mustReconnect(error: PlinthError): boolean
  /** Receives successful writes. `isFailing` is true while writes fail. */
  readonly writes: Pick<RepeatedFailureLog, 'isFailing' | 'succeeded'>
  /** Rolls back the open transaction on SQLite, whose connection cannot be destroyed. */
  giveUp?(): void
  closeSockets?(): void
}

/** Maximum milliseconds for running work and for closing connections, when the product stops. */
const closing = { work: 1_500, shutdown: 1_000 }

/**
 * A Kysely driver that releases every connection and limits every wait.
 *
 * If `begin` or `rollback` fails, Kysely never releases the connection of a controlled transaction, which MikroORM
 * uses. The pool would soon be empty. Network drivers wait indefinitely for a server that has disappeared. Therefore
 * this driver destroys a connection at the timeout, and the pool opens another one.
 */
export class LeasingDriver implements Driver {
  readonly #inner: Driver
  readonly #rules: ConnectionLeaseOptions
  readonly #queue: ConnectionQueue
  readonly #leases = new Set<ConnectionLease>()
  /** Connections whose session was set up. The value is true if no other client shares the session. */
  readonly #opened = new WeakMap<DatabaseConnection, boolean>()
  #onIdle: (() => void) | undefined

  constructor(inner: Driver, rules: ConnectionLeaseOptions) {
    this.#inner = inner
    this.#rules = rules
    const { size, reserved, waitMs, waits } = rules
    const tooLate = () => reported(rules, databaseError('PLINTH_DATABASE_POOL_TIMEOUT', { size, ms: waitMs }))
    this.#queue = new ConnectionQueue({ size, reserved, waitMs, waits, tooLate })
  }

  init(...options: Parameters<Driver['init']>) {
    return this.#inner.init(...options)
  }

  async acquireConnection(...options: Parameters<Driver['acquireConnection']>) {
    this.#rules.admit()
    const demand = this.#rules.demand.getStore()
    const turn = this.#queue.take(demand?.reserved === true)
    if (turn !== undefined) await turn
    let connection: DatabaseConnection
    const hasNetwork = this.#rules.statementMs !== Number.POSITIVE_INFINITY
    // The network driver limits this wait itself. The wait is only registered for metrics.
    const wait = hasNetwork ? this.#rules.waits.open(Number.POSITIVE_INFINITY, () => {}) : undefined
    try {
      connection = await this.#inner.acquireConnection(...options)
    } catch (error) {
      this.#queue.give()
      throw reported(this.#rules, this.#rules.failure(error))
    } finally {
      if (wait !== undefined) this.#rules.waits.close(wait)
    }
    if (!hasNetwork) this.#rules.log.succeeded()
    const lease = new ConnectionLease(connection, this.#rules, demand)
    this.#leases.add(lease)
    try {
      await this.#openSession(lease)
    } catch (error) {
      await this.releaseConnection(lease)
      throw error
    }
    return lease
  }

  async #openSession(lease: ConnectionLease): Promise<void> {
    const { session } = this.#rules
    if (session === undefined) return
    if (!this.#opened.has(lease.connection)) {
      const isOwn = await session.open((sql, parameters) => lease.run(sql, parameters))
      this.#opened.set(lease.connection, isOwn)
    }
    if (lease.isUnlimited && this.#opened.get(lease.connection)) await lease.run(session.disableTimeouts)
  }

  /** Releases the connection. A second call for the same lease has no effect. */
  async releaseConnection(lease: ConnectionLease) {
    if (!this.#leases.delete(lease)) return
    this.#rules.written.rolledBack(lease.connection)
    try {
      if (lease.isUnlimited && this.#opened.get(lease.connection)) await this.#restoreLimits(lease, this.#rules.session)
      // Without this wait, the pool could assign the destroyed connection again.
      await lease.gone
      await this.#inner.releaseConnection(lease.connection)
    } finally {
      this.#queue.give()
      if (this.#leases.size === 0) this.#onIdle?.()
    }
  }

  async #restoreLimits(lease: ConnectionLease, session: SessionStatements | undefined): Promise<void> {
    if (session === undefined) return
    try {
      await lease.run(session.restoreTimeouts)
    } catch (error) {
      lease.destroy(error as Error)
    }
  }

  async beginTransaction(lease: ConnectionLease, { isolationLevel: requested, ...settings }: TransactionSettings) {
    try {
      assertRequestedIsolation(requested)
      const { disableTimeoutsInTransaction, isolationLevel } = this.#rules.session ?? {}
      const begin = isolationLevel === undefined ? settings : { ...settings, isolationLevel }
      await lease.bounded(() => this.#inner.beginTransaction(lease.connection, begin))
      lease.isInTransaction = true
      if (disableTimeoutsInTransaction !== undefined && lease.isUnlimited && !this.#opened.get(lease.connection))
        await lease.run(disableTimeoutsInTransaction)
      this.#rules.written.began(lease.connection)
    } catch (error) {
      await this.releaseConnection(lease)
      throw error
    }
  }

  async commitTransaction(lease: ConnectionLease) {
    await lease.bounded(() => this.#inner.commitTransaction(lease.connection))
    lease.committed()
    this.#rules.written.committed(lease.connection)
  }

  /**
   * Rolls back. If this fails, the connection is broken. Then the server itself rolls back, and the pool drops the
   * connection.
   */
  async rollbackTransaction(lease: ConnectionLease) {
    this.#rules.written.rolledBack(lease.connection)
    await lease.bounded(() => this.#inner.rollbackTransaction(lease.connection)).catch(() => undefined)
  }

  savepoint(lease: ConnectionLease, name: string, compile: QueryCompiler['compileQuery']) {
    return lease.bounded(async () => this.#inner.savepoint?.(lease.connection, name, compile))
  }
  rollbackToSavepoint(lease: ConnectionLease, name: string, compile: QueryCompiler['compileQuery']) {
    return lease.bounded(async () => this.#inner.rollbackToSavepoint?.(lease.connection, name, compile))
  }
  releaseSavepoint(lease: ConnectionLease, name: string, compile: QueryCompiler['compileQuery']) {
    return lease.bounded(async () => this.#inner.releaseSavepoint?.(lease.connection, name, compile))
  }

  /** Waits for running work and destroys connections whose work takes too long. */
  async destroy(...options: Parameters<Driver['destroy']>) {
    const { waits, closeSockets } = this.#rules
    const idle = Promise.withResolvers<void>()
    this.#onIdle = idle.resolve
    const work = waits.open(closing.work, () => {
      for (const lease of this.#leases) lease.destroy(databaseError('PLINTH_DATABASE_CLOSED'))
      idle.resolve()
    })
    if (this.#leases.size > 0) await idle.promise
    waits.close(work)
    const over = Promise.withResolvers<void>()
    const shutdown = waits.open(closing.shutdown, over.resolve)
    // The pool may wait indefinitely although all its sockets are closed.
    await Promise.race([this.#inner.destroy(...options), over.promise])
    waits.close(shutdown)
    closeSockets?.()
  }
}

function reported<E>({ log }: ConnectionLeaseOptions, error: E): E {
  // While the product stops, a closed database is not a failure.
  if (errorCodeOf(error) !== 'PLINTH_DATABASE_CLOSED') log.failed(error)
  return error
}

/**
 * A connection from its acquisition to its release. `cancelQuery` and `killSession` of Kysely are not implemented: they
 * use the process number of the session, which behind a pooler may belong to another client.
 */
export class ConnectionLease implements DatabaseConnection {
  readonly connection: DatabaseConnection
  readonly #rules: ConnectionLeaseOptions
  readonly #statementMs: number
  readonly #isOrdinary: boolean
  #native: NativeConnection | undefined
  #destroyedBy: Error | undefined
  isInTransaction = false
  /** True if a statement changed rows while writes were failing. */
  #hasWritten = false
  /** Resolves when the destroyed connection is removed from the pool. */
  gone: Promise<void> | undefined

  constructor(connection: DatabaseConnection, rules: ConnectionLeaseOptions, demand: ConnectionOptions | undefined) {
    this.connection = connection
    this.#rules = rules
    this.#statementMs = demand?.statementMs ?? rules.statementMs
    this.#isOrdinary = demand?.reserved !== true && !this.isUnlimited
  }

  get isUnlimited(): boolean {
    return this.#statementMs > this.#rules.statementMs
  }

  executeQuery<R>(query: CompiledQuery, ...options: [] | [object]) {
    const { written, writes } = this.#rules
    const table = written.asked(this.connection, query.sql)
    const response = this.bounded(() => this.connection.executeQuery<R>(query, ...options))
    if (table === undefined && !writes.isFailing) return response
    return response.then((result) => {
      if (writes.isFailing && result.numAffectedRows !== undefined) {
        this.#hasWritten = true
        if (!this.isInTransaction) this.committed()
      }
      if (table !== undefined) written.tell(table)
      return result
    })
  }

  /** Reports a commit, which proves that the database accepts writes. */
  committed(): void {
    if (this.#hasWritten) this.#rules.writes.succeeded()
  }

  /** Runs a statement that changes the session, with the default timeout. */
  run(sql: string, parameters: readonly unknown[] = []) {
    const query = CompiledQuery.raw(sql, parameters as unknown[])
    return this.bounded(() => this.connection.executeQuery(query), this.#rules.statementMs)
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize: number, ...options: [] | [object]) {
    const rows = this.connection.streamQuery<R>(query, chunkSize, ...options)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await this.bounded(() => rows.next())
        if (done) return
        yield value
      }
    } finally {
      if (this.#destroyedBy === undefined) await rows.return?.()
    }
  }

  /** @throws the reason for which the connection was destroyed */
  bounded<T>(ask: () => Promise<T>, ms = this.#statementMs): Promise<T> {
    if (this.#destroyedBy !== undefined) return Promise.reject(this.#destroyedBy)
    // SQLite uses no network. A timeout would slow down each statement.
    if (this.#rules.statementMs === Number.POSITIVE_INFINITY) return ask()
    return this.#watched(ask, ms)
  }

  async #watched<T>(ask: () => Promise<T>, ms: number): Promise<T> {
    const onEnd = () => this.destroy(reported(this.#rules, databaseError('PLINTH_DATABASE_QUERY_TIMEOUT', { ms })))
    const wait = this.#rules.waits.open(ms, onEnd, this.#isOrdinary)
    try {
      if (this.#native === undefined) lastUsedConnection.connection = undefined
      const response = ask()
      this.#native ??= lastUsedConnection.connection
      const result = await response
      this.#rules.log.succeeded()
      if (this.#isOrdinary) this.#rules.pooledStatements.succeeded()
      return result
    } catch (error) {
      const found = this.#destroyedBy ?? this.#rules.outage(error)
      if (this.#isOrdinary && isPlinthError(found) && found.unavailable === true) this.#rules.pooledStatements.failed()
      if (this.#destroyedBy === undefined && isPlinthError(found) && this.#rules.mustReconnect(found))
        this.destroy(found)
      throw found
    } finally {
      this.#rules.waits.close(wait)
    }
  }

  /** Destroys the connection and rolls back its transaction. Later requests fail with `reason`. */
  destroy(reason: Error): void {
    if (this.#destroyedBy !== undefined) return
    this.#destroyedBy = reason
    this.gone = this.#native?.destroy(reason)
    this.#rules.giveUp?.()
  }
}

export const withConnectionLeases = (dialect: Dialect, rules: ConnectionLeaseOptions): Dialect => ({
  createAdapter: () => dialect.createAdapter(),
  createDriver: () => new LeasingDriver(dialect.createDriver(), rules),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => dialect.createQueryCompiler(),
})
