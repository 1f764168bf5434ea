import type { Database, Parameter } from '@plinth/database'

/** How a database would run a statement if sorting and full scans were expensive. */
export interface StatementPlan {
  readonly sql: string
  /** Names of the indexes that the statement reads. The primary key is `primary`. */
  readonly indexes: readonly string[]
  /** True if the database sorts rows after reading them. */
  readonly sorts: boolean
  /** Names or aliases of tables that the statement reads completely. */
  readonly scans: readonly string[]
}

export interface WatchedStatements {
  /** All different statements since `clear`, with the parameters of the last call. */
  readonly statements: ReadonlyMap<string, readonly Parameter[]>
  clear(): void
  /** Returns the plans of all statements that `work` runs. */
  plansOf(work: () => Promise<unknown>): Promise<readonly StatementPlan[]>
}

type Run = (sql: string, ...rest: unknown[]) => unknown

/** Records statements that contain the name of the table. */
export function watchStatements(db: Database, table: string): WatchedStatements {
  const found = new Map<string, readonly Parameter[]>()
  const watch = (owner: object, names: readonly string[]) => {
    for (const name of names) {
      const run: Run = Object(owner)[name].bind(owner)
      const watched: Run = (sql, parameters = [], ...rest) => {
        const isMeant = new RegExp(`\\b${table}\\b`).test(sql) && !/^(?:explain|analyze)/.test(sql)
        if (isMeant && Array.isArray(parameters)) found.set(sql, parameters)
        return run(sql, parameters, ...rest)
      }
      Object.defineProperty(owner, name, { configurable: true, value: watched })
    }
  }
  watch(db, ['query', 'execute'])
  watch(db.fork().getConnection(), ['execute'])
  return {
    statements: found,
    clear: () => found.clear(),
    async plansOf(work) {
      found.clear()
      await work()
      if (db.dialect === 'postgresql') await db.execute(`analyze ${table}`)
      if (db.dialect !== 'postgresql' && db.dialect !== 'sqlite') await db.query(`analyze table ${table}`)
      const plans: StatementPlan[] = []
      for (const [sql, parameters] of [...found]) plans.push(await planOf(db, sql, parameters))
      return plans
    },
  }
}

/**
 * Returns the plan of a statement. A few rows are enough, because sorting and full scans are made to look expensive.
 */
export async function planOf(db: Database, sql: string, parameters: readonly Parameter[]): Promise<StatementPlan> {
  switch (db.dialect) {
    case 'sqlite':
      return planOfSqlite(db, sql, parameters)
    case 'postgresql':
      return planOfPostgresql(db, sql, parameters)
    default:
      return planOfMysql(db, sql, parameters)
  }
}

async function planOfSqlite(db: Database, sql: string, parameters: readonly Parameter[]): Promise<StatementPlan> {
  const lines = (await db.query<{ detail: string }>(`explain query plan ${sql}`, parameters)).map(
    ({ detail }) => detail,
  )
  return {
    sql,
    indexes: lines.flatMap((line) => {
      const [, name] = /USING (?:COVERING )?INDEX (\w+)/.exec(line) ?? []
      return name ?? (line.includes('INTEGER PRIMARY KEY') ? 'primary' : [])
    }),
    sorts: lines.some((line) => line.includes('TEMP B-TREE')),
    scans: lines
      .flatMap((line) => /^SCAN (\w+)$/.exec(line)?.[1] ?? [])
      .filter((name) => !lines.some((line) => line === `CO-ROUTINE ${name}` || line === `MATERIALIZE ${name}`)),
  }
}

interface PostgresqlNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Plans?: readonly PostgresqlNode[]
}

const nodesOf = (node: PostgresqlNode | undefined): readonly PostgresqlNode[] =>
  node === undefined ? [] : [node, ...(node.Plans ?? []).flatMap(nodesOf)]

async function planOfPostgresql(db: Database, sql: string, parameters: readonly Parameter[]): Promise<StatementPlan> {
  const [response] = await db.transactional(async () => {
    for (const way of ['seqscan', 'sort', 'bitmapscan']) await db.execute(`set local enable_${way} = off`)
    return db.query<{ 'QUERY PLAN': readonly { Plan: PostgresqlNode }[] }>(`explain (format json) ${sql}`, parameters)
  })
  const nodes = nodesOf(response?.['QUERY PLAN'][0]?.Plan)
  return {
    sql,
    indexes: nodes.flatMap((node) => node['Index Name']?.replace(/^\w+_pkey$/, 'primary') ?? []),
    // An incremental sort is acceptable: it sorts only rows with equal index values.
    sorts: nodes.some((node) => node['Node Type'] === 'Sort'),
    scans: nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [])),
  }
}

async function planOfMysql(db: Database, sql: string, parameters: readonly Parameter[]): Promise<StatementPlan> {
  const lines = await db.transactional(async () => {
    // With few rows, MariaDB would combine two indexes instead of using the one with both columns.
    await db.execute(`set session max_seeks_for_key = 1, optimizer_switch = 'index_merge=off'`)
    const plan = await db.query<Record<'table' | 'type' | 'key' | 'Extra', string | null>>(`explain ${sql}`, parameters)
    await db.execute('set session max_seeks_for_key = default, optimizer_switch = default')
    return plan
  })
  return {
    sql,
    indexes: lines.flatMap(({ key }) => key?.replace('PRIMARY', 'primary') ?? []),
    sorts: lines.some(({ Extra }) => Extra?.includes('filesort')),
    scans: lines.flatMap(({ type, table }) => (type === 'ALL' && table?.startsWith('<') === false ? [table] : [])),
  }
}
