/** Tests that a refund is recorded for one order, also after an upgrade of data in which several orders share one. */

import { assertMembers } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import paymentsPlugin, { payments } from '@plinth/money/payments'
import t from 'tap'
import { useRefundsOnce } from '../src/payments/migrations/0004-use-refunds-once.ts'
import { reasonOf, startLedger } from './fixtures/product.ts'

const hash = (byte: string) => `0x${byte.repeat(32)}`
const transfers = [{ chainName: 'local', logOrdinal: 0, facts: {} }]

onEachDatabase(t, 'a refund is recorded for one order, and older shared refunds are listed', async (t, at) => {
  const { running, db } = await startLedger(t, at, { plugins: [eventsPlugin, paymentsPlugin] })
  const book = running.service(payments)
  /** Creates a paid order. */
  const order = async (outTradeNo: string, provider: string, chainName?: string, paidWith = `T-${outTradeNo}`) => {
    const terms = { outTradeNo, provider, scene: 'recharge', userId: 7, asset: 'cny', amount: 100 }
    await book.create(chainName === undefined ? terms : { ...terms, chainName })
    await book.settle({ outTradeNo, type: 'test', transactionHash: paidWith })
  }
  const refund = async (outTradeNo: string, refundNo: string, more: object = {}) =>
    reasonOf(book.refund({ outTradeNo, refundNo, amount: 40, ...more }))

  await t.test('a number of a provider is recorded once', async (t) => {
    await order('A-1', 'bank')
    await order('A-2', 'bank')
    await order('A-3', 'card')
    await order('A-4', 'web3', 'local')
    await order('A-5', 'web3', 'local')
    t.equal(await refund('A-1', 'B-1'), 'done')
    t.equal(await refund('A-1', 'B-1'), 'done')
    t.equal(await refund('A-2', 'B-1'), '409 payment.refund-already-used')
    t.equal(await refund('A-3', 'B-1'), 'done', 'another provider has other numbers')
    t.equal(await refund('A-4', hash('a0')), '503 payment.refund-not-verifiable', 'a hash must be checked on the chain')
    t.equal(await refund('A-4', hash('a0'), { transfers }), 'done')
    t.equal(await refund('A-5', hash('a0'), { transfers }), '409 payment.refund-already-used')
    t.equal((await book.get('A-2')).refundedAmount, 0)
  })

  await t.test('an upgrade keeps shared refunds and lists them', async (t) => {
    await db.execute('delete from money_used_refund')
    await db.execute("delete from money_payment_transaction where type = 'refund'")
    /** Orders with their refund in an earlier version, oldest refund first, and whether the refund is shared. */
    const cases: readonly (readonly [string, provider: string, chain: string | undefined, no: string, boolean])[] = [
      ['O-1', 'web3', 'local', hash('01'), false],
      ['O-2', 'web3', 'local', hash('01'), true],
      ['O-3', 'web3', 'local', hash('01'), true],
      ['O-4', 'web3', 'other', hash('01'), false],
      ['O-5', 'bank', undefined, 'B-1', false],
      ['O-6', 'bank', undefined, 'B-1', true],
      ['O-7', 'card', undefined, 'B-1', false],
      ['O-8', 'web3', 'local', hash('02'), true],
      ['O-9', 'web3', undefined, hash('03'), false],
    ]
    await order('P-1', 'web3', 'local', hash('02'))
    for (const [outTradeNo, provider, chain, refundNo] of cases) {
      await order(outTradeNo, provider, chain)
      await db.execute(
        `insert into money_payment_transaction (id, out_trade_no, type, transaction_hash, amount, created_at)
         values (?, ?, 'refund', ?, 40, 1)`,
        [db.newId(), outTradeNo, refundNo],
      )
    }
    await useRefundsOnce.data?.({
      db: db.fork().getKysely() as never,
      dialect: db.dialect,
      newId: () => db.newId(),
      now: Date.now,
      signal: new AbortController().signal,
    })
    const list = { orderBy: [{ property: 'id', direction: 'asc' }], size: 20, offset: 0, count: 'none' } as const
    const { items } = await book.transactions({ type: 'refund', shared: true }, list)
    t.strictSame(
      items.map(({ outTradeNo }) => outTradeNo),
      cases.flatMap(([outTradeNo, , , , isShared]) => (isShared ? [outTradeNo] : [])),
    )
    assertMembers(
      t,
      await db.query('select provider, chain_name, reference, log_ordinal from money_used_refund order by id'),
      [
        { provider: 'web3', chain_name: 'local', reference: hash('01'), log_ordinal: -1 },
        { provider: 'web3', chain_name: 'other', reference: hash('01'), log_ordinal: -1 },
        { provider: 'bank', chain_name: '', reference: 'B-1', log_ordinal: -1 },
        { provider: 'card', chain_name: '', reference: 'B-1', log_ordinal: -1 },
        { provider: 'web3', chain_name: '', reference: hash('03'), log_ordinal: -1 },
      ],
    )
    t.equal(await refund('O-2', hash('01')), 'done', 'a refund of an earlier version is not recorded again')
    t.equal(await refund('A-4', hash('01'), { transfers }), '409 payment.refund-already-used')
    t.equal(await refund('A-4', hash('02'), { transfers }), '409 payment.refund-is-payment')
    t.equal(await refund('A-4', hash('03'), { transfers }), '409 payment.refund-already-used')
    t.equal(await refund('A-2', 'B-1'), '409 payment.refund-already-used')
    t.equal(await refund('A-4', hash('04'), { transfers }), 'done')
  })
})
