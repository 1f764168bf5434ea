/** Tests how operators refund and close payment orders. */
import { database } from '@plinth/database'
import { onEachDatabase } from '@plinth/database/testing'
import { definePlugin } from '@plinth/kernel'
import { assertMembers } from '@plinth/kernel/testing'
import { ledger } from '@plinth/money'
import { paymentSuccess } from '@plinth/money/payments'
import t from 'tap'
import { startBackOffice } from './fixtures/back-office.ts'

const hash = `0x${'ab'.repeat(32)}`
/** Hash of the chain transaction that pays the order. */
const paidBy = `0x${'cd'.repeat(32)}`

/** A plugin that handles the refunds of its own orders. */
const shop = definePlugin({
  id: 'test.shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [paymentSuccess],
  setup({ contribute }) {
    contribute(paymentSuccess, 'shop', { paid: async () => {}, refundsItself: true })
  },
})

onEachDatabase(t, 'operators record refunds and close payment orders, with a preview and an audit', async (t, db) => {
  const { running, book, ...office } = await startBackOffice(t, db, { plugins: [shop] })
  const admin = (path: string, body: object) => office.admin(`payment-orders/${path}`, body)
  const ann = (path: string, body: object) => office.ann(`payment-orders/${path}`, body)
  const terms = { provider: 'bank', scene: 'recharge', userId: 7, asset: 'wallet:cny', amount: 1_500 }
  for (const [outTradeNo, more] of [
    ['R-1', {}],
    ['R-2', {}],
    ['C-1', { provider: 'web3', chainName: 'sepolia' }],
    ['S-1', { scene: 'shop' }],
  ] as const) {
    await book.create({ ...terms, ...more, outTradeNo })
    const transactionHash = outTradeNo === 'C-1' ? paidBy : `T-${outTradeNo}`
    if (outTradeNo !== 'R-2') await book.settle({ outTradeNo, type: 'test', transactionHash })
  }
  const balance = async () =>
    (await running.service(ledger).balance({ owner: { type: 'user', id: '7' }, asset: 'wallet:cny' })).available
  const trail = async () => {
    const rows = await running
      .service(database)
      .query<{ action: string; reason: string }>(
        `select action, reason from iam_audit where action like 'payment-order.%' order by id`,
      )
    return rows.map(({ action, reason }) => `${action} ${reason}`)
  }
  const reason = 'Sent twice'

  await t.test('each operation needs a permission and a reason', async (t) => {
    for (const action of ['refund', 'refund/preview', 'close', 'close/preview']) {
      t.equal((await ann(`R-1/${action}`, { reason })).code, '403', action)
    }
    t.equal((await admin('R-1/refund', { amount: 1 })).code, '400')
    t.equal((await admin('R-2/close', {})).code, '400')
    t.equal((await admin('none/refund', { reason })).data.reason, 'payment.order-unknown')
  })

  await t.test('a refund is recorded in parts, never more than the paid amount', async (t) => {
    const preview = await admin('R-1/refund/preview', { amount: 500 })
    t.match(preview.data, {
      amount: 500,
      refundedBefore: 0,
      refundedAfter: 500,
      statusAfter: 'success',
      possible: true,
    })
    t.equal(await balance(), 3_000, 'a preview changes nothing')
    t.hasStrict(await admin('R-1/refund', { amount: 500, transactionHash: 'B-1', reason }), {
      code: '200',
      data: { status: 'success', refundedAmount: 500 },
    })
    await admin('R-1/refund', { amount: 500, transactionHash: 'B-1', reason })
    t.equal(await balance(), 2_500, 'a number is booked once')
    t.hasStrict(await admin('R-1/refund', { amount: 1_001, reason }), {
      data: { reason: 'payment.refund-exceeds-paid' },
    })
    t.match((await admin('R-1/refund/preview', { amount: 1_001 })).data, {
      possible: false,
      blockedBy: 'refund-exceeds-paid',
    })
    t.match((await admin('R-1/refund/preview', {})).data, { amount: 1_000, statusAfter: 'refunded' })
    t.hasStrict(await admin('R-1/refund', { reason }), { data: { status: 'refunded', refundedAmount: 1_500 } })
    t.hasStrict(await admin('R-1/refund', { reason }), { code: '409', data: { reason: 'payment.order-not-paid' } })
    t.same(await trail(), Array(2).fill(`payment-order.refund ${reason}`))
  })

  await t.test('a refund on a chain was made elsewhere, so its hash is required', async (t) => {
    t.match((await admin('C-1/refund/preview', {})).data, { transactionRequired: true, possible: true })
    for (const transactionHash of [undefined, 'B-2', '0x12', paidBy]) {
      t.hasStrict(await admin('C-1/refund', { reason, transactionHash }), {
        code: '400',
        data: { reason: 'payment.refund-hash-needed', field: 'transactionHash' },
      })
    }
    t.hasStrict(await admin('C-1/refund', { reason, transactionHash: hash.toUpperCase().replace('0X', '0x') }), {
      code: '200',
      data: { status: 'refunded' },
    })
    const { items } = await book.transactions(
      { outTradeNo: 'C-1', type: 'refund' },
      { orderBy: [{ property: 'id', direction: 'asc' }], size: 5, offset: 0, count: 'none' },
    )
    assertMembers(t, items, [{ transactionHash: hash, amount: 1_500 }])
  })

  await t.test('refunds of a module that makes its own refunds are not recorded here', async (t) => {
    t.match((await admin('S-1/refund/preview', {})).data, { possible: false, blockedBy: 'refund-elsewhere' })
    t.hasStrict(await admin('S-1/refund', { reason }), { code: '409', data: { reason: 'payment.refund-elsewhere' } })
  })

  await t.test('only an unpaid order is closed', async (t) => {
    t.match((await admin('R-2/close/preview', {})).data, {
      statusBefore: 'pending',
      statusAfter: 'closed',
      possible: true,
    })
    t.match((await admin('S-1/close/preview', {})).data, { possible: false, blockedBy: 'order-not-pending' })
    t.hasStrict(await admin('S-1/close', { reason }), { code: '409', data: { reason: 'payment.order-not-pending' } })
    for (let times = 0; times < 2; times++) {
      t.hasStrict(await admin('R-2/close', { reason }), { code: '200', data: { status: 'closed' } })
    }
    t.equal((await trail()).filter((one) => one === `payment-order.close ${reason}`).length, 1)
  })
})
