/** Tests refunds of orders that were paid on a chain: each transfer repays one order. */
import { onEachDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { hashNumber, paidChainFacts, type SettlementDoubles } from './fixtures/doubles.ts'
import { type RunningSettlement, startSettlement } from './fixtures/product.ts'
import { payer, receiver, stranger, transferLog } from './fixtures/ready-case.ts'

const shop = receiver
/** Smallest units of a refund of 40 for an order of 100, which was paid with 1,000,000 units. */
const forty = 400_000n

interface RefundBody {
  readonly amount?: number
  readonly transactionHash?: string
  readonly receiver?: string
}

/** Creates paid orders, and returns their numbers. */
async function paidOrders({ paidOrder, save, settle }: RunningSettlement, count: number) {
  const numbers: string[] = []
  for (let at = 0; at < count; at++) {
    const { outTradeNo } = await paidOrder()
    const { data } = await settle((await save(outTradeNo)).data.id)
    if (data.outcome !== 'settled') throw new Error(JSON.stringify(data))
    numbers.push(outTradeNo)
  }
  return numbers
}

/** Returns a function that records a refund of 40, and returns what it returned. */
const refunds =
  ({ call }: Pick<RunningSettlement, 'call'>) =>
  async (outTradeNo: string | undefined, transactionHash: string, more: RefundBody = {}) => {
    const body = { amount: 40, transactionHash, reason: 'Sent twice', ...more }
    const { code, data } = await call('POST', `/api/v1/admin/money/payment-orders/${outTradeNo}/refund`, body)
    return code === '200' ? `${code} ${data.refundedAmount}` : `${code} ${data.reason}`
  }

/** Puts a transaction on the chain that sends these amounts to these addresses. */
function sendBack(world: SettlementDoubles, hash: string, ...transfers: readonly (readonly [to: string, bigint])[]) {
  const logs = transfers.map(([to, value], at) => transferLog(5 + at, { from: shop, to, value }))
  world.answers.set(hash, paidChainFacts(hash, {}, logs))
}

const refunded = ({ rows }: Pick<RunningSettlement, 'rows'>) =>
  rows(`select out_trade_no, amount, chain_name, log_ordinal from money_payment_transaction where type = 'refund'
    order by out_trade_no`)

onEachDatabase(t, 'a transfer on a chain repays one order, and never one that it paid', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const { world } = product
  const refund = refunds(product)
  const [first, second, third] = await paidOrders(product, 3)
  const [one, two, twice, mixed] = [hashNumber(901), hashNumber(902), hashNumber(903), hashNumber(904)]
  sendBack(world, one, [payer, forty])

  await t.test('one transfer repays one order', async (t) => {
    t.equal(await refund(first, one), '200 40')
    t.equal(await refund(second, one), '409 payment.refund-already-used')
    t.equal(await refund(second, one.toUpperCase().replace('X', 'x')), '409 payment.refund-already-used')
  })

  await t.test('the same refund is recorded once, also when the chain does not respond', async (t) => {
    world.answers.set(one, undefined)
    t.equal(await refund(first, one), '200 40')
    t.equal(await refund(first, one, { amount: undefined as never }), '200 40')
    t.equal(await refund(first, one, { amount: 41 }), '409 payment.refund-differs')
  })

  await t.test('a payment is not a refund', async (t) => {
    t.equal(await refund(second, hashNumber(2)), '409 payment.refund-is-payment', 'the payment of the order')
    t.equal(await refund(second, hashNumber(1)), '409 payment.refund-is-payment', 'the payment of another order')
    t.equal(await refund(second, hashNumber(1), { amount: 100, receiver: shop }), '400 payment.refund-receiver-needed')
  })

  await t.test('one transaction repays several orders by different transfers', async (t) => {
    sendBack(world, twice, [payer, forty], [stranger, forty], [payer, forty])
    t.equal(await refund(second, twice), '200 40')
    t.equal(await refund(third, twice), '200 40')
    t.equal(await refund(first, twice), '409 payment.refund-already-used')
    t.equal(await refund(first, twice, { receiver: stranger }), '200 80')
    t.strictSame(await refunded(product), [
      { out_trade_no: first, amount: 40, chain_name: 'local', log_ordinal: 0 },
      { out_trade_no: first, amount: 40, chain_name: 'local', log_ordinal: 1 },
      { out_trade_no: second, amount: 40, chain_name: 'local', log_ordinal: 0 },
      { out_trade_no: third, amount: 40, chain_name: 'local', log_ordinal: 2 },
    ])
  })

  await t.test('a transfer that repaid an order pays no order', async (t) => {
    sendBack(world, mixed, [payer, forty])
    t.equal(await refund(second, mixed), '200 80')
    const order = await product.paidOrder({ receiver: payer, amountRaw: String(forty), transactionHash: mixed })
    const { data } = await product.settle((await product.save(order.outTradeNo)).data.id)
    t.hasStrict(data, { outcome: 'skipped', reason: 'transaction-already-exists' })
  })

  await t.test('the transaction must contain the transfer, confirmed and on a chain that responds', async (t) => {
    const two40: readonly (readonly [string, bigint])[] = [[payer, forty]]
    const changed = (change: object, transfers = two40) => {
      const logs = transfers.map(([to, value], place) => transferLog(5 + place, { from: shop, to, value }))
      world.answers.set(two, paidChainFacts(two, change, logs))
    }
    const cases: readonly (readonly [expected: string, arrange: () => void])[] = [
      ['503 payment.refund-not-verifiable', () => world.answers.set(two, undefined)],
      ['409 payment.refund-unconfirmed', () => changed({ transaction: null, receipt: null })],
      ['409 payment.refund-unconfirmed', () => changed({ head: 11 })],
      ['409 payment.refund-transfer-missing', () => changed({ receipt: { status: 'reverted', logs: [] } })],
      ['409 payment.refund-transfer-missing', () => changed({}, [[stranger, forty]])],
      ['409 payment.refund-transfer-missing', () => changed({}, [[payer, forty - 10_000n]])],
      ['409 payment.refund-transfer-missing', () => changed({}, [[payer, forty + 10_000n]])],
      ['200 80', () => changed({}, [[payer, forty + 9_999n]])],
    ]
    for (const [expected, arrange] of cases) {
      arrange()
      t.equal(await refund(third, two), expected)
    }
  })
})

onEachDatabase(t, 'of concurrent refunds with one transfer one succeeds', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const refund = refunds(product)
  const orders = await paidOrders(product, 4)
  const hash = hashNumber(901)
  sendBack(product.world, hash, [payer, forty])
  const results = await Promise.all([...orders, ...orders].map((outTradeNo) => refund(outTradeNo, hash)))
  const winner = results.indexOf('200 40') % orders.length
  t.same(
    results,
    results.map((_, place) => (place % orders.length === winner ? '200 40' : '409 payment.refund-already-used')),
    'the other orders are rejected, and the repeated call returns the same result',
  )
  t.equal((await refunded(product)).length, 1)
})
