/** Accounts with points that are not spent, inserted with statements for many rows. */
import type { Database } from '@plinth/database'
import type { TestDialect } from '@plinth/dev/testing/database'

export const asset = 'points:mall'
/** Rows per statement. */
const together = 50_000

/** SQL of numbered rows `i`. */
const series: Readonly<Record<TestDialect, (from: number, to: number) => string>> = {
  sqlite: (from, to) =>
    `(with recursive s(i) as (select ${from} union all select i + 1 from s where i < ${to}) select i from s) s`,
  postgresql: (from, to) => `generate_series(${from}::bigint, ${to}::bigint) as s(i)`,
  mariadb: (from, to) => `(select seq as i from seq_${from}_to_${to}) s`,
}

interface Books {
  readonly accounts: number
  readonly grantsEach: number
  /**
   * Order of the grants. `mixed` means that consecutive grants belong to different accounts, as in a product. `by
   * account` is faster to insert.
   */
  readonly order: 'mixed' | 'by account'
  /** SQL of the time at which grant `i` expires, in milliseconds since the epoch. */
  readonly expiresAt: string
  /** SQL of the time at which grant `i` was created, in milliseconds since the epoch. */
  readonly createdAt: string
  /** SQL of the month in which grant `i` was created, for example `202611`. */
  readonly monthKey: string
}

/**
 * Inserts grants. A grant consists of a source, a journal and two entries of 1 to 97 points. All grants of an account
 * have the same amount.
 */
export async function fillLedger(db: Database, dialect: TestDialect, systemId: number, books: Books): Promise<void> {
  const { accounts, grantsEach, order, expiresAt, createdAt, monthKey } = books
  const over = (count: number) => `(i - 1) ${dialect === 'mariadb' ? 'div' : '/'} ${count}`
  // The number of accounts is not a multiple of this prime number, so each round uses every account once.
  const [account, sequence] =
    order === 'mixed'
      ? [`(1 + ((i - 1) * 7919) % ${accounts})`, `(1 + ${over(accounts)})`]
      : [`(1 + ${over(grantsEach)})`, `(1 + (i - 1) % ${grantsEach})`]
  const points = `(1 + ${account} % 97)`
  const hash = hashes[dialect]
  const key = dialect === 'mariadb' ? `concat('filled:', i)` : `'filled:' || i`
  const about = `'points.task', ${monthKey}, ${createdAt}`
  await inParts(accounts, (from, to) =>
    db.execute(`insert into money_account (id, owner_type, owner_id, asset, role, available, frozen, version, status, created_at, updated_at)
      select i, 'user', i, '${asset}', 'owner', (1 + i % 97) * ${grantsEach}, 0, ${grantsEach}, 'open', 0, 0 from ${series[dialect](from, to)}`),
  )
  await inParts(accounts * grantsEach, async (from, to) => {
    const rows = series[dialect](from, to)
    await db.execute(`insert into points_source (id, account_id, user_id, asset, source_type, source_id, granted, remaining, held, consumed,
        reversed, expired, expires_at, status, journal_id, rule_code, rule_version, created_at)
      select i, ${account}, ${account}, '${asset}', 'filled', i, ${points}, ${points}, 0, 0, 0, 0, ${expiresAt}, 'active', i, null, null,
        ${createdAt} from ${rows}`)
    await db.execute(`insert into money_journal (id, idem_hash, idem_key, fingerprint, action, kind, ref_type, ref_id, parent_id, actor, reason,
        occurred_at, created_at)
      select i, ${hash}, ${key}, ${hash}, 'credit', 'points.task', null, null, null, null, null, ${createdAt}, ${createdAt} from ${rows}`)
    await db.execute(`insert into money_entry (id, journal_id, account_id, asset, seq, d_available, d_frozen, available_after, frozen_after, kind,
        month_key, created_at)
      select 2 * i, i, ${account}, '${asset}', ${sequence}, ${points}, 0, ${points} * ${sequence}, 0, ${about} from ${rows}
      union all select 2 * i + 1, i, ${systemId}, null, null, -${points}, 0, null, null, ${about} from ${rows}`)
  })
  if (dialect === 'postgresql') await db.execute('vacuum analyze')
  if (dialect === 'mariadb') {
    for (const table of ['money_account', 'money_journal', 'money_entry', 'points_source']) {
      await db.query(`analyze table ${table}`)
    }
  }
}

/**
 * SQL of 64 hexadecimal digits that look random, like those of SHA-256. SQLite has no such function, so the bits are
 * mixed by a multiplication.
 */
export const hashes: Readonly<Record<TestDialect, string>> = {
  sqlite: `printf('%016x%048x', (i * 7046029254386) & 9007199254740991, i)`,
  postgresql: `encode(sha256(convert_to(i::text, 'UTF8')), 'hex')`,
  mariadb: 'sha2(i, 256)',
}

async function inParts(rows: number, fill: (from: number, to: number) => Promise<unknown>): Promise<void> {
  for (let from = 1; from <= rows; from += together) await fill(from, Math.min(rows, from + together - 1))
}
