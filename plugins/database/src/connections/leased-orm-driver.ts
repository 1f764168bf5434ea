import type { AbstractSqlConnection, AbstractSqlDriver, Configuration } from '@mikro-orm/sql'
import type { Dialect } from 'kysely'
import { databaseError } from '../errors.ts'

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
export function leasedOrmDriver<Driver extends DriverClass>(
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
