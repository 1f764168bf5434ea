/** Tests postings of several callers that share a transaction. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { onSqlite } from '@plinth/dev/testing/database'
import t from 'tap'
import { lotTables, TestLots } from './fixtures/lot-repository.ts'
import { of, startLedger } from './fixtures/product.ts'

onSqlite(t, 'a posting does not run in the async context of its caller', async (t, at) => {
  const lots = new TestLots()
  const { ledger, db } = await startLedger(t, at, { lots, plugins: [lotTables] })
  lots.db = db
  const caller = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  lots.beforeMove = () => seen.push(caller.getStore())
  const credit = (key: string) => ledger.credit({ ...of('context'), amount: 1, key, kind: 'test.posting' })
  await Promise.all(['first', 'second', 'third'].map((key) => caller.run(key, () => credit(key))))
  t.strictSame(seen, [undefined, undefined, undefined])
})
