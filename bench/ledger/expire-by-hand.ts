/** Hand-written SQL that expires points, row by row and with statements for many rows. */
import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { TestDialect } from '@plinth/dev/testing/database'
import { SourceRow, SourceUseRow } from '../../plugins/member-points/src/entities.ts'
import { AccountRow, EntryRow, JournalRow } from '../../plugins/money/src/entities.ts'
import type { RawConnection } from '../peer-connection.ts'
import { asset, hashes } from './filled-books.ts'

const kind = 'points.expire'
const monthKey = 202612

/** Last id that this file has used. These ids are above all ids of the product. */
let lastId = 8_500_000_000_000_000

/** Function that expires the sources of points with the given ids. */
export type Expire = (sourceIds: readonly number[]) => Promise<void>

/** Expires sources with the entity manager. It writes the same rows as the product, but with other statements. */
export function expireWithEntities(db: Database, systemId: number): Expire {
  return async (sourceIds) => {
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
          ...entry,
          id: --lastId,
          accountId: account.id,
          asset,
          seq: account.version,
          dAvailable: -amount,
          availableAfter: account.available,
          frozenAfter: account.frozen,
        })
        em.create(EntryRow, {
          ...entry,
          id: --lastId,
          accountId: systemId,
          asset: null,
          seq: null,
          dAvailable: amount,
          availableAfter: null,
          frozenAfter: null,
        })
      })
    }
  }
}

function journalOf(sourceId: number, now: number) {
  const key = `member-points:expire:${sourceId}`
  return {
    id: --lastId,
    idemHash: hash('sha256', key),
    idemKey: key,
    action: 'debit' as const,
    kind,
    fingerprint: hash('sha256', `["debit","${kind}",${key}]`),
    refType: 'points-source',
    refId: String(sourceId),
    parentId: null,
    actor: null,
    reason: null,
    occurredAt: now,
    createdAt: now,
  }
}

const journalColumns = '(id, idem_hash, idem_key, fingerprint, action, kind, ref_type, ref_id, occurred_at, created_at)'
const entryColumns = `(id, journal_id, account_id, asset, seq, d_available, d_frozen, available_after, frozen_after, kind,
  month_key, created_at)`

const sql = {
  source: `select account_id, remaining from points_source where id = ? and status = 'active' and remaining > 0`,
  journal: `insert into money_journal ${journalColumns} values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  account: `update money_account set available = available - ?, version = version + 1, updated_at = ? where id = ? and available >= ?`,
  balance: 'select available, frozen, version from money_account where id = ?',
  expire: `update points_source set expired = expired + remaining, remaining = 0, status = 'expired' where id = ?`,
  use: `insert into points_source_use (journal_id, source_id, kind, amount) values (?, ?, 'expire', ?)`,
  entries: `insert into money_entry ${entryColumns}
    values (?, ?, ?, ?, ?, ?, 0, ?, ?, '${kind}', ${monthKey}, ?), (?, ?, ?, null, null, ?, 0, null, null, '${kind}', ${monthKey}, ?)`,
}

/**
 * Expires sources with hand-written SQL, row by row.
 * @param together number of sources per transaction
 */
export function expireWithSql(peer: RawConnection, systemId: number, together = 1): Expire {
  return async (sourceIds) => {
    for (const [index, sourceId] of sourceIds.entries()) {
      if (index % together === 0) await peer.begin()
      await expireOne(peer, sourceId, systemId)
      if (index % together === together - 1 || index === sourceIds.length - 1) await peer.commit()
    }
  }
}

async function expireOne({ run, lock }: RawConnection, sourceId: number, systemId: number): Promise<void> {
  const [source] = (await run(`${sql.source}${lock}`, [sourceId])).rows
  if (source === undefined) throw new Error(`Source ${sourceId} has expired already.`)
  const [accountId, amount] = [Number(source.account_id), Number(source.remaining)]
  const now = Date.now()
  const { id, idemHash, idemKey, fingerprint, action, refType, refId } = journalOf(sourceId, now)
  await run(sql.journal, [id, idemHash, idemKey, fingerprint, action, kind, refType, refId, now, now])
  await run(sql.account, [amount, now, accountId, amount])
  const [after] = (await run(sql.balance, [accountId])).rows
  if (after === undefined) throw new Error(`There is no account ${accountId}.`)
  await run(sql.expire, [sourceId])
  await run(sql.use, [id, sourceId, amount])
  await run(sql.entries, [
    --lastId,
    id,
    accountId,
    asset,
    after.version,
    -amount,
    after.available,
    after.frozen,
    now,
    --lastId,
    id,
    systemId,
    amount,
    now,
  ])
}

/**
 * First id of the rows for expired sources. The journal of source `i` has the id `firstOfSet + 3 * i`, and its entries
 * have the next two ids.
 */
const firstOfSet = 8_600_000_000_000_000

/** Returns statements that expire many sources. Their parameters are the ids of the first and the last source. */
function setStatements(dialect: TestDialect, systemId: number, now: number): readonly string[] {
  const due = `from points_source s where s.id between ? and ? and s.status = 'active' and s.remaining > 0`
  const text = dialect === 'mariadb' ? 'cast(s.id as char)' : 'cast(s.id as text)'
  const key = dialect === 'mariadb' ? `concat('member-points:expire:', s.id)` : `'member-points:expire:' || s.id`
  // The number is negative, because the grants use the digests of the positive numbers.
  const digest = hashes[dialect].replaceAll(/\bi\b/g, '(-s.id)')
  const totals = `(select s.account_id, sum(s.remaining) as amount, count(*) as n ${due} group by s.account_id)`
  const set = 'available = available - t.amount, version = version + t.n'
  const account =
    dialect === 'mariadb'
      ? `update ${totals} t join money_account a on a.id = t.account_id set ${set}, updated_at = ${now} where a.available >= t.amount`
      : `update money_account set ${set}, updated_at = ${now} from ${totals} t where money_account.id = t.account_id and available >= t.amount`
  const ofAccount = 'partition by s.account_id'
  return [
    account,
    `insert into money_journal ${journalColumns} select ${firstOfSet} + 3 * s.id, ${digest}, ${key}, ${digest}, 'debit', '${kind}',
       'points-source', ${text}, ${now}, ${now} ${due}`,
    // The balance after a source is the current balance of the account plus the amounts of all later sources.
    `insert into money_entry ${entryColumns} select ${firstOfSet} + 3 * s.id + 1, ${firstOfSet} + 3 * s.id, s.account_id, '${asset}',
       a.version - count(*) over (${ofAccount}) + row_number() over (${ofAccount} order by s.id), -s.remaining, 0,
       a.available + sum(s.remaining) over (${ofAccount}) - sum(s.remaining) over (${ofAccount} order by s.id), a.frozen,
       '${kind}', ${monthKey}, ${now} ${due.replace(' where', ' join money_account a on a.id = s.account_id where')}`,
    `insert into money_entry ${entryColumns} select ${firstOfSet} + 3 * s.id + 2, ${firstOfSet} + 3 * s.id, ${systemId}, null, null,
       s.remaining, 0, null, null, '${kind}', ${monthKey}, ${now} ${due}`,
    `insert into points_source_use (journal_id, source_id, kind, amount) select ${firstOfSet} + 3 * s.id, s.id, 'expire', s.remaining ${due}`,
    `update points_source set expired = expired + remaining, remaining = 0, status = 'expired'
       where id between ? and ? and status = 'active' and remaining > 0`,
  ]
}

/**
 * Expires sources with statements for many rows (`insert ... select`) on one connection. SQLite has no SHA-256, so on
 * SQLite these statements compute cheaper digests than the other candidates.
 * @param together number of sources per transaction
 */
export function expireWithSetStatements(peer: RawConnection, dialect: TestDialect, systemId: number, together: number) {
  return async (first: number, last: number): Promise<void> => {
    // The text of the statements stays the same for the whole run, so that they are prepared only once.
    const statements = setStatements(dialect, systemId, Math.floor(Date.now() / 1000) * 1000)
    for (let from = first; from <= last; from += together) {
      const to = Math.min(last, from + together - 1)
      await peer.begin()
      const locked = `select id from points_source where id between ? and ? order by id${peer.lock}`
      if (peer.lock !== '') await peer.run(locked, [from, to])
      for (const statement of statements) await peer.run(statement, [from, to])
      await peer.commit()
    }
  }
}
