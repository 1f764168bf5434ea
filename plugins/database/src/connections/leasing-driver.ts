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

/** What a piece of work asks of its connections. */
export interface Demand {
  /** A connection that ordinary work does not use up. */
  readonly reserved?: boolean
  /** Milliseconds that a statement may take instead of the usual limit; `Infinity` for none. */
  readonly statementMs?: number
}

/** A network connection, below Kysely. */
export interface NativeConnection {
  /** Closes its socket at once; resolves when the pool has noticed. */
  destroy(reason: Error): Promise<void>
}

/**
 * The network connection that took a statement last. Kysely hides it; but a statement reaches the network driver before
 * `executeQuery` returns, so who clears this first and looks right after the call finds the right one.
 */
export const lastUsed: { connection: NativeConnection | undefined } = { connection: undefined }

/** Runs one statement on a new connection, within the limit of an ordinary statement. */
type RunOnSession = (sql: string, parameters?: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** Statements that set up a session, and that change its limits for work without a limit. */
export interface SessionRules {
  /** Sets up a new session. Returns whether it belongs to this connection alone, so that its settings stay. */
  open(run: RunOnSession): Promise<boolean>
  /** Before work without a limit, on a session of its own. */
  readonly lift: string
  /** After work without a limit, on a session of its own. */
  readonly restore: string
  /** At the begin of a transaction without a limit, on a session that others use too. */
  readonly liftInTransaction?: string
}

export interface LeaseRules {
  /** Connections that are in use at once at most. */
  readonly size: number
  /** Connections besides, for reserved statements. */
  readonly reserved: number
  /** Milliseconds to wait for a connection. */
  readonly waitMs: number
  /** Milliseconds that a statement may take; `Infinity` where there is no network to wait for. */
  readonly statementMs: number
  readonly waits: OpenWaits
  readonly demand: AsyncLocalStorage<Demand>
  readonly written: WrittenTables
  /** Absent where there is no session to set up. */
  readonly session?: SessionRules
  /** Hears of every statement that ran, and of every wait that had to be ended. */
  readonly log: Pick<FailureLog, 'failed' | 'succeeded'>
  /** Is notified of every ordinary statement that succeeded, or failed because of its connection. */
  readonly ordinary: Pick<OrdinaryStatements, 'failed' | 'succeeded'>
  /** Throws when the calling code may have no connection. */
  admit(): void
  /** What is thrown when no connection can be had. */
  failure(error: unknown): unknown
  /** What is thrown for the error of a statement: it tells when the connection ended, or the disk is full. */
  outage(error: unknown): unknown
  /** Whether an error of a statement means that its connection must be replaced. */
  mustReconnect(error: PlinthError): boolean
  /** Whether the disk of the database is full, and that something was written all the same. */
  readonly writes: Pick<FailureLog, 'isFailing' | 'succeeded'>
  /** Gives up the open transaction of a connection that has no network below it. */
  giveUp?(): void
  /** Closes every socket, at the very end. */
  closeSockets?(): void
}

/** Milliseconds that work in flight has to end when the product stops, and then its connections to say goodbye. */
const closing = { work: 1_500, goodbye: 1_000 }

/**
 * A driver that gives every connection back, and waits for nothing without an end.
 *
 * Kysely keeps the connection of a controlled transaction (the kind that MikroORM uses) for ever when `begin` or
 * `rollback` fails, which is what happens when the server restarts: the pool would be empty after a few of those. And no
 * network driver ends a statement whose server has gone without a word: at the end of its time the connection is destroyed,
 * so that the pool opens another one.
 */
export class LeasingDriver implements Driver {
  readonly #inner: Driver
  readonly #rules: LeaseRules
  readonly #queue: ConnectionQueue
  readonly #leases = new Set<Lease>()
  /** By connection that was set up: whether its session belongs to it alone. */
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
    // The network driver ends this wait; here it is only seen.
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

  /** A second release of the same lease is none. */
  async releaseConnection(lease: Lease) {
    if (!this.#leases.delete(lease)) return
    this.#rules.written.rolledBack(lease.connection)
    try {
      if (lease.isUnlimited && this.#opened.get(lease.connection)) await this.#restoreLimits(lease, this.#rules.session)
      // A pool would hand it out again before it has noticed.
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

  /** A rollback fails when the connection is broken. Then the server has rolled back, and the pool drops the connection. */
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

  /** Lets work in flight end, cuts what does not, and waits for no goodbye of a server that is silent. */
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
    // A pool that has lost count of its connections waits for them even when all sockets are closed.
    await Promise.race([this.#inner.destroy(...options), over.promise])
    waits.close(goodbye)
    closeSockets?.()
  }
}

function reported<E>({ log }: LeaseRules, error: E): E {
  // A product that stops has closed its database: that is not an outage.
  if (codeOf(error) !== 'PLINTH_DATABASE_CLOSED') log.failed(error)
  return error
}

/**
 * One acquisition of a connection. It leaves out `cancelQuery` and `killSession` of Kysely, which end the session with the
 * process number of the connection: behind a pooler that number is invented, and may be the one of another session.
 */
export class Lease implements DatabaseConnection {
  readonly connection: DatabaseConnection
  readonly #rules: LeaseRules
  readonly #statementMs: number
  readonly #isOrdinary: boolean
  #native: NativeConnection | undefined
  #severed: Error | undefined
  isInTransaction = false
  /** Whether a statement changed rows while the database took no writes. */
  #hasWritten = false
  /** Resolves when a connection that was cut is out of the pool. */
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
    const answer = this.bounded(() => this.connection.executeQuery<R>(query, ...options))
    if (table === undefined && !writes.isFailing) return answer
    return answer.then((result) => {
      if (writes.isFailing && result.numAffectedRows !== undefined) {
        this.#hasWritten = true
        if (!this.isInTransaction) this.committed()
      }
      if (table !== undefined) written.tell(table)
      return result
    })
  }

  /** Its writes are stored now, so the database accepts writes. */
  committed(): void {
    if (this.#hasWritten) this.#rules.writes.succeeded()
    this.#hasWritten = false
  }

  /** Runs a statement for the session: never without a limit. */
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

  /** Runs what asks the server something. @throws what cut the connection, once it is cut */
  bounded<T>(ask: () => Promise<T>, ms = this.#statementMs): Promise<T> {
    if (this.#severed !== undefined) return Promise.reject(this.#severed)
    // Where there is no network no statement waits for one, and watching it is a part of its cost that can be measured.
    if (this.#rules.statementMs === Number.POSITIVE_INFINITY) return ask()
    return this.#watched(ask, ms)
  }

  async #watched<T>(ask: () => Promise<T>, ms: number): Promise<T> {
    const onEnd = () => this.sever(reported(this.#rules, databaseError('PLINTH_DATABASE_QUERY_TIMEOUT', { ms })))
    const wait = this.#rules.waits.open(ms, onEnd, this.#isOrdinary)
    try {
      if (this.#native === undefined) lastUsed.connection = undefined
      const answer = ask()
      this.#native ??= lastUsed.connection
      const result = await answer
      this.#rules.log.succeeded()
      if (this.#isOrdinary) this.#rules.ordinary.succeeded()
      return result
    } catch (error) {
      const found = this.#severed ?? this.#rules.outage(error)
      if (this.#isOrdinary && isPlinthError(found) && found.unavailable === true) this.#rules.ordinary.failed()
      if (this.#severed === undefined && isPlinthError(found) && this.#rules.mustReconnect(found)) this.sever(found)
      throw found
    } finally {
      this.#rules.waits.close(wait)
    }
  }

  /** Gives up what the connection does, transaction and all. What is asked of this lease from now on fails with the reason. */
  sever(reason: Error): void {
    if (this.#severed !== undefined) return
    this.#severed = reason
    this.gone = this.#native?.destroy(reason)
    this.#rules.giveUp?.()
  }
}

/** The same dialect with a driver that gives every connection back and waits for nothing without an end. */
export const withLeases = (dialect: Dialect, rules: LeaseRules): Dialect => ({
  createAdapter: () => dialect.createAdapter(),
  createDriver: () => new LeasingDriver(dialect.createDriver(), rules),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => dialect.createQueryCompiler(),
})
