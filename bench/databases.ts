/**
 * Databases for benchmarks: SQLite in a file on disk, and servers that are started for one run. Every commit survives a
 * power loss on each of them. Everything is removed at the end, even after an error or a signal.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Database } from '@plinth/database'
import {
  type StartedServer,
  skipWithoutMariadbPrograms,
  skipWithoutPostgresPrograms,
  startMariadb,
  startPostgres,
  type TestDatabase,
  type TestDialect,
} from '@plinth/dev/testing/database'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { reportOmission } from './kernel/report.ts'

export interface BenchDatabase extends TestDatabase {
  /** Connection options of the driver; empty for SQLite. */
  readonly connection: {
    readonly host?: string
    readonly port?: number
    readonly user?: string
    readonly database?: string
  }
}

/**
 * Settings of the Debian packages. They replace settings of `startPostgres` and `startMariadb`, which do not sync to disk.
 */
const servers = {
  postgresql: {
    user: 'postgres',
    skip: skipWithoutPostgresPrograms,
    start: () => startPostgres({ fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' }),
  },
  mariadb: {
    user: 'root',
    skip: skipWithoutMariadbPrograms,
    start: () =>
      startMariadb({
        'innodb-flush-log-at-trx-commit': 1,
        'innodb-flush-method': 'O_DIRECT',
        'innodb-doublewrite': 'ON',
        'character-set-server': 'utf8mb4',
        'collation-server': 'utf8mb4_general_ci',
      }),
  },
} as const

const ends: (() => Promise<void>)[] = []

async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endAll().finally(() => process.exit(1)))
}

const tmpfs = 0x01021994

/** Throws if the temporary directory is in memory, because commits would then be too fast. */
function assertOnDisk(): void {
  if (statfsSync(tmpdir()).type !== tmpfs) return
  throw new Error(`${tmpdir()} is in memory. Set TMPDIR to a directory on a disk.`)
}

/** Opens an empty database. */
export type OpenDatabase = () => Promise<BenchDatabase>

/**
 * Calls `measure` for each selected database. A database that is not installed is reported as omitted.
 * @param isMemoryAllowed true if the temporary directory may be in memory, for tests that use no figure
 */
export async function onDatabases<T>(
  chosen: readonly string[],
  measure: (dialect: TestDialect, open: OpenDatabase) => Promise<T>,
  isMemoryAllowed = false,
): Promise<T[]> {
  if (!isMemoryAllowed) assertOnDisk()
  const results: T[] = []
  for (const dialect of ['sqlite', 'postgresql', 'mariadb'] as const) {
    if (!chosen.includes(dialect)) continue
    const skip = dialect === 'sqlite' ? false : servers[dialect].skip
    if (skip !== false) {
      reportOmission(dialect, skip)
      continue
    }
    try {
      results.push(await measure(dialect, await opener(dialect)))
    } finally {
      await endAll()
    }
  }
  return results
}

async function opener(dialect: TestDialect): Promise<OpenDatabase> {
  let server: StartedServer | undefined
  if (dialect !== 'sqlite') {
    server = await servers[dialect].start()
    ends.push(server.drop)
  }
  let count = 0
  return async () => {
    const directory = mkdtempSync(join(tmpdir(), 'plinth-bench-'))
    const drop = async () => rmSync(directory, { recursive: true, force: true })
    ends.push(drop)
    const patience = { 'platform.database.connect-timeout': '60s' }
    if (dialect === 'sqlite' || server === undefined) {
      const config = { ...patience, 'platform.database.sqlite.file': join(directory, 'bench.sqlite') }
      return { dialect, config, directory, connection: {}, drop }
    }
    const { user } = servers[dialect]
    const { port } = server
    const connection = { host: '127.0.0.1', port, user, database: `bench_${++count}` }
    await createOn(dialect, connection)
    const config = {
      ...patience,
      'platform.database.type': dialect,
      'platform.database.port': port,
      'platform.database.name': connection.database,
      'platform.database.username': user,
    }
    return { dialect, config, directory, connection, drop }
  }
}

async function createOn(
  dialect: Exclude<TestDialect, 'sqlite'>,
  {
    database,
    ...at
  }: { readonly host: string; readonly port: number; readonly user: string; readonly database: string },
): Promise<void> {
  const statement = `create database ${database}`
  if (dialect === 'mariadb') {
    const connection = await createConnection(at)
    await connection.query(statement)
    await connection.end()
    return
  }
  const client = await connectWhenStarted(at)
  await client.query(statement)
  await client.end()
}

const startLimitMs = 60_000
/** PostgreSQL error code of a server that accepts connections but no sessions yet. */
const isStarting = '57P03'

async function connectWhenStarted(at: { readonly host: string; readonly port: number; readonly user: string }) {
  const deadline = performance.now() + startLimitMs
  for (;;) {
    const client = new pg.Client({ ...at, database: 'postgres' })
    try {
      await client.connect()
      return client
    } catch (error) {
      if ((error as { code?: string }).code !== isStarting || performance.now() > deadline) throw error
      await setTimeout(200)
    }
  }
}

/** Names of the settings that determine the cost of a commit. */
const decisive = {
  sqlite: ['journal_mode', 'synchronous', 'wal_autocheckpoint', 'journal_size_limit'],
  postgresql: ['fsync', 'synchronous_commit', 'full_page_writes'],
  mariadb: ['innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'innodb_flush_method', 'log_bin'],
} as const

const settingsQueries = {
  postgresql: 'select name, setting from pg_settings',
  mariadb:
    'select name, setting from (select lower(variable_name) as name, variable_value as setting from information_schema.session_variables) s',
} as const

/** Returns the values of the settings in `decisive` on the database connection of a product, by name. */
export async function settingsOf(db: Database, dialect: TestDialect): Promise<ReadonlyMap<string, string>> {
  const names = decisive[dialect]
  if (dialect === 'sqlite') {
    const found = new Map<string, string>()
    for (const name of names) {
      const [row = {}] = await db.query<Record<string, unknown>>(`pragma ${name}`)
      found.set(name, String(Object.values(row)[0]))
    }
    return found
  }
  const where = `name in (${names.map((name) => `'${name}'`).join(', ')}) order by name`
  const rows = await db.query<{ name: string; setting: string }>(`${settingsQueries[dialect]} where ${where}`)
  return new Map(rows.map(({ name, setting }) => [name, setting]))
}

/** Returns the settings as one line for a table: `synchronous_commit = on, ...`. */
export const settingsText = (settings: ReadonlyMap<string, string>) =>
  [...settings].map(([name, value]) => `${name} = ${value}`).join(', ')

/**
 * Copies the write-ahead log of SQLite into its file, so that no candidate has to copy the pages of another one. Has no
 * effect on a database server.
 */
export async function checkpointSqlite(db: Database, dialect: TestDialect): Promise<void> {
  if (dialect !== 'sqlite') return
  await db.checkpointed()
  await db.query('pragma wal_checkpoint(PASSIVE)')
}
