import databasePlugin, { database } from '@plinth/database'
import { assertMembers, manualClock, rejectsWith } from '@plinth/dev/testing'
import {
  onDatabase,
  onEachDatabase,
  onSqlite,
  startMigrated,
  type TestDatabase,
  watchStatements,
} from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import { definePlugin, defineProduct } from '@plinth/kernel'
import money, { ledger } from '@plinth/money'
import paymentsPlugin, {
  type PaymentOrder,
  type PaymentStatus,
  type PaymentTerms,
  paymentRefunded,
  paymentSucceeded,
  paymentSuccess,
  payments,
  type SettlementOutcome,
} from '@plinth/money/payments'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { reasonOf, userOwner } from './fixtures/product.ts'

const asset = 'wallet:cny'
const start = Date.UTC(2026, 10, 1, 12)

/** Returns a plugin with a scene whose handler writes a row and then fails, and a plugin that records events. */
function scenes() {
  const received: { readonly type: string; readonly payload: object }[] = []
  const plugin = definePlugin({
    id: 'test.scenes',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { ledger, events },
    contributes: [paymentSuccess],
    setup({ services, contribute }) {
      contribute(paymentSuccess, 'test.fails', {
        async paid({ outTradeNo, amount }) {
          const key = `test:${outTradeNo}`
          await services.ledger.credit({ owner: userOwner(1), asset, amount, key, kind: 'test.paid' })
          throw new Error('the handler fails after its posting')
        },
      })
      const hear = ({ type, payload }: { type: string; payload: object }) => void received.push({ type, payload })
      services.events.on(paymentSucceeded, 'test.listen', hear)
      services.events.on(paymentRefunded, 'test.listen', hear)
    },
  })
  return { plugin, received }
}

async function startPayments(t: Test, db: TestDatabase) {
  const clock = manualClock(start)
  const { plugin, received } = scenes()
  const plugins = [databasePlugin, eventsPlugin, money, paymentsPlugin, plugin]
  const running = await startMigrated(defineProduct({ name: 'test', plugins, config: db.config }), { clock })
  t.teardown(() => running.stop('test ended'))
  const book = running.service(ledger)
  return {
    running,
    clock,
    received,
    db: running.service(database),
    payments: running.service(payments),
    balanceOf: async (userId: number) => (await book.balance({ owner: userOwner(userId), asset })).available,
    published: async () => {
      await running.service(events).idle()
      return received.splice(0)
    },
  }
}

const recharge = (outTradeNo: string, more: Partial<PaymentTerms> = {}): PaymentTerms => ({
  outTradeNo,
  provider: 'web3',
  scene: 'recharge',
  userId: 7,
  asset,
  amount: 1_000,
  chainName: 'sepolia',
  chainId: 11155111,
  receiver: '0xreceiver',
  tokenContract: '0xtoken',
  amountRaw: (10n ** 30n).toString(),
  requiredConfirmations: 12,
  ...more,
})
const settlement = (outTradeNo: string, hash = '0xhash', more: object = {}) => ({
  outTradeNo,
  type: 'web3-settlement',
  transactionHash: hash,
  eventKey: `sepolia:${hash}:3`,
  chainName: 'sepolia',
  logOrdinal: 0,
  ...more,
})
const said = (outcome: SettlementOutcome) => (outcome.outcome === 'settled' ? 'settled' : outcome.reason)
const tally = (words: readonly string[]) => ({
  settled: words.filter((word) => word === 'settled').length,
  all: words.length,
  others: [...new Set(words.filter((word) => word !== 'settled'))],
})
const losers = ['local-order-already-paid', 'order-update-conflict', 'transaction-already-exists']

onEachDatabase(t, 'S-002 S-020 S-021 S-031 an order is created once, settled once and refunded once', async (t, db) => {
  const { payments, balanceOf, published, clock } = await startPayments(t, db)
  const made = await payments.create(recharge('R-1'))
  t.hasStrict(made, {
    outTradeNo: 'R-1',
    provider: 'web3',
    scene: 'recharge',
    userId: 7,
    asset,
    amount: 1_000,
    status: 'pending',
    chainName: 'sepolia',
    receiver: '0xreceiver',
    tokenContract: '0xtoken',
    requiredConfirmations: 12,
    amountRaw: '1000000000000000000000000000000',
    transactionHash: null,
    version: 1,
    paidAt: null,
  })
  t.same(await payments.create(recharge('R-1')), made, 'the same terms again are the same order')
  t.equal(await reasonOf(payments.create(recharge('R-1', { amount: 999 }))), '409 payment.terms-differ')
  t.equal(await reasonOf(payments.create(recharge('R-1', { receiver: '0xother' }))), '409 payment.terms-differ')
  t.equal(await reasonOf(payments.create(recharge('R-2', { scene: 'nobody' }))), '400 payment.scene-unknown')

  t.hasStrict(await payments.attachTransaction('R-1', '0xclaimed'), {
    status: 'pending',
    transactionHash: '0xclaimed',
    version: 2,
  })
  t.match(await payments.attachTransaction('R-1', '0xclaimed'), { version: 2 }, 'again is no change')
  t.equal(await balanceOf(7), 0, 'S-019 a hash alone pays nothing')
  const late = await payments.settle(settlement('R-1', '0xhash', { expectedVersion: 1 }))
  t.hasStrict(late, { outcome: 'skipped', reason: 'order-update-conflict', order: { status: 'pending' } })
  clock.shiftWallClock(5_000)
  t.hasStrict(await payments.settle(settlement('R-1', '0xhash', { expectedVersion: 2, facts: { blockNumber: 7 } })), {
    outcome: 'settled',
    order: { status: 'success', version: 3, paidAt: start + 5_000, transactionHash: '0xhash' },
  })
  t.equal(await balanceOf(7), 1_000)
  t.hasStrict(await payments.get('R-1'), { status: 'success', version: 3 })
  const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'exact' } as const
  assertMembers(t, await payments.transactions({ outTradeNo: 'R-1' }, window), {
    total: 1,
    items: [
      {
        type: 'web3-settlement',
        amount: 1_000,
        facts: { blockNumber: 7 },
        eventKey: 'sepolia:0xhash:3',
        logOrdinal: 0,
      },
    ],
  })
  t.equal(said(await payments.settle(settlement('R-1'))), 'local-order-already-paid')
  t.equal(said(await payments.settle(settlement('R-1', '0xsecond'))), 'local-order-already-paid')
  t.equal(said(await payments.settle(settlement('R-9'))), 'order-not-found')
  t.equal(await reasonOf(payments.close('R-1')), '409 payment.order-not-pending')
  t.equal(await reasonOf(payments.attachTransaction('R-1', '0xlater')), '409 payment.order-not-pending')
  t.same(await published(), [
    {
      type: 'money.payment.succeeded',
      payload: {
        outTradeNo: 'R-1',
        provider: 'web3',
        scene: 'recharge',
        asset,
        userId: 7,
        amount: 1_000,
        paidAt: start + 5_000,
      },
    },
  ])

  const refund = { outTradeNo: 'R-1', refundNo: 'B-1', amount: 400, reason: 'asked' }
  t.hasStrict(await payments.refund(refund), { replayed: false, order: { status: 'success', refundedAmount: 400 } })
  t.match(await payments.refund(refund), { replayed: true, order: { refundedAmount: 400 } })
  t.equal(await reasonOf(payments.refund({ ...refund, amount: 401 })), '409 payment.refund-differs')
  t.equal(
    await reasonOf(payments.refund({ ...refund, refundNo: 'B-2', amount: 601 })),
    '409 payment.refund-exceeds-paid',
  )
  t.hasStrict(await payments.refund({ ...refund, refundNo: 'B-3', amount: 600 }), { order: { status: 'refunded' } })
  t.equal(await reasonOf(payments.refund({ ...refund, refundNo: 'B-4', amount: 1 })), '409 payment.order-not-paid')
  t.equal(said(await payments.settle(settlement('R-1', '0xthird'))), 'order-not-settleable')
  t.equal(await balanceOf(7), 0)
  assertMembers(t, await published(), [
    { type: 'money.payment.refunded', payload: { refundNo: 'B-1', amount: 400, refundedAmount: 400 } },
    { payload: { refundNo: 'B-3', amount: 600, refundedAmount: 1_000 } },
  ])

  await payments.create(recharge('R-3'))
  t.hasStrict(await payments.close('R-3'), { status: 'closed' })
  t.hasStrict(await payments.close('R-3'), { status: 'closed', version: 2 })
  t.equal(said(await payments.settle(settlement('R-3', '0x3'))), 'order-not-settleable')
  t.equal(await balanceOf(7), 0)
})

onDatabase(t, 'S-037 S-038 each event of a chain is consumed once, and a skip writes nothing', async (t, db) => {
  const { payments, balanceOf, db: own, published } = await startPayments(t, db)
  for (const number of ['A', 'B', 'C', 'D']) await payments.create(recharge(number))
  t.equal(said(await payments.settle(settlement('A'))), 'settled')
  t.equal(said(await payments.settle(settlement('B'))), 'transaction-already-exists', 'the key of the event is taken')
  const shifted = settlement('B', '0xhash', { eventKey: 'sepolia:0xhash:4' })
  t.equal(
    said(await payments.settle(shifted)),
    'transaction-already-exists',
    'the log index moved, the event is the same',
  )
  const second = settlement('B', '0xhash', { eventKey: 'sepolia:0xhash:9', logOrdinal: 1 })
  t.equal(said(await payments.settle(second)), 'settled', 'another event of the same transaction')
  const elsewhere = settlement('C', '0xhash', { eventKey: 'mainnet:0xhash:3', chainName: 'mainnet' })
  t.equal(said(await payments.settle(elsewhere)), 'settled', 'another chain')
  await own.execute("update money_payment_order set scene = 'gone' where out_trade_no = 'D'")
  t.equal(said(await payments.settle(settlement('D', '0xd'))), 'handler-missing')
  t.hasStrict(await payments.get('D'), { status: 'pending', version: 1 })
  const rows = await own.query('select id from money_payment_transaction')
  t.equal(rows.length, 3)
  t.equal(await balanceOf(7), 3_000)
  t.equal((await published()).length, 3)
})

onDatabase(t, 'S-030 M11 a failing handler or caller leaves no order, transaction or posting behind', async (t, db) => {
  const { payments, balanceOf, db: own, published } = await startPayments(t, db)
  await payments.create(recharge('F', { scene: 'test.fails', userId: 1 }))
  await rejectsWith(t, payments.settle(settlement('F')), { message: 'the handler fails after its posting' })
  t.hasStrict(await payments.get('F'), { status: 'pending', version: 1, transactionHash: null })
  t.equal(await balanceOf(1), 0)

  await payments.create(recharge('R'))
  const settle = () => payments.settle(settlement('R'))
  const caller = own.transactional(async () => {
    t.equal(said(await settle()), 'settled')
    throw new Error('the caller fails afterwards')
  })
  await rejectsWith(t, caller, { message: 'the caller fails afterwards' })
  t.hasStrict(await payments.get('R'), { status: 'pending', version: 1 })
  t.equal(await balanceOf(7), 0)
  for (const table of ['money_payment_transaction', 'money_journal', 'money_entry']) {
    t.same(await own.query(`select id from ${table}`), [], table)
  }
  t.same(await published(), [])
  t.equal(said(await settle()), 'settled', 'the same event again')
  t.equal(await balanceOf(7), 1_000)

  await payments.create(recharge('N', { userId: undefined as never }))
  t.equal(await reasonOf(payments.settle(settlement('N', '0xn'))), '400 payment.recharge-without-user')
  await payments.create(recharge('S'))
  await payments.settle(settlement('S', '0xs'))
  await own.execute('update money_account set available = 300 where owner_id = ?', ['7'])
  const refund = { outTradeNo: 'S', refundNo: 'B', amount: 1_000 }
  t.hasStrict(await payments.refund(refund), { owed: 700, replayed: false }, 'what was spent is owed')
  t.hasStrict(await payments.refund(refund), { owed: 0, replayed: true })
  t.hasStrict(await payments.get('S'), { status: 'refunded', refundedAmount: 1_000 })
  t.equal(await balanceOf(7), 0)
})

onEachDatabase(t, 'M10 S-027 S-029 S-035 one of ten callers settles, on one instance and on two', async (t, db) => {
  const one = await startPayments(t, db)
  // On SQLite, two connections of one process would wait for each other.
  const two = db.dialect === 'sqlite' ? one : await startPayments(t, db)
  const at = (i: number) => (i % 2 === 0 ? one : two).payments
  const ten = (call: (i: number) => Promise<SettlementOutcome>) =>
    Promise.all(Array.from({ length: 10 }, (_, i) => call(i).then(said)))
  for (let round = 0; round < 5; round++) {
    const number = `M10-${round}`
    await one.payments.create(recharge(number))
    const outcomes =
      round % 2 === 0
        ? await ten((i) => at(i).settle(settlement(number, `0x${round}`)))
        : await ten((i) => at(i).settle(settlement(number, `0x${round}-${i}`)))
    t.equal(tally(outcomes).settled, 1, `round ${round}`)
    t.same(
      tally(outcomes).others.filter((word) => !losers.includes(word)),
      [],
    )
    const rows = await one.db.query('select id from money_payment_transaction where out_trade_no = ?', [number])
    t.equal(rows.length, 1)
  }
  t.equal(await one.balanceOf(7), 5_000)

  const orders = Array.from({ length: 10 }, (_, i) => `E-${i}`)
  for (const number of orders) await one.payments.create(recharge(number))
  const forOne = await ten((i) => at(i).settle(settlement(`E-${i}`, '0xshared')))
  t.same(
    tally(forOne),
    { settled: 1, all: 10, others: ['transaction-already-exists'] },
    'one event pays one of ten orders',
  )

  const paid = (await Promise.all(orders.map((number) => one.payments.get(number)))).find(
    ({ status }) => status === 'success',
  )
  const refunds = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      reasonOf(at(i).refund({ outTradeNo: paid?.outTradeNo ?? '', refundNo: `B-${i}`, amount: 300 })),
    ),
  )
  t.equal(refunds.filter((word) => word === 'done').length, 3, 'refunds never add up to more than was paid')
  const closing = await one.payments.create(recharge('CLOSE'))
  const race = await Promise.all(
    Array.from({ length: 10 }, async (_, i) =>
      i < 5
        ? reasonOf(at(i).close(closing.outTradeNo))
        : said(await at(i).settle(settlement(closing.outTradeNo, '0xclose'))),
    ),
  )
  const { status } = await one.payments.get('CLOSE')
  t.ok(status === 'success' ? race.includes('settled') && !race.includes('done') : !race.includes('settled'), status)
  t.same(await brokenRules(one.db), [])
})

interface Model {
  status: PaymentStatus
  refunded: number
}
const operations = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('close' as const) }),
    fc.record({ kind: fc.constant('attach' as const) }),
    fc.record({ kind: fc.constant('settle' as const), event: fc.integer({ min: 0, max: 2 }) }),
    fc.record({
      kind: fc.constant('refund' as const),
      no: fc.integer({ min: 0, max: 2 }),
      amount: fc.integer({ min: 1, max: 700 }),
    }),
  ),
  { maxLength: 12 },
)

onSqlite(
  t,
  'S-020 with any calls in any order, an order only moves forward and its amounts are consistent',
  async (t, db) => {
    const { payments, balanceOf, db: own } = await startPayments(t, db)
    let run = 0
    const property = fc.asyncProperty(operations, async (calls) => {
      const userId = ++run
      const number = `P-${run}`
      await payments.create(recharge(number, { userId }))
      const model: Model = { status: 'pending', refunded: 0 }
      const booked = new Map<number, number>()
      for (const call of calls) {
        if (call.kind === 'close') {
          if ((await reasonOf(payments.close(number))) === 'done') model.status = 'closed'
        } else if (call.kind === 'attach') {
          t.equal((await reasonOf(payments.attachTransaction(number, '0xa'))) === 'done', model.status === 'pending')
        } else if (call.kind === 'settle') {
          const word = said(await payments.settle(settlement(number, `0x${run}-${call.event}`)))
          if (word === 'settled') {
            if (model.status !== 'pending') return false
            model.status = 'success'
          }
        } else {
          const { no, amount } = call
          const word = await reasonOf(payments.refund({ outTradeNo: number, refundNo: `${run}-${no}`, amount }))
          const isNew = !booked.has(no)
          const fits = model.status === 'success' && model.refunded + amount <= 1_000
          if (word === 'done' && isNew) {
            if (!fits) return false
            booked.set(no, amount)
            model.refunded += amount
            if (model.refunded === 1_000) model.status = 'refunded'
          } else if ((word === 'done') !== (booked.get(no) === amount)) return false
        }
        const order = await payments.get(number)
        if (order.status !== model.status || order.refundedAmount !== model.refunded) return false
      }
      const isPaid = model.status === 'success' || model.status === 'refunded'
      return (await balanceOf(userId)) === (isPaid ? 1_000 - model.refunded : 0)
    })
    await fc.assert(property, { numRuns: 60 })
    t.same(await brokenRules(own), [])
  },
)

onSqlite(t, 'terms that a database cannot store are rejected by name', async (t, db) => {
  const { payments } = await startPayments(t, db)
  const rejected = async (call: Promise<unknown>) => {
    const error = (await call.then(
      () => ({}),
      (error: unknown) => error,
    )) as { reason?: string; data?: { field?: string } }
    return [error.reason, error.data?.field]
  }
  const bad: readonly [Partial<PaymentTerms>, string][] = [
    [{ outTradeNo: '' }, 'outTradeNo'],
    [{ outTradeNo: 'a b' }, 'outTradeNo'],
    [{ outTradeNo: 'x'.repeat(65) }, 'outTradeNo'],
    [{ provider: 'Web3' }, 'provider'],
    [{ asset: 'CNY' }, 'asset'],
    [{ amount: 0 }, 'amount'],
    [{ amount: 1.5 }, 'amount'],
    [{ amount: 2 ** 53 }, 'amount'],
    [{ amountRaw: '01' }, 'amountRaw'],
    [{ amountRaw: (2n ** 256n).toString() }, 'amountRaw'],
    [{ requiredConfirmations: 0 }, 'requiredConfirmations'],
    [{ userId: 0 }, 'userId'],
  ]
  for (const [terms, field] of bad) {
    t.same(await rejected(payments.create(recharge('R', terms))), ['payment.terms-invalid', field])
  }
  await payments.create(recharge('R', { amountRaw: (2n ** 256n - 1n).toString() }))
  t.same(await rejected(payments.settle(settlement('R', '0x', { type: 'refund' }))), ['payment.terms-invalid', 'type'])
  const large = { facts: { text: 'x'.repeat(16_385) } }
  t.same(await rejected(payments.settle(settlement('R', '0x', large))), ['payment.terms-invalid', 'facts'])
})

onEachDatabase(t, 'orders and transactions of many numbers are read with one statement each', async (t, db) => {
  const { payments, db: own } = await startPayments(t, db)
  for (let i = 0; i < 40; i++) {
    await payments.create(recharge(`M-${i}`))
    const event = { eventKey: `local:0x${i % 20}:${i}`, chainName: 'local', logOrdinal: i < 20 ? 0 : 1 }
    const facts = i === 0 ? { facts: { blockNumber: 7, notes: [null, 'a "note"'] } } : {}
    await payments.settle(settlement(`M-${i}`, `0x${i % 20}`, { ...event, ...facts }))
  }
  const orders = watchStatements(own, 'money_payment_order')
  const written = watchStatements(own, 'money_payment_transaction')
  const found = await payments.findMany(['M-3', 'nobody', 'M-1', 'M-3'])
  t.same([...found.keys()].sort(), ['M-1', 'M-3'])
  t.hasStrict(found.get('M-3'), { outTradeNo: 'M-3', status: 'success' })
  t.equal((await payments.findMany([])).size, 0)
  const paid = await payments.transactionsOf({ outTradeNos: ['M-5', 'M-4', 'nobody'] })
  t.same(
    paid.map(({ outTradeNo }) => outTradeNo),
    ['M-4', 'M-5'],
  )
  const consumed = await payments.transactionsOf({ chainName: 'local', transactionHashes: ['0x3', '0x77'] })
  assertMembers(t, consumed, [
    { outTradeNo: 'M-3', logOrdinal: 0 },
    { outTradeNo: 'M-23', logOrdinal: 1 },
  ])
  t.same(await payments.transactionsOf({ chainName: 'other', transactionHashes: ['0x3'] }), [])
  for (const [watched, work] of [
    [orders, () => payments.findMany(['M-1', 'M-2'])],
    [orders, () => payments.paidAfter('web3', 0, 5)],
    [written, () => payments.transactionsOf({ outTradeNos: ['M-4', 'M-5'] })],
    [written, () => payments.transactionsOf({ chainName: 'local', transactionHashes: ['0x3', '0x4'] })],
  ] as const) {
    const plans = await watched.plansOf(work)
    t.equal(plans.length, 1)
    for (const { sql, scans } of plans) t.same(scans, [], sql)
  }
  // Orders can be read with and without entities. Both must return the same rows.
  const window = { orderBy: [{ property: 'id', direction: 'asc' }], size: 50, offset: 0, count: 'none' } as const
  const { items: all } = await payments.list({}, window)
  const numbers = all.map(({ outTradeNo }) => outTradeNo)
  const byNumber = await payments.findMany(numbers)
  t.same(
    numbers.map((number) => byNumber.get(number)),
    all,
  )
  const { items: transactions } = await payments.transactions({}, window)
  t.same(await payments.transactionsOf({ outTradeNos: numbers }), transactions)
  t.same(transactions[0]?.facts, { blockNumber: 7, notes: [null, 'a "note"'] })

  await payments.create(recharge('M-unpaid'))
  await payments.create(recharge('M-other', { provider: 'test' }))
  await payments.settle(settlement('M-other', '0x99'))
  const walked: PaymentOrder[] = []
  for (let part = 0; part < 3; part++) walked.push(...(await payments.paidAfter('web3', walked.at(-1)?.id ?? 0, 16)))
  t.same(walked, all, 'every order that is paid, in the order of the ids')
  for (const limit of [0, 1.5, 201, Number.NaN]) await t.rejects(payments.paidAfter('web3', 0, limit), RangeError)
  const many = Array.from({ length: 201 }, (_, index) => `M-${index}`)
  await t.rejects(payments.findMany(many), RangeError)
  await t.rejects(payments.transactionsOf({ outTradeNos: many }), RangeError)
})

onEachDatabase(t, 'lists of payments use an index with every filter', async (t, db) => {
  const { payments, db: own } = await startPayments(t, db)
  for (let i = 0; i < 60; i++) {
    await payments.create(recharge(`L-${i}`, { userId: 1 + (i % 5), provider: i % 3 === 0 ? 'test' : 'web3' }))
    if (i % 2 === 0) await payments.settle(settlement(`L-${i}`, `0x${i}`))
  }
  const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 5, offset: 0, count: 'none' } as const
  const orders = watchStatements(own, 'money_payment_order')
  for (const filter of [
    {},
    { status: 'success' as const },
    { provider: 'web3' },
    { provider: 'test', status: 'pending' as const },
    { userId: 3 },
    { userId: 3, status: 'success' as const },
  ]) {
    const plans = await orders.plansOf(() => payments.list(filter, window))
    t.ok(plans.length > 0)
    // Without a filter, the first rows are read in the order of the primary key.
    for (const { sql, scans, sorts } of plans) t.notOk(sorts || (scans.length > 0 && sql.includes(' where ')), sql)
  }
  const written = watchStatements(own, 'money_payment_transaction')
  for (const filter of [{}, { outTradeNo: 'L-2' }, { type: 'web3-settlement' }]) {
    const plans = await written.plansOf(() => payments.transactions(filter, window))
    t.ok(plans.length > 0)
    for (const { sql, scans, sorts } of plans) t.notOk(sorts || (scans.length > 0 && sql.includes(' where ')), sql)
  }
})
