import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type ConnectionSettings, changeSetsOf } from '@plinth/database/parts'
import {
  findStoredTables,
  insertStoredRows,
  type StoredDatabase,
  type StoredTable,
  withDatabase,
} from '@plinth/database/stored-data'
import { waitForProcessEnd } from '@plinth/dev/testing'
import { createDatabase, type TestDialect } from '@plinth/dev/testing/database'
import { Migrator } from '@plinth/migrations'
import { CompiledQuery } from 'kysely'
import type { Test } from 'tap'
import { fillTables } from './filled-tables.ts'
import type { KillPoint, MoveArgument } from './moving-process.ts'
import { quickstartPlugins } from './quickstart-plugins.ts'

const limits = { connectTimeoutMs: 60_000, queryTimeoutMs: 60_000, transactionTimeoutMs: 60_000 }
const ports = { postgresql: 5432, mariadb: 3306 } as const

/** Creates an empty database that is dropped at the end of the test. */
export async function emptyDatabase(t: Test, dialect: TestDialect): Promise<ConnectionSettings> {
  const { config, drop } = await createDatabase(dialect)
  t.teardown(drop)
  const text = (key: string) => String(config[`platform.database.${key}`])
  if (dialect === 'sqlite') {
    return { type: dialect, file: text('sqlite.file'), busyTimeoutMs: 5_000, synchronous: 'normal', ...limits }
  }
  return {
    type: dialect,
    host: '127.0.0.1',
    port: ports[dialect],
    name: text('name'),
    username: text('username'),
    password: '',
    tls: 'off',
    poolSize: 2,
    preparedStatements: true,
    ...limits,
  }
}

export const changeSets = changeSetsOf(quickstartPlugins)

/** Applies change sets. The tables then contain only the rows of the change sets. */
export async function migrate({ db, dialect }: StoredDatabase, plugins = changeSets): Promise<void> {
  let id = 1
  await new Migrator({ db, dialect, plugins, newId: () => id++ }).migrate()
}

/**
 * Creates a database with rows in every table.
 *
 * @param plugins default: the change sets of the quickstart
 */
export async function filledDatabase(
  t: Test,
  dialect: TestDialect,
  rows: number,
  plugins = changeSets,
): Promise<ConnectionSettings> {
  const settings = await emptyDatabase(t, dialect)
  await withDatabase(settings, async (database) => {
    await migrate(database, plugins)
    await fillTables(database, plugins, rows)
  })
  return settings
}

/** Number of rows of the large table of the proofs. A million takes about 20 minutes. */
export const largeTableRows = Number(process.env['PLINTH_PROOF_ROWS'] ?? 50_000)

/** Adds entries of the ledger to a database. */
export const addEntries = (settings: ConnectionSettings, count: number): Promise<void> =>
  withDatabase(settings, async (one) => {
    const { tables } = await findStoredTables(one, changeSets)
    const entries = tables.find(({ table }) => table === 'money_entry') as StoredTable
    const size = 20_000
    for (let from = 0; from < count; from += size) {
      const rows = Array.from({ length: Math.min(size, count - from) }, (_, index) =>
        entries.columns.map(({ kind }) => (kind === 'timestamp' ? '1767322985123' : String(1_000 + from + index))),
      )
      await one.db.transaction().execute((db) => insertStoredRows({ ...one, db }, entries, rows))
    }
  })

export const execute = (settings: ConnectionSettings, ...statements: readonly string[]): Promise<void> =>
  withDatabase(settings, async ({ db }) => {
    for (const sql of statements) await db.executeQuery(CompiledQuery.raw(sql))
  })

export const query = <Row>(settings: ConnectionSettings, sql: string): Promise<readonly Row[]> =>
  withDatabase(settings, async ({ db }) => (await db.executeQuery<Row>(CompiledQuery.raw(sql))).rows)

const movingProcess = fileURLToPath(new URL('moving-process.ts', import.meta.url))

export interface MoveOutcome {
  readonly killed: boolean
  readonly result?: {
    readonly rows: number
    readonly tables: readonly { readonly table: string; readonly rows: number; readonly sum: string }[]
    readonly notCopied: readonly string[]
    readonly seconds: number
    readonly maxMegabytes: number
  }
  readonly stderr: string
}

/** Moves a database in a process of its own. */
export async function moveInProcess(
  source: ConnectionSettings,
  target: ConnectionSettings,
  kill?: KillPoint,
): Promise<MoveOutcome> {
  const argument: MoveArgument = { source, target, ...(kill === undefined ? {} : { kill }) }
  const words = ['--disable-warning=ExperimentalWarning', movingProcess, JSON.stringify(argument)]
  const { code, signal, stdout, stderr } = await waitForProcessEnd(spawn(process.execPath, words))
  if (signal === 'SIGKILL') return { killed: true, stderr }
  return code === 0 ? { killed: false, result: JSON.parse(stdout), stderr } : { killed: false, stderr }
}
