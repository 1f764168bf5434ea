import { AsyncLocalStorage } from 'node:async_hooks'
import { Utils } from '@mikro-orm/core'
import type {
  AbstractSqlConnection,
  AbstractSqlDriver,
  Configuration,
  MikroORM,
  SqlEntityManager,
} from '@mikro-orm/sql'
import { errorCodeOf, errorReason, isPlinthError } from '@plinth/kernel'
import type { Dialect } from 'kysely'
import {
  type ConnectionSettings,
  connectionErrorOf,
  isWriteOutage,
  mustReconnect,
  reservedConnections,
  type ServerSettings,
  type SqliteSettings,
  statementNotPreparedError,
  unavailableErrorOf,
} from './connections/connection-failure.ts'
import { PoolStatementLog, WaitTimeouts } from './connections/connection-queue.ts'
import { assertRequestedIsolation } from './connections/isolation.ts'
import {
  type ConnectionLeaseOptions,
  type ConnectionOptions,
  withConnectionLeases,
} from './connections/leasing-driver.ts'
import { PreparedStatements } from './connections/prepared-statements.ts'
import {
  createSessionStatements,
  mysqlOptions,
  postgresOptions,
  prepareOnMysql,
  ServerSockets,
} from './connections/server-connection.ts'
import { SqliteDialect } from './connections/sqlite-dialect.ts'
import { TableWriteNotifier } from './connections/written-tables.ts'
import { CurrentTransaction } from './current-transaction.ts'
import { databaseError } from './errors.ts'

type DriverClass = new (config: Configuration) => AbstractSqlDriver
interface DialectConnection extends AbstractSqlConnection {
  createKyselyDialect(options: object): Dialect | Promise<Dialect>
}
type ConnectionClass = new (config: Configuration) => DialectConnection

/**
 * Returns a MikroORM driver with another Kysely dialect, which does not connect again after it was closed.
 *
 * @param wrap receives the dialect of MikroORM and returns the one to use
 */
function leasedOrmDriver<Driver extends DriverClass>(
  driver: Driver,
  connection: ConnectionClass,
  wrap: (dialect: Dialect) => Dialect,
): Driver {
  const [BaseDriver, BaseConnection]: [DriverClass, ConnectionClass] = [driver, connection]
  class LeasedConnection extends BaseConnection {
    #isClosed = false

    override createKyselyDialect(options: object) {
      const dialect = super.createKyselyDialect(options)
      return dialect instanceof Promise ? dialect.then(wrap) : wrap(dialect)
    }

    override async connect(options?: { readonly skipOnConnect?: boolean }): Promise<void> {
      if (this.#isClosed) throw databaseError('PLINTH_DATABASE_CLOSED')
      await super.connect(options)
    }

    /** Also begins savepoints, for which MikroORM would ignore another isolation level. */
    override async begin(options?: Parameters<AbstractSqlConnection['begin']>[0]) {
      assertRequestedIsolation(options?.isolationLevel)
      return super.begin(options)
    }

    override async close(force?: boolean): Promise<void> {
      await super.close(force)
      this.#isClosed = true
    }
  }
  class LeasedDriver extends BaseDriver {
    protected override readonly connection = new LeasedConnection(this.config)
  }
  return LeasedDriver as unknown as Driver
}

type Orm = MikroORM<AbstractSqlDriver, SqlEntityManager>

export interface OpenOrm {
  readonly orm: Orm
  readonly transaction: CurrentTransaction
  readonly waits: WaitTimeouts
  readonly pooledStatements: PoolStatementLog
  readonly demand: AsyncLocalStorage<ConnectionOptions>
  readonly written: TableWriteNotifier
  readonly prepared: PreparedStatements
  /** Driver of SQLite, for statements that bypass Kysely. */
  readonly sqlite?: SqliteDialect['driver']
  /** Connects. Called once before the first query. */
  connect(): Promise<void>
  /** Closes all connections. MikroORM alone would connect again at the next query. */
  close(): Promise<void>
}

interface OrmOptions {
  readonly entities: readonly object[]
  readonly failures: ConnectionLeaseOptions['log']
  readonly writes?: ConnectionLeaseOptions['log'] & ConnectionLeaseOptions['writes']
  readonly warn: (message: string) => void
}

/**
 * Loads the driver of a database server. A product installs only the drivers that it needs.
 *
 * @throws PlinthError `PLINTH_DATABASE_DRIVER` if the driver is not installed
 */
async function loadDriver<Driver>(type: ServerSettings['type'], load: () => Promise<Driver>): Promise<Driver> {
  try {
    return await load()
  } catch (error) {
    const name = `@mikro-orm/${type}`
    const isMissing = errorCodeOf(error) === 'ERR_MODULE_NOT_FOUND' && errorReason(error).includes(`'${name}'`)
    if (!isMissing) throw error
    throw databaseError('PLINTH_DATABASE_DRIVER', { type, package: `${name}@${Utils.getORMVersion()}` }, error)
  }
}

/** Loads only the configured driver. Does not connect. */
export function openOrm(settings: ConnectionSettings, options: OrmOptions): Promise<OpenOrm> {
  return settings.type === 'sqlite' ? openSqlite(settings, options) : openServer(settings, options)
}

const commonOptions = ({ entities, warn }: OrmOptions, { contextName }: CurrentTransaction) => ({
  contextName,
  entities: [...entities] as never[],
  colors: false,
  logger: warn,
  ensureDatabase: false,
  discovery: { warnWhenNoEntities: false },
})

async function openSqlite(settings: SqliteSettings, options: OrmOptions): Promise<OpenOrm> {
  const { MikroORM, SqliteConnection, SqliteDriver } = await import('@mikro-orm/sqlite')
  const parts = shared(settings, options)
  const { outage, writes } = parts.rules
  const wrote = () => writes.succeeded()
  const dialect = new SqliteDialect({ ...settings, warn: options.warn, outage, wrote })
  const leased = withConnectionLeases(dialect, {
    ...parts.rules,
    size: 1,
    reserved: 0,
    // SQLite uses no network, and `busyTimeoutMs` limits its waits for other processes.
    statementMs: Number.POSITIVE_INFINITY,
    giveUp: () => dialect.driver.rollBack(),
    admit: () => {
      if (parts.transaction.isOpen) throw databaseError('PLINTH_DATABASE_SECOND_CONNECTION')
    },
  })
  const orm = new MikroORM({
    ...commonOptions(options, parts.transaction),
    dbName: settings.file,
    driver: leasedOrmDriver(SqliteDriver, SqliteConnection, (dialect) => dialect),
    driverOptions: () => leased,
  })
  return {
    ...parts,
    orm,
    sqlite: dialect.driver,
    connect: async () => void (await orm.connect()),
    close: () => orm.close(true),
  }
}

async function openServer(settings: ServerSettings, options: OrmOptions): Promise<OpenOrm> {
  const parts = shared(settings, options)
  const sockets = new ServerSockets()
  const rules: ConnectionLeaseOptions = {
    ...parts.rules,
    size: settings.poolSize,
    reserved: reservedConnections,
    statementMs: settings.queryTimeoutMs,
    session: createSessionStatements(settings, parts.prepared),
    closeSockets: () => sockets.closeAll(),
    admit: () => void parts.transaction.isOpen,
  }
  const lease = (dialect: Dialect) => withConnectionLeases(dialect, rules)
  const common = {
    ...commonOptions(options, parts.transaction),
    host: settings.host,
    port: settings.port,
    dbName: settings.name,
    user: settings.username,
    password: settings.password,
    pool: { min: 0, max: settings.poolSize + reservedConnections },
  }
  if (settings.type === 'postgresql') {
    const { MikroORM, PostgreSqlConnection, PostgreSqlDriver } = await loadDriver(
      'postgresql',
      () => import('@mikro-orm/postgresql'),
    )
    const orm = new MikroORM({
      ...common,
      driver: leasedOrmDriver(PostgreSqlDriver, PostgreSqlConnection, lease),
      driverOptions: postgresOptions(settings, sockets, parts.prepared),
    })
    return { ...parts, orm, connect: async () => void (await orm.connect()), close: () => orm.close(true) }
  }
  const orm = await openMysql(settings.type, { ...common, driverOptions: mysqlOptions(settings, sockets) }, lease)
  return {
    ...parts,
    orm,
    connect: async () => {
      await orm.connect()
      prepareOnMysql(await orm.driver.getConnection().getNativeClient(), parts.prepared)
    },
    close: () => orm.close(true),
  }
}

async function openMysql(type: 'mysql' | 'mariadb', options: object, lease: (dialect: Dialect) => Dialect) {
  if (type === 'mysql') {
    const { MikroORM, MySqlConnection, MySqlDriver } = await loadDriver('mysql', () => import('@mikro-orm/mysql'))
    return new MikroORM({ ...options, driver: leasedOrmDriver(MySqlDriver, MySqlConnection, lease) })
  }
  const { MariaDbDriver, MikroORM, MySqlConnection } = await loadDriver('mariadb', () => import('@mikro-orm/mariadb'))
  return new MikroORM({ ...options, driver: leasedOrmDriver(MariaDbDriver, MySqlConnection, lease) })
}

const noopLog = { isFailing: false, failed: () => {}, succeeded: () => {} }

function shared(settings: ConnectionSettings, { failures: log, writes = noopLog, warn }: OrmOptions) {
  const transaction = new CurrentTransaction()
  const waits = new WaitTimeouts()
  const demand = new AsyncLocalStorage<ConnectionOptions>()
  const written = new TableWriteNotifier()
  const prepared = new PreparedStatements(settings.type !== 'sqlite' && settings.preparedStatements, warn)
  const limitMs = settings.type === 'sqlite' ? Number.POSITIVE_INFINITY : settings.queryTimeoutMs
  const pooledStatements = new PoolStatementLog(waits, limitMs)
  const failure = (error: unknown) => (isPlinthError(error) ? error : connectionErrorOf(settings, error))
  const outage = (error: unknown) => {
    if (isPlinthError(error)) return error
    if (prepared.hasRejected(error)) return statementNotPreparedError(settings, error)
    const found = unavailableErrorOf(settings, error)
    if (found === undefined) return error
    const state = isWriteOutage(found) ? writes : log
    state.failed(found)
    return found
  }
  const rules = {
    waits,
    demand,
    written,
    failure,
    outage,
    mustReconnect,
    writes,
    log,
    pooledStatements,
    waitMs: settings.connectTimeoutMs,
  }
  return { transaction, waits, pooledStatements, demand, written, prepared, rules }
}
