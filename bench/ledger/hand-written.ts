/** Hand-written SQL for postings, with the fastest statements of each database. */
import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { TestDialect } from '@plinth/dev/testing/database'
import type { BenchDatabase } from '../databases.ts'
import { openPeer, type RawConnection, type Value } from '../peer-connection.ts'

interface Credit {
  readonly accountId: number
  readonly amount: number
}

export interface HandWritten {
  /** Writes one credit in its own transaction. */
  post(credit: Credit): Promise<void>
  /** Writes credits in one transaction, row by row. */
  rowByRow(credits: readonly Credit[]): Promise<void>
  /** Writes credits in one transaction with one statement for each table. */
  multiRow(credits: readonly Credit[]): Promise<void>
  /**
   * Writes one credit as `post` does. Credits that arrive during a commit are written together in the next transaction.
   */
  grouped(credit: Credit): Promise<void>
  close(): Promise<void>
}

interface Account {
  readonly available: number
  readonly frozen: number
  readonly version: number
}

const journalColumns =
  '(id, idem_hash, idem_key, fingerprint, action, kind, ref_type, ref_id, parent_id, actor, reason, occurred_at, created_at)'
const journalPlaces = `(?, ?, ?, ?, 'credit', 'bench.posting', null, null, null, null, null, ?, ?)`
const entryColumns =
  '(id, journal_id, account_id, asset, seq, d_available, d_frozen, available_after, frozen_after, kind, month_key, created_at)'
const entryPlaces = `(?, ?, ?, ?, ?, ?, 0, ?, ?, 'bench.posting', 202611, ?)`
const repeated = (places: string, count: number) => Array.from({ length: count }, () => places).join(', ')

const insertJournals = (dialect: TestDialect, count: number) => {
  const [insert, end] =
    dialect === 'mariadb' ? ['insert ignore', ''] : ['insert', ' on conflict (idem_hash) do nothing']
  return `${insert} into money_journal ${journalColumns} values ${repeated(journalPlaces, count)}${end}`
}
const insertEntries = (count: number) =>
  `insert into money_entry ${entryColumns} values ${repeated(entryPlaces, count)}`

const accountColumns = 'id, available, frozen, version'
const update = `update money_account set available = available + ?, version = version + 1, updated_at = ?
  where id = ? and status = 'open' and available + ? >= 0`

/**
 * For each database: a statement that changes many accounts. Its parameters are the time, then the total of each
 * account.
 */
const updateMany = {
  sqlite: `update money_account set available = available + v.amount, version = version + v.n, updated_at = ?
    from (select value ->> 0 as account_id, value ->> 1 as amount, value ->> 2 as n from json_each(?)) v
    where id = v.account_id and status = 'open' and available + v.amount >= 0 returning ${accountColumns}`,
  postgresql: `update money_account set available = available + v.amount, version = version + v.n, updated_at = ?
    from unnest(?::bigint[], ?::bigint[], ?::bigint[]) as v(account_id, amount, n)
    where id = v.account_id and status = 'open' and available + v.amount >= 0 returning ${accountColumns}`,
  mariadb: `update json_table(?, '$[*]' columns (account_id bigint path '$[0]', amount bigint path '$[1]', n bigint path '$[2]')) v
    join money_account a on a.id = v.account_id
    set a.available = a.available + v.amount, a.version = a.version + v.n, a.updated_at = ?
    where a.status = 'open' and a.available + v.amount >= 0`,
} as const

/** Last id that this file has used. These ids are above all ids of the product. */
let lastId = 8_000_000_000_000_000
let lastKey = 0

function journalOf(now: number) {
  const key = `by-hand:${process.pid}:${++lastKey}`
  lastId += 3
  const values = [lastId, hash('sha256', key), key, hash('sha256', `["credit","bench.posting",${key}]`), now, now]
  return { id: lastId, values }
}

/** Returns the values of the two entries of a credit. */
const entriesOf = (
  id: number,
  systemId: number,
  { accountId, amount }: Credit,
  after: Account,
  now: number,
): Value[] => [
  id - 1,
  id,
  accountId,
  'bench',
  after.version,
  amount,
  after.available,
  after.frozen,
  now,
  id - 2,
  id,
  systemId,
  null,
  null,
  -amount,
  null,
  null,
  now,
]

const accountOf = (row: Account): Account => ({
  available: Number(row.available),
  frozen: Number(row.frozen),
  version: Number(row.version),
})

async function postOne(peer: RawConnection, dialect: TestDialect, systemId: number, credit: Credit): Promise<void> {
  const { accountId, amount } = credit
  const now = Date.now()
  const { id, values } = journalOf(now)
  if ((await peer.run(insertJournals(dialect, 1), values)).changes !== 1) throw new Error('replay')
  const changed =
    dialect === 'mariadb'
      ? await peer.run(update, [amount, now, accountId, amount])
      : await peer.run(`${update} returning ${accountColumns}`, [amount, now, accountId, amount])
  if (changed.changes !== 1) throw new Error('insufficient')
  const { rows } =
    dialect === 'mariadb'
      ? await peer.run(`select ${accountColumns} from money_account where id = ?`, [accountId])
      : changed
  await peer.run(insertEntries(2), entriesOf(id, systemId, credit, accountOf(rows[0]), now))
}

async function postMany(
  peer: RawConnection,
  dialect: TestDialect,
  systemId: number,
  credits: readonly Credit[],
): Promise<void> {
  const now = Date.now()
  const journals = credits.map(() => journalOf(now))
  const made = await peer.run(
    insertJournals(dialect, credits.length),
    journals.flatMap(({ values }) => values),
  )
  if (made.changes !== credits.length) throw new Error('replay')
  const totals = new Map<number, { amount: number; n: number }>()
  for (const { accountId, amount } of credits) {
    const total = totals.get(accountId) ?? { amount: 0, n: 0 }
    totals.set(accountId, { amount: total.amount + amount, n: total.n + 1 })
  }
  const changed = await changeAccounts(peer, dialect, totals, now)
  if (changed.length !== totals.size) throw new Error('insufficient')
  // Computes the balance before the credits, then the balance after each credit.
  const running = new Map<number, Account>()
  for (const row of changed) {
    const [accountId, { available, frozen, version }] = [Number(row.id), accountOf(row)]
    const { amount = 0, n = 0 } = totals.get(accountId) ?? {}
    running.set(accountId, { available: available - amount, frozen, version: version - n })
  }
  const entries = credits.flatMap((credit, index) => {
    const before = running.get(credit.accountId) as Account
    const after = { ...before, available: before.available + credit.amount, version: before.version + 1 }
    running.set(credit.accountId, after)
    return entriesOf(journals[index]?.id ?? 0, systemId, credit, after, now)
  })
  await peer.run(insertEntries(2 * credits.length), entries)
}

/** Changes the balances and returns the accounts after the change. */
async function changeAccounts(
  peer: RawConnection,
  dialect: TestDialect,
  totals: ReadonlyMap<number, { readonly amount: number; readonly n: number }>,
  now: number,
): Promise<readonly (Account & { readonly id: number })[]> {
  const ids = [...totals.keys()].sort((a, b) => a - b)
  const totalOf = (id: number) => totals.get(id) ?? { amount: 0, n: 0 }
  const json = JSON.stringify(ids.map((id) => [id, totalOf(id).amount, totalOf(id).n]))
  if (dialect === 'sqlite') return (await peer.run(updateMany.sqlite, [now, json])).rows
  if (dialect === 'postgresql') {
    const lists = [ids, ids.map((id) => totalOf(id).amount), ids.map((id) => totalOf(id).n)]
    return (await peer.run(updateMany.postgresql, [now, ...lists])).rows
  }
  await peer.run(updateMany.mariadb, [json, now])
  const places = ids.map(() => '?').join(', ')
  return (await peer.run(`select ${accountColumns} from money_account where id in (${places})`, ids)).rows
}

/**
 * Opens the connections for hand-written SQL.
 * @param connections number of concurrent callers of `post`; 1 on SQLite
 */
export async function openHandWritten(
  db: Database,
  at: BenchDatabase,
  systemId: number,
  connections: number,
): Promise<HandWritten> {
  const { dialect } = at
  const free: RawConnection[] = []
  for (let count = 0; count < connections; count++) free.push(await openPeer(db, at))
  const transaction = async (work: (peer: RawConnection) => Promise<void>) => {
    const peer = free.pop()
    if (peer === undefined) throw new Error('more callers than connections')
    await peer.begin()
    await work(peer)
    await peer.commit()
    free.push(peer)
  }
  const multiRow = (credits: readonly Credit[]) => transaction((peer) => postMany(peer, dialect, systemId, credits))
  return {
    post: (credit) => transaction((peer) => postOne(peer, dialect, systemId, credit)),
    rowByRow: (credits) =>
      transaction(async (peer) => {
        for (const credit of credits) await postOne(peer, dialect, systemId, credit)
      }),
    multiRow,
    grouped: groupCommit(multiRow),
    async close() {
      for (const peer of free) await peer.close()
    },
  }
}

/**
 * Returns a function that writes credits in groups, one group at a time. The next group contains all credits that have
 * arrived meanwhile.
 */
function groupCommit(write: (credits: readonly Credit[]) => Promise<void>): (credit: Credit) => Promise<void> {
  let waiting: { readonly credit: Credit; readonly done: PromiseWithResolvers<void> }[] = []
  let isRunning = false
  const run = async () => {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      await write(group.map(({ credit }) => credit)).then(
        () => {
          for (const { done } of group) done.resolve()
        },
        (error) => {
          for (const { done } of group) done.reject(error)
        },
      )
      // Waits one tick, so that callers that have received their result can post again before the next group is formed.
      await new Promise((resolve) => setImmediate(resolve))
    }
    isRunning = false
  }
  return (credit) => {
    const done = Promise.withResolvers<void>()
    waiting.push({ credit, done })
    if (!isRunning) {
      isRunning = true
      setImmediate(run)
    }
    return done.promise
  }
}
