/** Tests automatic actions: overdue reviews, retries and their notices. */
import { approvals } from '@plinth/approval'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite } from '@plinth/dev/testing/database'
import type { PaymentOrder } from '@plinth/money/payments'
import schedulerPlugin, { scheduler } from '@plinth/scheduler'
import t, { type Test } from 'tap'
import { settlementNotExecuted } from '../src/contract.ts'
import { explorerUrlOf } from '../src/notices/notices.ts'
import { PayerProofs } from '../src/payer-proofs.ts'
import { paidChainFacts, SettlementDoubles } from './fixtures/doubles.ts'
import { reviewPath, startSettlement } from './fixtures/product.ts'

const minute = 60_000
const auto = 'platform.money.web3.settlement.review.auto'
const retry = 'platform.money.web3.settlement.retry'
const retryTask = 'money.web3.payment-settlement.retry'
const overdueTask = 'money.web3.payment-settlement-review.auto-handle'

const sqlite = await createDatabase('sqlite')
t.teardown(() => sqlite.drop())
/** Tests that need only one instance and SQLite share this product. Each of them deletes the data of earlier tests. */
const shared = await startSettlement(t, sqlite)

onDatabase(
  t,
  'S-043 S-044 S-045 S-046 S-053 overdue reviews are approved and settled, others wait',
  async (t: Test, at) => {
    const { paidOrder, save, call, clock, statusOf, rows, runTask } = await startSettlement(t, at)
    const old = await paidOrder()
    const { data: review } = await save(old.outTradeNo)
    const noted = await paidOrder()
    await save(noted.outTradeNo, { action: 'record' })
    clock.shiftWallClock(20 * minute)
    const young = await paidOrder()
    await save(young.outTradeNo)
    clock.shiftWallClock(10 * minute)
    const { data } = await call('POST', `${reviewPath}/auto-handle-expired`)
    assertMembers(t, data, {
      handled: 1,
      executed: 1,
      items: [{ reviewLogId: review.id, action: 'auto-approve', reason: null, result: { outcome: 'settled' } }],
    })
    t.equal(await statusOf(old.outTradeNo), 'success')
    t.equal(await statusOf(young.outTradeNo), 'pending', 'half an hour is not over')
    t.equal(await statusOf(noted.outTradeNo), 'pending', 'a note asks for nothing')
    assertMembers(
      t,
      await rows(`select action, status from web3_settlement_review_log where out_trade_no = 'order-1' order by id`),
      [
        { action: 'settle', status: 'approved' },
        { action: 'auto-approve', status: 'settled' },
        { action: 'settle', status: 'settled' },
      ],
    )
    const approvals = await rows(`select action from approval_instance where source_id = '${review.id}'`)
    t.same(approvals, [{ action: 'timeout-approve' }])
    t.match((await call('POST', `${reviewPath}/auto-handle-expired`)).data, { handled: 0 }, 'once')
    clock.shiftWallClock(20 * minute)
    await runTask(overdueTask)
    t.equal(await statusOf(young.outTradeNo), 'success', 'the task does the same')
  },
)

t.test('S-045 an overdue review is rejected if configured', async (t) => {
  await shared.reset({ [`${auto}.action`]: 'auto-reject' })
  const { paidOrder, save, settle, call, clock, statusOf, rows } = shared
  const { outTradeNo } = await paidOrder()
  const { data: review } = await save(outTradeNo)
  clock.shiftWallClock(31 * minute)
  const { data } = await call('POST', `${reviewPath}/auto-handle-expired`)
  assertMembers(t, data, { handled: 1, executed: 0, items: [{ action: 'auto-reject', result: null }] })
  t.equal(await statusOf(outTradeNo), 'pending')
  assertMembers(t, await rows('select action, status from web3_settlement_review_log order by id'), [
    { action: 'settle', status: 'rejected' },
    { action: 'auto-reject', status: 'rejected' },
  ])
  t.hasStrict(await settle(review.id), { code: '409', data: { reason: 'approval.state-not-allowed' } })
})

t.test('S-046 S-047 an approval alone executes nothing, and a run handles a limited number', async (t) => {
  await shared.reset({
    [`${auto}.execute-approved`]: false,
    [`${auto}.limit`]: 2,
    [`${auto}.timeout`]: '10m',
  })
  const { paidOrder, save, call, clock, count, runTask } = shared
  for (let index = 0; index < 3; index++) await save((await paidOrder()).outTradeNo)
  clock.shiftWallClock(11 * minute)
  const first = (await call('POST', `${reviewPath}/auto-handle-expired`)).data
  assertMembers(t, first, { handled: 2, executed: 0, items: [{ result: null }, { result: null }] })
  t.equal(first.items.length, 2)
  t.match((await call('POST', `${reviewPath}/auto-handle-expired`)).data, { handled: 1 })
  clock.shiftWallClock(11 * minute)
  await runTask(retryTask)
  t.equal(await count('money_payment_transaction'), 0)
  t.equal(await count('web3_payment_callback_log'), 0)
  const { data } = await call('GET', `${reviewPath}?retryable=true`)
  t.equal(data.total, 3, 'an operator may settle them')
})

t.test('the handling of overdue reviews can be disabled', async (t) => {
  await shared.reset({ [`${auto}.enabled`]: false })
  const { paidOrder, save, call, clock } = shared
  await save((await paidOrder()).outTradeNo)
  clock.shiftWallClock(31 * minute)
  t.match((await call('POST', `${reviewPath}/auto-handle-expired`)).data, { handled: 0 })
})

t.test('S-048 S-074 S-075 a failed automatic settlement is reported, without secrets', async (t) => {
  await shared.reset({})
  const { paidOrder, save, call, clock, world, log, mail, reported, rows } = shared
  const { outTradeNo, transactionHash } = await paidOrder()
  await save(outTradeNo)
  world.answers.set(String(transactionHash), () => {
    throw new Error('connect ECONNREFUSED https://mainnet.example/v3/0123456789abcdef')
  })
  clock.shiftWallClock(31 * minute)
  const { data } = await call('POST', `${reviewPath}/auto-handle-expired`)
  assertMembers(t, data, { executed: 0, items: [{ reason: 'rpc-query-failed', result: { outcome: 'skipped' } }] })
  await reported()
  t.equal(log.sent.length, 1)
  t.equal(mail.sent.length, 0)
  t.equal(log.sent[0]?.subject, 'Web3 payment settlement failed')
  const notice = JSON.stringify(log.sent)
  for (const part of [
    outTradeNo,
    'local',
    String(transactionHash),
    'rpc-query-failed',
    'https://explorer.example/tx/',
  ]) {
    t.ok(notice.includes(part), `the notice names ${part}`)
  }
  const kept = JSON.stringify([
    notice,
    data,
    await rows('select reasons, plan_snapshot from web3_settlement_review_log'),
  ])
  t.notMatch(kept, /mainnet\.example|0123456789abcdef|ECONNREFUSED/)
})

t.test('S-049 a notice is sent through the configured channels to the configured recipients', async (t) => {
  await shared.reset({
    [`${auto}.failure-notification.channels`]: ['mail'],
    [`${auto}.failure-notification.subject`]: 'Look here',
    [`${auto}.failure-notification.recipient-type`]: 'email',
    [`${auto}.failure-notification.recipient-value`]: 'ops@example.org',
  })
  const { paidOrder, save, call, clock, world, log, mail, reported } = shared
  const { outTradeNo, transactionHash } = await paidOrder()
  await save(outTradeNo)
  world.answers.set(String(transactionHash), undefined)
  clock.shiftWallClock(31 * minute)
  await call('POST', `${reviewPath}/auto-handle-expired`)
  await reported()
  t.equal(log.sent.length, 0)
  assertMembers(t, mail.sent, [{ subject: 'Look here', recipients: [{ kind: 'email', address: 'ops@example.org' }] }])
})

t.test('S-049 no notice is sent if notices are disabled or the channel is not loaded', async (t) => {
  const { paidOrder, save, call, clock, log, reported, lines } = shared
  for (const [config, expected] of [
    [{ [`${auto}.failure-notification.enabled`]: false }, 0],
    [{ [`${auto}.failure-notification.channels`]: ['pigeon'] }, 1],
  ] as const) {
    await shared.reset(config)
    const { outTradeNo } = await paidOrder({ chainName: 'unknown' })
    await save(outTradeNo)
    clock.shiftWallClock(31 * minute)
    t.match((await call('POST', `${reviewPath}/auto-handle-expired`)).data, { handled: 1, executed: 0 })
    await reported()
    t.equal(log.sent.length, 0)
    const logged = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg?.includes('could not be sent'))
    const problem = { level: 40, reason: 'notification.channel-unknown', event: settlementNotExecuted.id }
    assertMembers(t, logged, expected === 0 ? [] : [problem])
  }
})

t.test('a notice links to the explorer of the chain, if the chain has one', (t) => {
  const hash = '0xab'
  for (const [explorerTransactionUrl, transactionHash, expected] of [
    ['https://explorer.example/tx', hash, 'https://explorer.example/tx/0xab'],
    ['https://explorer.example/tx/', hash, 'https://explorer.example/tx/0xab'],
    ['https://explorer.example/{hash}?of={hash}', hash, 'https://explorer.example/0xab?of=0xab'],
    ['https://explorer.example/tx', null, null],
    ['', hash, null],
    [null, hash, null],
  ] as const) {
    t.equal(explorerUrlOf({ explorerTransactionUrl }, transactionHash), expected)
  }
  t.equal(explorerUrlOf(undefined, hash), null)
  t.end()
})

t.test('a customer signs a message with the order, the chain and the receiver of the payment', async (t) => {
  const messageOf = (order: Pick<PaymentOrder, 'chainId' | 'receiver'>) =>
    new PayerProofs({ payments: { get: async () => order } } as never).payerMessage('order-1')
  const receiver = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045'
  const begin = 'I send the payment of order order-1 from this address.\n\n'
  t.equal(
    await messageOf({ chainId: 8453, receiver }),
    `${begin}Chain ID: 8453\nReceiver: 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045`,
  )
  t.equal(await messageOf({ chainId: null, receiver: null }), `${begin}Chain ID: -\nReceiver: -`)
})

onDatabase(t, 'an automatic retry needs the permission of the user who saved the review', async (t, at) => {
  const { paidOrder, save, settle, clock, world, db, rows, runTask, statusOf } = await startSettlement(t, at)
  const { outTradeNo, transactionHash } = await paidOrder()
  const hash = String(transactionHash)
  const { data: review } = await save(outTradeNo)
  world.answers.set(hash, paidChainFacts(hash, { head: 11 }))
  await settle(review.id)
  world.answers.set(hash, paidChainFacts(hash))
  await db.execute('update web3_settlement_review_log set permission_snapshot = ?', ['[]'])
  clock.shiftWallClock(6 * minute)
  await runTask(retryTask)
  t.equal(await statusOf(outTradeNo), 'pending')
  const attempts = await rows('select started_by, outcome from web3_payment_callback_log order by id')
  assertMembers(t, attempts.at(-1), { started_by: 'auto-retry', outcome: 'skipped' })
})

onDatabase(
  t,
  'S-051 S-081 automatic retries are counted for each order and fingerprint, and end',
  async (t: Test, at) => {
    const { paidOrder, save, settle, clock, world, rows, runTask, call, log, reported } = await startSettlement(t, at, {
      config: { [`${retry}.max-attempts`]: 2 },
    })
    const { outTradeNo, transactionHash } = await paidOrder()
    const hash = String(transactionHash)
    const { data: review } = await save(outTradeNo)
    world.answers.set(hash, paidChainFacts(hash, { head: 11 }))
    await settle(review.id)
    for (let round = 0; round < 4; round++) {
      clock.shiftWallClock(6 * minute)
      await runTask(retryTask)
    }
    const logs = await rows(
      `select action, status, source_log_id, review_fingerprint from web3_settlement_review_log order by id`,
    )
    assertMembers(
      t,
      logs.map(({ action }) => action),
      ['settle', 'auto-retry', 'auto-retry'],
    )
    t.ok(logs.every(({ review_fingerprint }) => review_fingerprint === review.reviewFingerprint))
    assertMembers(t, await rows('select attempts from web3_settlement_retry'), [{ attempts: 2 }])
    await reported()
    t.equal(log.sent.length, 2, 'each of them is told')

    const again = (await save(outTradeNo)).data
    await settle(again.id)
    clock.shiftWallClock(6 * minute)
    await runTask(retryTask)
    t.equal(
      (await rows(`select id from web3_settlement_review_log where action = 'auto-retry'`)).length,
      2,
      'the same order and fingerprint',
    )

    const other = await paidOrder({}, { error: 'timeout' })
    world.answers.set(String(other.transactionHash), paidChainFacts(String(other.transactionHash)))
    const { data: second } = await save(other.outTradeNo)
    world.answers.set(String(other.transactionHash), { error: 'timeout' })
    assertMembers(t, (await settle(second.id)).data, { reasons: ['rpc-query-failed'] })
    world.answers.set(String(other.transactionHash), paidChainFacts(String(other.transactionHash)))
    clock.shiftWallClock(6 * minute)
    await runTask(retryTask)
    t.hasStrict((await call('GET', `${reviewPath}/${second.id}`)).data, { status: 'settled', retryAt: null })
  },
)

t.test('S-051 nothing is retried if retries are disabled or if time does not solve the problem', async (t) => {
  await shared.reset({ [`${retry}.enabled`]: false })
  const { paidOrder, save, settle, clock, world, rows, runTask } = shared
  const { outTradeNo, transactionHash } = await paidOrder()
  const hash = String(transactionHash)
  const { data: review } = await save(outTradeNo)
  world.answers.set(hash, { error: 'timeout' })
  await settle(review.id)
  t.not((await rows('select retry_at from web3_settlement_review_log'))[0]?.['retry_at'], null)
  world.answers.set(hash, paidChainFacts(hash))
  clock.shiftWallClock(6 * minute)
  await runTask(retryTask)
  t.equal((await rows('select id from web3_payment_callback_log')).length, 1)
  world.answers.set(hash, paidChainFacts(hash, { receipt: { status: 'reverted', logs: [] } }))
  await settle(review.id)
  t.equal((await rows('select retry_at from web3_settlement_review_log'))[0]?.['retry_at'], null, 'that will not pass')
})

onDatabase(t, 'S-044 two instances handle each overdue review and each retry once', async (t: Test, at) => {
  const world = new SettlementDoubles()
  const one = await startSettlement(t, at, { world })
  const other = await startSettlement(t, at, { world, clock: one.clock, isFirst: false })
  for (let index = 0; index < 6; index++) await one.save((await one.paidOrder()).outTradeNo)
  one.clock.shiftWallClock(31 * minute)
  await Promise.all([one, other, one].map((instance) => instance.call('POST', `${reviewPath}/auto-handle-expired`)))
  const [approved] = await one.rows(
    `select count(*) as n from web3_settlement_review_log where action = 'auto-approve'`,
  )
  t.equal(Number(approved?.['n']), 6)
  for (const table of ['money_payment_transaction', 'test_effect']) t.equal(await one.count(table), 6, table)

  const races = await one.paidOrder()
  const { data: review } = await one.save(races.outTradeNo)
  one.clock.shiftWallClock(31 * minute)
  await Promise.all([
    one.settle(review.id),
    other.call('POST', `${reviewPath}/auto-handle-expired`),
    other.call('POST', `${reviewPath}/retry-batch`, { ids: [review.id] }),
  ])
  await one.runTask(retryTask)
  one.clock.shiftWallClock(6 * minute)
  await Promise.all([one.runTask(retryTask), other.runTask(retryTask)])
  for (const table of ['money_payment_transaction', 'test_effect']) t.equal(await one.count(table), 7, table)
})

onDatabase(t, 'S-051 a retry settles nothing that was rejected after it was claimed', async (t: Test, at) => {
  const config = { [`${auto}.action`]: 'auto-reject' }
  const world = new SettlementDoubles()
  const one = await startSettlement(t, at, { world, config })
  const other = await startSettlement(t, at, { world, config, clock: one.clock, isFirst: false })
  const { outTradeNo, transactionHash } = await one.paidOrder()
  const { data: review } = await one.save(outTradeNo)
  const hash = String(transactionHash)
  world.answers.set(hash, { error: 'timeout' })
  await one.settle(review.id)
  world.answers.set(hash, paidChainFacts(hash))
  one.clock.shiftWallClock(31 * minute)

  const guard = one.running.service(approvals)
  const assert = guard.assert.bind(guard)
  const isApproved = Promise.withResolvers<void>()
  const goesOn = Promise.withResolvers<void>()
  guard.assert = async (request) => {
    const approved = await assert(request)
    isApproved.resolve()
    await goesOn.promise
    return approved
  }
  const retried = one.runTask(retryTask)
  await isApproved.promise
  t.match((await other.call('POST', `${reviewPath}/auto-handle-expired`)).data, { handled: 1, executed: 0 })
  goesOn.resolve()
  await retried
  t.equal(await one.statusOf(outTradeNo), 'pending')
  t.equal(await one.count('test_effect'), 0)
  t.hasStrict((await one.call('GET', `${reviewPath}/${review.id}`)).data, { status: 'rejected', retryAt: null })
})

onDatabase(t, 'S-051 a review that another instance has retried in the meantime waits again', async (t: Test, at) => {
  const world = new SettlementDoubles()
  const one = await startSettlement(t, at, { world })
  const other = await startSettlement(t, at, { world, clock: one.clock, isFirst: false })
  const hashes: string[] = []
  for (let index = 0; index < 2; index++) {
    const { outTradeNo, transactionHash } = await one.paidOrder()
    hashes.push(String(transactionHash))
    const { data: review } = await one.save(outTradeNo)
    world.answers.set(String(transactionHash), { error: 'timeout' })
    await one.settle(review.id)
    one.clock.shiftWallClock(1_000)
  }
  one.clock.shiftWallClock(6 * minute)
  const isAsked = Promise.withResolvers<void>()
  const answers = Promise.withResolvers<void>()
  world.answers.set(String(hashes[0]), async () => {
    isAsked.resolve()
    await answers.promise
    return { error: 'timeout' }
  })
  const slow = other.runTask(retryTask)
  await isAsked.promise
  await one.runTask(retryTask)
  answers.resolve()
  await slow
  assertMembers(t, await one.rows('select attempts from web3_settlement_retry order by id'), [
    { attempts: 1 },
    { attempts: 1 },
  ])
  t.equal((await one.rows(`select id from web3_settlement_review_log where action = 'auto-retry'`)).length, 2)
})

t.test('S-052 the list shows the reviews that can be retried, by the current fingerprint of the order', async (t) => {
  await shared.reset({})
  const { paidOrder, save, settle, call, world, db } = shared
  const orders: Awaited<ReturnType<typeof paidOrder>>[] = []
  for (let index = 0; index < 6; index++) orders.push(await paidOrder())
  const [changed, paid, short, noted, ...open] = orders
  for (const one of [changed, paid, ...open]) await save(String(one?.outTradeNo))
  const hash = String(short?.transactionHash)
  world.answers.set(hash, paidChainFacts(hash, { head: 10 }))
  await save(String(short?.outTradeNo))
  await save(String(noted?.outTradeNo), { action: 'record' })
  const list = async (query = '') => (await call('GET', `${reviewPath}?retryable=true${query}`)).data
  t.equal((await list()).total, 4, 'neither the one that confirms nor the note')
  await settle((await list(`&outTradeNo=${paid?.outTradeNo}`)).items[0].id)
  t.equal((await list()).total, 3)
  await db.execute('update money_payment_order set amount_raw = ? where out_trade_no = ?', [
    '2000000',
    String(changed?.outTradeNo),
  ])
  const left = await list()
  t.equal(left.total, 2, 'the order asks for another amount now')
  t.same(
    left.items.map(({ outTradeNo }: { outTradeNo: string }) => outTradeNo),
    open.map(({ outTradeNo }) => outTradeNo).reverse(),
  )
  const first = await list('&size=1')
  assertMembers(t, first, { total: 2, items: [{ outTradeNo: open[1]?.outTradeNo }] })
  const second = await list(`&size=1&cursor=${encodeURIComponent(first.next)}`)
  assertMembers(t, second, { next: null, items: [{ outTradeNo: open[0]?.outTradeNo }] })
  assertMembers(t, (await list('&size=1&page=2')).items, [{ outTradeNo: open[0]?.outTradeNo }])
  const condition = (...numbers: unknown[]) => `&filter=${encodeURIComponent(`outTradeNo:in:${numbers.join(',')}`)}`
  assertMembers(t, await list(condition(open[0]?.outTradeNo)), {
    total: 1,
    items: [{ outTradeNo: open[0]?.outTradeNo }],
  })
  t.equal((await list(condition(paid?.outTradeNo, changed?.outTradeNo))).total, 0, 'a filter applies, too')
  t.equal((await call('GET', `${reviewPath}?size=3`)).data.items.length, 3)
  const counted = async (query: string) => (await call('GET', `${reviewPath}?size=1&${query}`)).data?.total
  const { items } = (await call('GET', `${reviewPath}?size=100`)).data
  const byStatus = Map.groupBy(items as { status: string }[], ({ status }) => status)
  t.ok(byStatus.size >= 3, 'some are open, settled and noted')
  for (const [status, logs] of byStatus) t.equal(await counted(`status=${status}`), logs.length, status)
  t.equal(await counted('retryable=true&status=open'), 2)
  t.equal(await counted(`status=open&outTradeNo=${paid?.outTradeNo}`), 0)
  t.hasStrict(await call('GET', `${reviewPath}?status=shut`), { code: '400' })
})

onSqlite(
  t,
  'S-050 S-061 the tasks are registered at the start, with the names and delays of the document',
  async (t: Test, at) => {
    const { running } = await startSettlement(t, at, { plugins: [schedulerPlugin] })
    const tasks = running.service(scheduler)
    t.match(await tasks.get(overdueTask), { autoStartup: true, fixedDelayMs: 5 * minute })
    t.match(await tasks.get('money.web3.payment-settlement.audit'), { autoStartup: true, fixedDelayMs: 30 * minute })
    t.match(await tasks.get(retryTask), { autoStartup: true, fixedDelayMs: 5 * minute })
  },
)

onSqlite(t, 'S-050 S-061 tasks have the names that the product configures', async (t: Test, at) => {
  const config = {
    [`${auto}.task-name`]: 'reviews',
    [`${retry}.task-name`]: 'retries',
    'platform.money.web3.settlement.audit.task-name': 'audits',
  }
  const { running } = await startSettlement(t, at, { plugins: [schedulerPlugin], config })
  const names = (await running.service(scheduler).list()).map(({ name }) => name)
  for (const name of ['reviews', 'retries', 'audits']) t.ok(names.includes(name), name)
  const audit = 'platform.money.web3.settlement.audit.task-name'
  const verify = (name: string) => running.config.verify(audit, name, new AbortController().signal)
  t.match(await verify('retries'), {
    outcome: /^refused$/,
    reason: /"retries".*platform\.money\.web3\.settlement\.retry/,
  })
  for (const name of ['bad name\n!', '', 'Audits', 'a..b', '-a']) {
    t.match(await verify(name), { outcome: /^refused$/, reason: /^must / }, JSON.stringify(name))
  }
  t.same(await verify('audits.nightly-2'), { outcome: 'verified' })
})
