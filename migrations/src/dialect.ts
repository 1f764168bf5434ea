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
/** The databases that change sets support. */
export type Dialect = (typeof dialects)[number]

/**
 * Databases that can roll back changes of the schema. On other databases, each statement commits immediately, so each
 * statement is recorded before it runs.
 */
export const hasTransactionalDdl: Readonly<Record<Dialect, boolean>> = {
  sqlite: true,
  postgresql: true,
  mysql: false,
  mariadb: false,
}

/**
 * Texts must be compared exactly on every database. The default collations of MySQL and MariaDB treat `A`, `a` and `a `
 * as equal, so tables get exact collations (MySQL 8.0.17 or later).
 */
const tableOptions: Partial<Record<Dialect, string>> = {
  mysql: 'engine = InnoDB default character set utf8mb4 collate utf8mb4_0900_bin',
  mariadb: 'engine = InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin',
}

/** Adapts statements so that the same code works on every database. */
const neutralSql = (dialect: Dialect): KyselyPlugin => ({
  transformQuery: ({ node }) => {
    if (CreateTableNode.is(node)) return completeTable(node, tableOptions[dialect])
    if (DropIndexNode.is(node)) return completeDropIndex(node, dialect)
    return node
  },
  transformResult: async ({ result }) => result,
})

/** Removes the name of the table where the database rejects it. MySQL and MariaDB require the name. */
function completeDropIndex({ table, ...node }: DropIndexNode, dialect: Dialect): DropIndexNode {
  if (table === undefined) throw new TypeError('dropIndex says of which table: .on(table)')
  return Object.freeze(hasTransactionalDdl[dialect] ? node : { ...node, table })
}

/** Makes primary keys `not null`, because only SQLite would allow null in them. */
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

/** Returns a compiler for SQL that has no connection. */
export function compilerFor(dialect: Dialect): Kysely<unknown> {
  return new Kysely({ dialect: compilers[dialect], plugins: [neutralSql(dialect)] })
}

/**
 * SQL expression for the time of the database in milliseconds since the epoch. Leases use it, because clocks of hosts
 * may differ.
 */
export const databaseNow: Readonly<Record<Dialect, string>> = {
  sqlite: `cast(unixepoch('subsec') * 1000 as integer)`,
  postgresql: 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)',
  mysql: `(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`,
  mariadb: `(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`,
}
