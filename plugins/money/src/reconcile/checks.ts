import { type Database, exactInteger } from '@plinth/database'
import type { LotRepository, LotSums } from '../contract.ts'
import type { FindingRule } from '../entities.ts'

export interface CheckedAccount {
  readonly id: number
  readonly asset: string
  readonly available: number
  readonly frozen: number
  readonly version: number
}

export interface ReconciliationDifference {
  readonly rule: FindingRule
  readonly accountId: number | null
  readonly journalId: number | null
  readonly expected: number
  readonly found: number
}

interface EntrySums {
  readonly count: number
  readonly available: number
  readonly frozen: number
}

/** Maximum number of entries that one statement reads. */
const entriesAtOnce = 10_000

const accountsAtOnce = 200
/** Numbers of ids that one statement may contain, so that few distinct statements are prepared. */
const sizes = [1, 10, 50, accountsAtOnce] as const

/** Repeats the last id until the list has one of the allowed lengths. */
function padded(ids: readonly number[]): readonly number[] {
  const size = sizes.find((size) => size >= ids.length) ?? ids.length
  return [...ids, ...Array<number>(size - ids.length).fill(ids.at(-1) ?? 0)]
}

const placesOf = (ids: readonly number[]) => ids.map(() => '?').join(', ')

/** Returns the next accounts whose entries fit into one statement. An account with more entries is returned alone. */
export async function readNextAccounts(db: Database, after: number, asset: string | null): Promise<CheckedAccount[]> {
  const ofAsset = asset === null ? '' : 'asset = ? and '
  const rows = await db.query<Record<string, unknown>>(
    `select id, asset, available, frozen, version from money_account
     where ${ofAsset}id > ? and role = 'owner' order by id limit ${accountsAtOnce}`,
    asset === null ? [after] : [asset, after],
  )
  const page: CheckedAccount[] = []
  let entries = 0
  for (const row of rows) {
    const account = accountOf(row)
    if (page.length > 0 && entries + account.version > entriesAtOnce) break
    entries += account.version
    page.push(account)
  }
  return page
}

const accountOf = (row: Record<string, unknown>): CheckedAccount => ({
  id: exactInteger(row['id']),
  asset: String(row['asset']),
  available: exactInteger(row['available']),
  frozen: exactInteger(row['frozen']),
  version: exactInteger(row['version']),
})

/** Returns the differences between the accounts and their entries, holds and lots. */
export async function findDifferences(
  db: Database,
  accounts: readonly CheckedAccount[],
  lots: LotRepository | undefined,
): Promise<readonly ReconciliationDifference[]> {
  if (accounts.length === 0) return []
  const ids = padded(accounts.map(({ id }) => id))
  const entries = await entrySums(db, accounts, ids)
  const last = await lastBalances(db, ids)
  const holds = await holdSums(db, ids)
  const sums = lots === undefined ? undefined : await lots.sums(accounts.map(({ id }) => id))
  const findings: ReconciliationDifference[] = []
  for (const account of accounts) {
    const { id: accountId, available, frozen, version } = account
    const expect = (rule: FindingRule, expected: number, found: number) => {
      if (expected !== found) findings.push({ rule, accountId, journalId: null, expected, found })
    }
    const own = entries.get(accountId) ?? { count: 0, available: 0, frozen: 0 }
    expect('entries-count', version, own.count)
    expect('entries-available', available, own.available)
    expect('entries-frozen', frozen, own.frozen)
    expect('last-entry', available + frozen, last.get(accountId) ?? (version === 0 ? 0 : -1))
    expect('holds', frozen, holds.get(accountId) ?? 0)
    if (sums === undefined) continue
    const { remaining, held }: LotSums = sums.get(accountId) ?? { remaining: 0, held: 0 }
    expect('lots-remaining', available, remaining)
    expect('lots-held', frozen, held)
  }
  return findings
}

async function entrySums(
  db: Database,
  accounts: readonly CheckedAccount[],
  ids: readonly number[],
): Promise<ReadonlyMap<number, EntrySums>> {
  const sums = new Map<number, EntrySums>()
  const add = (id: number, row: Record<string, unknown>) => {
    const before = sums.get(id) ?? { count: 0, available: 0, frozen: 0 }
    sums.set(id, {
      count: before.count + exactInteger(row['entries']),
      available: before.available + exactInteger(row['available']),
      frozen: before.frozen + exactInteger(row['frozen']),
    })
  }
  const columns = 'count(*) as entries, sum(d_available) as available, sum(d_frozen) as frozen'
  const [first] = accounts
  if (accounts.length === 1 && first !== undefined) {
    // Reads the entries in parts, because one account may have millions of them.
    for (let from = 0; from < first.version; from += entriesAtOnce) {
      const [row] = await db.query<Record<string, unknown>>(
        `select ${columns} from money_entry where account_id = ? and seq > ? and seq <= ?`,
        [first.id, from, Math.min(first.version, from + entriesAtOnce)],
      )
      if (row !== undefined) add(first.id, row)
    }
    const [beyond] = await db.query<{ entries: unknown }>(
      'select count(*) as entries from (select id from money_entry where account_id = ? and seq > ? limit 1) as beyond',
      [first.id, first.version],
    )
    if (exactInteger(beyond?.entries) > 0) add(first.id, { entries: 1, available: 0, frozen: 0 })
    return sums
  }
  const rows = await db.query<Record<string, unknown>>(
    `select account_id, ${columns} from money_entry
     where account_id in (${placesOf(ids)}) and seq > 0 group by account_id`,
    ids,
  )
  for (const row of rows) add(exactInteger(row['account_id']), row)
  return sums
}

async function holdSums(db: Database, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const rows = await db.query<Record<string, unknown>>(
    `select account_id, sum(amount) as amount from money_hold
     where account_id in (${placesOf(ids)}) and state = 'open' group by account_id`,
    ids,
  )
  return new Map(rows.map((row) => [exactInteger(row['account_id']), exactInteger(row['amount'])]))
}

/** Returns available plus frozen units after the last entry of each account. */
async function lastBalances(db: Database, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const rows = await db.query<Record<string, unknown>>(
    `select a.id, e.available_after + e.frozen_after as balance
     from money_account a join money_entry e on e.account_id = a.id and e.seq = a.version where a.id in (${placesOf(ids)})`,
    ids,
  )
  return new Map(rows.map((row) => [exactInteger(row['id']), exactInteger(row['balance'])]))
}

const page = 500

interface JournalPage {
  readonly first: number
  readonly last: number
  readonly count: number
}

/** Returns the next page of journals; undefined after the last page. */
export async function readNextJournals(db: Database, after: number): Promise<JournalPage | undefined> {
  const rows = await db.query<{ id: unknown }>(`select id from money_journal where id > ? order by id limit ${page}`, [
    after,
  ])
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return { first: exactInteger(first.id), last: exactInteger(last.id), count: rows.length }
}

/** Returns journals without entries, or whose entries do not sum to zero. */
export async function findUnbalancedJournals(
  db: Database,
  after: number,
  last: number,
): Promise<readonly ReconciliationDifference[]> {
  const rows = await db.query<Record<string, unknown>>(
    `select j.id, count(e.id) as entries, coalesce(sum(e.d_available + e.d_frozen), 0) as total
     from money_journal j left join money_entry e on e.journal_id = j.id
     where j.id > ? and j.id <= ? group by j.id
     having count(e.id) = 0 or coalesce(sum(e.d_available + e.d_frozen), 0) <> 0`,
    [after, last],
  )
  return rows.map((row) => {
    const isEmpty = exactInteger(row['entries']) === 0
    return {
      rule: isEmpty ? 'journal-empty' : 'journal-balance',
      accountId: null,
      journalId: exactInteger(row['id']),
      expected: isEmpty ? 1 : 0,
      found: isEmpty ? 0 : exactInteger(row['total']),
    }
  })
}
