/** The rows of one posting written by hand, with what a programmer would take for it: prepared statements of the driver. */
import { hash } from 'node:crypto'
import type { TestDatabase } from '@plinth/database/testing'
import { serverSettings } from '@plinth/database/testing'
import Sqlite from 'better-sqlite3'
import { createPool as mysqlPool } from 'mysql2/promise'
import pg, { type PoolClient } from 'pg'

/** Writes credits and debits; as many connections as callers. */
export interface HandWritten {
  /** One credit in a transaction of its own. */
  post(accountId: number, systemId: number, amount: number): Promise<void> | void
  /** As many credits of different accounts in one transaction. */
  batch(accountIds: readonly number[], systemId: number, amount: number): Promise<void> | void
  close(): Promise<void> | void
}

const journal = `(id, idem_hash, idem_key, fingerprint, action, kind, ref_type, ref_id, parent_id, actor, reason, occurred_at, created_at)
  values (?, ?, ?, ?, 'credit', 'bench.posting', null, null, null, null, null, ?, ?)`
const entryColumns =
  '(id, journal_id, account_id, asset, seq, d_available, d_frozen, available_after, frozen_after, kind, month_key, created_at)'
const entryPlaces = `(?, ?, ?, ?, ?, ?, 0, ?, ?, 'bench.posting', 202611, ?)`
const update = `update money_account set available = available + ?, version = version + 1, updated_at = ?
  where id = ? and status = 'open' and available + ? >= 0`
const read = 'select available, frozen, version from money_account where id = ?'
const entries = `insert into money_entry ${entryColumns} values ${entryPlaces}, ${entryPlaces}`

/** Beyond the ids of the product. */
let lastId = 8_000_000_000_000_000
let lastKey = 0

function rowsOf() {
  const key = `by-hand:${process.pid}:${++lastKey}`
  lastId += 3
  const now = Date.now()
  const journal = [lastId, hash('sha256', key), key, hash('sha256', `["credit","bench.posting",${key}]`), now, now]
  return { id: lastId, journal, now }
}

function entryValues(
  id: number,
  accountId: number,
  systemId: number,
  amount: number,
  row: Row,
  now: number,
): unknown[] {
  return [
    ...[id - 1, id, accountId, 'bench', row.version, amount, row.available, row.frozen, now],
    ...[id - 2, id, systemId, null, null, -amount, null, null, now],
  ]
}

interface Row {
  readonly available: number
  readonly frozen: number
  readonly version: number
}

export function openHandWritten(at: TestDatabase, connections: number): HandWritten {
  if (at.dialect === 'sqlite') return sqlite(at)
  return at.dialect === 'postgresql' ? postgresql(at, connections) : mariadb(at, connections)
}

function sqlite(at: TestDatabase): HandWritten {
  const db = new Sqlite(String(at.config['platform.database.sqlite.file']))
  db.pragma('journal_mode = wal')
  db.pragma(`synchronous = ${at.config['platform.database.sqlite.synchronous']}`)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const insertJournal = db.prepare(`insert into money_journal ${journal} on conflict (idem_hash) do nothing`)
  const change = db.prepare(update)
  const look = db.prepare(read)
  const insertEntries = db.prepare(entries)
  const one = (accountId: number, systemId: number, amount: number) => {
    const { id, journal, now } = rowsOf()
    if (insertJournal.run(journal).changes !== 1) throw new Error('replay')
    if (change.run([amount, BigInt(now), BigInt(accountId), amount]).changes !== 1) throw new Error('insufficient')
    const [row] = look.all([BigInt(accountId)]) as unknown as Row[]
    insertEntries.run(entryValues(id, accountId, systemId, amount, row as Row, now).map(bindable))
  }
  return {
    post(accountId, systemId, amount) {
      begin.run([])
      one(accountId, systemId, amount)
      commit.run([])
    },
    batch(accountIds, systemId, amount) {
      begin.run([])
      for (const accountId of accountIds) one(accountId, systemId, amount)
      commit.run([])
    },
    close() {
      db.close()
    },
  }
}

const bindable = (value: unknown) => (typeof value === 'number' && value > 2 ** 31 ? BigInt(value) : value)

function postgresql(at: TestDatabase, connections: number): HandWritten {
  const settings = serverSettings(at.config)
  const pool = new pg.Pool({
    ...{ host: settings?.host, port: settings?.port, user: settings?.username, database: settings?.name },
    max: connections,
  })
  const named = (name: string, sql: string) => {
    let count = 0
    return { name, text: sql.replaceAll('?', () => `$${++count}`) }
  }
  const insertJournal = named('journal', `insert into money_journal ${journal} on conflict (idem_hash) do nothing`)
  const change = named('change', `${update} returning available, frozen, version`)
  const insertEntries = named('entries', entries)
  const run = async (work: (client: PoolClient) => Promise<void>) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await work(client)
      await client.query('commit')
    } finally {
      client.release()
    }
  }
  const one = async (client: PoolClient, accountId: number, systemId: number, amount: number) => {
    const { id, journal, now } = rowsOf()
    const made = await client.query({ ...insertJournal, values: journal })
    if (made.rowCount !== 1) throw new Error('replay')
    const { rows } = await client.query({ ...change, values: [amount, now, accountId, amount] })
    const values = entryValues(id, accountId, systemId, amount, rows[0], now)
    await client.query({ ...insertEntries, values })
  }
  return {
    post: (accountId, systemId, amount) => run((client) => one(client, accountId, systemId, amount)),
    batch: (accountIds, systemId, amount) =>
      run(async (client) => {
        for (const accountId of accountIds) await one(client, accountId, systemId, amount)
      }),
    close: () => pool.end(),
  }
}

function mariadb(at: TestDatabase, connections: number): HandWritten {
  const settings = serverSettings(at.config)
  const pool = mysqlPool({
    ...{ host: settings?.host ?? '', port: settings?.port ?? 0, user: settings?.username ?? '' },
    ...{ database: settings?.name ?? '', connectionLimit: connections },
  })
  const run = async (work: (connection: Awaited<ReturnType<typeof pool.getConnection>>) => Promise<void>) => {
    const connection = await pool.getConnection()
    try {
      await connection.query('start transaction')
      await work(connection)
      await connection.query('commit')
    } finally {
      connection.release()
    }
  }
  const one = async (
    connection: Awaited<ReturnType<typeof pool.getConnection>>,
    accountId: number,
    systemId: number,
    amount: number,
  ) => {
    const { id, journal: values, now } = rowsOf()
    await connection.execute(`insert ignore into money_journal ${journal}`, values as string[])
    await connection.execute(update, [amount, now, accountId, amount])
    const [rows] = await connection.execute(read, [accountId])
    const row = (rows as Row[])[0] as Row
    await connection.execute(entries, entryValues(id, accountId, systemId, amount, row, now) as string[])
  }
  return {
    post: (accountId, systemId, amount) => run((connection) => one(connection, accountId, systemId, amount)),
    batch: (accountIds, systemId, amount) =>
      run(async (connection) => {
        for (const accountId of accountIds) await one(connection, accountId, systemId, amount)
      }),
    close: () => pool.end(),
  }
}
