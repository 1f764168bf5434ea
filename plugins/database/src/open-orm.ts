import { AsyncLocalStorage } from 'node:async_hooks'
import type { AbstractSqlDriver, MikroORM, SqlEntityManager } from '@mikro-orm/sql'
import { isPlinthError } from '@plinth/kernel'
import type { Dialect } from 'kysely'
import { connectionFailure, outageOf } from './connections/connection-failure.ts'
import type { ConnectionSettings, ServerSettings, SqliteSettings } from './connections/connection-settings.ts'
import { type Demand, type LeaseRules, withLeases } from './connections/leasing-driver.ts'
import { OpenWaits } from './connections/open-waits.ts'
import {
  mysqlOptions,
  postgresOptions,
  prepareOnMysql,
  ServerSockets,
  sessionStatements,
} from './connections/server-connection.ts'
import { SqliteDialect } from './connections/sqlite-dialect.ts'
import { WrittenTables } from './connections/written-tables.ts'
import { CurrentTransaction } from './current-transaction.ts'
import { databaseError } from './errors.ts'

export type Orm = MikroORM<AbstractSqlDriver, SqlEntityManager>

export interface OpenOrm {
  readonly orm: Orm
  readonly transaction: CurrentTransaction
  /** Statements and turns of connections that are waited for. */
  readonly waits: OpenWaits
  /** What the calling code asks of its connections. */
  readonly demand: AsyncLocalStorage<Demand>
  readonly written: WrittenTables
  /** Of SQLite: its driver, for statements that need no detour. */
  readonly sqlite?: SqliteDialect['driver']
  /** Opens the connection; called once before the first query. */
  connect(): Promise<void>
  /** Closes all connections, for good: MikroORM would open new ones at the next query. */
  close(): Promise<void>
}

interface OrmOptions {
  readonly entities: readonly object[]
  /** Hears when the database does not answer in time, and when it does again. */
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

/** Connections besides the pool for what must not wait behind it. */
const reservedConnections = 2

async function openSqlite(settings: SqliteSettings, options: OrmOptions): Promise<OpenOrm> {
  const { MikroORM } = await import('@mikro-orm/sqlite')
  const parts = shared(settings, options)
  const dialect = new SqliteDialect({ ...settings, warn: options.warn, outage: parts.rules.outage })
  const leased = withLeases(dialect, {
    ...parts.rules,
    size: 1,
    reserved: 0,
    // A statement of SQLite waits for no network, and for other processes as long as the busy timeout says.
    statementMs: Number.POSITIVE_INFINITY,
    session: { open: [], lift: [], restore: [] },
    giveUp: () => dialect.driver.rollBack(),
    admit: () => {
      if (parts.transaction.isOpen) throw databaseError('PLINTH_DATABASE_SECOND_CONNECTION')
    },
  })
  const orm = new MikroORM({
    ...commonOptions(options, parts.transaction),
    dbName: settings.file,
    driverOptions: () => leased,
  })
  return {
    ...parts,
    orm,
    sqlite: dialect.driver,
    connect: async () => void (await orm.connect()),
    close: () => close(orm),
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
    session: sessionStatements(settings),
    closeSockets: () => sockets.closeAll(),
    admit: () => void parts.transaction.isOpen,
  }
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
    const { MikroORM } = await import('@mikro-orm/postgresql')
    const orm = new MikroORM({ ...common, driverOptions: postgresOptions(settings, sockets) })
    leaseConnections(orm, rules)
    return { ...parts, orm, connect: async () => void (await orm.connect()), close: () => close(orm) }
  }
  const mysql = { ...common, driverOptions: mysqlOptions(settings, sockets) }
  const orm = await (settings.type === 'mysql'
    ? import('@mikro-orm/mysql').then(({ MikroORM }) => new MikroORM(mysql))
    : import('@mikro-orm/mariadb').then(({ MikroORM }) => new MikroORM(mysql)))
  leaseConnections(orm, rules)
  return {
    ...parts,
    orm,
    connect: async () => {
      await orm.connect()
      prepareOnMysql(await orm.driver.getConnection().getNativeClient())
    },
    close: () => close(orm),
  }
}

const unheard = { isFailing: false, failed: () => {}, succeeded: () => {} }

function shared(settings: ConnectionSettings, { failures: log, writes = unheard }: OrmOptions) {
  const transaction = new CurrentTransaction()
  const waits = new OpenWaits()
  const demand = new AsyncLocalStorage<Demand>()
  const written = new WrittenTables()
  const failure = (error: unknown) => (isPlinthError(error) ? error : connectionFailure(settings, error))
  const outage = (error: unknown) => {
    const found = isPlinthError(error) ? undefined : outageOf(settings, error)
    if (found === undefined) return error
    const heard = found.code === 'PLINTH_DATABASE_NO_WRITES' ? writes : log
    heard.failed(found)
    return found
  }
  const rules = { waits, demand, written, failure, outage, writes, log, waitMs: settings.connectTimeoutMs }
  return { transaction, waits, demand, written, rules }
}

async function close(orm: Orm): Promise<void> {
  const connection = orm.driver.getConnection()
  await orm.close(true)
  connection.connect = () => Promise.reject(databaseError('PLINTH_DATABASE_CLOSED'))
}

/** MikroORM makes the Kysely dialect of a server by itself; this wraps what it makes. */
function leaseConnections(orm: { readonly driver: { getConnection(): object } }, rules: LeaseRules): void {
  const connection = orm.driver.getConnection() as {
    createKyselyDialect(options: object): Dialect | Promise<Dialect>
  }
  const create = connection.createKyselyDialect.bind(connection)
  connection.createKyselyDialect = (options) => {
    const dialect = create(options)
    return dialect instanceof Promise ? dialect.then((made) => withLeases(made, rules)) : withLeases(dialect, rules)
  }
}
