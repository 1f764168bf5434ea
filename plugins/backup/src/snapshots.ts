import { createReadStream, createWriteStream } from 'node:fs'
import { copyFile, constants as fileConstants, open, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type ConnectionSettings,
  digestOf,
  findStoredTables,
  type ServerSettings,
  type SqliteSettings,
  type StoredDatabase,
  tableNamesOf,
  withDatabase,
} from '@plinth/database/stored-data'
import type { PluginChangeSets } from '@plinth/migrations'
import BetterSqlite3 from 'better-sqlite3'
import { CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import { backupError } from './errors.ts'
import type { Contents } from './format.ts'
import { steps } from './steps.ts'
import { connectionOf, findTool, runTool } from './tools.ts'

export type TableDigests = Contents['tables']

export interface SnapshotContext {
  readonly changeSets: readonly PluginChangeSets[]
  /** Directory with the programs of the server; empty: those of `PATH`. */
  readonly toolsDirectory: string
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
}

/** How one type of database is copied. All methods throw errors with codes of `PLINTH_BACKUP_*`. */
interface Engine<S extends ConnectionSettings> {
  version(settings: S): Promise<string>
  /** Checks that the programs exist and fit the server. */
  check(settings: S, context: SnapshotContext): Promise<void>
  /** Writes all data to files in the directory, and returns the hashes of all rows of the same snapshot. */
  dump(settings: S, directory: string, context: SnapshotContext): Promise<TableDigests>
  /** Creates a database from the files. Removes it if this fails. */
  create(settings: S, scratch: S, directory: string, context: SnapshotContext): Promise<void>
  /** Removes a database that `create` created. */
  drop(settings: S, scratch: S): Promise<void>
  /** Moves all tables from the scratch database to the empty database in one step, and removes the scratch database. */
  adopt(scratch: S, settings: S, directory: string, context: SnapshotContext): Promise<void>
}

/** Milliseconds between two lines of progress. */
const progressMs = 2_000

/** Reads all rows of all tables. */
export async function digestTables(
  database: StoredDatabase,
  { changeSets, signal, onProgress }: Pick<SnapshotContext, 'changeSets' | 'signal' | 'onProgress'>,
): Promise<TableDigests> {
  const { tables, problems } = await findStoredTables(database, changeSets)
  const [problem] = problems
  if (problem !== undefined) throw new Error(`table ${problem.table}: ${problem.message}`)
  const digests: TableDigests[number][] = []
  let reportedAt = performance.now()
  let read = 0
  for (const [place, table] of tables.entries()) {
    const onRows = (count: number) => {
      read += count
      if (performance.now() - reportedAt < progressMs) return
      reportedAt = performance.now()
      onProgress(`${steps.read.text.en} ${table.table} (table ${place + 1} of ${tables.length}): ${read} rows in total`)
    }
    const { rows, sum } = await digestOf(database, table, { parts: 1, signal, onRows })
    digests.push({ table: table.table, rows, sum: sum.toString(16).padStart(64, '0') })
  }
  return digests
}

/** Returns a sentence about the first differences, or undefined if there are none. */
export function differenceOf(expected: TableDigests, found: TableDigests): string | undefined {
  const foundOf = new Map(found.map((digest) => [digest.table, digest]))
  const texts = expected.flatMap(({ table, rows, sum }) => {
    const other = foundOf.get(table)
    if (other?.sum === sum && other.rows === rows) return []
    if (other === undefined) return [`the table ${table} is missing`]
    return [
      other.rows === rows ? `rows of ${table} were changed` : `${table} has ${other.rows} rows instead of ${rows}`,
    ]
  })
  return texts.length === 0 ? undefined : texts.slice(0, 10).join('; ')
}

const raw = (sql: string) => CompiledQuery.raw(sql)

const sqliteName = 'database.sqlite'
/** Pages that are copied without a pause. With 4 KiB per page, a step takes a few milliseconds. */
const pagesPerStep = 1_000

const sqlite: Engine<SqliteSettings> = {
  async version({ file }) {
    const connection = new BetterSqlite3(file, { readonly: true, fileMustExist: true })
    try {
      return String(connection.prepare('select sqlite_version() as version').get()?.['version'])
    } finally {
      connection.close()
    }
  },
  check: async () => {},
  async dump({ file }, directory, context) {
    const connection = new BetterSqlite3(file, { readonly: true, fileMustExist: true })
    try {
      // The open transaction fixes the snapshot: later commits of other processes are not in the copy, do not restart it, and do not wait
      // for it. A copy without a transaction would start again after each commit.
      connection.exec('begin')
      connection.prepare('select count(*) from sqlite_master').get()
      const { totalPages } = await connection.backup(join(directory, sqliteName), {
        progress() {
          context.signal.throwIfAborted()
          return pagesPerStep
        },
      })
      if (totalPages === 0) throw new Error('SQLite copied nothing, because its file was locked')
      const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: connection }) })
      return await digestTables({ db, dialect: 'sqlite' }, context)
    } finally {
      connection.close()
    }
  },
  async create(_, scratch, directory) {
    await copyFile(join(directory, sqliteName), scratch.file, fileConstants.COPYFILE_EXCL)
    const connection = new BetterSqlite3(scratch.file)
    try {
      const problem = String(connection.pragma('integrity_check', { simple: true }))
      if (problem !== 'ok') throw new Error(`SQLite reports: ${problem.slice(0, 500)}`)
    } finally {
      connection.close()
    }
  },
  async drop(_, { file }) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(`${file}${suffix}`, { force: true })
  },
  async adopt({ file }, settings) {
    const connection = new BetterSqlite3(file)
    // All rows must be in the file itself, because only the file is renamed.
    connection.pragma('wal_checkpoint(truncate)')
    connection.close()
    const handle = await open(file, 'r+')
    await handle.sync().finally(() => handle.close())
    for (const suffix of ['-wal', '-shm']) await rm(`${settings.file}${suffix}`, { force: true })
    await rename(file, settings.file)
  },
}

const versionOf = async (settings: ServerSettings): Promise<string> =>
  withDatabase(settings, async ({ db }) => {
    const sql =
      settings.type === 'postgresql' ? `select current_setting('server_version') as v` : 'select version() as v'
    return String((await db.executeQuery<{ v: unknown }>(raw(sql))).rows[0]?.v)
  })

const toolOf = async (settings: ServerSettings, use: 'dump' | 'load', { toolsDirectory }: SnapshotContext) =>
  findTool(settings.type === 'postgresql' ? 'postgresql' : 'mariadb', use, await versionOf(settings), toolsDirectory)

async function checkTools(settings: ServerSettings, context: SnapshotContext): Promise<void> {
  await toolOf(settings, 'dump', context)
  await toolOf(settings, 'load', context)
}

const quotedName = ({ type, name }: ServerSettings) =>
  type === 'postgresql' ? `"${name.replaceAll('"', '""')}"` : `\`${name.replaceAll('`', '``')}\``

/** Runs a statement that creates or removes another database. */
const administer = (settings: ServerSettings, sql: string) =>
  withDatabase(settings, async ({ db }) => void (await db.executeQuery(raw(sql))))

/** Creates an empty database with the same text rules, and removes it if the work fails. */
async function inNewDatabase(
  settings: ServerSettings,
  scratch: ServerSettings,
  work: () => Promise<void>,
): Promise<void> {
  const created = await withDatabase(settings, async ({ db }) => {
    if (settings.type !== 'postgresql') return `create database ${quotedName(scratch)} character set utf8mb4`
    const query = raw('select datcollate as c, datctype as t from pg_database where datname = current_database()')
    const { c, t } = (await db.executeQuery<{ c: string; t: string }>(query)).rows[0] ?? { c: 'C', t: 'C' }
    const text = (value: string) => `'${value.replaceAll("'", "''")}'`
    return `create database ${quotedName(scratch)} template template0 encoding 'UTF8' lc_collate ${text(c)} lc_ctype ${text(t)}`
  })
  await administer(settings, created).catch((error: unknown) => {
    const right =
      settings.type === 'postgresql' ? 'the right CREATEDB' : `all rights on databases named ${settings.name}_restore_%`
    const reason = `the user ${settings.username} cannot create a database for the check; it needs ${right}`
    throw backupError('PLINTH_BACKUP_DATABASE', { place: settings.name, reason }, error)
  })
  try {
    await work()
  } catch (error) {
    await dropDatabase(settings, scratch).catch(() => undefined)
    throw error
  }
}

const dropDatabase = (settings: ServerSettings, scratch: ServerSettings) =>
  administer(
    settings,
    `drop database if exists ${quotedName(scratch)}${settings.type === 'postgresql' ? ' with (force)' : ''}`,
  )

const postgresql: Engine<ServerSettings> = {
  version: versionOf,
  check: checkTools,
  async dump(settings, directory, context) {
    const tool = await toolOf(settings, 'dump', context)
    return withDatabase(settings, ({ db }) =>
      db.connection().execute(async (connection) => {
        // The dump and the hashes use the same snapshot, so they are equal although other processes write.
        await connection.executeQuery(raw('begin isolation level repeatable read read only'))
        const exported = raw('select pg_export_snapshot() as snapshot')
        const [row] = (await connection.executeQuery<{ snapshot: string }>(exported)).rows
        const { args, environment } = connectionOf(settings, settings.name)
        const options = ['--format=directory', '--no-owner', '--no-privileges', `--snapshot=${row?.snapshot}`]
        const target = `--file=${join(directory, 'database')}`
        const { signal } = context
        await runTool({ tool, args: [...args, ...options, target], environment, signal })
        const digests = await digestTables({ db: connection, dialect: 'postgresql' }, context)
        await connection.executeQuery(raw('commit'))
        return digests
      }),
    )
  },
  async create(settings, scratch, directory, context) {
    await inNewDatabase(settings, scratch, () => loadPostgresql(scratch, directory, context))
  },
  drop: dropDatabase,
  async adopt(scratch, settings, directory, context) {
    await dropDatabase(settings, scratch)
    await loadPostgresql(settings, directory, context)
  },
}

/** Loads a dump in one transaction. */
async function loadPostgresql(settings: ServerSettings, directory: string, context: SnapshotContext): Promise<void> {
  const tool = await toolOf(settings, 'load', context)
  const { args, environment } = connectionOf(settings, settings.name)
  const options = ['--exit-on-error', '--single-transaction', '--no-owner', '--no-privileges']
  const { signal } = context
  await runTool({ tool, args: [...args, ...options, join(directory, 'database')], environment, signal })
}

const mariadbName = 'database.sql'
/** The dump has taken its snapshot before it prints this line. */
const firstTable = '-- Table structure for table'
const lastLine = '-- Dump completed'
/** Seconds to wait until open transactions have ended. Other writers wait meanwhile. */
const lockSeconds = 10

const mariadb: Engine<ServerSettings> = {
  version: versionOf,
  check: checkTools,
  async dump(settings, directory, context) {
    const tool = await toolOf(settings, 'dump', context)
    const file = join(directory, mariadbName)
    const digests = await withDatabase(settings, async (database) => {
      const { db } = database
      const names = [...(await tableNamesOf(database))].map((name) => `\`${name}\` read`).join(', ')
      return db.connection().execute(async (locking) =>
        db.connection().execute(async (reading) => {
          // No table changes until the dump and this connection have their snapshots. Both are therefore equal.
          await locking.executeQuery(raw(`set session lock_wait_timeout = ${lockSeconds}`))
          await locking.executeQuery(raw(`lock tables ${names}`))
          const unlock = async () => void (await locking.executeQuery(raw('unlock tables')))
          let isLocked = true
          const begun = Promise.withResolvers<void>()
          let dumped: Promise<void> | undefined
          try {
            await reading.executeQuery(raw('set session transaction isolation level repeatable read'))
            await reading.executeQuery(raw('start transaction with consistent snapshot, read only'))
            dumped = runMariadbDump(tool, settings, file, context, begun.resolve)
            await Promise.race([begun.promise, dumped])
            await unlock()
            isLocked = false
            const found = await digestTables({ db: reading, dialect: 'mariadb' }, context)
            await dumped
            return found
          } finally {
            if (isLocked) await unlock().catch(() => undefined)
            await dumped?.catch(() => undefined)
            await reading.executeQuery(raw('rollback')).catch(() => undefined)
          }
        }),
      )
    })
    if (!(await lastBytes(file, 200)).includes(lastLine)) {
      throw backupError('PLINTH_BACKUP_DUMP', { tool, reason: 'its output has no end' })
    }
    return digests
  },
  async create(settings, scratch, directory, context) {
    await inNewDatabase(settings, scratch, async () => {
      const tool = await toolOf(settings, 'load', context)
      const { args, environment } = connectionOf(scratch, scratch.name)
      const input = createReadStream(join(directory, mariadbName))
      const { signal } = context
      await runTool({ tool, args: [...args, '--batch', '--default-character-set=utf8mb4'], environment, input, signal })
    })
  },
  drop: dropDatabase,
  async adopt(scratch, settings) {
    const names = await withDatabase(scratch, tableNamesOf)
    const [from, to] = [quotedName(scratch), quotedName(settings)]
    // One statement renames all tables or none.
    const renamed = [...names].map((name) => `${from}.\`${name}\` to ${to}.\`${name}\``).join(', ')
    await administer(settings, `rename table ${renamed}`)
    await dropDatabase(settings, scratch)
  },
}

async function runMariadbDump(
  tool: string,
  settings: ServerSettings,
  file: string,
  { signal }: SnapshotContext,
  onBegun: () => void,
): Promise<void> {
  const { args, environment } = connectionOf(settings, settings.name)
  const options = ['--single-transaction', '--quick', '--hex-blob', '--routines', '--default-character-set=utf8mb4']
  const onOutput = (output: Readable) => {
    let text = ''
    const watch = (chunk: Buffer) => {
      text = text.slice(-firstTable.length) + chunk.toString('latin1')
      if (!text.includes(firstTable)) return
      output.off('data', watch)
      onBegun()
    }
    const written = pipeline(output, createWriteStream(file, { mode: 0o600 }))
    output.on('data', watch)
    return written
  }
  const [noDefaults = '', ...rest] = args
  await runTool({ tool, args: [noDefaults, ...options, ...rest], environment, signal, onOutput })
}

async function lastBytes(file: string, count: number): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, Math.max(0, size - count))
    return buffer.subarray(0, bytesRead).toString('latin1')
  } finally {
    await handle.close()
  }
}

const engines = { sqlite, postgresql, mariadb }

/**
 * Returns how the database is copied.
 *
 * @throws PlinthError `PLINTH_BACKUP_DATABASE` for MySQL and for a database in memory
 */
export function engineOf(settings: ConnectionSettings): Engine<ConnectionSettings> {
  const fail = (place: string, reason: string) => backupError('PLINTH_BACKUP_DATABASE', { place, reason })
  if (settings.type === 'mysql') throw fail(settings.name, 'MySQL is not supported; use mysqldump')
  if (settings.type === 'sqlite' && settings.file === ':memory:') throw fail(settings.file, 'it is in memory')
  return engines[settings.type] as Engine<ConnectionSettings>
}

/** Returns the settings of a scratch database: a file in the work directory, or another database of the server. */
export function scratchOf(settings: ConnectionSettings, directory: string, name: string): ConnectionSettings {
  return settings.type === 'sqlite' ? { ...settings, file: join(directory, 'scratch.sqlite') } : { ...settings, name }
}

/** Longest name of a scratch database. Names of databases have at most 63 characters. */
const maxNameLength = 63

/** Returns the name of the scratch database of a run. */
export function scratchName(settings: ConnectionSettings, id: string): string {
  if (settings.type === 'sqlite') return ''
  const suffix = `_restore_${id.replace(/\D/g, '')}`
  return `${settings.name.slice(0, maxNameLength - suffix.length)}${suffix}`
}

/** True for a name that `scratchName` returns. No other database is ever removed. */
export const isScratchName = (settings: ConnectionSettings, name: string): boolean =>
  settings.type !== 'sqlite' && /_restore_\d{17}$/.test(name) && name.startsWith(settings.name.slice(0, 30))

export const locationOf = (settings: ConnectionSettings): string =>
  settings.type === 'sqlite' ? basename(settings.file) : settings.name
