import type { SqlEntityManager } from '@mikro-orm/sql'
import { type HealthReport, service } from '@plinth/kernel'
import type {
  Dialect,
  MigrateOptions,
  MigrationResult,
  MigrationStatus,
  PendingChangeSet,
  WayBackPlan,
} from '@plinth/migrations'
import type { ProbeTarget } from './connections/connection-failure.ts'
import type { Parameter } from './rows/bound-parameters.ts'
import type { DatabaseClock } from './time/database-clock.ts'

export interface ServerInfo {
  /** Name of the product: `SQLite`, `PostgreSQL`, `MySQL` or `MariaDB`. */
  readonly product: string
  readonly version: string
}

export interface TransactionOptions {
  /**
   * Maximum milliseconds of all attempts together, 1 to 86,400,000. Default: `platform.database.transaction-timeout`.
   */
  readonly timeoutMs?: number
  /** Cancels the work, like a timeout. The error is the reason of the signal. */
  readonly signal?: AbortSignal
}

/** See `Database.reserved`. */
export type ReservedStatements = Pick<Database, 'execute' | 'query'>

/** Services of a plugin that requires the database under this name, for functions in its declaration. */
export interface WithDatabase {
  readonly database: Database
}

export interface Database {
  readonly dialect: Dialect
  /** Location of the database as text for users, without credentials. */
  readonly place: string

  /** Use this clock, not the clock of the process, for money, holds, claims, expiry and deletion. */
  readonly clock: DatabaseClock

  /**
   * Returns a new entity manager. Inside a transaction, it uses this transaction. Create one per request, not per row.
   */
  fork(): SqlEntityManager

  /**
   * Runs the work in one transaction, flushes its entity manager and commits. A nested call joins the outer
   * transaction. If nested work fails, the whole transaction is rolled back, even if the error is caught. For a part
   * that may fail alone, use a savepoint: `em.transactional`. On a server the isolation level is `read committed`, so a
   * statement after a lock reads what the previous owner of the lock has committed.
   *
   * After a conflict with another transaction, the whole work is repeated with a new entity manager, up to five
   * attempts in total. So the work must only use the database. Put other effects into `afterCommit`. On SQLite, all
   * other queries of the process wait until the transaction ends.
   *
   * After the time limit, the transaction is rolled back immediately, and on a server the connection is closed. The
   * signal aborts. Later database calls of the work fail, so they cannot run outside the transaction. A nested call has
   * the time limit of the outer call.
   *
   * @throws PlinthError `PLINTH_DATABASE_TRANSACTION_TIMEOUT` (during a commit, the transaction may have taken effect),
   *   `PLINTH_DATABASE_TRANSACTION_GAVE_UP`, `PLINTH_DATABASE_ROLLED_BACK`, `PLINTH_DATABASE_QUERY_TIMEOUT`,
   *   `PLINTH_DATABASE_POOL_TIMEOUT`, `PLINTH_DATABASE_UNREACHABLE`, `PLINTH_DATABASE_TRANSACTION_ISOLATION` of a
   *   savepoint, or the error of the work
   */
  transactional<T>(
    work: (em: SqlEntityManager, signal: AbortSignal) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>

  /**
   * Runs the work in a transaction like `transactional`, but without an entity manager. A short transaction then takes
   * half the time.
   */
  statements<T>(work: (signal: AbortSignal) => Promise<T>, options?: TransactionOptions): Promise<T>

  /** True if the calling code runs in a transaction of this database. */
  readonly inTransaction: boolean

  /**
   * Runs the work. The hook is called at the start of each transaction that the work opens, inside the transaction and
   * before its first statement. It is not called for nested calls, which join, or for statements outside of
   * `transactional` and `statements`. If the hook throws, the transaction is rolled back with this error. After a
   * conflict, the transaction is repeated with the hook.
   *
   * The hook applies to everything that the work starts, so it must return immediately once it has nothing to do.
   *
   * @param hook `undefined`: the transactions of the work have no hook. Use it for work that is not part of the call, for
   *   example creating a key on first use.
   */
  withFirstStatement<T>(hook: (() => Promise<void>) | undefined, work: () => Promise<T>): Promise<T>

  /**
   * True if the next transaction of the calling code has a hook. Code that combines the work of several callers into one
   * transaction must then use a separate transaction for this caller.
   */
  readonly hasFirstStatement: boolean

  /**
   * Calls the hook after the surrounding transaction was committed, or immediately if there is none. After a rollback,
   * it is not called. Errors of the hook are logged.
   */
  afterCommit(hook: () => void | Promise<void>): void

  /**
   * Calls the listener once per table after each commit of this process that may have changed the table. Writes of
   * other processes are not reported.
   *
   * @param tables names in the database
   * @param listener must return soon; runs outside any transaction, in the asynchronous context of this call; its
   *   errors are logged
   * @returns a function that removes the listener
   */
  onWritten(tables: Iterable<string>, listener: (table: string) => void): () => void

  /**
   * Runs a statement with bound parameters, in the surrounding transaction if there is one. Use it for values that many
   * callers change: `update ... set balance = balance - ? where id = ? and balance >= ?` returns 0 if the condition is
   * false. Entities in memory do not change. Outside a transaction, the statement is repeated after a conflict.
   *
   * @param sql with `?` for each parameter; names in snake_case, unquoted. Use few different texts, because each is
   *   prepared. For lists of varying length, use the query builder of MikroORM.
   * @returns affected rows, including rows whose values stayed equal
   * @throws the exceptions of MikroORM, for example `UniqueConstraintViolationException`; RangeError for a number that
   *   is not exact; PlinthError `PLINTH_DATABASE_QUERY_TIMEOUT`, `PLINTH_DATABASE_POOL_TIMEOUT`,
   *   `PLINTH_DATABASE_UNREACHABLE`
   */
  execute(sql: string, parameters?: readonly Parameter[]): Promise<number>

  /**
   * Reads rows, like `execute`. List the columns, because a prepared `select *` fails after a column was added. Values
   * have the types of the driver: sums may be text (use `exactInteger`), times and booleans differ between databases.
   */
  query<Row extends object>(sql: string, parameters?: readonly Parameter[]): Promise<Row[]>

  /**
   * Runs statements for lease renewals, heartbeats and health checks, which must not wait for the pool. On a server,
   * they have two additional connections. On SQLite, they go first, but cannot be used inside a transaction. Each
   * statement commits immediately.
   */
  readonly reserved: ReservedStatements

  /**
   * Waits until no checkpoint is running, at most five seconds. Call it between the transactions of background work
   * with many writes, so that the write-ahead log of SQLite stays short. On a server, it resolves immediately.
   */
  checkpointed(): Promise<void>

  /** Seconds since the oldest current wait for a statement or connection began; 0 if there is none. */
  readonly longestWaitSeconds: number

  /**
   * Returns a new id below 2^53. Ids are unique and increase within a process. Across processes, they sort by time.
   *
   * @throws PlinthError `PLINTH_DATABASE_NO_IDS` before the database is migrated, and in a command outside
   *   `transactional`
   */
  newId(): number

  /**
   * Throws if the database does not respond or rejects writes, which is tested at most every five seconds. Warns about
   * limitations, for example a connection pooler.
   */
  ping(signal: AbortSignal): Promise<HealthReport>
  server(): Promise<ServerInfo>

  /** Applies the pending change sets; see `Migrator.migrate`. */
  migrate(options?: MigrateOptions): Promise<MigrationResult>
  /** Returns the applied and the pending change sets. Changes nothing. */
  migrationStatus(): Promise<MigrationStatus>
  /** Returns the pending change sets with their SQL. Reads only. */
  migrationPlan(): Promise<readonly PendingChangeSet[]>
  /** Returns what `takeChangeSetBack` would do; see `Migrator.wayBack`. Reads only. */
  wayBack(plugin: string, id: string): Promise<WayBackPlan>
  /** Takes a change set back, in development only; see `Migrator.takeBack`. */
  takeChangeSetBack(plugin: string, id: string): Promise<WayBackPlan>

  /**
   * Checks other connection settings: the user has all rights on tables (a table is created and dropped), the server
   * accepts writes, and no table of another product is in the way.
   *
   * @throws PlinthError `PLINTH_DATABASE_UNREACHABLE`, `PLINTH_DATABASE_ACCESS_DENIED`, `PLINTH_DATABASE_UNKNOWN`,
   *   `PLINTH_DATABASE_FILE`, `PLINTH_DATABASE_RIGHTS`, `PLINTH_DATABASE_READ_ONLY`, `PLINTH_DATABASE_FAILED`, those of
   *   `migrationPlan`, or another error of a statement
   */
  probe(target: ProbeTarget): Promise<ServerInfo>
}

export interface ConnectionSecret {
  readonly password: string
}

/** Password of the product's database. The installer uses it if the form contains no other password. */
export const databaseSecret = service<ConnectionSecret>('database.secret', { from: '@plinth/database' })

export const database = service<Database>('database', { from: '@plinth/database' })

/**
 * Returns a count, a sum or a 64-bit column as a number, for all drivers. Null, the sum of no rows, becomes 0.
 *
 * @throws RangeError if the value is not an integer within 2^53 - 1
 */
export function exactInteger(value: unknown): number {
  const number = value === null ? 0 : Number(value)
  if (typeof value === 'boolean' || value === '' || !Number.isSafeInteger(number)) {
    throw new RangeError(`${String(value)} is no whole number within 2^53 - 1`)
  }
  return number
}
