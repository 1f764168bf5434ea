/**
 * Tests attempts to settle: how a review records them, which operators are allowed, and in which order settled orders
 * are audited.
 */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import t, { type Test } from 'tap'
import { fingerprintOfPlan } from '../src/planning/plan.ts'
import { paidChainFacts } from './fixtures/doubles.ts'
import { adminWeb3Path, auditPath, type RunningSettlement, reviewPath, startSettlement } from './fixtures/product.ts'
import { chain, hashOf, transferLog } from './fixtures/ready-case.ts'

const minute = 60_000
const own = 'money:web3:payment-settlement'
const auto = 'platform.money.web3.settlement.review.auto'
const auditTask = 'money.web3.payment-settlement.audit'
const retryTask = 'money.web3.payment-settlement.retry'

onDatabase(t, 'a rejected settlement is shown on its review, in lists and as an attempt', async (t: Test, at) => {
  const { paidOrder, save, settle, call, db, clock } = await startSettlement(t, at)
  const closed = await paidOrder()
  const { data: review } = await save(closed.outTradeNo)
  t.hasStrict(review, { state: 'ready', candidate: true, lastAttempt: null, heldAt: null })
  await db.execute('update money_payment_order set status = ? where out_trade_no = ?', ['closed', closed.outTradeNo])
  assertMembers(t, (await settle(review.id)).data, { outcome: 'skipped', reasons: ['order-not-settleable'] })
  const last = {
    outcome: 'skipped',
    reasons: ['order-not-settleable'],
    attemptedAt: new Date(clock.now()).toISOString(),
  }
  assertMembers(t, (await call('GET', `${reviewPath}/${review.id}`)).data, {
    status: 'open',
    state: 'blocked',
    candidate: false,
    retryable: false,
    reasons: [],
    lastAttempt: last,
    attempts: [
      {
        reviewLogId: review.id,
        startedBy: 'settle',
        outcome: 'skipped',
        reasons: ['order-not-settleable'],
        chainName: 'local',
        transactionHash: closed.transactionHash,
        eventKey: `local:${closed.transactionHash}:5`,
        createdAt: last.attemptedAt,
      },
    ],
  })
  const open = await paidOrder()
  const { data: overdue } = await save(open.outTradeNo)
  clock.shiftWallClock(31 * minute)
  await call('POST', `${reviewPath}/auto-handle-expired`)
  const { data: attempts } = await call('GET', `${reviewPath}/${overdue.id}/attempts`)
  assertMembers(
    t,
    attempts.items,
    [{ startedBy: 'auto-approve', outcome: 'settled', reasons: [], actorUserId: null }],
    'of the review that followed',
  )
  t.hasStrict((await call('GET', `${reviewPath}/${overdue.id}`)).data, {
    status: 'approved',
    state: 'settled',
    candidate: false,
    lastAttempt: { outcome: 'settled' },
  })
  const skipped = await call('GET', `${reviewPath}?lastOutcome=skipped`)
  t.same(
    skipped.data.items.map(({ outTradeNo }: { outTradeNo: string }) => outTradeNo),
    skipped.data.items.map(() => closed.outTradeNo),
  )
  t.hasStrict(await call('GET', `${reviewPath}/7/attempts`), { code: '404' })
})

onSqlite(t, 'exhausted retries and a mismatch are shown, and the review can still be settled', async (t: Test, at) => {
  const config = { 'platform.money.web3.settlement.retry.max-attempts': 1 }
  const { paidOrder, save, settle, call, world, clock, runTask } = await startSettlement(t, at, { config })
  const order = await paidOrder()
  const hash = String(order.transactionHash)
  const { data: review } = await save(order.outTradeNo)
  const shown = async () => (await call('GET', `${reviewPath}/${review.id}`)).data
  world.answers.set(hash, { error: 'timeout' })
  await settle(review.id)
  for (let round = 0; round < 2; round++) {
    clock.shiftWallClock(6 * minute)
    await runTask(retryTask)
  }
  assertMembers(t, await shown(), {
    state: 'blocked',
    candidate: true,
    retryable: true,
    retryAt: null,
    lastAttempt: { reasons: ['rpc-query-failed', 'retries-used-up'] },
  })
  const [retried] = (await call('GET', `${reviewPath}?outTradeNo=${order.outTradeNo}`)).data.items
  assertMembers(t, retried, {
    action: 'auto-retry',
    reasons: ['rpc-query-failed'],
    lastAttempt: { outcome: 'skipped' },
  })
  // If the payment is in another block, its fingerprint differs. When it is in the first block again, its fingerprint
  // is the same as before.
  const moved = {
    blockHash: hashOf('99'),
    logs: [{ ...transferLog(5), transactionHash: hash, blockHash: hashOf('99') }],
  }
  const facts = { canonicalBlockHash: hashOf('99'), transaction: { hash }, receipt: moved }
  world.answers.set(hash, paidChainFacts(hash, facts))
  assertMembers(t, (await settle(review.id)).data, { reasons: ['review-fingerprint-mismatched'] })
  assertMembers(t, await shown(), {
    state: 'blocked',
    retryable: true,
    lastAttempt: { reasons: ['review-fingerprint-mismatched'] },
  })
  t.equal((await call('GET', `${reviewPath}?retryable=true`)).data.total, 1)
  world.answers.set(hash, paidChainFacts(hash))
  t.hasStrict((await settle(review.id)).data, { outcome: 'settled' })
})

onSqlite(
  t,
  'a change of the confirmations of a chain blocks no open review, and old reviews keep their rule',
  async (t: Test, at) => {
    const { paidOrder, save, settle, world, db, rows, call } = await startSettlement(t, at)
    const [order, old] = [await paidOrder(), await paidOrder()]
    for (const one of [order, old]) {
      const hash = String(one.transactionHash)
      world.answers.set(hash, paidChainFacts(hash, { head: 40 }))
    }
    const { data: review } = await save(order.outTradeNo)
    const { data: earlier } = await save(old.outTradeNo)
    // Changes the plan to the form in which a release with the first version of fingerprints stored it.
    const [stored] = await rows(`select plan_snapshot from web3_settlement_review_log where id = ${earlier.id}`)
    const plan =
      typeof stored?.['plan_snapshot'] === 'string' ? JSON.parse(stored['plan_snapshot']) : stored?.['plan_snapshot']
    const first = fingerprintOfPlan(plan, old, 1)
    t.not(first, earlier.reviewFingerprint)
    await db.execute(
      'update web3_settlement_review_log set review_fingerprint = ?, fingerprint_version = 1 where id = ?',
      [first, earlier.id],
    )
    const local = world.chains.get('local')
    if (local === undefined) throw new Error('no chain')
    world.chains.set('local', { ...local, requiredConfirmations: 5 })
    t.hasStrict((await settle(review.id)).data, { outcome: 'settled' })
    assertMembers(
      t,
      (await settle(earlier.id)).data,
      { reasons: ['review-fingerprint-mismatched'] },
      'the first version covers it',
    )
    world.chains.set('local', local)
    t.equal((await call('GET', `${reviewPath}?retryable=true`)).data.total, 1, 'the mismatch has not ended the review')
    t.hasStrict((await settle(earlier.id)).data, { outcome: 'settled' })
    t.equal(chain().requiredConfirmations, 3)
  },
)

onSqlite(t, 'the age of a response starts with the response, however long the request took', async (t: Test, at) => {
  const { paidOrder, save, settle, world, clock } = await startSettlement(t, at)
  const order = await paidOrder()
  const hash = String(order.transactionHash)
  const { data: review } = await save(order.outTradeNo)
  const monotonic = clock.monotonic.bind(clock)
  world.answers.set(hash, () => {
    Object.assign(clock, { monotonic: () => monotonic() + 11_000 })
    return paidChainFacts(hash)
  })
  t.hasStrict((await settle(review.id)).data, { outcome: 'settled' })
})

onSqlite(t, 'S-077 a response that is older than 10 s settles nothing', async (t: Test, at) => {
  const { paidOrder, save, settle, statusOf, clock, db } = await startSettlement(t, at)
  const query = db.query.bind(db)
  const monotonic = clock.monotonic.bind(clock)
  let passedMs = 0
  /** Simulates a long delay between the response of the chain and the reading of claims. */
  const slow = async (ageMs: number, work: () => Promise<void>) => {
    Object.defineProperty(db, 'query', {
      configurable: true,
      value: (sql: string, ...more: never[]) => {
        if (sql.includes('from web3_settlement_review_log') && sql.includes('distinct')) passedMs += ageMs
        return query(sql, ...more)
      },
    })
    await work()
    Object.defineProperty(db, 'query', { configurable: true, value: query })
  }
  Object.assign(clock, { monotonic: () => monotonic() + passedMs })
  const { outTradeNo } = await paidOrder()
  const { data: review } = await save(outTradeNo)
  await slow(10_001, async () => {
    const { outcome, reasons } = (await settle(review.id)).data
    t.same([outcome, reasons], ['skipped', ['rpc-query-failed']])
  })
  t.equal(await statusOf(outTradeNo), 'pending')
  await slow(10_000, async () => {
    t.equal((await settle(review.id)).data.outcome, 'settled')
  })
})

onSqlite(t, 'nothing is approved automatically if the author of the review is disabled', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const { paidOrder, save, operator, call, clock, db, statusOf, login, log, reported, running } = product
  const saver = await operator('saver', `${own}-review-log:create`)
  const order = await paidOrder()
  const { data: review } = await save(order.outTradeNo, {}, 'saver')
  await db.execute('update iam_user set enabled = ? where id = ?', [false, saver])
  t.match(await running.service(accounts).find(saver), { enabled: false })
  clock.shiftWallClock(31 * minute)
  await login('admin')
  const { data } = await call('POST', `${reviewPath}/auto-handle-expired`)
  assertMembers(t, data, { executed: 0, items: [{ reason: 'saver-not-active', result: null }] })
  t.equal(await statusOf(order.outTradeNo), 'pending')
  assertMembers(t, (await call('GET', `${reviewPath}/${review.id}`)).data, {
    status: /^open$/,
    heldAt: String,
    lastAttempt: { outcome: /^skipped$/, reasons: ['saver-not-active'] },
  })
  t.match((await call('POST', `${reviewPath}/auto-handle-expired`)).data, { handled: 0 })
  await reported()
  t.equal(log.sent.length, 1)
  t.hasStrict((await product.settle(review.id)).data, { outcome: 'settled' }, 'a person may settle it')
})

onSqlite(t, 'a second person settles if the product requires it', async (t: Test, at) => {
  const config = { 'platform.money.web3.settlement.review.four-eyes': true }
  const product = await startSettlement(t, at, { config })
  const { paidOrder, save, settle, operator, call, clock, login } = product
  await operator('both', `${own}-review-log:create`, `${own}:execute`)
  const [one, other] = [await paidOrder(), await paidOrder()]
  const { data: review } = await save(one.outTradeNo, {}, 'both')
  const rejected = { code: '403', data: { reason: 'web3-settlement.second-person-required' } }
  t.match(await settle(review.id, 'settle', 'both'), rejected)
  t.match(await settle(review.id, 'retry', 'both'), rejected)
  t.hasStrict((await settle(review.id, 'settle', 'admin')).data, { outcome: 'settled' })
  await save(other.outTradeNo, {}, 'both')
  clock.shiftWallClock(31 * minute)
  await login('admin')
  assertMembers(t, (await call('POST', `${reviewPath}/auto-handle-expired`)).data, {
    items: [{ reason: 'second-person-required', result: null }],
  })
})

/** The automatic actions that can settle a review, in the order of the test, each with the call that starts it. */
const automaticActions = {
  'auto-retry': ({ runTask }: RunningSettlement) => runTask(retryTask),
  'auto-approve': ({ call }: RunningSettlement) => call('POST', `${reviewPath}/auto-handle-expired`),
}

for (const [obstacle, config] of Object.entries({
  'saver-not-active': {},
  'second-person-required': { 'platform.money.web3.settlement.review.four-eyes': true },
})) {
  onSqlite(t, `no automatic action settles a review with the obstacle ${obstacle}`, async (t, at) => {
    const product = await startSettlement(t, at, { config })
    const { operator, paidOrder, save, db, clock, call, login, statusOf } = product
    const saver = await operator('saver', `${own}-review-log:create`)
    const reviews: { readonly id: number; readonly outTradeNo: string }[] = []
    for (const _ of Object.keys(automaticActions)) {
      const { outTradeNo } = await paidOrder()
      reviews.push({ id: (await save(outTradeNo, {}, 'saver')).data.id, outTradeNo })
    }
    const retried = [new Date(clock.now()), reviews[0]?.id ?? 0]
    await db.execute('update web3_settlement_review_log set retry_at = ? where id = ?', retried)
    if (obstacle === 'saver-not-active')
      await db.execute('update iam_user set enabled = ? where id = ?', [false, saver])
    clock.shiftWallClock(31 * minute)
    await login('admin')
    for (const start of Object.values(automaticActions)) await start(product)
    const results: object[] = []
    for (const { id, outTradeNo } of reviews) {
      const { items } = (await call('GET', `${reviewPath}/${id}/attempts`)).data
      const attempts = items.map(({ startedBy, outcome, reasons }: Record<string, unknown>) => [
        startedBy,
        outcome,
        reasons,
      ])
      results.push([await statusOf(outTradeNo), attempts])
    }
    t.same(
      results,
      Object.keys(automaticActions).map((action) => ['pending', [[action, 'skipped', [obstacle]]]]),
    )
  })
}

onSqlite(t, 'a timeout that leaves no time to review is rejected', async (t: Test, at) => {
  await t.rejects(startSettlement(t, at, { config: { [`${auto}.timeout`]: '1s' } }))
})

onSqlite(t, 'an order that was paid in the meantime is not a failed settlement', async (t: Test, at) => {
  const { paidOrder, save, settle, call, clock, log, reported } = await startSettlement(t, at)
  const order = await paidOrder()
  const reviews = [(await save(order.outTradeNo)).data, (await save(order.outTradeNo)).data]
  t.hasStrict((await settle(reviews[0].id)).data, { outcome: 'settled' })
  clock.shiftWallClock(31 * minute)
  const { data } = await call('POST', `${reviewPath}/auto-handle-expired`)
  assertMembers(t, data.items, [{ reason: 'local-order-already-paid', result: { outcome: 'skipped' } }])
  await reported()
  t.same(
    log.sent.map(({ subject }) => subject),
    ['Web3 payment settled'],
  )
  t.hasStrict((await call('GET', `${reviewPath}/${reviews[1].id}`)).data, { state: 'blocked', retryAt: null })
})

onSqlite(
  t,
  'a settled payment that a reorganisation moved is a low risk until an operator has seen it',
  async (t: Test, at) => {
    const { paidOrder, save, settle, world, db, call, runTask, count } = await startSettlement(t, at)
    const order = await paidOrder()
    const hash = String(order.transactionHash)
    await settle((await save(order.outTradeNo)).data.id)
    await db.execute('update money_payment_order set paid_at = 1')
    const audits = `${adminWeb3Path}/payment-confirmations/settled-audits`
    assertMembers(t, (await call('POST', audits, {})).data.items, [{ riskLevel: 'none', chainReorgSuspected: false }])
    const move = (block: string) => {
      const logs = [{ ...transferLog(7), transactionHash: hash, blockHash: hashOf(block) }]
      const facts = { canonicalBlockHash: hashOf(block), transaction: { hash } }
      world.answers.set(hash, paidChainFacts(hash, { ...facts, receipt: { blockHash: hashOf(block), logs } }))
    }
    move('99')
    assertMembers(t, (await call('POST', audits, {})).data.items, [
      {
        riskLevel: 'low',
        riskReasons: ['transfer-moved'],
        chainReorgSuspected: true,
        suggestedAction: 'recheck-later',
      },
    ])
    await runTask(auditTask)
    const { data: logs } = await call('GET', auditPath)
    assertMembers(t, logs.items, [{ riskReasons: ['transfer-moved'], chainReorgSuspected: true }])
    await call('PUT', `${auditPath}/status-batch`, { ids: [logs.items[0].id], status: 'resolved' })
    await runTask(auditTask)
    t.equal(await count('web3_settlement_audit_log'), 1, 'somebody has seen it')
    move('98')
    await runTask(auditTask)
    t.equal(await count('web3_settlement_audit_log'), 2, 'it moved again')
  },
)

onDatabase(t, 'an audit checks recent payments first, others slowly, and stops at final ones', async (t: Test, at) => {
  const config = {
    'platform.money.web3.settlement.audit.limit': 5,
    'platform.money.web3.settlement.audit.older-than-minutes': 0,
    'platform.money.web3.settlement.audit.final-confirmations': 100,
  }
  const { paidOrder, world, clock, runTask, rows } = await startSettlement(t, at, { config })
  const gone = { receipt: null, canonicalBlockHash: null, transaction: null }
  const paid = async (agoMs: number, change: object = { head: 200 }) => {
    const order = await paidOrder({ status: 'success', paidAt: clock.now() - agoMs })
    const hash = String(order.transactionHash)
    world.answers.set(hash, paidChainFacts(hash, change))
    return order
  }
  const day = 86_400_000
  for (let index = 0; index < 12; index++) await paid(2 * day)
  for (let index = 0; index < 12; index++) await paid(day / 2)
  const seen = new Set<string>()
  const requested = async () => {
    world.questions.length = 0
    await runTask(auditTask)
    for (const hash of world.questions.flat()) seen.add(hash)
    return world.questions.flat().length
  }
  const fresh = await paid(minute, gone)
  t.equal(await requested(), 5)
  const found = async () =>
    (await rows('select out_trade_no from web3_settlement_audit_log')).map((row) => row['out_trade_no'])
  t.same(await found(), [fresh.outTradeNo], 'the latest payment is in the first run')
  const late = await paid(0, gone)
  t.equal(await requested(), 5)
  t.ok((await found()).includes(late.outTradeNo), 'a new payment is in the next run')
  for (let run = 0; run < 16; run++) await requested()
  t.equal(seen.size, 26, 'every order is audited')
  clock.shiftWallClock(3 * day)
  let last = 0
  for (let run = 0; run < 12; run++) last = await requested()
  t.equal(last, 2, 'only the payments at risk are asked about again')
})
