import { createHash } from 'node:crypto'
import { CompiledQuery, type Kysely, sql } from 'kysely'
import { columnTypes } from './change-set.ts'
import type { CompiledChangeSet } from './compile.ts'
import { compilerFor, type Dialect } from './dialect.ts'
import type { WayBack } from './way-back.ts'

/** Names of the tables that contain the applied change sets and the lock. */
export const changelogTable = 'schema_changelog'
export const lockTable = 'schema_changelog_lock'
/** Created by `plinth dev` only. */
const developmentTable = 'schema_changelog_development'

/** Tables of this package. Times are milliseconds since the epoch. */
interface ChangelogTables {
  schema_changelog: {
    plugin: string
    change_set: string
    checksum: string
    statements: number
    executed_at: number
    duration_ms: number
  }
  /** Steps of the change set that is being applied, for databases without transactional DDL. */
  schema_changelog_step: {
    plugin: string
    change_set: string
    step: number
    checksum: string
    state: 'running' | 'done' | 'failed'
  }
  /** Change sets that `plinth dev` was the first to apply, and how to take them back. */
  schema_changelog_development: {
    plugin: string
    change_set: string
    project: string
    way_back: string
  }
  schema_changelog_lock: {
    id: number
    holder: string | null
    host: string | null
    process_space: string | null
    pid: number | null
    acquired_at: number | null
    expires_at: number
  }
}
export type ChangelogDb = Kysely<ChangelogTables>

export interface AppliedChangeSet {
  readonly plugin: string
  readonly id: string
  readonly checksum: string
  /** Time of the application in milliseconds since the epoch. */
  readonly executedAt: number
  readonly durationMs: number
}

/** The tables of this package. Their rows describe one database, so they are not part of the data of a product. */
export const changelogTableNames: readonly string[] = [
  changelogTable,
  'schema_changelog_step',
  lockTable,
  developmentTable,
]

type Identified = Pick<CompiledChangeSet, 'plugin' | 'id'>

/** Returns the statements that create the tables of this package if they are missing. */
export function changelogTables(dialect: Dialect): CompiledQuery[] {
  const { schema } = compilerFor(dialect)
  const type = columnTypes(dialect)
  const tables = [
    schema
      .createTable(changelogTable)
      .ifNotExists()
      .addColumn('plugin', type.text(128), (c) => c.notNull())
      .addColumn('change_set', type.text(128), (c) => c.notNull())
      .addColumn('checksum', type.text(80), (c) => c.notNull())
      .addColumn('statements', type.integer, (c) => c.notNull())
      .addColumn('executed_at', type.bigint, (c) => c.notNull())
      .addColumn('duration_ms', type.bigint, (c) => c.notNull())
      .addPrimaryKeyConstraint('schema_changelog_pkey', ['plugin', 'change_set']),
    schema
      .createTable('schema_changelog_step')
      .ifNotExists()
      .addColumn('plugin', type.text(128), (c) => c.notNull())
      .addColumn('change_set', type.text(128), (c) => c.notNull())
      .addColumn('step', type.integer, (c) => c.notNull())
      .addColumn('checksum', type.text(80), (c) => c.notNull())
      .addColumn('state', type.text(16), (c) => c.notNull())
      .addPrimaryKeyConstraint('schema_changelog_step_pkey', ['plugin', 'change_set', 'step']),
    schema
      .createTable(lockTable)
      .ifNotExists()
      .addColumn('id', type.integer, (c) => c.primaryKey())
      .addColumn('holder', type.text(36))
      .addColumn('host', type.text(255))
      .addColumn('process_space', type.text(64))
      .addColumn('pid', type.integer)
      .addColumn('acquired_at', type.bigint)
      .addColumn('expires_at', type.bigint, (c) => c.notNull()),
  ]
  return tables.map((table) => table.compile())
}

/** Creates the table of the ways back if it is missing. */
export async function ensureDevelopmentTable(db: ChangelogDb, dialect: Dialect): Promise<void> {
  const type = columnTypes(dialect)
  const table = compilerFor(dialect)
    .schema.createTable(developmentTable)
    .ifNotExists()
    .addColumn('plugin', type.text(128), (c) => c.notNull())
    .addColumn('change_set', type.text(128), (c) => c.notNull())
    .addColumn('project', type.longText, (c) => c.notNull())
    .addColumn('way_back', type.longText, (c) => c.notNull())
    .addPrimaryKeyConstraint('schema_changelog_development_pkey', ['plugin', 'change_set'])
    .compile()
  await tolerantOfRace(() => db.executeQuery(table))
}

export async function recordWayBack(
  db: ChangelogDb,
  { plugin, id }: Identified,
  project: string,
  wayBack: WayBack,
): Promise<void> {
  await deleteWayBack(db, { plugin, id })
  await db
    .insertInto(developmentTable)
    .values({ plugin, change_set: id, project, way_back: JSON.stringify(wayBack) })
    .execute()
}

const deleteWayBack = (db: ChangelogDb, { plugin, id }: Identified) =>
  db.deleteFrom(developmentTable).where('plugin', '=', plugin).where('change_set', '=', id).execute()

/** Returns the ways back of the change sets of a plugin that `plinth dev` was the first to apply in this project. */
export async function readWaysBack(
  db: ChangelogDb,
  plugin: string,
  project: string,
): Promise<ReadonlyMap<string, WayBack>> {
  const rows = await readUnlessTableMissing(() =>
    db.selectFrom(developmentTable).selectAll().where('plugin', '=', plugin).execute(),
  )
  const own = (rows ?? []).filter((row) => row.project === project)
  return new Map(own.map((row) => [row.change_set, JSON.parse(row.way_back) as WayBack]))
}

/** Deletes all records of a change set, so that it can be applied again. */
export async function forgetChangeSet(db: ChangelogDb, { plugin, id }: Identified): Promise<void> {
  await deleteLoggedSteps(db, { plugin, id })
  await deleteWayBack(db, { plugin, id })
  await db.deleteFrom(changelogTable).where('plugin', '=', plugin).where('change_set', '=', id).execute()
}

/** Creates missing tables. Several processes may call it at the same time. */
export async function ensureTables(db: ChangelogDb, dialect: Dialect): Promise<void> {
  for (const table of changelogTables(dialect)) await tolerantOfRace(() => db.executeQuery(table))
  await tolerantOfRace(async () => {
    const row = await db.selectFrom(lockTable).select('id').executeTakeFirst()
    if (row === undefined) await db.insertInto(lockTable).values({ id: 1, expires_at: 0 }).execute()
  })
}

/** Tries again after an error. If another process has created the same table meanwhile, the second attempt succeeds. */
async function tolerantOfRace(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch {
    await work()
  }
}

/** Returns the applied change sets, oldest first; `undefined` if the database was never migrated. Reads only. */
export async function readChangelog(db: ChangelogDb): Promise<AppliedChangeSet[] | undefined> {
  const rows = await readUnlessTableMissing(() =>
    db.selectFrom(changelogTable).selectAll().orderBy('executed_at').execute(),
  )
  return rows?.map((row) => ({
    plugin: row.plugin,
    id: row.change_set,
    checksum: row.checksum,
    executedAt: Number(row.executed_at),
    durationMs: Number(row.duration_ms),
  }))
}

const tableNames: Readonly<Record<Dialect, string>> = {
  sqlite: `select name from sqlite_master where type in ('table', 'view')`,
  postgresql:
    `select relname as name from pg_catalog.pg_class where relkind in ('r', 'p', 'v', 'm', 'f') ` +
    'and relnamespace = (select oid from pg_catalog.pg_namespace where nspname = current_schema())',
  mysql: 'select table_name as name from information_schema.tables where table_schema = database()',
  mariadb: 'select table_name as name from information_schema.tables where table_schema = database()',
}

/** Returns the tables and views with which a new table could have a name conflict. */
export async function readTableNames(db: ChangelogDb, dialect: Dialect): Promise<ReadonlySet<string>> {
  const { rows } = await db.executeQuery<{ name: string }>(CompiledQuery.raw(tableNames[dialect]))
  return new Set(rows.map(({ name }) => name))
}

/** Returns the result of `read`, or `undefined` if the table that it reads does not exist. */
export async function readUnlessTableMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isMissingTable(error)) return undefined
    throw error
  }
}

interface DriverError {
  readonly code?: unknown
  readonly errno?: unknown
  readonly message?: unknown
}

export function isMissingTable(error: unknown): boolean {
  const { code, errno, message }: DriverError = Object(error)
  return code === '42P01' || errno === 1146 || String(message).startsWith('no such table')
}

export async function recordApplied(
  db: ChangelogDb,
  changeSet: CompiledChangeSet,
  executedAt: number,
  durationMs: number,
): Promise<void> {
  await db
    .insertInto(changelogTable)
    .values({
      plugin: changeSet.plugin,
      change_set: changeSet.id,
      checksum: changeSet.checksum,
      statements: changeSet.statements.length,
      executed_at: executedAt,
      duration_ms: durationMs,
    })
    .execute()
}

export interface LoggedStep {
  readonly plugin: string
  readonly id: string
  /** Number of the step; the first step is 0. */
  readonly step: number
  readonly checksum: string
  readonly state: 'running' | 'done'
}

/** Step number that marks a failed change set. No statement has it. */
const failedStep = -1

/**
 * Records a failed change set, so that other processes know about it.
 *
 * @param changeSet with its current checksum
 */
export async function recordFailed(
  db: ChangelogDb,
  changeSet: Identified & { readonly checksum: string },
): Promise<void> {
  const { plugin, id, checksum } = changeSet
  await deleteLoggedSteps(db, changeSet, failedStep)
  await db
    .insertInto('schema_changelog_step')
    .values({ plugin, change_set: id, step: failedStep, checksum, state: 'failed' })
    .execute()
}

/** Returns the change sets that failed in their last run, with the checksums of that time. */
export async function readFailedChangeSets(db: ChangelogDb): Promise<(Identified & { readonly checksum: string })[]> {
  const failed = () => db.selectFrom('schema_changelog_step').selectAll().where('step', '=', failedStep).execute()
  const rows = await readUnlessTableMissing(failed)
  return (rows ?? []).map(({ plugin, change_set: id, checksum }) => ({ plugin, id, checksum }))
}

export const stepChecksum = (statement: string) => createHash('sha256').update(statement).digest('hex')

/** Returns the steps of change sets that were started but not completed. */
export async function readSteps(db: ChangelogDb): Promise<LoggedStep[]> {
  const steps = () =>
    db.selectFrom('schema_changelog_step').selectAll().where('step', '>', failedStep).orderBy('step').execute()
  const rows = await readUnlessTableMissing(steps)
  return (rows ?? []).map(({ change_set, state, ...row }) => ({
    ...row,
    id: change_set,
    state: state as LoggedStep['state'],
  }))
}

/**
 * Records that a step is running and, with the same statement, that the step before is done. For MySQL and MariaDB,
 * where an insert can also update.
 */
export async function logStepRunning(
  db: ChangelogDb,
  { plugin, id, statements }: Pick<CompiledChangeSet, 'plugin' | 'id' | 'statements'>,
  step: number,
  finished: number | undefined,
): Promise<void> {
  const row = (number: number, state: LoggedStep['state']) => {
    const checksum = stepChecksum(statements[number] ?? '')
    return { plugin, change_set: id, step: number, checksum, state }
  }
  await db
    .insertInto('schema_changelog_step')
    .values([...(finished === undefined ? [] : [row(finished, 'done')]), row(step, 'running')])
    .onDuplicateKeyUpdate({ state: sql<LoggedStep['state']>`values(state)` })
    .execute()
}

export async function logStepDone(db: ChangelogDb, { plugin, id }: Identified, step: number): Promise<void> {
  await db
    .updateTable('schema_changelog_step')
    .set({ state: 'done' })
    .where('plugin', '=', plugin)
    .where('change_set', '=', id)
    .where('step', '=', step)
    .execute()
}

/** Deletes one step, or all steps of the change set. */
export async function deleteLoggedSteps(db: ChangelogDb, { plugin, id }: Identified, step?: number): Promise<void> {
  const all = db.deleteFrom('schema_changelog_step').where('plugin', '=', plugin).where('change_set', '=', id)
  await (step === undefined ? all : all.where('step', '=', step)).execute()
}

/** A table and the number of its rows. */
export interface TableSize {
  readonly table: string
  readonly rows: number
}

// biome-ignore lint/suspicious/noExplicitAny: the change sets define the schema
type AnyDb = Kysely<any>

/** Returns the sizes of the existing tables. Reads only. */
export async function readTableSizes(
  db: AnyDb,
  dialect: Dialect,
  tables: readonly string[],
): Promise<readonly TableSize[]> {
  const existing = await readTableNames(db, dialect)
  const sizes: TableSize[] = []
  for (const table of new Set(tables)) {
    if (!existing.has(table)) continue
    const { size } = await db
      .selectFrom(table)
      .select((q) => q.fn.countAll().as('size'))
      .executeTakeFirstOrThrow()
    sizes.push({ table, rows: Number(size) })
  }
  return sizes
}

export async function countApplied(db: ChangelogDb, plugin: string): Promise<number> {
  const rows = await readUnlessTableMissing(() =>
    db.selectFrom(changelogTable).select('change_set').where('plugin', '=', plugin).execute(),
  )
  return rows?.length ?? 0
}

/**
 * Drops tables, the last created first, and deletes the records of a plugin's change sets. If the process crashes
 * meanwhile, call this function again.
 */
export async function dropTables(db: ChangelogDb, dialect: Dialect, plugin: string, tables: readonly string[]) {
  const { schema } = compilerFor(dialect)
  for (const table of tables.toReversed()) await db.executeQuery(schema.dropTable(table).ifExists().compile())
  await db.deleteFrom('schema_changelog_step').where('plugin', '=', plugin).execute()
  await readUnlessTableMissing(() => db.deleteFrom(developmentTable).where('plugin', '=', plugin).execute())
  await db.deleteFrom(changelogTable).where('plugin', '=', plugin).execute()
}
