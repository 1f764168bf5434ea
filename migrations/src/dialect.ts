import {
  ColumnDefinitionNode,
  CreateTableNode,
  DropIndexNode,
  DummyDriver,
  Kysely,
  type Dialect as KyselyDialect,
  type KyselyPlugin,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  RawNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

export const dialects = ['sqlite', 'postgresql', 'mysql', 'mariadb'] as const
/** The databases that a change set is written for. */
export type Dialect = (typeof dialects)[number]

/** Without it every statement of a change set commits at once, so each one is logged before it runs. */
export const hasTransactionalDdl: Readonly<Record<Dialect, boolean>> = {
  sqlite: true,
  postgresql: true,
  mysql: false,
  mariadb: false,
}

/**
 * Equal texts must be equal on every database. The usual collations of MySQL and MariaDB call `A`, `a` and `a ` the same,
 * so tables are created with their exact ones (MySQL 8.0.17 or newer).
 */
const tableOptions: Partial<Record<Dialect, string>> = {
  mysql: 'engine = InnoDB default character set utf8mb4 collate utf8mb4_0900_bin',
  mariadb: 'engine = InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin',
}

/** Makes one wording right for every database. */
const neutralWording = (dialect: Dialect): KyselyPlugin => ({
  transformQuery: ({ node }) => {
    if (CreateTableNode.is(node)) return completeTable(node, tableOptions[dialect])
    if (DropIndexNode.is(node)) return completeDropIndex(node, dialect)
    return node
  },
  transformResult: async ({ result }) => result,
})

/** Only MySQL and MariaDB want to know the table of an index, and the others take no offer. */
function completeDropIndex({ table, ...node }: DropIndexNode, dialect: Dialect): DropIndexNode {
  if (table === undefined) throw new TypeError('dropIndex says of which table: .on(table)')
  return Object.freeze(hasTransactionalDdl[dialect] ? node : { ...node, table })
}

/** SQLite alone does not take it that a primary key is never null. */
function completeTable(node: CreateTableNode, options: string | undefined): CreateTableNode {
  const columns = node.columns.map((column) =>
    column.primaryKey ? ColumnDefinitionNode.cloneWith(column, { notNull: true }) : column,
  )
  const complete = Object.freeze({ ...node, columns })
  return options === undefined
    ? complete
    : CreateTableNode.cloneWithEndModifier(complete, RawNode.createWithSql(options))
}

const sqlite: KyselyDialect = {
  createAdapter: () => new SqliteAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
}
const postgresql: KyselyDialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}
const mysql: KyselyDialect = {
  createAdapter: () => new MysqlAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new MysqlIntrospector(db),
  createQueryCompiler: () => new MysqlQueryCompiler(),
}

const compilers: Readonly<Record<Dialect, KyselyDialect>> = { sqlite, postgresql, mysql, mariadb: mysql }

/** Compiles statements for a dialect; it is connected to nothing. */
export function compilerFor(dialect: Dialect): Kysely<unknown> {
  return new Kysely({ dialect: compilers[dialect], plugins: [neutralWording(dialect)] })
}

/**
 * The database's own clock as whole milliseconds since the epoch, in SQL. Leases are compared by it, so that clocks of
 * hosts that differ do no harm.
 */
export const databaseNow: Readonly<Record<Dialect, string>> = {
  sqlite: `cast(unixepoch('subsec') * 1000 as integer)`,
  postgresql: 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)',
  mysql: `(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`,
  mariadb: `(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`,
}
