import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { errorCodeOf } from '@plinth/kernel'
import { makePrivateDirectory, makePrivateFile } from '@plinth/kernel/host'
import Database, { type Statement } from 'better-sqlite3'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely'
import { databaseError } from '../errors.ts'
import { StatementCache } from '../rows/bound-parameters.ts'
import { maxLogBytes, WalCheckpoints, type WriteAheadLog } from './wal-checkpoints.ts'

interface SqliteOptions {
  /** Path of the database file, or `:memory:`. */
  readonly file: string
  /** Maximum wait in milliseconds while another process writes. */
  readonly busyTimeoutMs: number
  /** `full`: commits survive a power failure. `normal`: commits only survive a crash of the process. */
  readonly synchronous: 'full' | 'normal'
  readonly warn: (message: string) => void
  /** Returns the error to throw for an error of a statement. */
  readonly outage: (error: unknown) => unknown
  /** Called after each commit that has changed rows. */
  readonly wrote: () => void
}

/**
 * Kysely dialect for better-sqlite3. In addition to Kysely's own dialect it has:
 *
 * - WAL mode and cached prepared statements
 * - transactions that take the write lock at their start. A transaction that reads first would fail at its first write
 *   if another process has written in between.
 * - waits for other processes that do not block the event loop
 * - exact integers beyond 2^53
 *
 * `LeasingDriver` assigns its only connection.
 */
export class SqliteDialect implements Dialect {
  readonly driver: SqliteDriver

  constructor(options: SqliteOptions) {
    this.driver = new SqliteDriver(options)
  }

  createAdapter() {
    return new QueueingAdapter()
  }
  createDriver() {
    return this.driver
  }
  createIntrospector(db: ConstructorParameters<typeof SqliteIntrospector>[0]) {
    return new SqliteIntrospector(db)
  }
  createQueryCompiler() {
    return new SqliteQueryCompiler()
  }
}

/** Kysely must not queue requests, because `LeasingDriver` does so. */
class QueueingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

class SqliteDriver implements Driver {
  readonly #options: SqliteOptions
  #connection: SqliteConnection | undefined
  #isClosed = false
  #checkpoints: WalCheckpoints | undefined

  constructor(options: SqliteOptions) {
    this.#options = options
  }

  /** Resolves when no checkpoint is running, or after five seconds. */
  async checkpointed(): Promise<void> {
    await this.#checkpoints?.done()
  }

  /** Warning for the health check; see `HealthReport`. */
  get warning(): string | undefined {
    return this.#checkpoints?.warning
  }

  /** Use it only inside a transaction, when you own the connection. */
  get connection(): SqliteConnection {
    if (this.#connection === undefined) {
      throw this.#isClosed ? databaseError('PLINTH_DATABASE_CLOSED') : new Error('The SQLite file is not open.')
    }
    return this.#connection
  }

  async init(): Promise<void> {
    if (this.#options.file !== ':memory:') await prepareFile(this.#options)
    const connection = new SqliteConnection(this.#options)
    try {
      await connection.configure()
    } catch (error) {
      connection.close()
      throw error
    }
    this.#connection = connection
    const { file, synchronous, warn } = this.#options
    if (file === ':memory:') return
    this.#checkpoints = new WalCheckpoints({ file, synchronous }, connection, warn)
    connection.onCommit = () => this.#checkpoints?.wrote()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.connection
  }

  async releaseConnection(): Promise<void> {}

  async beginTransaction(_: DatabaseConnection, { accessMode }: TransactionSettings): Promise<void> {
    await this.connection.begin(accessMode === 'read only' ? 'begin' : 'begin immediate')
  }
  async commitTransaction(): Promise<void> {
    this.connection.commit()
  }
  async rollbackTransaction(): Promise<void> {
    this.rollBack()
  }
  rollBack(): void {
    if (this.connection.inTransaction) this.connection.run('rollback', [])
  }
  async savepoint(_: DatabaseConnection, name: string, __: QueryCompiler['compileQuery']): Promise<void> {
    this.connection.run(`savepoint ${name}`, [])
  }
  async rollbackToSavepoint(_: DatabaseConnection, name: string): Promise<void> {
    this.connection.run(`rollback to ${name}`, [])
  }
  async releaseSavepoint(_: DatabaseConnection, name: string): Promise<void> {
    this.connection.run(`release ${name}`, [])
  }

  async destroy(): Promise<void> {
    this.#connection?.close()
    this.#connection = undefined
    this.#isClosed = true
    await this.#checkpoints?.close()
    this.#checkpoints = undefined
  }
}

/**
 * Makes the database files readable only by the owner of the process, because they contain personal data. SQLite gives
 * new files the permissions of the database file.
 */
async function prepareFile({ file, warn }: SqliteOptions): Promise<void> {
  await makePrivateDirectory(dirname(file))
  // An error is ignored here, because SQLite reports a clearer error when it opens the file.
  await open(file, 'wx', 0o600)
    .then((made) => made.close())
    .catch(() => undefined)
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    try {
      const former = await makePrivateFile(path)
      if (former !== undefined)
        warn(`${path} was readable by other users (mode ${former}); it is now readable by its owner only`)
    } catch (error) {
      warn(
        `${path} is readable by other users, and its mode cannot be changed (${errorCodeOf(error)}); run chmod 600 on it`,
      )
    }
  }
}

/**
 * Maximum number of cached prepared statements. Long statements without parameters, as of MikroORM, are not cached,
 * because they contain their values.
 */
const keptStatements = 256

class SqliteConnection implements DatabaseConnection, WriteAheadLog {
  readonly #database: Database
  readonly #busyTimeoutMs: number
  readonly #synchronous: SqliteOptions['synchronous']
  readonly #statements = new StatementCache<Statement>(keptStatements)
  readonly #outage: SqliteOptions['outage']
  readonly #wrote: SqliteOptions['wrote']
  #hasChanged = false
  #pending: Statement | undefined
  onCommit = () => {}

  constructor({ file, busyTimeoutMs, synchronous, outage, wrote }: SqliteOptions) {
    this.#wrote = wrote
    this.#busyTimeoutMs = busyTimeoutMs
    this.#outage = outage
    this.#synchronous = synchronous
    this.#database = new Database(file, { timeout: 0 })
  }

  async configure(): Promise<void> {
    for (const setting of [
      'journal_mode = wal',
      `synchronous = ${this.#synchronous}`,
      'foreign_keys = on',
      `journal_size_limit = ${maxLogBytes}`,
    ]) {
      await this.#whenFree(() => this.#database.pragma(setting))
    }
  }

  /** False after SQLite itself has rolled back, for example because the disk is full. */
  get inTransaction(): boolean {
    return this.#database.inTransaction
  }

  async begin(statement: string): Promise<void> {
    await this.#whenFree(() => this.run(statement, []))
  }

  commit(): void {
    this.run('commit', [])
    this.#committed()
  }

  #committed(): void {
    if (this.#hasChanged) this.#wrote()
    this.#hasChanged = false
    this.onCommit()
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const work = () => this.run<R>(sql, parameters)
    if (this.inTransaction) return work()
    const result = await this.#whenFree(work)
    if (result.numAffectedRows !== undefined && !this.inTransaction) this.#committed()
    return result
  }

  pendingPages(): number {
    this.#pending ??= this.#database.prepare('pragma wal_checkpoint(NOOP)')
    try {
      const [{ log = 0, checkpointed = 0 } = {}] = this.#pending.all([])
      return Number(log) - Number(checkpointed)
    } catch {
      // The pragma fails while another query is reading rows. The next commit calls it again.
      return 0
    }
  }

  checkpointFrom(pages: number): void {
    this.#database.pragma(`wal_autocheckpoint = ${pages}`)
  }

  /** Integers above 2^53 - 1 are returned as decimal text. */
  run<R>(sql: string, parameters: readonly unknown[]): QueryResult<R> {
    try {
      return this.#run(sql, parameters) as QueryResult<R>
    } catch (error) {
      throw this.#outage(error)
    }
  }

  #run(sql: string, parameters: readonly unknown[]): QueryResult<Record<string, unknown>> {
    const isKept = parameters.length > 0 || sql.length < 40
    const statement = isKept
      ? this.#statements.get(sql, (text) => this.#database.prepare(text))
      : this.#database.prepare(sql)
    const values = parameters.map(toSqlite)
    if (!statement.reader) {
      const { changes, lastInsertRowid } = statement.run(values)
      this.#hasChanged ||= changes > 0
      return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] }
    }
    if (!statement.readonly) {
      const changed = changedRows(exactRows(this.#database.prepare(sql), values))
      this.#hasChanged ||= changed.rows.length > 0
      return changed
    }
    const rows = statement.all(values)
    return { rows: rows.some(holdsInexactInteger) ? exactRows(this.#database.prepare(sql), values) : rows }
  }

  async *streamQuery<R>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    const statement = this.#database.prepare(sql).safeIntegers()
    for (const row of statement.iterate(parameters.map(toSqlite))) yield { rows: [withPlainIntegers(row) as R] }
  }

  close(): void {
    this.#database.close()
  }

  /** Waits while another process writes. The wait of better-sqlite3 would block the event loop. */
  async #whenFree<T>(work: () => T): Promise<T> {
    const giveUpAt = performance.now() + this.#busyTimeoutMs
    for (let wait = 1; ; wait = Math.min(wait * 2, 50)) {
      try {
        return work()
      } catch (error) {
        const isBusy = String(errorCodeOf(error)).startsWith('SQLITE_BUSY')
        if (!isBusy || performance.now() >= giveUpAt) throw error
        await pause(wait)
      }
    }
  }
}

const largestInt32 = 2 ** 31 - 1

/**
 * Converts a value for better-sqlite3, which rejects booleans and dates, and binds integers above 32 bits as floating
 * point.
 */
function toSqlite(value: unknown): unknown {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) && Math.abs(value) > largestInt32 ? BigInt(value) : value
  }
  if (typeof value === 'boolean') return Number(value)
  return value instanceof Date ? BigInt(value.getTime()) : value
}

function holdsInexactInteger(row: Record<string, unknown>): boolean {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value)) return true
  }
  return false
}

const exactRows = (statement: Statement, values: readonly unknown[]) =>
  statement.safeIntegers().all(values).map(withPlainIntegers)

function withPlainIntegers(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) {
    const value = row[name]
    if (typeof value !== 'bigint') continue
    const number = Number(value)
    row[name] = Number.isSafeInteger(number) ? number : String(value)
  }
  return row
}

const changedRows = (rows: Record<string, unknown>[]) => ({ rows, numAffectedRows: BigInt(rows.length) })
