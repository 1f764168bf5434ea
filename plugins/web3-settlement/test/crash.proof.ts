/**
 * Tests processes that are killed at any point from the review to the notice. An order must be settled once with one
 * effect, or not at all.
 */

import { fork } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { watchProcess } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { crashPoints } from './fixtures/crash-points.ts'
import type { CrashedWork, CrashWorkerArguments } from './fixtures/crash-worker.ts'
import { startSettlement } from './fixtures/product.ts'

const worker = new URL('fixtures/crash-worker.ts', import.meta.url)
const minute = 60_000

onEachDatabase(
  t,
  'S-027 S-028 S-029 S-030 S-032 S-080 S-086 K-018 a process is killed at each point of a settlement, and the next one completes it',
  async (t, at) => {
    const sentTo = join(at.directory, 'sent')
    // This instance delivers no events, so it does not change the state that the killed processes left.
    const watcher = await startSettlement(t, at, { roles: ['web'] })
    const { paidOrder, save, rows, db, clock } = watcher
    // A server rolls back in the same way as SQLite, and each process needs two seconds of CPU time. On a server, the
    // test therefore runs only the points that differ from SQLite.
    const points = at.dialect === 'sqlite' ? crashPoints : crashPoints.filter(({ everywhere }) => everywhere === true)

    const run = async (work: Pick<CrashWorkerArguments, 'left' | 'next'>) => {
      const about: CrashWorkerArguments = {
        config: at.config,
        now: clock.now(),
        sentTo,
        orders: points.length,
        ...work,
      }
      const crashing = watchProcess(t, fork(worker, [JSON.stringify(about)], { silent: true }))
      const [code, signal] = await crashing.ended()
      // biome-ignore lint/suspicious/noExplicitAny: an answer of the product
      const recovered = crashing.messages.at(-1) as any
      return { ended: signal ?? code, recovered }
    }
    /** Counts all rows that belong to the settlement of this order. */
    const traces = async (outTradeNo: string) => {
      const count = async (from: string) => Number((await rows(`select count(*) as n from ${from}`))[0]?.['n'])
      const of = `out_trade_no = '${outTradeNo}'`
      return {
        paid: await count(`money_payment_order where ${of} and status = 'success'`),
        transactions: await count(`money_payment_transaction where ${of} and type = 'web3-settlement'`),
        effects: await count(`test_effect where ${of}`),
        settledReviews: await count(`web3_settlement_review_log where ${of} and status = 'settled'`),
        settledTries: await count(`web3_payment_callback_log where ${of} and outcome = 'settled'`),
        events: await count(`outbox_event where type = 'web3-settlement.settled' and payload like '%"${outTradeNo}"%'`),
        payments: await count(
          `outbox_event where type = 'money.payment.succeeded' and payload like '%"${outTradeNo}"%'`,
        ),
        // No other connection may see the intermediate state `settling`.
        settling: await count(`web3_settlement_review_log where ${of} and state = 'settling'`),
      }
    }
    type Traces = Awaited<ReturnType<typeof traces>>
    const nothing: Traces = {
      paid: 0,
      transactions: 0,
      effects: 0,
      settledReviews: 0,
      settledTries: 0,
      events: 0,
      payments: 0,
      settling: 0,
    }
    const everything: Traces = {
      // The result of a settled payment: one paid order, one payment transaction, the review and the log of its
      // settlement.
      paid: 1,
      transactions: 1,
      effects: 1,
      settledReviews: 2,
      settledTries: 1,
      events: 1,
      payments: 1,
      settling: 0,
    }
    const notices = (outTradeNo: string) =>
      (existsSync(sentTo) ? readFileSync(sentTo, 'utf8').trimEnd().split('\n') : [])
        .map((line): { idempotencyKey: string; content: string } => JSON.parse(line))
        .filter(({ content }) => content.includes(`${outTradeNo} `) || content.includes(`${outTradeNo},`))

    let left: (CrashedWork & { readonly outTradeNo: string }) | undefined
    for (const point of [...points, undefined]) {
      let next: typeof left
      if (point !== undefined) {
        const { outTradeNo } = await paidOrder()
        next = { outTradeNo, point, reviewId: (await save(outTradeNo)).data.id }
        if (point.work === 'overdue') clock.shiftWallClock(31 * minute)
      }
      const { ended, recovered } = await run({ left, next })
      t.equal(ended, next === undefined ? 0 : 'SIGKILL', next?.point.name ?? 'the last one ends by itself')

      if (left !== undefined) {
        const { outTradeNo, point } = left
        t.same(await traces(outTradeNo), everything, `${point.name}: settled once, after a restart`)
        if (point.work === 'settle') {
          const expected = point.committed
            ? { outcome: 'skipped', reasons: ['local-order-already-paid'] }
            : { outcome: 'settled', reasons: [] }
          t.match(recovered, expected, `${point.name}: what the operator is answered`)
        }
        const reported = notices(outTradeNo)
        t.equal(reported.length, point.sent + 1, `${point.name}: told`)
        t.equal(
          new Set(reported.map(({ idempotencyKey }) => idempotencyKey)).size,
          1,
          `${point.name}: one message, however often`,
        )
        t.match(reported[0]?.idempotencyKey, /./)
      }
      if (next !== undefined) {
        const { outTradeNo, point } = next
        const expected = point.committed ? everything : nothing
        t.same(await traces(outTradeNo), expected, `${point.name}: all or nothing`)
        t.equal(notices(outTradeNo).length, point.sent, `${point.name}: sent so far`)
        // Lets the lease of the dead process expire, so that its events can be delivered.
        await db.execute("update outbox_event set next_at = ? where status = 'pending'", [new Date(0)])
      }
      left = next
    }
    const paid = await rows('select count(*) as n, count(distinct event_key) as used from money_payment_transaction')
    t.same(
      paid.map((row) => Object.values(row).map(Number)),
      [[points.length, points.length]],
      'each transfer is used once',
    )
    t.same(await rows("select id from outbox_event where status <> 'delivered'"), [], 'nothing waits')
  },
)
