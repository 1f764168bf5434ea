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

/** Without transactional DDL each statement commits immediately, so each is logged before it runs. */
export const hasTransactionalDdl: Readonly<Record<Dialect, boolean>> = {
  sqlite: true,
  postgresql: true,
  mysql: false,
  mariadb: false,
}

/**
 * Equality of texts must be exact on every database. The usual collations of MySQL and MariaDB treat `A`, `a` and `a `
 * as equal, so tables are created with exact collations (MySQL 8.0.17 or newer).
 */
const tableOptions: Partial<Record<Dialect, string>> = {
  mysql: 'engine = InnoDB default character set utf8mb4 collate utf8mb4_0900_bin',
  mariadb: 'engine = InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin',
}

/** Adapts statements so that one notation works on every database. */
const neutralWording = (dialect: Dialect): KyselyPlugin => ({
  transformQuery: ({ node }) => {
    if (CreateTableNode.is(node)) return completeTable(node, tableOptions[dialect])
    if (DropIndexNode.is(node)) return completeDropIndex(node, dialect)
    return node
  },
  transformResult: async ({ result }) => result,
})

/** MySQL and MariaDB require the table of an index; the other databases reject it. */
function completeDropIndex({ table, ...node }: DropIndexNode, dialect: Dialect): DropIndexNode {
  if (table === undefined) throw new TypeError('dropIndex says of which table: .on(table)')
  return Object.freeze(hasTransactionalDdl[dialect] ? node : { ...node, table })
}

/** Only SQLite allows null in a primary key unless it is declared otherwise. */
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

/** Returns a compiler of statements for a dialect, without a connection. */
export function compilerFor(dialect: Dialect): Kysely<unknown> {
  return new Kysely({ dialect: compilers[dialect], plugins: [neutralWording(dialect)] })
}

/**
 * SQL for the time of the database in whole milliseconds since the epoch. Leases use it, so that different clocks of
 * hosts have no effect.
 */
export const databaseNow: Readonly<Record<Dialect, string>> = {
  sqlite: `cast(unixepoch('subsec') * 1000 as integer)`,
  postgresql: 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)',
  mysql: `(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`,
  mariadb: `(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`,
}
