import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Clock, FailureLog, isPlinthError, type Logger, reasonOf } from '@plinth/kernel'
import { type MigrateOptions, Migrator, type PluginChangeSets } from '@plinth/migrations'
import { CompiledQuery, type ControlledTransaction, type Kysely, type QueryResult } from 'kysely'
import { connectionFailure, placeOf } from './connections/connection-failure.ts'
import type { ConnectionSettings, ProbeTarget } from './connections/connection-settings.ts'
import type { Lease } from './connections/leasing-driver.ts'
import { OpenWaits } from './connections/open-waits.ts'
import { markPrepared } from './connections/server-connection.ts'
import { readServerInfo } from './connections/server-info.ts'
import type { Database, ReservedStatements, ServerInfo, TransactionOptions } from './contract.ts'
import type { TransactionScope } from './current-transaction.ts'
import { databaseError } from './errors.ts'
import { type OpenOrm, openOrm } from './open-orm.ts'
import { assertBindable, numberPlaceholders, type Parameter, StatementCache } from './rows/bound-parameters.ts'
import { IdSource, type IdTables } from './rows/id-source.ts'
import { withRetries } from './transaction-retry.ts'

export interface DatabaseServiceOptions {
  readonly settings: ConnectionSettings
  readonly entities: readonly object[]
  readonly changeSets: readonly PluginChangeSets[]
  readonly lockWaitMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** Milliseconds without a failure after which a database answers again: one connection may fail while others work. */
const quietMs = 5_000

/** What a probe needs to know and nobody wants to choose. */
const probeDefaults = {
  busyTimeoutMs: 1_000,
  synchronous: 'full',
  tls: 'off',
  poolSize: 1,
  connectTimeoutMs: 5_000,
  queryTimeoutMs: 5_000,
  transactionTimeoutMs: 5_000,
  preparedStatements: false,
} as const

/** A probe answers its failure. */
const unheard = { failed: () => {}, succeeded: () => {} }

/** Milliseconds for which a write proves that the database can be written. */
const proofMs = 5_000

/** Bytes on its disk below which an SQLite file counts as full: what follows a commit needs room too. */
const leastSpace = 1024 * 1024

type TransactionWork<T> = (em: SqlEntityManager, signal: AbortSignal) => Promise<T>

/** How long the work of a transaction may take, all its tries together. `endsAt` is known when the first one begins. */
interface Limit {
  readonly ms: number
  endsAt: number | undefined
  readonly signal: AbortSignal | undefined
}

const longestTransactionMs = 24 * 60 * 60 * 1000

/** Milliseconds that the last statement of a process may take: what it says lapses by itself too. */
const farewellMs = 1_000

/** Texts whose placeholders have been rewritten for PostgreSQL. */
const keptTexts = 1_000

export class DatabaseService implements Database {
  readonly #options: DatabaseServiceOptions
  readonly #open: OpenOrm
  readonly #migrator: Migrator
  readonly #ids: IdSource
  readonly #transactions = new OpenWaits()
  readonly #texts = new StatementCache<string>(keptTexts)
  #connected: Promise<void> | undefined
  /** When the health check wrote last, on the monotonic clock. */
  #wroteAt = Number.NEGATIVE_INFINITY

  private constructor(options: DatabaseServiceOptions, open: OpenOrm) {
    this.#options = options
    this.#open = open
    // A renewal runs in the context in which the source was made.
    this.#ids = open.demand.run(
      { reserved: true },
      () => new IdSource(() => this.#kysely as Kysely<IdTables>, options.clock, randomUUID()),
    )
    const { changeSets, clock, lockWaitMs } = options
    this.#migrator = new Migrator({
      get db() {
        return kyselyOf(open)
      },
      dialect: this.dialect,
      plugins: changeSets,
      clock,
      newId: () => this.#ids.next(),
      beforeData: () => this.#ids.claim(),
      lock: { waitMs: lockWaitMs },
      warn: (message) => options.log.warn(message),
    })
  }

  /** Loads the driver and the entities; connects to nothing yet. */
  static async open(options: DatabaseServiceOptions): Promise<DatabaseService> {
    const warn = (message: string) => options.log.warn(message)
    const texts = { failing: 'the database does not answer in time', over: 'the database answers again' }
    const failures = new FailureLog(options.log, texts, quietMs)
    const writeTexts = { failing: 'the database takes no writes', over: 'the database takes writes again' }
    const writes = new FailureLog(options.log, writeTexts, quietMs)
    const { entities } = options
    return new DatabaseService(options, await openOrm(options.settings, { entities, warn, failures, writes }))
  }

  get dialect() {
    return this.#options.settings.type
  }

  get place() {
    return placeOf(this.#options.settings)
  }

  /** Connects, once; every method does so by itself. Throws PlinthError as `probe` does. */
  connect(): Promise<void> {
    this.#connected ??= this.#connect()
    return this.#connected
  }

  async #connect(): Promise<void> {
    try {
      await this.#open.connect()
      await this.#kysely.executeQuery(CompiledQuery.raw('select 1'))
    } catch (error) {
      this.#connected = undefined
      throw isPlinthError(error) ? error : connectionFailure(this.#options.settings, error)
    }
  }

  /** Makes `newId` work. */
  async reserveIds(): Promise<void> {
    await this.connect()
    await this.#ids.claim()
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    await this.#open.demand
      .run({ reserved: true, statementMs: farewellMs }, () => this.#ids.release())
      .catch((error: unknown) => this.#options.log.warn(reasonOf(error)))
    this.#connected = undefined
    await this.#open.close()
  }

  fork(): SqlEntityManager {
    const current = this.#open.transaction.entityManager
    return current === undefined
      ? this.#open.orm.em.fork({ disableContextResolution: true })
      : current.fork({ keepTransactionContext: true })
  }

  async transactional<T>(work: TransactionWork<T>, options: TransactionOptions = {}): Promise<T> {
    const current = this.#open.transaction.entityManager
    if (current !== undefined) return this.#join((signal) => work(current, signal))
    return this.#outermost(options, (limit) => this.#transaction(work, limit))
  }

  async statements<T>(work: (signal: AbortSignal) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.inTransaction) return this.#join(work)
    return this.#outermost(options, (limit) => this.#bareTransaction(work, limit))
  }

  async #outermost<T>(
    { timeoutMs, signal }: TransactionOptions,
    attempt: (limit: Limit) => Promise<{ readonly answer: T; readonly hooks: TransactionScope['hooks'] }>,
  ): Promise<T> {
    const ms = timeoutMs ?? this.#options.settings.transactionTimeoutMs
    if (!(ms >= 1 && ms <= longestTransactionMs))
      throw new RangeError(`timeoutMs is ${ms}, not 1 to ${longestTransactionMs}`)
    signal?.throwIfAborted()
    // Nothing to do once the plugin is set up; a command of the program connects and takes ids only when it writes.
    await this.reserveIds()
    const limit: Limit = { ms, endsAt: undefined, signal }
    const { answer, hooks } = await withRetries(() => attempt(limit))
    for (const hook of hooks) await this.#runHook(hook)
    return answer
  }

  async #join<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = this.#open.transaction.scope?.aborter.signal ?? new AbortController().signal
    try {
      return await work(signal)
    } catch (error) {
      const { scope, isOutermost } = this.#open.transaction
      if (scope !== undefined && isOutermost) scope.failure ??= error
      throw error
    }
  }

  /** Through MikroORM, which flushes the entity manager before it commits. */
  async #transaction<T>(work: TransactionWork<T>, limit: Limit) {
    const root = this.#open.orm.em.fork({ disableContextResolution: true })
    const hooks: TransactionScope['hooks'] = []
    let scope: TransactionScope | undefined
    try {
      const answer = await root.transactional(
        async (em) => {
          const transaction = em.getTransactionContext<ControlledTransaction<unknown>>()
          if (transaction === undefined) throw new TypeError('The entity manager is in no transaction.')
          scope = { transaction, em, hooks, open: true, aborter: new AbortController(), end: () => {} }
          return this.#inTime(scope, limit, (signal) => work(em, signal))
        },
        { clear: true },
      )
      return { answer, hooks }
    } catch (error) {
      throw scope?.overdue ?? error
    } finally {
      if (scope !== undefined) close(scope)
    }
  }

  /** Begun and committed here: the entity manager is made when somebody asks for it. */
  async #bareTransaction<T>(work: (signal: AbortSignal) => Promise<T>, limit: Limit) {
    const transaction = await this.#kysely.startTransaction().execute()
    let made: SqlEntityManager | undefined
    const { orm } = this.#open
    const scope: TransactionScope = {
      transaction,
      get em() {
        if (made === undefined) {
          made = orm.em.fork({ disableContextResolution: true }) as SqlEntityManager
          made.setTransactionContext(transaction)
        }
        return made
      },
      ...{ hooks: [], open: true, aborter: new AbortController(), end: () => {} },
    }
    try {
      const answer = await this.#inTime(scope, limit, work)
      await made?.flush()
      await transaction.commit().execute()
      return { answer, hooks: scope.hooks }
    } catch (error) {
      if (!transaction.isCommitted)
        await transaction
          .rollback()
          .execute()
          .catch(() => undefined)
      throw scope.overdue ?? error
    } finally {
      close(scope)
    }
  }

  /** Runs the work of a transaction, and gives the transaction up when it takes too long. */
  async #inTime<T>(scope: TransactionScope, limit: Limit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const lease = await leaseOf(scope.transaction)
    const overdue = Promise.withResolvers<never>()
    // What is still at work when the time is over may be the commit, and then nobody looks at this.
    overdue.promise.catch(() => undefined)
    limit.endsAt ??= performance.now() + limit.ms
    const giveUp = (reason: Error) => {
      if (scope.overdue !== undefined) return
      scope.overdue = reason
      lease.sever(reason)
      scope.aborter.abort(reason)
      overdue.reject(reason)
    }
    const deadline = this.#transactions.open(limit.endsAt - performance.now(), () =>
      giveUp(databaseError('PLINTH_DATABASE_TRANSACTION_TIMEOUT', { ms: limit.ms })),
    )
    const abandon = () => giveUp(limit.signal?.reason)
    scope.end = () => {
      this.#transactions.close(deadline)
      limit.signal?.removeEventListener('abort', abandon)
    }
    limit.signal?.throwIfAborted()
    limit.signal?.addEventListener('abort', abandon)
    return this.#open.transaction.run(scope, async () => {
      const result = await Promise.race([work(scope.aborter.signal), overdue.promise])
      if ('failure' in scope) throw databaseError('PLINTH_DATABASE_ROLLED_BACK', undefined, scope.failure)
      return result
    })
  }

  get inTransaction(): boolean {
    return this.#open.transaction.transaction !== undefined
  }

  afterCommit(hook: () => void | Promise<void>): void {
    const { scope } = this.#open.transaction
    if (scope !== undefined) scope.hooks.push(hook)
    else void this.#runHook(hook)
  }

  async #runHook(hook: () => void | Promise<void>): Promise<void> {
    try {
      await hook()
    } catch (error) {
      this.#options.log.error({ err: error }, 'a hook after commit failed')
    }
  }

  onWritten(tables: Iterable<string>, listener: (table: string) => void): () => void {
    const outside = AsyncLocalStorage.snapshot()
    return this.#open.written.listen(tables, (table) => {
      try {
        outside(listener, table)
      } catch (error) {
        this.#options.log.error({ err: error }, 'a listener for written tables failed')
      }
    })
  }

  async execute(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    return affectedRows(await this.#run(sql, parameters))
  }

  async query<Row extends object>(sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return (await this.#run(sql, parameters)).rows as Row[]
  }

  readonly reserved: ReservedStatements = {
    execute: async (sql, parameters = []) => affectedRows(await this.#runReserved(sql, parameters)),
    query: async <Row extends object>(sql: string, parameters: readonly Parameter[] = []) =>
      (await this.#runReserved(sql, parameters)).rows as Row[],
  }

  async #run(sql: string, parameters: readonly Parameter[]): Promise<QueryResult<unknown>> {
    assertBindable(parameters)
    const current = this.#open.transaction.transaction
    // Inside a transaction a conflict is the whole transaction's.
    if (current !== undefined) return this.#statement(sql, parameters, current)
    return withRetries(() => this.#statement(sql, parameters, undefined))
  }

  #runReserved(sql: string, parameters: readonly Parameter[]): Promise<QueryResult<unknown>> {
    assertBindable(parameters)
    return this.#open.demand.run({ reserved: true }, () =>
      withRetries(() => this.#statement(sql, parameters, undefined)),
    )
  }

  async checkpointed(): Promise<void> {
    await this.#open.sqlite?.checkpointed()
  }

  get longestWaitSeconds(): number {
    return this.#open.waits.longestMs / 1000
  }

  async #statement(
    sql: string,
    parameters: readonly Parameter[],
    current: ControlledTransaction<unknown> | undefined,
  ): Promise<QueryResult<unknown>> {
    const { sqlite } = this.#open
    try {
      // The connection is the caller's own here: no need to go through Kysely.
      if (current !== undefined && sqlite !== undefined) {
        this.#open.written.asked(sqlite.connection, sql)
        return sqlite.connection.run(sql, parameters)
      }
      if (current === undefined) await this.connect()
      const text = this.dialect === 'postgresql' ? this.#texts.get(sql, numberPlaceholders) : sql
      const query = CompiledQuery.raw(text, parameters as unknown[])
      if (this.#preparesOnServer && parameters.length > 0) markPrepared(query.parameters)
      const executor = current ?? this.#kysely
      return await executor.executeQuery(query)
    } catch (error) {
      if (isPlinthError(error)) throw error
      throw this.#open.orm.driver
        .getPlatform()
        .getExceptionConverter()
        .convertException(error as Error)
    }
  }

  get #preparesOnServer(): boolean {
    const { settings } = this.#options
    return settings.type !== 'sqlite' && settings.preparedStatements
  }

  newId(): number {
    return this.#ids.next()
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.connect()
    await this.#open.demand.run({ reserved: true }, () =>
      this.#kysely.executeQuery(CompiledQuery.raw('select 1'), { signal }),
    )
    if (performance.now() - this.#wroteAt < proofMs) return
    await this.#assertSpace()
    await this.#ids.renew()
    this.#wroteAt = performance.now()
  }

  /** SQLite goes on writing into the room that its files have, until a larger change fails. */
  async #assertSpace(): Promise<void> {
    const { settings } = this.#options
    if (settings.type !== 'sqlite' || settings.file === ':memory:') return
    const { bavail, bsize } = await statfs(dirname(settings.file))
    const free = bavail * bsize
    if (free < leastSpace) throw databaseError('PLINTH_DATABASE_NO_SPACE', { free, place: this.place })
  }

  async server(): Promise<ServerInfo> {
    await this.connect()
    return readServerInfo(this.#kysely, this.dialect)
  }

  async migrate(options: MigrateOptions = {}) {
    await this.connect()
    const result = await this.#open.demand.run({ statementMs: Number.POSITIVE_INFINITY }, () =>
      this.#migrator.migrate(options),
    )
    await this.#ids.claim()
    return result
  }

  async migrationStatus() {
    await this.connect()
    return this.#migrator.status()
  }

  async migrationPlan() {
    await this.connect()
    return this.#migrator.plan()
  }

  async probe(target: ProbeTarget): Promise<ServerInfo> {
    const settings = { ...probeDefaults, ...target }
    const open = await openOrm(settings, { entities: [], warn: () => {}, failures: unheard })
    try {
      await open.connect()
      return await readServerInfo(kyselyOf(open), settings.type)
    } catch (error) {
      throw isPlinthError(error) ? error : connectionFailure(settings, error)
    } finally {
      await open.close()
    }
  }

  get #kysely(): Kysely<unknown> {
    return kyselyOf(this.#open)
  }
}

const affectedRows = ({ numAffectedRows }: QueryResult<unknown>) => Number(numAffectedRows ?? 0)

/** The connection of a transaction that has just begun. */
function leaseOf(transaction: ControlledTransaction<unknown>): Promise<Lease> {
  return transaction.getExecutor().provideConnection(async (connection) => connection as Lease)
}

function close(scope: TransactionScope): void {
  scope.end()
  scope.open = false
}

const kyselyOf = ({ orm }: OpenOrm): Kysely<unknown> => orm.driver.getConnection().getClient()
