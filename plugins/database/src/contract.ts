import type { SqlEntityManager } from '@mikro-orm/sql'
import { type HealthReport, service } from '@plinth/kernel'
import type { Dialect, MigrateOptions, MigrationResult, MigrationStatus, PendingChangeSet } from '@plinth/migrations'
import type { ProbeTarget } from './connections/connection-failure.ts'
import type { ChangeSetDraft } from './migrations/draft.ts'
import type { Parameter } from './rows/bound-parameters.ts'
import type { DatabaseClock } from './time/database-clock.ts'

/** What a server says about itself. */
export interface ServerInfo {
  /** `SQLite`, `PostgreSQL`, `MySQL` or `MariaDB`. */
  readonly product: string
  readonly version: string
}

export interface TransactionOptions {
  /**
   * Milliseconds that the work may take, all its tries together, from the first statement; 1 to 86,400,000.
   * `platform.database.transaction-timeout` when absent.
   */
  readonly timeoutMs?: number
  /** Gives the work up when it aborts, as the end of its time does; the reason is the error then. */
  readonly signal?: AbortSignal
}

/** The statements that may run beside everything else; see `Database.reserved`. */
export type ReservedStatements = Pick<Database, 'execute' | 'query'>

export interface Database {
  readonly dialect: Dialect
  /** Where it is, for people: a file, or host, port and name. No credentials. */
  readonly place: string

  /** The clock that decides about money, holds, claims, expiry and deletion. Pass it on in place of the clock of the process. */
  readonly clock: DatabaseClock

  /**
   * An entity manager with an identity map of its own. Taken inside a transaction, it works in that transaction. Take
   * one per request or piece of work, not per row.
   */
  fork(): SqlEntityManager

  /**
   * Runs the work in one transaction and commits what it did, flushing its entity manager. Inside another call it joins
   * that transaction: when the inner work fails, the whole transaction is rolled back, even if the error is caught. (A part
   * that may fail alone goes into a savepoint: `em.transactional`.)
   *
   * A deadlock, a serialization failure or a busy database runs the whole work again, with a fresh entity manager, up to
   * five times in all. So the work must not do anything but talk to the database; what else is to happen goes into
   * `afterCommit`. On SQLite every other query of the process waits while it runs.
   *
   * Work that takes longer than its limit is rolled back at once, wherever it is, and on a server its connection is closed.
   * The signal aborts then, and whatever the work asks of this database afterwards fails with the same error: it runs neither
   * outside the transaction nor in another one. A nested call has the limit of the outer one.
   *
   * @throws PlinthError `PLINTH_DATABASE_TRANSACTION_TIMEOUT` (when it was committing just then, it may have taken effect),
   *   `PLINTH_DATABASE_TRANSACTION_GAVE_UP`, `PLINTH_DATABASE_ROLLED_BACK`, `PLINTH_DATABASE_QUERY_TIMEOUT`,
   *   `PLINTH_DATABASE_POOL_TIMEOUT`, `PLINTH_DATABASE_UNREACHABLE`, or what the work throws
   */
  transactional<T>(
    work: (em: SqlEntityManager, signal: AbortSignal) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>

  /**
   * As `transactional`, for work that runs statements and needs no entity manager: without one a short transaction costs half.
   * What is called inside may take one all the same.
   */
  statements<T>(work: (signal: AbortSignal) => Promise<T>, options?: TransactionOptions): Promise<T>

  /** Whether the calling code runs in a transaction of this database, so that what it asks for joins that. */
  readonly inTransaction: boolean

  /**
   * Runs the hook once the transaction around it has been committed, never when it is rolled back; outside a transaction
   * at once. A hook that fails is logged: the commit stands.
   */
  afterCommit(hook: () => void | Promise<void>): void

  /**
   * Calls the listener after each commit of this process that changed rows of one of the tables, or may have: once for each
   * such table, whatever wrote to it. For hints that something is worth reading again; what other processes write is not heard.
   *
   * @param tables by their names in the database
   * @param listener is to return soon; runs in the context of this call, outside of any transaction; when it throws, that is logged
   * @returns ends it
   */
  onWritten(tables: Iterable<string>, listener: (table: string) => void): () => void

  /**
   * Runs one statement with bound parameters, prepared once and reused, in the transaction around it if there is one.
   * The way to write what several callers contend for: `update ... set balance = balance - ? where id = ? and balance >= ?`
   * answers 0 when the condition did not hold. Entities in an identity map do not notice. Outside a transaction it is run
   * again after a conflict, as `transactional` is.
   *
   * @param sql with `?` for each parameter, on every database; names in snake_case, unquoted. Keep the number of different
   *   texts small: lists of varying length are for the query builder of the entity manager.
   * @returns rows affected; a row that is written with the values it had counts
   * @throws the exceptions of MikroORM, for example `UniqueConstraintViolationException`; RangeError for a number that is not
   *   exact; PlinthError `PLINTH_DATABASE_QUERY_TIMEOUT`, `PLINTH_DATABASE_POOL_TIMEOUT`, `PLINTH_DATABASE_UNREACHABLE`
   */
  execute(sql: string, parameters?: readonly Parameter[]): Promise<number>

  /**
   * Reads rows with bound parameters, as `execute` writes. Name the columns: a prepared `select *` breaks when a column is
   * added. Values come as the driver gives them: sums may be text (read them with `exactInteger`), times and booleans differ.
   */
  query<Row extends object>(sql: string, parameters?: readonly Parameter[]): Promise<Row[]>

  /**
   * For renewals of leases, heartbeats and health checks, and nothing else: they must not wait behind a pool that ordinary
   * work has used up. On a server these statements have two connections of their own besides the pool; on SQLite they are
   * the next to have the one connection. Each commits by itself, so on SQLite they cannot be called inside a transaction.
   */
  readonly reserved: ReservedStatements

  /**
   * For work in the background that writes much, between its transactions: on SQLite it resolves when the write-ahead log is
   * not being copied back into the file, or after five seconds; on a server at once. What writes on regardless makes the
   * log grow until the commits of all must copy it back themselves.
   */
  checkpointed(): Promise<void>

  /**
   * Seconds since the oldest statement, or turn for a connection, that is waited for right now began; 0 when none is. Read
   * by the metric `plinth_database_longest_wait_seconds`.
   */
  readonly longestWaitSeconds: number

  /**
   * A fresh id: grows within the process, sorts by time over all of them, unique, below 2^53.
   *
   * @throws PlinthError `PLINTH_DATABASE_NO_IDS` before the database is migrated, and in a command outside `transactional`
   */
  newId(): number

  /**
   * The health check: throws when the database does not answer, or cannot be written (tried every five seconds at most).
   * Warns when the instance works with limits, for example behind a connection pooler.
   */
  ping(signal: AbortSignal): Promise<HealthReport>
  server(): Promise<ServerInfo>

  /** Applies the pending change sets of all loaded plugins; see `Migrator.migrate`. */
  migrate(options?: MigrateOptions): Promise<MigrationResult>
  /** Reads only. */
  migrationStatus(): Promise<MigrationStatus>
  /** Change sets that would make the migrated database agree with the entities, one for each plugin that differs. Reads only. */
  migrationDraft(): Promise<readonly ChangeSetDraft[]>
  /** The pending change sets with their SQL. Reads only. */
  migrationPlan(): Promise<readonly PendingChangeSet[]>

  /**
   * Connects with other settings and proves that the product can work there: the user has all rights on tables (a table is
   * created and dropped), the server accepts writes, and no table of another product has the name of one that would be
   * created. This service stays as it is.
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

/** The password that the product's database takes: for an installation, which keeps it when the form does not name another. */
export const databaseSecret = service<ConnectionSecret>('database.secret', { from: '@plinth/database' })

export const database = service<Database>('database', { from: '@plinth/database' })

/**
 * A count, sum or 64-bit column as a number, whatever the driver made of it. Null (the sum of no rows) is 0.
 *
 * @throws RangeError when it is no whole number within 2^53 - 1
 */
export function exactInteger(value: unknown): number {
  const number = value === null ? 0 : Number(value)
  if (typeof value === 'boolean' || value === '' || !Number.isSafeInteger(number)) {
    throw new RangeError(`${String(value)} is no whole number within 2^53 - 1`)
  }
  return number
}
