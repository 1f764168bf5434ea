import type { AsyncLocalStorage } from 'node:async_hooks'
import { codeOf, type FailureLog, isPlinthError, type PlinthError } from '@plinth/kernel'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryCompiler,
  type TransactionSettings,
} from 'kysely'
import { databaseError } from '../errors.ts'
import { ConnectionQueue, type OpenWaits, type OrdinaryStatements } from './connection-queue.ts'
import type { WrittenTables } from './written-tables.ts'

/** Connection options of the calling code. */
export interface Demand {
  /** True uses a connection that ordinary work does not use. */
  readonly reserved?: boolean
  /** Statement timeout in milliseconds instead of the default; `Infinity` for none. */
  readonly statementMs?: number
}

/** A network connection, below Kysely. */
export interface NativeConnection {
  /** Closes the socket immediately. Resolves when the pool has noticed. */
  destroy(reason: Error): Promise<void>
}

/**
 * The network connection that received the last statement. Kysely hides it. A statement reaches the network driver
 * before `executeQuery` returns. Thus code that clears this field before the call and reads it directly after the call
 * finds the correct connection.
 */
export const lastUsed: { connection: NativeConnection | undefined } = { connection: undefined }

/** Runs one statement on a new connection, with the timeout of an ordinary statement. */
type RunOnSession = (sql: string, parameters?: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** Statements that set up a session and change its timeouts for work without a limit. */
export interface SessionRules {
  /** Sets up a new session. Returns true if the session belongs only to this connection, so that its settings stay. */
  open(run: RunOnSession): Promise<boolean>
  /** Disables the timeout before work without a limit, on an exclusive session. */
  readonly lift: string
  /** Restores the timeout after work without a limit, on an exclusive session. */
  readonly restore: string
  /** Disables the timeout at the start of a transaction without a limit, on a shared session. */
  readonly liftInTransaction?: string
}

export interface LeaseRules {
  /** Maximum number of connections in use. */
  readonly size: number
  /** Number of additional connections, for reserved statements. */
  readonly reserved: number
  /** Maximum wait for a connection, milliseconds. */
  readonly waitMs: number
  /** Statement timeout, milliseconds; `Infinity` without a network. */
  readonly statementMs: number
  readonly waits: OpenWaits
  readonly demand: AsyncLocalStorage<Demand>
  readonly written: WrittenTables
  /** Undefined if the database has no sessions. */
  readonly session?: SessionRules
  /** Is notified of each executed statement and of each wait that timed out. */
  readonly log: Pick<FailureLog, 'failed' | 'succeeded'>
  /** Is notified of each ordinary statement that succeeded, or failed because of its connection. */
  readonly pooledStatements: Pick<OrdinaryStatements, 'failed' | 'succeeded'>
  /** Throws if the calling code must not use a connection. */
  admit(): void
  /** Returns the error to throw if no connection is available. */
  failure(error: unknown): unknown
  /**
   * Returns the error to throw for the error of a statement. It shows whether the connection ended or the disk is full.
   */
  outage(error: unknown): unknown
  /** True if the connection must be replaced after this error. */
  mustReconnect(error: PlinthError): boolean
  /** State of write failures. Is notified of a successful write. */
  readonly writes: Pick<FailureLog, 'isFailing' | 'succeeded'>
  /** Rolls back the open transaction of a connection without a network. */
  giveUp?(): void
  /** Closes all sockets, at the end. */
  closeSockets?(): void
}

/**
 * Milliseconds when the product stops: first for current work to end, then for the shutdown of the connections.
 */
const closing = { work: 1_500, goodbye: 1_000 }

/**
 * A driver that releases each connection and limits each wait.
 *
 * If `begin` or `rollback` fails, for example when the server restarts, Kysely keeps the connection of a controlled
 * transaction (the kind that MikroORM uses) indefinitely. The pool would soon be empty. Network drivers do not end a
 * statement whose server has disappeared. Therefore the connection is destroyed at the timeout, and the pool opens
 * another one.
 */
export class LeasingDriver implements Driver {
  readonly #inner: Driver
  readonly #rules: LeaseRules
  readonly #queue: ConnectionQueue
  readonly #leases = new Set<Lease>()
  /** For each connection that was set up: true if its session belongs only to it. */
  readonly #opened = new WeakMap<DatabaseConnection, boolean>()
  #onIdle: (() => void) | undefined

  constructor(inner: Driver, rules: LeaseRules) {
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
    // The network driver limits this wait. It is only registered here.
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
    const lease = new Lease(connection, this.#rules, demand)
    this.#leases.add(lease)
    try {
      await this.#openSession(lease)
    } catch (error) {
      await this.releaseConnection(lease)
      throw error
    }
    return lease
  }

  async #openSession(lease: Lease): Promise<void> {
    const { session } = this.#rules
    if (session === undefined) return
    if (!this.#opened.has(lease.connection)) {
      const isOwn = await session.open((sql, parameters) => lease.run(sql, parameters))
      this.#opened.set(lease.connection, isOwn)
    }
    if (lease.isUnlimited && this.#opened.get(lease.connection)) await lease.run(session.lift)
  }

  /** Releases a lease. A second call has no effect. */
  async releaseConnection(lease: Lease) {
    if (!this.#leases.delete(lease)) return
    this.#rules.written.rolledBack(lease.connection)
    try {
      if (lease.isUnlimited && this.#opened.get(lease.connection)) await this.#restoreLimits(lease, this.#rules.session)
      // Otherwise the pool could assign the connection again before it has noticed the end.
      await lease.gone
      await this.#inner.releaseConnection(lease.connection)
    } finally {
      this.#queue.give()
      if (this.#leases.size === 0) this.#onIdle?.()
    }
  }

  async #restoreLimits(lease: Lease, session: SessionRules | undefined): Promise<void> {
    if (session === undefined) return
    try {
      await lease.run(session.restore)
    } catch (error) {
      lease.sever(error as Error)
    }
  }

  async beginTransaction(lease: Lease, settings: TransactionSettings) {
    try {
      await lease.bounded(() => this.#inner.beginTransaction(lease.connection, settings))
      lease.isInTransaction = true
      const { liftInTransaction } = this.#rules.session ?? {}
      if (liftInTransaction !== undefined && lease.isUnlimited && !this.#opened.get(lease.connection))
        await lease.run(liftInTransaction)
      this.#rules.written.began(lease.connection)
    } catch (error) {
      await this.releaseConnection(lease)
      throw error
    }
  }

  async commitTransaction(lease: Lease) {
    await lease.bounded(() => this.#inner.commitTransaction(lease.connection))
    lease.committed()
    this.#rules.written.committed(lease.connection)
  }

  /**
   * A rollback fails if the connection is broken. Then the server has rolled back, and the pool drops the connection.
   */
  async rollbackTransaction(lease: Lease) {
    this.#rules.written.rolledBack(lease.connection)
    await lease.bounded(() => this.#inner.rollbackTransaction(lease.connection)).catch(() => undefined)
  }

  savepoint(lease: Lease, name: string, compile: QueryCompiler['compileQuery']) {
    return lease.bounded(async () => this.#inner.savepoint?.(lease.connection, name, compile))
  }
  rollbackToSavepoint(lease: Lease, name: string, compile: QueryCompiler['compileQuery']) {
    return lease.bounded(async () => this.#inner.rollbackToSavepoint?.(lease.connection, name, compile))
  }
  releaseSavepoint(lease: Lease, name: string, compile: QueryCompiler['compileQuery']) {
    return lease.bounded(async () => this.#inner.releaseSavepoint?.(lease.connection, name, compile))
  }

  /** Waits for current work, destroys connections that exceed the limit, and limits the shutdown of each connection. */
  async destroy(...options: Parameters<Driver['destroy']>) {
    const { waits, closeSockets } = this.#rules
    const idle = Promise.withResolvers<void>()
    this.#onIdle = idle.resolve
    const work = waits.open(closing.work, () => {
      for (const lease of this.#leases) lease.sever(databaseError('PLINTH_DATABASE_CLOSED'))
      idle.resolve()
    })
    if (this.#leases.size > 0) await idle.promise
    waits.close(work)
    const over = Promise.withResolvers<void>()
    const goodbye = waits.open(closing.goodbye, over.resolve)
    // A pool that has miscounted its connections would wait even after all sockets are closed.
    await Promise.race([this.#inner.destroy(...options), over.promise])
    waits.close(goodbye)
    closeSockets?.()
  }
}

function reported<E>({ log }: LeaseRules, error: E): E {
  // A product that stops has closed its database. This is not an outage.
  if (codeOf(error) !== 'PLINTH_DATABASE_CLOSED') log.failed(error)
  return error
}

/**
 * One acquisition of a connection. It does not implement Kysely's `cancelQuery` and `killSession`, which end a session
 * by the process number of the connection. A pooler invents that number, and it may belong to another session.
 */
export class Lease implements DatabaseConnection {
  readonly connection: DatabaseConnection
  readonly #rules: LeaseRules
  readonly #statementMs: number
  readonly #isOrdinary: boolean
  #native: NativeConnection | undefined
  #severed: Error | undefined
  isInTransaction = false
  /** True if a statement changed rows while the database rejected writes. */
  #hasWritten = false
  /** Resolves when a destroyed connection is removed from the pool. */
  gone: Promise<void> | undefined

  constructor(connection: DatabaseConnection, rules: LeaseRules, demand: Demand | undefined) {
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

  /** The writes are stored now, so the database accepts writes. */
  committed(): void {
    if (this.#hasWritten) this.#rules.writes.succeeded()
    this.#hasWritten = false
  }

  /** Runs a statement for the session, always with a timeout. */
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
      if (this.#severed === undefined) await rows.return?.()
    }
  }

  /**
   * Runs a request to the server.
   *
   * @throws the reason for which the connection was destroyed
   */
  bounded<T>(ask: () => Promise<T>, ms = this.#statementMs): Promise<T> {
    if (this.#severed !== undefined) return Promise.reject(this.#severed)
    // Without a network no statement waits for one, and a timeout would have a measurable cost.
    if (this.#rules.statementMs === Number.POSITIVE_INFINITY) return ask()
    return this.#watched(ask, ms)
  }

  async #watched<T>(ask: () => Promise<T>, ms: number): Promise<T> {
    const onEnd = () => this.sever(reported(this.#rules, databaseError('PLINTH_DATABASE_QUERY_TIMEOUT', { ms })))
    const wait = this.#rules.waits.open(ms, onEnd, this.#isOrdinary)
    try {
      if (this.#native === undefined) lastUsed.connection = undefined
      const response = ask()
      this.#native ??= lastUsed.connection
      const result = await response
      this.#rules.log.succeeded()
      if (this.#isOrdinary) this.#rules.pooledStatements.succeeded()
      return result
    } catch (error) {
      const found = this.#severed ?? this.#rules.outage(error)
      if (this.#isOrdinary && isPlinthError(found) && found.unavailable === true) this.#rules.pooledStatements.failed()
      if (this.#severed === undefined && isPlinthError(found) && this.#rules.mustReconnect(found)) this.sever(found)
      throw found
    } finally {
      this.#rules.waits.close(wait)
    }
  }

  /**
   * Destroys the connection with its work, including the transaction. Later requests of this lease fail with the
   * reason.
   */
  sever(reason: Error): void {
    if (this.#severed !== undefined) return
    this.#severed = reason
    this.gone = this.#native?.destroy(reason)
    this.#rules.giveUp?.()
  }
}

/** Returns the same dialect with a driver that releases each connection and limits each wait. */
export const withLeases = (dialect: Dialect, rules: LeaseRules): Dialect => ({
  createAdapter: () => dialect.createAdapter(),
  createDriver: () => new LeasingDriver(dialect.createDriver(), rules),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => dialect.createQueryCompiler(),
})
