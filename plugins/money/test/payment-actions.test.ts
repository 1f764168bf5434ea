/** Tests how operators refund and close payment orders. */
import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { definePlugin } from '@plinth/kernel'
import { ledger } from '@plinth/money'
import { paymentSuccess, type RefundQuery, refundVerifier } from '@plinth/money/payments'
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

/** A plugin that takes refunded units back, in the asset of the order. */
const vouchers = definePlugin({
  id: 'test.vouchers',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { ledger },
  contributes: [paymentSuccess],
  setup({ services, contribute }) {
    contribute(paymentSuccess, 'voucher', {
      paid: async () => {},
      async refunded({ asset, outTradeNo }, { refundNo, amount }) {
        const key = `${outTradeNo}:${refundNo}`
        await services.ledger.debit({ owner: { type: 'user', id: '9' }, asset, amount, key, kind: 'test.voucher' })
      },
    })
  },
})

/** Receivers and amounts of the refunds that the chain was queried for. */
const queries: Pick<RefundQuery, 'transactionHash' | 'amount' | 'receiver'>[] = []

/** A plugin with a chain on which each transaction is a refund. */
const chain = definePlugin({
  id: 'test.chain',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [refundVerifier],
  setup({ contribute }) {
    contribute(refundVerifier, 'web3', {
      async find({ transactionHash, amount, receiver }) {
        queries.push({ transactionHash, amount, receiver })
        return { outcome: 'found', transfers: [{ chainName: 'sepolia', logOrdinal: 3, facts: { from: '0x1' } }] }
      },
    })
  },
})

onDatabase(t, 'operators record refunds and close payment orders, with a preview and an audit', async (t, db) => {
  const { running, book, ...office } = await startBackOffice(t, db, { plugins: [shop, chain, vouchers] })
  const admin = (path: string, body: object) => office.admin(`payment-orders/${path}`, body)
  const ann = (path: string, body: object) => office.ann(`payment-orders/${path}`, body)
  const terms = { provider: 'bank', scene: 'recharge', userId: 7, asset: 'wallet:cny', amount: 1_500 }
  for (const [outTradeNo, more] of [
    ['R-1', {}],
    ['R-2', {}],
    ['R-3', { userId: 8 }],
    ['R-4', { userId: 8 }],
    ['C-1', { provider: 'web3', chainName: 'sepolia' }],
    ['S-1', { scene: 'shop' }],
    ['V-1', { scene: 'voucher' }],
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
    queries.length = 0
    for (const transactionHash of [undefined, 'B-2', '0x12']) {
      t.hasStrict(await admin('C-1/refund', { reason, transactionHash }), {
        code: '400',
        data: { reason: 'payment.refund-hash-needed', field: 'transactionHash' },
      })
    }
    t.hasStrict(await admin('C-1/refund', { reason, transactionHash: paidBy }), {
      code: '409',
      data: { reason: 'payment.refund-is-payment' },
    })
    for (let times = 0; times < 2; times++) {
      const body = { reason, transactionHash: hash.toUpperCase().replace('0X', '0x'), receiver: '0x2' }
      t.hasStrict(await admin('C-1/refund', body), { code: '200', data: { status: 'refunded' } })
    }
    t.strictSame(
      queries,
      [{ transactionHash: hash, amount: 1_500, receiver: '0x2' }],
      'a recorded refund is not checked',
    )
    const { items } = await book.transactions(
      { outTradeNo: 'C-1', type: 'refund' },
      { orderBy: [{ property: 'id', direction: 'asc' }], size: 5, offset: 0, count: 'none' },
    )
    assertMembers(t, items, [{ transactionHash: hash, amount: 1_500, chainName: 'sepolia', logOrdinal: 3 }])
  })

  await t.test('a recharge that was spent is refunded, and the user owes the rest', async (t) => {
    const books = running.service(ledger)
    const account = { owner: { type: 'user', id: '8' }, asset: 'wallet:cny' }
    const { accountId } = await books.debit({ ...account, amount: 2_900, key: 'spent', kind: 'test.spend' })
    const state = async () => {
      const { data } = await office.admin(`accounts/${accountId}`)
      return [data.available, data.owed]
    }
    const bodies = { 'R-3': { reason }, 'R-4': { reason, recoverLater: true } }
    for (const [outTradeNo, owed] of Object.entries({ 'R-3': 1_400, 'R-4': 1_500 })) {
      const preview = (await admin(`${outTradeNo}/refund/preview`, {})).data
      t.match(preview, { possible: true, statusAfter: 'refunded', owed }, outTradeNo)
      const refunded = await admin(`${outTradeNo}/refund`, bodies[outTradeNo as keyof typeof bodies])
      t.hasStrict(refunded, { code: '200', data: { status: 'refunded' } })
    }
    t.same(await state(), [0, 2_900], 'the balance never becomes negative')
    const found = await office.admin(`debts?accountId=${accountId}`)
    assertMembers(t, found.data.items, [
      { owed: 1_500, shortfall: 1_500, deducted: 0, recovery: 'future-credits', reference: { id: 'R-4' }, reason },
      { owed: 1_400, shortfall: 1_400, deducted: 100, recovery: 'none', displayName: 'Recharge refunded' },
    ])
    await books.credit({ ...account, amount: 2_000, key: 'later', kind: 'test.grant' })
    t.same(await state(), [500, 1_400], 'a later credit pays only what the operator chose')
    const audits = await running
      .service(database)
      .query<{ summary: unknown }>(`select summary from iam_audit where action = 'payment-order.refund' order by id`)
    const facts = audits.map(({ summary }) => (typeof summary === 'string' ? JSON.parse(summary) : summary))
    assertMembers(t, facts.slice(-2), [
      { amount: 1_500, owed: 1_400, recovery: 'none' },
      { amount: 1_500, owed: 1_500, recovery: 'future-credits' },
    ])
    t.equal((await office.ann('debts')).code, '403')
  })

  await t.test('the preview of a refund asks the handler of the order', async (t) => {
    const account = { owner: { type: 'user', id: '9' }, asset: 'wallet:cny' }
    await running.service(ledger).credit({ ...account, amount: 600, key: 'voucher', kind: 'test.voucher' })
    t.hasStrict((await admin('V-1/refund/preview', {})).data, {
      possible: false,
      blockedBy: 'refund-rejected',
      rejection: 'money.balance-insufficient',
      refundedAfter: 0,
      statusAfter: 'success',
    })
    t.hasStrict(await admin('V-1/refund', { reason }), { data: { reason: 'money.balance-insufficient' } })
    t.match((await admin('V-1/refund/preview', { amount: 600 })).data, {
      possible: true,
      blockedBy: null,
      rejection: null,
      refundedAfter: 600,
    })
    t.equal((await running.service(ledger).balance(account)).available, 600, 'a preview changes nothing')
    t.hasStrict(await admin('V-1/refund', { amount: 600, reason }), { code: '200', data: { refundedAmount: 600 } })
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
