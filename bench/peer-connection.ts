/** A connection for hand-written SQL. It uses prepared statements of the driver and the settings of the product. */
import type { Database } from '@plinth/database'
import Sqlite from 'better-sqlite3'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { WalCheckpoints } from '../plugins/database/src/connections/wal-checkpoints.ts'
import { type BenchDatabase, settingsOf } from './databases.ts'

export type Value = string | number | null | readonly number[]

interface Result {
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape
  readonly rows: readonly any[]
  readonly changes: number
}

export interface RawConnection {
  /**
   * Executes a statement.
   * @param sql statement with `?` for each parameter
   */
  run(sql: string, values: readonly Value[]): Promise<Result> | Result
  begin(): unknown
  commit(): unknown
  /** Suffix that locks the rows of a `select`. */
  readonly lock: '' | ' for update'
  close(): Promise<void>
}

/**
 * Opens a connection to the same database as the product.
 * @param db database of the product; its SQLite settings are copied
 */
export function openPeer(db: Database, at: BenchDatabase): Promise<RawConnection> {
  return { sqlite, postgresql, mariadb }[at.dialect](db, at)
}

async function sqlite(db: Database, at: BenchDatabase): Promise<RawConnection> {
  const file = String(at.config['platform.database.sqlite.file'])
  const connection = new Sqlite(file, { timeout: 60_000 })
  const settings = await settingsOf(db, 'sqlite')
  for (const [name, value] of settings) connection.pragma(`${name} = ${value}`)
  const pending = connection.prepare('pragma wal_checkpoint(NOOP)')
  const log = {
    pendingPages() {
      const [{ log = 0, checkpointed = 0 } = {}] = pending.all([])
      return Number(log) - Number(checkpointed)
    },
    checkpointFrom: (pages: number) => connection.pragma(`wal_autocheckpoint = ${pages}`),
  }
  // 2 is `full`.
  const synchronous = settings.get('synchronous') === '2' ? 'full' : 'normal'
  const checkpoints = new WalCheckpoints({ file, synchronous }, log, (message) => console.error(message))
  const statements = new Map<string, ReturnType<typeof connection.prepare>>()
  const prepared = (sql: string) => {
    const statement = statements.get(sql) ?? connection.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const exact = (value: Value) => (typeof value === 'number' && Math.abs(value) > 2 ** 31 ? BigInt(value) : value)
  return {
    run(sql, values) {
      const statement = prepared(sql)
      if (!statement.reader) return { rows: [], changes: statement.run(values.map(exact)).changes }
      const rows = statement.all(values.map(exact))
      return { rows, changes: rows.length }
    },
    begin: () => prepared('begin immediate').run([]),
    commit() {
      prepared('commit').run([])
      checkpoints.wrote()
    },
    lock: '',
    async close() {
      connection.close()
      await checkpoints.close()
    },
  }
}

async function postgresql(_: Database, at: BenchDatabase): Promise<RawConnection> {
  const client = new pg.Client(at.connection)
  await client.connect()
  const statements = new Map<string, { readonly name: string; readonly text: string }>()
  const prepared = (sql: string) => {
    let count = 0
    const made = statements.get(sql) ?? { name: `s${statements.size}`, text: sql.replaceAll('?', () => `$${++count}`) }
    statements.set(sql, made)
    return made
  }
  return {
    async run(sql, values) {
      const { rows, rowCount } = await client.query({ ...prepared(sql), values })
      return { rows, changes: rowCount }
    },
    begin: () => client.query('begin'),
    commit: () => client.query('commit'),
    lock: ' for update',
    close: () => client.end(),
  }
}

async function mariadb(_: Database, at: BenchDatabase): Promise<RawConnection> {
  const connection = await createConnection(at.connection)
  return {
    async run(sql, values) {
      const [response] = await connection.execute(sql, [...values] as string[])
      if (Array.isArray(response)) return { rows: response, changes: response.length }
      return { rows: [], changes: response.affectedRows }
    },
    begin: () => connection.query('start transaction'),
    commit: () => connection.query('commit'),
    lock: ' for update',
    close: () => connection.end(),
  }
}
