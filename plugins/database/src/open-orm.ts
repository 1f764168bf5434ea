import type { AbstractSqlDriver, MikroORM, SqlEntityManager } from '@mikro-orm/sql'
import type { Dialect } from 'kysely'
import type { ConnectionSettings, ServerSettings, SqliteSettings } from './connection-settings.ts'
import { CurrentTransaction } from './current-transaction.ts'
import { databaseError } from './errors.ts'
import { withLeases } from './leasing-driver.ts'
import { mysqlOptions, openMysqlSession, postgresOptions, prepareOnMysql } from './server-connection.ts'
import { SqliteDialect } from './sqlite-dialect.ts'

export type Orm = MikroORM<AbstractSqlDriver, SqlEntityManager>

export interface OpenOrm {
  readonly orm: Orm
  readonly transaction: CurrentTransaction
  /** Of SQLite: its driver, for statements that need no detour. */
  readonly sqlite?: SqliteDialect['driver']
  /** Opens the connection; called once before the first query. */
  connect(): Promise<void>
  /** Closes all connections, for good: MikroORM would open new ones at the next query. */
  close(): Promise<void>
}

interface OrmOptions {
  readonly entities: readonly object[]
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
  const { MikroORM } = await import('@mikro-orm/sqlite')
  const transaction = new CurrentTransaction()
  const dialect = new SqliteDialect({
    ...{ ...settings, warn: options.warn },
    isInsideTransaction: () => transaction.isOpen,
  })
  const orm = new MikroORM({
    ...commonOptions(options, transaction),
    dbName: settings.file,
    driverOptions: () => dialect,
  })
  return {
    orm,
    transaction,
    sqlite: dialect.driver,
    connect: async () => void (await orm.connect()),
    close: () => close(orm),
  }
}

async function openServer(settings: ServerSettings, options: OrmOptions): Promise<OpenOrm> {
  const transaction = new CurrentTransaction()
  const common = {
    ...commonOptions(options, transaction),
    host: settings.host,
    port: settings.port,
    dbName: settings.name,
    user: settings.username,
    password: settings.password,
    pool: { min: 0, max: settings.poolSize },
  }
  if (settings.type === 'postgresql') {
    const { MikroORM } = await import('@mikro-orm/postgresql')
    const orm = new MikroORM({ ...common, driverOptions: postgresOptions(settings) })
    leaseConnections(orm)
    return { orm, transaction, connect: async () => void (await orm.connect()), close: () => close(orm) }
  }
  const mysql = {
    ...common,
    driverOptions: mysqlOptions(settings),
    onCreateConnection: openMysqlSession,
  }
  const orm = await (settings.type === 'mysql'
    ? import('@mikro-orm/mysql').then(({ MikroORM }) => new MikroORM(mysql))
    : import('@mikro-orm/mariadb').then(({ MikroORM }) => new MikroORM(mysql)))
  leaseConnections(orm)
  return {
    orm,
    transaction,
    connect: async () => {
      await orm.connect()
      prepareOnMysql(await orm.driver.getConnection().getNativeClient())
    },
    close: () => close(orm),
  }
}

async function close(orm: Orm): Promise<void> {
  const connection = orm.driver.getConnection()
  await orm.close(true)
  connection.connect = () => Promise.reject(databaseError('PLINTH_DATABASE_CLOSED'))
}

/** MikroORM makes the Kysely dialect of a server by itself; this wraps what it makes. */
function leaseConnections(orm: { readonly driver: { getConnection(): object } }): void {
  const connection = orm.driver.getConnection() as {
    createKyselyDialect(options: object): Dialect | Promise<Dialect>
  }
  const create = connection.createKyselyDialect.bind(connection)
  connection.createKyselyDialect = (options) => {
    const dialect = create(options)
    return dialect instanceof Promise ? dialect.then(withLeases) : withLeases(dialect)
  }
}
