import type { SqlEntityManager } from '@mikro-orm/sql'
import { type HealthReport, service } from '@plinth/kernel'
import type { Dialect, MigrateOptions, MigrationResult, MigrationStatus, PendingChangeSet } from '@plinth/migrations'
import type { ProbeTarget } from './connections/connection-failure.ts'
import type { ChangeSetDraft } from './migrations/draft.ts'
import type { Parameter } from './rows/bound-parameters.ts'
import type { DatabaseClock } from './time/database-clock.ts'

/** Product and version of a server. */
export interface ServerInfo {
  /** `SQLite`, `PostgreSQL`, `MySQL` or `MariaDB`. */
  readonly product: string
  readonly version: string
}

export interface TransactionOptions {
  /**
   * Maximum time for all attempts together, from the first statement, in milliseconds; 1 to 86,400,000. Default:
   * `platform.database.transaction-timeout`.
   */
  readonly timeoutMs?: number
  /** Cancels the work when it aborts, like a timeout. The error is then the reason of the signal. */
  readonly signal?: AbortSignal
}

/** Statements on the reserved connections; see `Database.reserved`. */
export type ReservedStatements = Pick<Database, 'execute' | 'query'>

export interface Database {
  readonly dialect: Dialect
  /** Location as text for users: a file, or host, port and name. Contains no credentials. */
  readonly place: string

  /**
   * The clock that decides about money, holds, claims, expiry and deletion. Use it instead of the clock of the process.
   */
  readonly clock: DatabaseClock

  /**
   * Returns an entity manager with its own identity map. Inside a transaction, it uses that transaction. Create one per
   * request or unit of work, not per row.
   */
  fork(): SqlEntityManager

  /**
   * Runs the work in one transaction, flushes its entity manager and commits. Inside another call it joins that
   * transaction: if the inner work fails, the whole transaction is rolled back, even if the error is caught. For a part
   * that may fail alone, use a savepoint: `em.transactional`.
   *
   * After a deadlock, a serialization failure or a busy database the whole work is repeated with a new entity manager,
   * up to five attempts in total. So the work must only use the database. Put other effects into `afterCommit`. On
   * SQLite, all other queries of the process wait meanwhile.
   *
   * Work that exceeds its limit is rolled back immediately, and on a server its connection is closed. The signal
   * aborts, and later database calls of the work fail with the same error. They run neither outside the transaction nor
   * in another one. A nested call has the limit of the outer one.
   *
   * @throws PlinthError `PLINTH_DATABASE_TRANSACTION_TIMEOUT` (during a commit, the transaction may have taken
   *   effect), `PLINTH_DATABASE_TRANSACTION_GAVE_UP`, `PLINTH_DATABASE_ROLLED_BACK`, `PLINTH_DATABASE_QUERY_TIMEOUT`,
   *   `PLINTH_DATABASE_POOL_TIMEOUT`, `PLINTH_DATABASE_UNREACHABLE`, or the error of the work
   */
  transactional<T>(
    work: (em: SqlEntityManager, signal: AbortSignal) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>

  /**
   * Like `transactional`, for work that runs statements and needs no entity manager: without one a short transaction
   * costs half as much. Called code may still create one.
   */
  statements<T>(work: (signal: AbortSignal) => Promise<T>, options?: TransactionOptions): Promise<T>

  /** True if the calling code runs in a transaction of this database. Its statements then join that transaction. */
  readonly inTransaction: boolean

  /**
   * Runs the hook after the surrounding transaction has been committed, never after a rollback. Outside a transaction
   * it runs immediately. An error of a hook is logged and does not affect the commit.
   */
  afterCommit(hook: () => void | Promise<void>): void

  /**
   * Calls the listener after each commit of this process that changed rows of one of the tables, or may have changed
   * them: once per table, for all kinds of writes. For hints that data should be read again. Writes of other processes
   * are not reported.
   *
   * @param tables by their names in the database
   * @param listener must return soon; runs in the context of this call, outside of any transaction; its errors are
   *   logged
   * @returns a function that removes the listener
   */
  onWritten(tables: Iterable<string>, listener: (table: string) => void): () => void

  /**
   * Runs one statement with bound parameters, prepared once and reused, in the surrounding transaction if there is one.
   * Use it for contended writes: `update ... set balance = balance - ? where id = ? and balance >= ?` returns 0 if the
   * condition is false. It does not update entities in an identity map. Outside a transaction it is repeated after a
   * conflict, like `transactional`.
   *
   * @param sql with `?` for each parameter, on all databases; names in snake_case, unquoted. Keep the number of
   *   different texts small: for lists of varying length, use the query builder of the entity manager.
   * @returns affected rows; includes rows whose values did not change
   * @throws the exceptions of MikroORM, for example `UniqueConstraintViolationException`; RangeError for a number
   *   that is not exact; PlinthError `PLINTH_DATABASE_QUERY_TIMEOUT`, `PLINTH_DATABASE_POOL_TIMEOUT`,
   *   `PLINTH_DATABASE_UNREACHABLE`
   */
  execute(sql: string, parameters?: readonly Parameter[]): Promise<number>

  /**
   * Reads rows with bound parameters, like `execute`. List the columns: a prepared `select *` breaks when a column is
   * added. Values have the types of the driver: sums may be text (read them with `exactInteger`), times and booleans
   * differ.
   */
  query<Row extends object>(sql: string, parameters?: readonly Parameter[]): Promise<Row[]>

  /**
   * Only for lease renewals, heartbeats and health checks, which must not wait for a pool that ordinary work uses. On a
   * server these statements have two connections in addition to the pool. On SQLite they are the next to use the one
   * connection. Each statement commits itself, so on SQLite they cannot be called inside a transaction.
   */
  readonly reserved: ReservedStatements

  /**
   * For background work with many writes, between its transactions. On SQLite it resolves when no checkpoint of the
   * write-ahead log is running, or after five seconds. On a server it resolves immediately. Work that does not wait
   * makes the log grow until all commits must run checkpoints themselves.
   */
  checkpointed(): Promise<void>

  /**
   * Seconds since the oldest current wait for a statement or a connection began; 0 if there is none. Read by the metric
   * `plinth_database_longest_wait_seconds`.
   */
  readonly longestWaitSeconds: number

  /**
   * Returns a new id: increasing within the process, sorted by time across processes, unique, below 2^53.
   *
   * @throws PlinthError `PLINTH_DATABASE_NO_IDS` before the database is migrated, and in a command outside
   *   `transactional`
   */
  newId(): number

  /**
   * The health check. Throws if the database does not respond or rejects writes (tested at most every five seconds).
   * Warns if the instance works with limits, for example behind a connection pooler.
   */
  ping(signal: AbortSignal): Promise<HealthReport>
  server(): Promise<ServerInfo>

  /** Applies the pending change sets of all loaded plugins; see `Migrator.migrate`. */
  migrate(options?: MigrateOptions): Promise<MigrationResult>
  /** Changes nothing. */
  migrationStatus(): Promise<MigrationStatus>
  /**
   * Returns change sets that would make the migrated database agree with the entities, one for each plugin that
   * differs. Changes nothing.
   */
  migrationDraft(): Promise<readonly ChangeSetDraft[]>
  /** Returns the pending change sets with their SQL. Changes nothing. */
  migrationPlan(): Promise<readonly PendingChangeSet[]>

  /**
   * Connects with other settings and verifies that the product can work there. The user must have all rights on tables
   * (a table is created and dropped). The server must accept writes. No table of another product may have the name of a
   * table that would be created. This service does not change.
   *
   * @throws PlinthError `PLINTH_DATABASE_UNREACHABLE`, `PLINTH_DATABASE_ACCESS_DENIED`, `PLINTH_DATABASE_UNKNOWN`,
   *   `PLINTH_DATABASE_FILE`, `PLINTH_DATABASE_RIGHTS`, `PLINTH_DATABASE_READ_ONLY`, `PLINTH_DATABASE_FAILED`, those of
   *   `migrationPlan`, or another error of a statement
   */
  probe(target: ProbeTarget): Promise<ServerInfo>
}

/** The password of a connection. */
export interface ConnectionSecret {
  readonly password: string
}

/** The password of the product's database. The installer keeps it if the form does not specify another one. */
export const databaseSecret = service<ConnectionSecret>('database.secret', { from: '@plinth/database' })

export const database = service<Database>('database', { from: '@plinth/database' })

/**
 * Returns a count, sum or 64-bit column as a number, for any type of the driver. Null (the sum of no rows) is 0.
 *
 * @throws RangeError if it is not an integer within 2^53 - 1
 */
export function exactInteger(value: unknown): number {
  const number = value === null ? 0 : Number(value)
  if (typeof value === 'boolean' || value === '' || !Number.isSafeInteger(number)) {
    throw new RangeError(`${String(value)} is no whole number within 2^53 - 1`)
  }
  return number
}
