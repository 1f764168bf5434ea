/**
 * Tests that reconciliation finds each kind of row that was changed outside of the ledger, and reports nothing else.
 */
import type { Database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import { dataCheck } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { readNextAccounts } from '../src/reconcile/checks.ts'
import { type Reconciler, reconciliations } from '../src/reconcile/reconciler.ts'
import { lotTables, TestLots } from './fixtures/lot-repository.ts'
import { asset, of, reasonOf, startLedger } from './fixtures/product.ts'

const kind = 'test.posting'
const signal = new AbortController().signal

onDatabase(t, 'K-014 reconciliation', async (t, at) => {
  const lots = new TestLots()
  const { ledger, db, running } = await startLedger(t, at, { lots, plugins: [lotTables] })
  lots.db = db
  const reconciler = running.service(reconciliations) as Reconciler
  const accounts: number[] = []
  const journals: number[] = []
  for (let index = 0; index < 7; index++) {
    const { accountId, journalId } = await ledger.credit({ ...of(index), amount: 100, key: `grant:${index}`, kind })
    accounts.push(accountId)
    journals.push(journalId)
    await ledger.hold({ ...of(index), amount: 10, key: `hold:${index}`, kind })
    await ledger.debit({ ...of(index), amount: 5, key: `spend:${index}`, kind })
  }
  const reconcile = async (only: string | null = null) => {
    const id = await reconciler.request(only, 'test')
    const progress: number[] = []
    const result = await reconciler.run(id, { signal, onProgress: (percent) => progress.push(percent) })
    const window = { orderBy: [{ property: 'id', direction: 'asc' }], size: 100, offset: 0, count: 'none' } as const
    const { items } = await reconciler.findings(id, window)
    t.same(
      progress,
      progress.toSorted((a, b) => a - b),
    )
    t.equal(progress.at(-1), 100)
    return { ...result, found: items.map(({ rule, accountId, journalId }) => [rule, accountId ?? journalId]) }
  }

  /** Runs the data check, and returns its error. */
  const checkFailure = async () => {
    const [check] = running.contributions(dataCheck).values()
    const stored = await db.query('select id from money_reconciliation')
    const checked = Promise.resolve(check?.({ signal, progress: () => {} }))
    const failure = await checked.then(
      () => undefined,
      (error: Error) => error.message,
    )
    t.same(await db.query('select id from money_reconciliation'), stored, 'the check stores nothing')
    return failure
  }

  await t.test('an unchanged ledger has no discrepancies', async (t) => {
    assertMembers(t, await reconcile(), { accounts: 7, journals: 21, findings: 0, found: [] })
    t.match(await reconcile(asset), { accounts: 7, findings: 0 })
    t.match(await reconcile('cny'), { accounts: 0, findings: 0 })
    t.equal(await checkFailure(), undefined)
    t.equal(await reasonOf(reconciler.request('gold', 'test')), '400 money.asset-unknown')
    t.equal(await reasonOf(reconciler.run(1, { signal })), '404 money.reconciliation-unknown')
  })

  await t.test('while other callers post', async (t) => {
    const posts = Array.from({ length: 60 }, (_, index) =>
      ledger.credit({ ...of(index % 7), amount: 1, key: `meanwhile:${index}`, kind }),
    )
    t.match(await reconcile(), { findings: 0 })
    await Promise.all(posts)
    t.match(await reconcile(), { findings: 0 })
  })

  await t.test('each kind of change is found', async (t) => {
    const [a, b, c, d, e, f] = accounts
    await db.execute('update money_account set available = available + 1 where id = ?', [a ?? 0])
    await db.execute('update money_account set version = version + 1 where id = ?', [b ?? 0])
    await db.execute("update money_hold set amount = amount + 1 where account_id = ? and state = 'open'", [c ?? 0])
    await db.execute('update test_lot set remaining = remaining - 1 where account_id = ? and remaining > 50', [d ?? 0])
    await db.execute('update test_lot set held = held + 1 where account_id = ? and remaining > 50', [e ?? 0])
    await db.execute('update money_entry set d_available = d_available + 1 where journal_id = ? and account_id = ?', [
      journals[5] ?? 0,
      f ?? 0,
    ])
    await db.execute('delete from money_entry where journal_id = ?', [journals[6] ?? 0])
    t.match(await checkFailure(), /^\d+ differences in the ledger\. Run `plinth money reconcile`/)
    const { found } = await reconcile()
    t.same(
      found.filter(([, id]) => id !== accounts[6]),
      [
        ['entries-available', a],
        ['last-entry', a],
        ['lots-remaining', a],
        ['entries-count', b],
        ['last-entry', b],
        ['holds', c],
        ['lots-remaining', d],
        ['lots-held', e],
        ['entries-available', f],
        ['journal-balance', journals[5]],
        ['journal-empty', journals[6]],
      ],
    )
    t.ok(found.some(([rule, id]) => rule === 'entries-count' && id === accounts[6]))
  })

  await t.test('reconciliation reads its rows by keys', async (t) => {
    await assertWalksIndexes(t, db, () => reconcile())
    t.equal((await readNextAccounts(db, accounts[2] ?? 0, asset)).length, 4)
  })
})

onDatabase(t, 'K-014 reconciliation reads all journals, also beyond the first page', async (t, at) => {
  const { ledger, db, running } = await startLedger(t, at)
  const reconciler = running.service(reconciliations) as Reconciler
  const { accountId } = await ledger.credit({ ...of(1), amount: 1, key: 'page:0', kind })
  await ledger.batch({
    asset,
    kind,
    direction: 'credit',
    accountIds: [accountId],
    postings: async () => Array.from({ length: 999 }, (_, at) => ({ accountId, amount: 1, key: `page:${at + 1}` })),
  })
  const { journalId } = await ledger.credit({ ...of(1), amount: 1, key: 'page:last', kind })
  await db.execute('delete from money_entry where journal_id = ?', [journalId])
  const id = await reconciler.request(null, 'test')
  const { journals } = await reconciler.run(id, { signal })
  t.equal(journals, 1_001)
  const window = { orderBy: [{ property: 'id', direction: 'asc' }], size: 100, offset: 0, count: 'none' } as const
  const { items } = await reconciler.findings(id, window)
  t.same(
    items.flatMap((found) => (found.journalId === null ? [] : [[found.rule, found.journalId]])),
    [['journal-empty', journalId]],
  )
})

async function assertWalksIndexes(t: Test, db: Database, work: () => Promise<unknown>): Promise<void> {
  for (const table of ['money_entry', 'money_journal', 'money_hold']) {
    for (const { sql, scans } of await watchStatements(db, table).plansOf(work)) {
      // There are only seven accounts, so MariaDB reads them in one scan.
      const small = new Set(['a', 'money_account'])
      t.same(sql.startsWith('insert') ? [] : scans.filter((name) => !small.has(name)), [], sql)
    }
  }
}
