import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  AbstractSqlConnection,
  AbstractSqlDriver,
  Configuration,
  MikroORM,
  SqlEntityManager,
} from '@mikro-orm/sql'
import { isPlinthError } from '@plinth/kernel'
import type { Dialect } from 'kysely'
import {
  type ConnectionSettings,
  connectionFailure,
  isWriteOutage,
  mustReconnect,
  notPrepared,
  outageOf,
  reservedConnections,
  type ServerSettings,
  type SqliteSettings,
} from './connections/connection-failure.ts'
import { OpenWaits, OrdinaryStatements } from './connections/connection-queue.ts'
import { type Demand, type LeaseRules, withLeases } from './connections/leasing-driver.ts'
import { PreparedStatements } from './connections/prepared-statements.ts'
import {
  mysqlOptions,
  postgresOptions,
  prepareOnMysql,
  ServerSockets,
  sessionRules,
} from './connections/server-connection.ts'
import { SqliteDialect } from './connections/sqlite-dialect.ts'
import { WrittenTables } from './connections/written-tables.ts'
import { CurrentTransaction } from './current-transaction.ts'
import { databaseError } from './errors.ts'

type DriverClass = new (config: Configuration) => AbstractSqlDriver
/** A connection of one database, where the method is no longer abstract. */
interface DialectConnection extends AbstractSqlConnection {
  createKyselyDialect(options: object): Dialect | Promise<Dialect>
}
type ConnectionClass = new (config: Configuration) => DialectConnection

/**
 * A driver of MikroORM with another Kysely dialect, and without a way to connect again after it was closed. Both are
 * subclasses, as MikroORM's own driver of MariaDB is one of that of MySQL.
 *
 * @param wrap gets the dialect of the connection and returns the one to use
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
  /** Statements and turns of connections that are waited for. */
  readonly waits: OpenWaits
  /** Whether statements on connections of the pool succeed. */
  readonly ordinary: OrdinaryStatements
  /** What the calling code asks of its connections. */
  readonly demand: AsyncLocalStorage<Demand>
  readonly written: WrittenTables
  readonly prepared: PreparedStatements
  /** Of SQLite: its driver, for statements that need no detour. */
  readonly sqlite?: SqliteDialect['driver']
  /** Opens the connection; called once before the first query. */
  connect(): Promise<void>
  /** Closes all connections, for good: MikroORM would open new ones at the next query. */
  close(): Promise<void>
}

interface OrmOptions {
  readonly entities: readonly object[]
  /** Is notified when the database is not available, and when it is again. */
  readonly failures: LeaseRules['log']
  /** Hears when the disk of the database is full, and when it takes writes again; absent: nobody does. */
  readonly writes?: LeaseRules['log'] & LeaseRules['writes']
  /** Receives what MikroORM has to say: broken connections, for example. */
  readonly warn: (message: string) => void
}

/** Loads the driver of the configured database, and no other, and discovers the entities. Connects to nothing. */
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
  const leased = withLeases(dialect, {
    ...parts.rules,
    size: 1,
    reserved: 0,
    // A statement of SQLite waits for no network, and for other processes as long as the busy timeout says.
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
  const rules: LeaseRules = {
    ...parts.rules,
    size: settings.poolSize,
    reserved: reservedConnections,
    statementMs: settings.queryTimeoutMs,
    session: sessionRules(settings, parts.prepared),
    closeSockets: () => sockets.closeAll(),
    admit: () => void parts.transaction.isOpen,
  }
  const lease = (dialect: Dialect) => withLeases(dialect, rules)
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
    const { MikroORM, PostgreSqlConnection, PostgreSqlDriver } = await import('@mikro-orm/postgresql')
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
    const { MikroORM, MySqlConnection, MySqlDriver } = await import('@mikro-orm/mysql')
    return new MikroORM({ ...options, driver: leasedOrmDriver(MySqlDriver, MySqlConnection, lease) })
  }
  const { MariaDbDriver, MikroORM, MySqlConnection } = await import('@mikro-orm/mariadb')
  return new MikroORM({ ...options, driver: leasedOrmDriver(MariaDbDriver, MySqlConnection, lease) })
}

const unheard = { isFailing: false, failed: () => {}, succeeded: () => {} }

function shared(settings: ConnectionSettings, { failures: log, writes = unheard, warn }: OrmOptions) {
  const transaction = new CurrentTransaction()
  const waits = new OpenWaits()
  const demand = new AsyncLocalStorage<Demand>()
  const written = new WrittenTables()
  const prepared = new PreparedStatements(settings.type !== 'sqlite' && settings.preparedStatements, warn)
  const limitMs = settings.type === 'sqlite' ? Number.POSITIVE_INFINITY : settings.queryTimeoutMs
  const ordinary = new OrdinaryStatements(waits, limitMs)
  const failure = (error: unknown) => (isPlinthError(error) ? error : connectionFailure(settings, error))
  const outage = (error: unknown) => {
    if (isPlinthError(error)) return error
    if (prepared.hasRejected(error)) return notPrepared(settings, error)
    const found = outageOf(settings, error)
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
    ordinary,
    waitMs: settings.connectTimeoutMs,
  }
  return { transaction, waits, ordinary, demand, written, prepared, rules }
}
