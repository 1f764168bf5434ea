import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { SqlEntityManager } from '@mikro-orm/sql'
import {
  type Clock,
  errorReason,
  type HealthReport,
  inSpan,
  isPlinthError,
  type Logger,
  RepeatedFailureLog,
  type Tracer,
} from '@plinth/kernel'
import {
  type Development,
  databaseNow,
  type MigrateOptions,
  Migrator,
  type PluginChangeSets,
  type PluginTables,
} from '@plinth/migrations'
import { CompiledQuery, type ControlledTransaction, type Kysely, type QueryResult } from 'kysely'
import {
  type ConnectionSettings,
  connectionErrorOf,
  databaseLocationText,
  type ProbeTarget,
} from './connections/connection-failure.ts'
import { WaitTimeouts } from './connections/connection-queue.ts'
import { assertServerIsolation } from './connections/isolation.ts'
import type { ConnectionLease } from './connections/leasing-driver.ts'
import { markForPreparation } from './connections/server-connection.ts'
import {
  type Database,
  exactInteger,
  type ReservedStatements,
  type ServerInfo,
  type TransactionOptions,
} from './contract.ts'
import { retryOnConflict, type TransactionScope } from './current-transaction.ts'
import { assertEntities, assertOwnTables, isStored } from './entity-check.ts'
import { databaseError } from './errors.ts'
import { assertNotMoved } from './move/move-state.ts'
import { type OpenOrm, openOrm } from './open-orm.ts'
import { probeTarget, readServerInfo } from './probe-target.ts'
import { assertBindable, numberPlaceholders, type Parameter, StatementCache } from './rows/bound-parameters.ts'
import { IdSource, type IdSourceTables } from './rows/id-source.ts'
import { type DatabaseClock, type FollowedClock, FollowingClock } from './time/database-clock.ts'
import { FileClock, type StoredTime } from './time/file-clock.ts'
import { ServerClock } from './time/server-clock.ts'

interface DatabaseServiceOptions {
  readonly settings: ConnectionSettings
  /** Entities of all plugins. */
  readonly entities: readonly { readonly plugin: string; readonly entities: readonly object[] }[]
  readonly changeSets: readonly PluginChangeSets[]
  readonly lockWaitMs: number
  readonly clock: Clock
  readonly clockToleranceMs: number
  /** See `MigratorOptions.development`. */
  readonly development?: Development | undefined
  /** True in a command. It does not change the stored time of SQLite. */
  readonly isCommand?: boolean
  /** If set, the database uses the time of this clock instead of its own time. */
  readonly followedClock?: FollowedClock | undefined
  readonly tracer?: Tracer | undefined
  readonly log: Logger
}

/**
 * Milliseconds without a failure after which the database counts as available again. A single success proves little,
 * because some connections may work while others fail.
 */
const quietMs = 5_000
/**
 * If calls get no connection for this time in milliseconds, the instance is ready only if a statement in the pool
 * succeeds.
 */
const maxOutageMs = 10_000

/** Timeout in milliseconds of each of two test statements in the pool. */
const poolTestMs = 600

/** Milliseconds for which a write proves that the database accepts writes. */
const proofMs = 5_000

/** Free bytes below which the disk of an SQLite file counts as full. Checkpoints after commits need space too. */
const minSpace = 1024 * 1024

type FirstStatement = () => Promise<void>
type TransactionWork<T> = (em: SqlEntityManager, signal: AbortSignal) => Promise<T>

/** Time limit of all attempts of a transaction together. `endsAt` is set by the first attempt. */
interface Limit {
  readonly ms: number
  endsAt: number | undefined
  readonly signal: AbortSignal | undefined
}

const maxTransactionMs = 24 * 60 * 60 * 1000

/** Timeout in milliseconds for releasing the id reservation when the process ends. */
const releaseTimeoutMs = 1_000

/** Maximum number of cached statements with PostgreSQL placeholders. */
const maxCachedTexts = 1_000

/** Publishes the dialect, text and parameters of each statement of a plugin, before the statement is executed. */
const statements = channel('plinth.database.statement')

export class DatabaseService implements Database {
  readonly clock: DatabaseClock
  readonly #options: DatabaseServiceOptions
  readonly #open: OpenOrm
  readonly #migrator: Migrator
  readonly #ids: IdSource
  readonly #transactions = new WaitTimeouts()
  /** Hook of the calling code for the first statement of its transactions. */
  readonly #firstStatement = new AsyncLocalStorage<FirstStatement | undefined>()
  readonly #texts = new StatementCache<string>(maxCachedTexts)
  readonly #failures: Pick<RepeatedFailureLog, 'lastErrorAfter'>
  #connected: Promise<void> | undefined
  /** True after the time of the server was measured, which is part of connecting. */
  #isConnected = false
  /** Monotonic time of the last write by the health check. */
  #wroteAt = Number.NEGATIVE_INFINITY

  private constructor(
    options: DatabaseServiceOptions,
    open: OpenOrm,
    failures: Pick<RepeatedFailureLog, 'lastErrorAfter'>,
  ) {
    this.#options = options
    this.#failures = failures
    this.#open = open
    this.clock = this.#newClock()
    // Reservations of ids are renewed in the asynchronous context of this call, so they use reserved connections.
    this.#ids = open.demand.run(
      { reserved: true },
      () => new IdSource(() => kyselyOf<IdSourceTables>(open), this.clock, randomUUID()),
    )
    const { changeSets, lockWaitMs, development } = options
    this.#migrator = new Migrator({
      get db() {
        return kyselyOf(open)
      },
      dialect: this.dialect,
      plugins: changeSets,
      clock: this.clock,
      newId: () => this.#ids.next(),
      beforeData: () => this.#ids.claim(),
      lock: { waitMs: lockWaitMs },
      warn: (message) => options.log.warn(message),
      development,
    })
  }

  /** Loads the driver and the entities. Does not connect. */
  static async open(options: DatabaseServiceOptions): Promise<DatabaseService> {
    const warn = (message: string) => options.log.warn(message)
    const texts = { failing: 'the database is not available', over: 'the database is available again' }
    const quiet = { clock: options.clock, ms: quietMs }
    const failures = new RepeatedFailureLog(options.log, texts, quiet)
    const writeTexts = { failing: 'the database takes no writes', over: 'the database takes writes again' }
    const writes = new RepeatedFailureLog(options.log, writeTexts, quiet)
    assertOwnTables(options.entities)
    const entities = options.entities.flatMap((one) => one.entities)
    const open = await openOrm(options.settings, { entities, warn, failures, writes })
    return new DatabaseService(options, open, failures)
  }

  get dialect() {
    return this.#options.settings.type
  }

  get place() {
    return databaseLocationText(this.#options.settings)
  }

  /** Connects if there is no connection yet. Throws the errors of `probe`. */
  connect(): Promise<void> {
    this.#connected ??= this.#connect()
    return this.#connected
  }

  async #connect(): Promise<void> {
    try {
      await this.#open.connect()
      if (this.clock instanceof ServerClock) await this.clock.measure()
      else await this.#kysely.executeQuery(CompiledQuery.raw('select 1'))
      await assertServerIsolation(this.#kysely, this.#options.settings)
      await assertNotMoved(this.#kysely, this.dialect, this.place)
      this.#isConnected = true
    } catch (error) {
      this.#connected = undefined
      throw isPlinthError(error) ? error : connectionErrorOf(this.#options.settings, error)
    }
  }

  #newClock(): DatabaseClock {
    const { clock, followedClock, clockToleranceMs: toleranceMs, isCommand = false } = this.#options
    const { dialect } = this
    // A database in memory ends with its process, so no earlier time and no other process can differ from its clock.
    const own = this.place === ':memory:' ? clock : undefined
    const followed = followedClock ?? own
    if (followed !== undefined) return new FollowingClock(followed, clock)
    if (dialect === 'sqlite') return new FileClock({ clock, toleranceMs, isCommand, store: this.#storedTime })
    const statement = `select ${databaseNow[dialect]} as at_ms`
    const read = async () => {
      const { rows } = await this.#kysely.executeQuery<{ at_ms: unknown }>(CompiledQuery.raw(statement))
      return exactInteger(rows[0]?.at_ms)
    }
    // Code that reads the clock may be in a transaction, which the measurement must not join.
    const outside = AsyncLocalStorage.snapshot()
    const readReserved = () => outside(() => this.#open.demand.run({ reserved: true }, read))
    return new ServerClock({ clock, toleranceMs, read: () => (this.#isConnected ? readReserved() : read()) })
  }

  async reserveIds(): Promise<void> {
    await this.connect()
    await this.#claimIds()
  }

  /**
   * Checks again after the claim whether the database is being moved. A move that begins meanwhile finds the reservation,
   * or its marker is found here.
   */
  async #claimIds(): Promise<void> {
    if (this.#ids.isClaimed) return
    await this.#ids.claim()
    await assertNotMoved(this.#kysely, this.dialect, this.place)
  }

  async close(): Promise<void> {
    if (this.clock instanceof FileClock) {
      await this.clock.save().catch((error: unknown) => this.#options.log.warn(errorReason(error)))
    }
    await this.#open.demand
      .run({ reserved: true, statementMs: releaseTimeoutMs }, () => this.#ids.release())
      .catch((error: unknown) => this.#options.log.warn(errorReason(error)))
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
    if (!(ms >= 1 && ms <= maxTransactionMs)) throw new RangeError(`timeoutMs is ${ms}, not 1 to ${maxTransactionMs}`)
    signal?.throwIfAborted()
    // A running product has reserved ids already. A command connects and reserves ids only when it writes.
    await this.reserveIds()
    const limit: Limit = { ms, endsAt: undefined, signal }
    const span = { kind: 'client', attributes: { 'db.system.name': this.dialect } } as const
    const { answer, hooks } = await inSpan(this.#options.tracer, 'transaction', span, () =>
      retryOnConflict(() => attempt(limit)),
    )
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

  /** Runs the work without MikroORM. The entity manager is created only if the work uses it. */
  async #bareTransaction<T>(work: (signal: AbortSignal) => Promise<T>, limit: Limit) {
    const transaction = await this.#kysely.startTransaction().execute()
    let made: SqlEntityManager | undefined
    const { orm } = this.#open
    const scope: TransactionScope = {
      transaction,
      get em() {
        if (made === undefined) {
          made = orm.em.fork({ disableContextResolution: true })
          made.setTransactionContext(transaction)
        }
        return made
      },
      hooks: [],
      open: true,
      aborter: new AbortController(),
      end: () => {},
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

  /** Cancels the transaction if the work exceeds its time limit. */
  async #inTime<T>(scope: TransactionScope, limit: Limit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const lease = await leaseOf(scope.transaction)
    const overdue = Promise.withResolvers<never>()
    // If the time limit ends during the commit, nobody awaits this promise. Its rejection must not end the process.
    overdue.promise.catch(() => undefined)
    limit.endsAt ??= performance.now() + limit.ms
    const giveUp = (reason: Error) => {
      if (scope.overdue !== undefined) return
      scope.overdue = reason
      lease.destroy(reason)
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
      const hooked = async () => {
        await this.#firstStatement.getStore()?.()
        return work(scope.aborter.signal)
      }
      const result = await Promise.race([hooked(), overdue.promise])
      if ('failure' in scope) throw databaseError('PLINTH_DATABASE_ROLLED_BACK', undefined, scope.failure)
      return result
    })
  }

  get inTransaction(): boolean {
    return this.#open.transaction.transaction !== undefined
  }

  withFirstStatement<T>(hook: FirstStatement | undefined, work: () => Promise<T>): Promise<T> {
    return this.#firstStatement.run(hook, work)
  }

  get hasFirstStatement(): boolean {
    return this.#firstStatement.getStore() !== undefined
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
    return (await this.#run<Row>(sql, parameters)).rows
  }

  readonly reserved: ReservedStatements = {
    execute: async (sql, parameters = []) => affectedRows(await this.#runReserved(sql, parameters)),
    query: async <Row extends object>(sql: string, parameters: readonly Parameter[] = []) =>
      (await this.#runReserved<Row>(sql, parameters)).rows,
  }

  readonly #storedTime = {
    load: async (): Promise<StoredTime | undefined> => {
      const [row] = await this.reserved.query<{ decided_at: unknown; confirmations: unknown }>(
        'select decided_at, confirmations from database_clock where id = 1',
      )
      return row && { decidedAt: exactInteger(row.decided_at), confirmations: exactInteger(row.confirmations) }
    },
    raise: async ({ decidedAt, confirmations }: StoredTime): Promise<void> => {
      await this.reserved.execute(
        `insert into database_clock (id, decided_at, confirmations) values (1, ?, ?)
         on conflict (id) do update set decided_at = excluded.decided_at
         where confirmations = excluded.confirmations and decided_at < excluded.decided_at`,
        [decidedAt, confirmations],
      )
    },
    confirm: async (decidedAt: number): Promise<void> => {
      await this.reserved.execute(
        `insert into database_clock (id, decided_at, confirmations) values (1, ?, 1)
         on conflict (id) do update set decided_at = excluded.decided_at, confirmations = confirmations + 1`,
        [decidedAt],
      )
    },
  }

  async #run<Row>(sql: string, parameters: readonly Parameter[]): Promise<QueryResult<Row>> {
    assertBindable(parameters)
    const current = this.#open.transaction.transaction
    // Inside a transaction, a conflict must repeat the whole transaction.
    if (current !== undefined) return this.#statement(sql, parameters, current)
    return retryOnConflict(() => this.#statement(sql, parameters, undefined))
  }

  #runReserved<Row>(sql: string, parameters: readonly Parameter[]): Promise<QueryResult<Row>> {
    assertBindable(parameters)
    return this.#open.demand.run({ reserved: true }, () =>
      retryOnConflict(() => this.#statement(sql, parameters, undefined)),
    )
  }

  async checkpointed(): Promise<void> {
    await this.#open.sqlite?.checkpointed()
  }

  get longestWaitSeconds(): number {
    return this.#open.waits.maxMs / 1000
  }

  async #statement<Row>(
    sql: string,
    parameters: readonly Parameter[],
    current: ControlledTransaction<unknown> | undefined,
  ): Promise<QueryResult<Row>> {
    const { sqlite } = this.#open
    if (statements.hasSubscribers) statements.publish({ dialect: this.dialect, sql, parameters })
    try {
      // In a transaction, the caller owns the SQLite connection, so Kysely is not needed.
      if (current !== undefined && sqlite !== undefined) {
        this.#open.written.asked(sqlite.connection, sql)
        return sqlite.connection.run<Row>(sql, parameters)
      }
      if (current === undefined) await this.connect()
      const text = this.dialect === 'postgresql' ? this.#texts.get(sql, numberPlaceholders) : sql
      const query = CompiledQuery.raw(text, parameters as unknown[])
      if (this.#open.prepared.isUsed && parameters.length > 0) markForPreparation(query.parameters)
      const executor = current ?? this.#kysely
      return await executor.executeQuery<Row>(query)
    } catch (error) {
      if (isPlinthError(error) || !(error instanceof Error)) throw error
      throw this.#open.orm.driver.getPlatform().getExceptionConverter().convertException(error)
    }
  }

  newId(): number {
    return this.#ids.next()
  }

  async ping(signal: AbortSignal): Promise<HealthReport> {
    await this.#assertHealthy(signal)
    const warnings = [this.#open.prepared.warning, this.#open.sqlite?.warning]
    return { warnings: warnings.filter((warning) => warning !== undefined) }
  }

  async #assertHealthy(signal: AbortSignal): Promise<void> {
    await this.connect()
    await this.#open.demand.run({ reserved: true }, () =>
      this.#kysely.executeQuery(CompiledQuery.raw('select 1'), { signal }),
    )
    const hasFailed = this.#failures.lastErrorAfter(maxOutageMs) !== undefined
    if (hasFailed || this.#open.pooledStatements.isDoubtful) await this.#assertOrdinary(signal)
    if (performance.now() - this.#wroteAt < proofMs) return
    await this.#assertSpace()
    await this.#ids.renew()
    this.#wroteAt = performance.now()
  }

  /**
   * Runs a test statement in the pool. If it fails, runs it once more on another connection, because only the first
   * connection may be broken.
   */
  async #assertOrdinary(signal: AbortSignal): Promise<void> {
    const ask = () =>
      this.#open.demand.run({ statementMs: poolTestMs }, () =>
        this.#kysely.executeQuery(CompiledQuery.raw('select 1'), { signal }),
      )
    const ms = 2 * poolTestMs
    const size = this.#options.settings.type === 'sqlite' ? 1 : this.#options.settings.poolSize
    const late = Promise.withResolvers<never>()
    const { waits } = this.#open
    const wait = waits.open(ms, () => late.reject(databaseError('PLINTH_DATABASE_POOL_TIMEOUT', { ms, size })))
    try {
      await Promise.race([ask().catch(ask), late.promise])
    } finally {
      waits.close(wait)
    }
  }

  /**
   * Throws if the disk of the SQLite file is full. SQLite itself reports this late, because small changes fit into the
   * unused space of its files.
   */
  async #assertSpace(): Promise<void> {
    const { settings } = this.#options
    if (settings.type !== 'sqlite' || settings.file === ':memory:') return
    const { bavail, bsize } = await statfs(dirname(settings.file))
    const free = bavail * bsize
    if (free < minSpace) throw databaseError('PLINTH_DATABASE_NO_SPACE', { free, place: this.place })
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
    await this.#claimIds()
    return result
  }

  async migrationStatus() {
    await this.connect()
    return this.#migrator.status()
  }

  /** Checks the change sets and returns warnings. Changes nothing. Throws the errors of `Migrator.check`. */
  async checkChangeSets(): Promise<readonly string[]> {
    await this.connect()
    return this.#migrator.check()
  }

  async migrationPlan() {
    await this.connect()
    return this.#migrator.plan()
  }

  /** Returns what `takeChangeSetBack` would do; see `Migrator.wayBack`. */
  async wayBack(plugin: string, id: string) {
    await this.connect()
    return this.#migrator.wayBack(plugin, id)
  }

  /** Takes a change set back, in development only; see `Migrator.takeBack`. */
  async takeChangeSetBack(plugin: string, id: string) {
    await this.connect()
    return this.#open.demand.run({ statementMs: Number.POSITIVE_INFINITY }, () => this.#migrator.takeBack(plugin, id))
  }

  /** @throws PlinthError `PLINTH_DATABASE_ENTITY_SCHEMA` if entities differ from the tables */
  async assertEntities(): Promise<void> {
    await assertEntities(this.#ownedEntities(), this.dialect, (sql) => this.reserved.query(sql))
  }

  /** Returns the tables of entities by plugin. Does not connect. */
  tables(): ReadonlyMap<string, readonly string[]> {
    return new Map(
      [...Map.groupBy(this.#ownedEntities(), ({ plugin }) => plugin)].map(([plugin, owned]) => [
        plugin,
        owned.filter(({ metadata }) => isStored(metadata)).map(({ metadata }) => metadata.tableName),
      ]),
    )
  }

  /** Returns the tables and change sets of a plugin, including the tables of its entities; see `Migrator.dataOf`. */
  async dataOf(plugin: string): Promise<PluginTables> {
    await this.connect()
    return this.#migrator.dataOf(plugin, this.tables().get(plugin) ?? [])
  }

  /** Removes the tables and change sets of a plugin; see `Migrator.remove`. */
  async removeDataOf(plugin: string): Promise<void> {
    await this.connect()
    const tables = this.tables().get(plugin) ?? []
    await this.#open.demand.run({ statementMs: Number.POSITIVE_INFINITY }, () => this.#migrator.remove(plugin, tables))
  }

  #ownedEntities() {
    const storage = this.#open.orm.getMetadata()
    return this.#options.entities.flatMap(({ plugin, entities }) =>
      entities.map((entity) => ({ plugin, metadata: storage.get(entity as never) })),
    )
  }

  probe(target: ProbeTarget): Promise<ServerInfo> {
    return probeTarget(target, this.#options.changeSets)
  }

  get #kysely(): Kysely<unknown> {
    return kyselyOf(this.#open)
  }
}

const affectedRows = ({ numAffectedRows }: QueryResult<unknown>) => Number(numAffectedRows ?? 0)

function leaseOf(transaction: ControlledTransaction<unknown>): Promise<ConnectionLease> {
  return transaction.getExecutor().provideConnection(async (connection) => connection as ConnectionLease)
}

function close(scope: TransactionScope): void {
  scope.end()
  scope.open = false
}

const kyselyOf = <Tables = unknown>({ orm }: OpenOrm): Kysely<Tables> => orm.driver.getConnection().getClient()
