/** Points that lapse one source after another, each in a transaction of its own, as a programmer writes it first. */
import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { TestDatabase } from '@plinth/database/testing'
import { serverSettings } from '@plinth/database/testing'
import Sqlite from 'better-sqlite3'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { SourceRow, SourceUseRow } from '../../plugins/member-points/src/entities.ts'
import { AccountRow, EntryRow, JournalRow } from '../../plugins/money/src/entities.ts'
import { asset } from './filled-books.ts'

const kind = 'points.expire'
const monthKey = 202612

/** Beyond the ids of the product. */
let lastId = 8_500_000_000_000_000

/** Lets sources lapse that are named by their ids. */
export interface ByRow {
  lapse(sourceIds: readonly number[]): Promise<void>
  close(): Promise<void> | void
}

/** By the unit of work of the entity manager: the rows that the product writes, and no statement in its own words. */
export function byEntities(db: Database, systemId: number): ByRow {
  return {
    async lapse(sourceIds) {
      for (const sourceId of sourceIds) {
        await db.transactional(async (em) => {
          const source = await em.findOneOrFail(SourceRow, { id: sourceId, status: 'active' })
          const account = await em.findOneOrFail(AccountRow, { id: source.accountId })
          const amount = source.remaining
          const now = Date.now()
          Object.assign(source, { remaining: 0, expired: source.expired + amount, status: 'expired' })
          Object.assign(account, {
            available: account.available - amount,
            version: account.version + 1,
            updatedAt: now,
          })
          const { id, ...journal } = journalOf(sourceId, now)
          em.create(JournalRow, { id, ...journal })
          em.create(SourceUseRow, { journalId: id, sourceId, kind: 'expire', amount, holdId: null })
          const entry = { journalId: id, dFrozen: 0, kind, monthKey, createdAt: now }
          em.create(EntryRow, {
            ...{ ...entry, id: --lastId, accountId: account.id, asset, seq: account.version, dAvailable: -amount },
            ...{ availableAfter: account.available, frozenAfter: account.frozen },
          })
          em.create(EntryRow, {
            ...{ ...entry, id: --lastId, accountId: systemId, asset: null, seq: null, dAvailable: amount },
            ...{ availableAfter: null, frozenAfter: null },
          })
        })
      }
    },
    close() {},
  }
}

function journalOf(sourceId: number, now: number) {
  const key = `member-points:expire:${sourceId}`
  return {
    ...{ id: --lastId, idemHash: hash('sha256', key), idemKey: key, action: 'debit' as const, kind },
    fingerprint: hash('sha256', `["debit","${kind}",${key}]`),
    ...{ refType: 'points-source', refId: String(sourceId), parentId: null, actor: null, reason: null },
    ...{ occurredAt: now, createdAt: now },
  }
}

type Value = string | number | null

/** One connection with prepared statements. Rows come as objects. */
interface Statements {
  run(sql: string, values: readonly Value[]): Promise<readonly object[]> | readonly object[]
  plain(sql: string): Promise<unknown> | unknown
  readonly lock: string
  readonly close: () => Promise<void> | void
}

const sql = {
  source: `select account_id, remaining from points_source where id = ? and status = 'active' and remaining > 0`,
  journal: `insert into money_journal (id, idem_hash, idem_key, fingerprint, action, kind, ref_type, ref_id, occurred_at, created_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  account: `update money_account set available = available - ?, version = version + 1, updated_at = ? where id = ? and available >= ?`,
  balance: 'select available, frozen, version from money_account where id = ?',
  lapse: `update points_source set expired = expired + remaining, remaining = 0, status = 'expired' where id = ?`,
  use: `insert into points_source_use (journal_id, source_id, kind, amount) values (?, ?, 'expire', ?)`,
  entries: `insert into money_entry (id, journal_id, account_id, asset, seq, d_available, d_frozen, available_after, frozen_after, kind,
      month_key, created_at)
    values (?, ?, ?, ?, ?, ?, 0, ?, ?, '${kind}', ${monthKey}, ?), (?, ?, ?, null, null, ?, 0, null, null, '${kind}', ${monthKey}, ?)`,
}

/**
 * By SQL written by hand, prepared, on one connection.
 *
 * @param together sources of one transaction
 */
export async function byHand(at: TestDatabase, systemId: number, together = 1): Promise<ByRow> {
  const statements = await openStatements(at)
  return {
    async lapse(sourceIds) {
      for (const [index, sourceId] of sourceIds.entries()) {
        if (index % together === 0) await statements.plain('begin')
        await lapseByHand(statements, sourceId, systemId)
        if (index % together === together - 1 || index === sourceIds.length - 1) await statements.plain('commit')
      }
    },
    close: statements.close,
  }
}

async function lapseByHand({ run, lock }: Statements, sourceId: number, systemId: number): Promise<void> {
  const [source] = (await run(`${sql.source}${lock}`, [sourceId])) as { account_id: number; remaining: number }[]
  if (source === undefined) throw new Error(`Source ${sourceId} has lapsed already.`)
  const [accountId, amount] = [Number(source.account_id), Number(source.remaining)]
  const now = Date.now()
  const { id, idemHash, idemKey, fingerprint, action, refType, refId } = journalOf(sourceId, now)
  await run(sql.journal, [id, idemHash, idemKey, fingerprint, action, kind, refType, refId, now, now])
  await run(sql.account, [amount, now, accountId, amount])
  const [after] = (await run(sql.balance, [accountId])) as { available: number; frozen: number; version: number }[]
  if (after === undefined) throw new Error(`There is no account ${accountId}.`)
  await run(sql.lapse, [sourceId])
  await run(sql.use, [id, sourceId, amount])
  await run(sql.entries, [
    ...[--lastId, id, accountId, asset, after.version, -amount, after.available, after.frozen, now],
    ...[--lastId, id, systemId, amount, now],
  ])
}

async function openStatements(at: TestDatabase): Promise<Statements> {
  if (at.dialect === 'sqlite') return sqlite(at)
  const settings = serverSettings(at.config)
  const { host, port, username: user, name: database } = settings ?? {}
  if (at.dialect === 'postgresql') {
    const pool = new pg.Pool({ host, port, user, database, max: 1 })
    const client = await pool.connect()
    const texts = new Map<string, { name: string; text: string }>()
    const prepared = (sql: string) => {
      let count = 0
      const made = texts.get(sql) ?? { name: `s${texts.size}`, text: sql.replaceAll('?', () => `$${++count}`) }
      texts.set(sql, made)
      return made
    }
    return {
      run: async (sql, values) => (await client.query({ ...prepared(sql), values })).rows,
      plain: (sql) => client.query(sql),
      lock: ' for update',
      async close() {
        client.release()
        await pool.end()
      },
    }
  }
  const connection = await createConnection({
    ...{ host: host ?? '', port: port ?? 0, user: user ?? '', database: database ?? '' },
  })
  return {
    run: async (sql, values) => {
      const [rows] = await connection.execute(sql, [...values])
      return Array.isArray(rows) ? (rows as object[]) : []
    },
    plain: (sql) => connection.query(sql),
    lock: ' for update',
    close: () => connection.end(),
  }
}

function sqlite(at: TestDatabase): Statements {
  const db = new Sqlite(String(at.config['platform.database.sqlite.file']))
  db.pragma('journal_mode = wal')
  db.pragma(`synchronous = ${at.config['platform.database.sqlite.synchronous']}`)
  const prepared = new Map<string, ReturnType<typeof db.prepare>>()
  const exact = (value: Value) => (typeof value === 'number' && Math.abs(value) > 2 ** 31 ? BigInt(value) : value)
  return {
    run(sql, values) {
      const statement = prepared.get(sql) ?? db.prepare(sql)
      prepared.set(sql, statement)
      const bound = values.map(exact)
      if (sql.startsWith('select')) return statement.all(bound) as object[]
      statement.run(bound)
      return []
    },
    plain: (sql) => db.prepare(sql === 'begin' ? 'begin immediate' : sql).run([]),
    lock: '',
    close: () => {
      db.close()
    },
  }
}
