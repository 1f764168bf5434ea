/**
 * Tests processes that are killed during postings. A posting with a result must be stored. Any other posting must be
 * stored completely or not at all.
 */

import { fork } from 'node:child_process'
import { onEachDatabase } from '@plinth/database/testing'
import eventsPlugin from '@plinth/events'
import { watchProcess } from '@plinth/kernel/testing'
import paymentsPlugin from '@plinth/money/payments'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { brokenLots, lotTables, TestLots } from './fixtures/lot-repository.ts'
import { brokenOrders } from './fixtures/paid-orders.ts'
import { of, startLedger } from './fixtures/product.ts'

const program = new URL('fixtures/worker-process.ts', import.meta.url)
const postings = 200

onEachDatabase(t, 'K-014 S-037 a process is killed while it posts and settles orders', async (t, at) => {
  const lots = new TestLots()
  const { ledger, db } = await startLedger(t, at, { lots, plugins: [eventsPlugin, paymentsPlugin, lotTables] })
  lots.db = db
  for (const id of [0, 1, 2]) await ledger.credit({ ...of(id), amount: 1_000, key: `grant:${id}`, kind: 'test.grant' })

  const answered = new Set<string>()
  /** @param killAfter number of results after which the process kills itself; if omitted, it ends normally */
  const run = async (round: string, killAfter?: number) => {
    const about = JSON.stringify({ config: at.config, round, postings, callers: 8, killAfter })
    const worker = watchProcess(t, fork(program, [about], { silent: true }))
    const [code, signal] = await worker.ended()
    for (const key of worker.messages) if (key !== 'started') answered.add(String(key))
    return signal ?? code
  }
  for (const [round, killAfter] of [
    ['a', 3],
    ['b', 40],
    ['c', 97],
  ] as const) {
    t.equal(await run(round, killAfter), 'SIGKILL')
    t.same(await brokenRules(db), [], `every rule holds after the kill of ${round}`)
    t.same(await brokenLots(db), [])
    t.same(await brokenOrders(db), [], 'an order is paid, booked and recorded in one')
  }
  const lost: string[] = []
  for (const key of answered) {
    const refund = `payment:${key.replace(':', '-')}:refund:${key.replace(':', '-')}-r`
    const [row] = await db.query('select id from money_journal where idem_key in (?, ?)', [key, refund])
    if (row === undefined) lost.push(key)
  }
  t.same(lost, [], 'what was answered is there')

  await t.test('the same postings are executed once', async (t) => {
    for (const round of ['a', 'b', 'c']) t.equal(await run(round), 0)
    const rows = await db.query<{ total: unknown }>(
      `select count(*) as total from money_journal where idem_key like '_:%' and idem_key not like '%:capture'`,
    )
    t.equal(Number(rows[0]?.total), (3 * postings * 3) / 4)
    const paid = await db.query<{ total: unknown }>(
      `select count(*) as total from money_payment_order where status = 'success' and refunded_amount = 3`,
    )
    t.equal(Number(paid[0]?.total), (3 * postings) / 4)
    t.same(await brokenOrders(db), [])
    t.same(await brokenRules(db), [])
    t.same(await brokenLots(db), [])
  })
})
