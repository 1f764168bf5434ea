import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryCompiler, TransactionSettings } from 'kysely'

/**
 * A driver that gives every connection back. Kysely keeps the connection of a controlled transaction (the kind that
 * MikroORM uses) for ever when `begin` or `rollback` fails, which is what happens when the server restarts: the pool
 * would be empty after a few of those.
 */
export class LeasingDriver implements Driver {
  readonly #inner: Driver

  constructor(inner: Driver) {
    this.#inner = inner
  }

  init(...options: Parameters<Driver['init']>) {
    return this.#inner.init(...options)
  }

  async acquireConnection(...options: Parameters<Driver['acquireConnection']>) {
    return new Lease(await this.#inner.acquireConnection(...options))
  }

  /** A second release of the same lease is none. */
  async releaseConnection(connection: DatabaseConnection) {
    const lease = connection as Lease
    if (lease.ended) return
    lease.ended = true
    await this.#inner.releaseConnection(lease.connection)
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings) {
    try {
      await this.#inner.beginTransaction((connection as Lease).connection, settings)
    } catch (error) {
      await this.releaseConnection(connection)
      throw error
    }
  }

  commitTransaction(connection: DatabaseConnection) {
    return this.#inner.commitTransaction((connection as Lease).connection)
  }

  /** A rollback fails when the connection is broken. Then the server has rolled back, and the pool drops the connection. */
  async rollbackTransaction(connection: DatabaseConnection) {
    await this.#inner.rollbackTransaction((connection as Lease).connection).catch(() => undefined)
  }

  async savepoint(connection: DatabaseConnection, name: string, compile: QueryCompiler['compileQuery']) {
    await this.#inner.savepoint?.((connection as Lease).connection, name, compile)
  }
  async rollbackToSavepoint(connection: DatabaseConnection, name: string, compile: QueryCompiler['compileQuery']) {
    await this.#inner.rollbackToSavepoint?.((connection as Lease).connection, name, compile)
  }
  async releaseSavepoint(connection: DatabaseConnection, name: string, compile: QueryCompiler['compileQuery']) {
    await this.#inner.releaseSavepoint?.((connection as Lease).connection, name, compile)
  }

  destroy(...options: Parameters<Driver['destroy']>) {
    return this.#inner.destroy(...options)
  }
}

/** One acquisition of a connection. */
class Lease implements DatabaseConnection {
  readonly connection: DatabaseConnection
  ended = false
  declare cancelQuery?: NonNullable<DatabaseConnection['cancelQuery']>
  declare collectSessionInfo?: NonNullable<DatabaseConnection['collectSessionInfo']>
  declare killSession?: NonNullable<DatabaseConnection['killSession']>

  constructor(connection: DatabaseConnection) {
    this.connection = connection
    if (connection.cancelQuery) this.cancelQuery = connection.cancelQuery.bind(connection)
    if (connection.collectSessionInfo) this.collectSessionInfo = connection.collectSessionInfo.bind(connection)
    if (connection.killSession) this.killSession = connection.killSession.bind(connection)
  }

  executeQuery<R>(query: CompiledQuery, ...options: [] | [object]) {
    return this.connection.executeQuery<R>(query, ...options)
  }
  streamQuery<R>(query: CompiledQuery, chunkSize: number, ...options: [] | [object]) {
    return this.connection.streamQuery<R>(query, chunkSize, ...options)
  }
}

/** The same dialect with a driver that gives every connection back. */
export const withLeases = (dialect: Dialect): Dialect => ({
  createAdapter: () => dialect.createAdapter(),
  createDriver: () => new LeasingDriver(dialect.createDriver()),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => dialect.createQueryCompiler(),
})
