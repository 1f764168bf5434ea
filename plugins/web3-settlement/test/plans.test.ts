/**
 * Tests the query plans of the lists and tasks on each database. Each must use an index and never read the whole table.
 */
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { createOrder, paidChainFacts } from './fixtures/doubles.ts'
import { auditPath, reviewPath, startSettlement } from './fixtures/product.ts'

const tables = [
  'web3_settlement_review_log',
  'web3_settlement_audit_log',
  'web3_settlement_retry',
  'web3_payment_callback_log',
  'money_payment_order',
  'money_payment_transaction',
]
const minute = 60_000

onDatabase(t, 'S-052 S-067 lists and tasks of the settlement use an index with every filter', async (t: Test, at) => {
  const { paidOrder, save, settle, call, db, clock, world, runTask, reported } = await startSettlement(t, at)
  const first = await paidOrder()
  const { data: review } = await save(first.outTradeNo)
  await settle(review.id)
  for (let index = 0; index < 4; index++) await save((await paidOrder()).outTradeNo)
  const early = await paidOrder()
  world.answers.set(String(early.transactionHash), paidChainFacts(String(early.transactionHash), { head: 11 }))
  await settle((await save(early.outTradeNo)).data.id)
  // The table needs many rows, because a server always scans a small table.
  await db.transactional(async () => {
    for (let index = 0; index < 300; index++)
      await createOrder(db, { outTradeNo: `many-${index}`, transactionHash: null })
  })
  const hash = String(first.transactionHash)
  world.answers.set(hash, paidChainFacts(hash, { receipt: null, canonicalBlockHash: null }))
  clock.shiftWallClock(120 * minute)
  await runTask('money.web3.payment-settlement.audit')
  await reported()

  const of = `outTradeNo=${first.outTradeNo}`
  const works: Readonly<Record<string, () => Promise<unknown> | undefined>> = {
    ...Object.fromEntries(
      [
        reviewPath,
        `${reviewPath}?${of}`,
        `${reviewPath}?retryable=true`,
        `${reviewPath}?retryable=true&${of}`,
        auditPath,
        `${auditPath}?${of}`,
        `${auditPath}/summary`,
        `${auditPath}/compensation-candidates`,
        ...['low', 'medium', 'high'].map((level) => `${auditPath}/compensation-candidates?riskLevel=${level}`),
        ...['retryable', 'needsManualReview', 'needsFundReview'].flatMap((trait) =>
          [true, false].map((is) => `${auditPath}/compensation-candidates?${trait}=${is}`),
        ),
        `${auditPath}/compensation-candidates?needsManualReview=true&needsFundReview=false`,
      ].map((url) => [
        url,
        async () => {
          const { code } = await call('GET', url)
          if (code !== '200') throw new Error(`${url}: ${code}`)
        },
      ]),
    ),
    ...Object.fromEntries(
      ['payment-settlement.audit', 'payment-settlement.retry', 'payment-settlement-review.auto-handle'].map((task) => [
        task,
        () => runTask(`money.web3.${task}`),
      ]),
    ),
  }
  const watched = tables.map((table) => ({ table, ...watchStatements(db, table) }))
  for (const [what, work] of Object.entries(works)) {
    for (const { table, clear, statements, plansOf } of watched) {
      if (what.startsWith('payment-') && table !== 'web3_settlement_review_log') continue
      const plans = await plansOf(async () => {
        await work()
        // Only single statements that read rows are checked. Writes have no query plan, and the cost of a count
        // depends on the number of rows.
        for (const sql of statements.keys()) {
          if (!/^\s*(?:select|with)\b/i.test(sql)) (statements as Map<string, unknown>).delete(sql)
        }
      })
      for (const { sql, scans, sorts } of plans) {
        // To find the newest rows, SQLite reads the table in the order of its key and stops at the limit. This is not
        // a full scan.
        const isWalk = !sorts && !/\bwhere\b/.test(sql) && /order by \S+ desc limit \?/.test(sql)
        t.ok(scans.length === 0 || isWalk, `${what}: ${sql}`)
        if (what.startsWith('/')) t.notOk(sorts, `${what} is in order as it is read: ${sql}`)
      }
      clear()
    }
  }
})
