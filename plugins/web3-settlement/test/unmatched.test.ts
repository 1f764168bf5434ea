/** Tests transfers that settle no order: they are found, credited to the buyer, or their repayment is recorded. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { ledger } from '@plinth/money'
import { type PaymentOrder, payments } from '@plinth/money/payments'
import t, { type Test } from 'tap'
import { hashNumber, paidChainFacts } from './fixtures/doubles.ts'
import { adminWeb3Path, startSettlement } from './fixtures/product.ts'
import { payer, receiver, stranger, token, transferLog } from './fixtures/ready-case.ts'

const path = `${adminWeb3Path}/unmatched-payments`
const searchTask = 'money.web3.unmatched-payment.search'
const shop = receiver
const otherToken = stranger
/** Asset of the orders. An order of 100 minor units is paid with 1,000,000 units of the token. */
const asset = 'wallet:cny'
const unitsPerMinor = 10_000n

/** Starts a product with a buyer. Each transfer of the chain is recorded, so that the books can be compared with it. */
async function startShop(t: Test, at: Parameters<typeof startSettlement>[1], config = {}) {
  const product = await startSettlement(t, at, { config })
  const { world, running, db, call, rows } = product
  const userId = await product.operator('buyer')
  const book = running.service(payments)
  const transfers: { readonly hash: string; readonly to: string; readonly token: string; readonly value: bigint }[] = []
  let sent = 500
  /** Puts a transaction with these transfers on the chain. Returns its hash. */
  const send = (...logs: readonly { to?: string; from?: string; token?: string; value?: bigint }[]) => {
    sent += 1
    const hash = hashNumber(sent)
    for (const { to = shop, token: of = token, value = 1_000_000n } of logs)
      transfers.push({ hash, to, token: of, value })
    world.answers.set(
      hash,
      paidChainFacts(
        hash,
        {},
        logs.map((log, place) => transferLog(5 + place, log)),
      ),
    )
    return hash
  }
  const order = (change: Partial<PaymentOrder> = {}) =>
    product.paidOrder({ userId, asset, transactionHash: null, ...change })
  const name = (outTradeNo: string, hash: string) => book.attachTransaction(outTradeNo, hash)
  const search = async () => {
    await product.reported()
    await product.runTask(searchTask)
  }
  const list = async (query = '') => (await call('GET', `${path}?${query}`)).data.items
  const rowOf = async (outTradeNo: string) => (await list(`outTradeNo=${outTradeNo}`))[0]
  const detail = async (id: number) => (await call('GET', `${path}/${id}`)).data
  const credit = async (id: number, change: object = {}, who?: string) => {
    const { fingerprint } = await detail(id)
    return call('POST', `${path}/${id}/credit`, { fingerprint, reason: 'Paid late', ...change }, who)
  }
  const repay = async (id: number, transactionHash: string, change: object = {}) => {
    const { fingerprint } = await detail(id)
    return call('POST', `${path}/${id}/repayment`, { transactionHash, fingerprint, reason: 'Returned', ...change })
  }
  const balance = async () =>
    (await running.service(ledger).balance({ owner: { type: 'user', id: String(userId) }, asset })).available
  /** Sums of the books by token: what settled an order, was credited or returned, and what the shop sent back. */
  const books = async () => {
    const found = await db.query<{ type: string; facts: unknown }>('select type, facts from money_payment_transaction')
    const sums = new Map<string, bigint>()
    for (const { type, facts } of found) {
      const { value, token: of } = typeof facts === 'string' ? JSON.parse(facts) : (facts as Record<string, string>)
      const side = type.startsWith('unmatched-repayment-') ? 'out' : 'in'
      sums.set(`${side} ${of}`, (sums.get(`${side} ${of}`) ?? 0n) + BigInt(value))
    }
    return sums
  }
  const chain = () => {
    const sums = new Map<string, bigint>()
    for (const { to, token: of, value } of transfers) {
      const side = to === shop ? 'in' : 'out'
      sums.set(`${side} ${of}`, (sums.get(`${side} ${of}`) ?? 0n) + value)
    }
    return sums
  }
  const settle = async (outTradeNo: string) => product.settle((await product.save(outTradeNo)).data.id)
  const outcomeOf = ({ code, data }: { code: string; data: { reason?: string } }) =>
    code === '200' ? code : `${code} ${data.reason}`
  return {
    ...product,
    userId,
    book,
    send,
    order,
    name,
    search,
    list,
    rowOf,
    detail,
    credit,
    repay,
    balance,
    books,
    chain,
    settle,
    outcomeOf,
    rows,
  }
}

onEachDatabase(
  t,
  'each named payment ends settled, credited or repaid, and the books equal the chain',
  async (t: Test, at) => {
    const shopWorld = await startShop(t, at)
    const { send, order, name, search, save, settle, rowOf, credit, repay, call, book, statusOf, outcomeOf } = shopWorld
    const { outTradeNo: settled } = await order()
    await name(settled, send({}))
    t.equal((await settle(settled)).data.outcome, 'settled')

    const { outTradeNo: late } = await order()
    await name(late, send({}))
    await search()
    t.equal(await rowOf(late), undefined, 'the transfer can still settle its order')
    await book.close(late)
    const { outTradeNo: short } = await order()
    await name(short, send({ value: 400_000n }))
    const { outTradeNo: long } = await order()
    await save(long, { transactionHash: send({ value: 1_500_000n }) })
    await save(settled, { transactionHash: send({}), action: 'record' })
    const { outTradeNo: unknown } = await order()
    const foreign = send({ token: otherToken, value: 70n })
    await name(unknown, foreign)
    shopWorld.clock.shiftWallClock(120_000)
    await search()

    const found = [late, short, long, settled].map(rowOf)
    assertMembers(t, await Promise.all(found), [
      { kind: 'late', state: 'open', source: 'order', amount: 100, actorUserId: null },
      { kind: 'short', state: 'open', source: 'order', amount: 40, value: '400000' },
      { kind: 'long', state: 'open', source: 'review', amount: 150 },
      { kind: 'double', state: 'open', source: 'review', amount: 100 },
    ])
    t.equal(await rowOf(unknown), undefined, 'an order alone cannot fill the list with worthless tokens')
    const searched = await call('POST', path, { outTradeNo: unknown, transactionHash: foreign })
    assertMembers(t, searched.data.items, [{ kind: 'unknown', state: 'open', source: 'operator', amount: null }])

    const ids = new Map<string, number>()
    for (const one of [late, short, long, settled, unknown]) ids.set(one, (await rowOf(one)).id)
    const idOf = (one: string) => Number(ids.get(one))
    for (const one of [late, long, settled]) t.equal(outcomeOf(await credit(idOf(one))), '200', one)
    t.equal(
      outcomeOf(await credit(idOf(unknown))),
      '409 web3-settlement.unmatched-payment-not-creditable',
      'a token without a price',
    )
    const back = send(
      { from: shop, to: payer, value: 400_000n },
      { from: shop, to: stranger, token: otherToken, value: 70n },
    )
    t.equal(outcomeOf(await repay(idOf(short), back)), '200')
    t.equal(outcomeOf(await repay(idOf(unknown), back)), '409 payment.refund-transfer-missing')
    t.equal(outcomeOf(await repay(idOf(unknown), back, { receiver: stranger })), '200')

    t.strictSame(await shopWorld.books(), shopWorld.chain(), 'every transfer is in the books once')
    t.equal(await shopWorld.balance(), Number((1_000_000n + 1_500_000n + 1_000_000n) / unitsPerMinor))
    t.equal(await shopWorld.count('test_effect'), 1, 'only the settled order was fulfilled')
    t.same(
      await Promise.all([settled, late, short, long, unknown].map((one) => statusOf(one))),
      ['success', 'closed', 'pending', 'pending', 'pending'],
      'no order has changed',
    )
    const states = await shopWorld.rows('select out_trade_no, state from web3_unmatched_payment order by id')
    t.same(new Set(states.map(({ state }) => state)), new Set(['credited', 'repaid']))
    const audits = await shopWorld.rows(
      "select action, reason from iam_audit where action like 'web3-unmatched-payment.%' order by id",
    )
    t.same(
      audits.map(({ action, reason }) => `${action} ${reason}`),
      [
        'web3-unmatched-payment.search null',
        ...Array(3).fill('web3-unmatched-payment.credit Paid late'),
        ...Array(2).fill('web3-unmatched-payment.repay Returned'),
      ],
    )
  },
)

onDatabase(t, 'an order that names many transactions keeps the newest ones for the search', async (t: Test, at) => {
  const { order, name, reported, rows, send, search, rowOf } = await startShop(t, at)
  const { outTradeNo } = await order()
  for (let made = 1; made <= 24; made++) await name(outTradeNo, hashNumber(made))
  await name(outTradeNo, send({ value: 5n }))
  await reported()
  const named = await rows('select transaction_hash from web3_named_transaction order by id')
  t.equal(named.length, 20)
  t.equal(named[0]?.['transaction_hash'], hashNumber(6))
  await search()
  assertMembers(t, await rowOf(outTradeNo), { kind: 'short', value: '5', amount: 0 })
})

onDatabase(t, 'a transfer is used once: by an order, a credit or a repayment', async (t: Test, at) => {
  const product = await startShop(t, at)
  const { send, order, name, settle, save, rowOf, credit, repay, call, book, outcomeOf } = product
  const close = async (hash: string, more: Partial<PaymentOrder> = {}) => {
    const { outTradeNo } = await order(more)
    await book.close(outTradeNo)
    await save(outTradeNo, { transactionHash: hash, action: 'record' })
    return (await rowOf(outTradeNo)).id as number
  }
  const credited = send({})
  await credit(await close(credited))
  const { outTradeNo: later } = await order()
  await name(later, credited)
  assertMembers(t, (await settle(later)).data, { outcome: 'skipped', reasons: ['transaction-already-exists'] })
  t.equal(
    outcomeOf(await call('POST', path, { outTradeNo: later, transactionHash: credited })),
    '409 web3-settlement.unmatched-payment-missing',
  )

  const paying = send({})
  const other = await close(paying)
  const { outTradeNo: paid } = await order()
  await name(paid, paying)
  t.equal((await settle(paid)).data.outcome, 'settled')
  assertMembers(t, (await call('GET', `${path}/${other}`)).data, { state: 'used' })
  t.equal(outcomeOf(await credit(other)), '409 web3-settlement.unmatched-payment-closed')

  const named = send({})
  const both = [await close(named), await close(named)]
  const details = await Promise.all(both.map((id) => product.detail(id)))
  t.same(
    details.map(({ otherOrdersTotal }) => otherOrdersTotal),
    [1, 1],
  )
  const results = await Promise.all(
    both.map((id, place) =>
      call('POST', `${path}/${id}/credit`, { fingerprint: details[place].fingerprint, reason: 'Late' }),
    ),
  )
  t.equal(results.filter(({ code }) => code === '200').length, 1, JSON.stringify(results))
  t.same((await Promise.all(both.map((id) => product.detail(id)))).map(({ state }) => state).sort(), [
    'credited',
    'used',
  ])

  const [first, second] = [await close(send({})), await close(send({}))]
  const back = send({ from: shop, to: payer })
  t.equal(outcomeOf(await repay(first, back)), '200')
  t.equal(outcomeOf(await repay(second, back)), '409 payment.refund-already-used')
  t.equal(outcomeOf(await repay(second, paying)), '409 payment.refund-is-payment')
  t.equal((await product.detail(second)).state, 'open', 'a rejected repayment changes nothing')

  const parts = send({ value: 400_000n }, { value: 600_000n })
  const { outTradeNo: inParts } = await order()
  await save(inParts, { transactionHash: parts })
  const rows = await product.list(`outTradeNo=${inParts}`)
  t.equal(rows.length, 2, 'both parts of one transaction')
  for (const { id } of rows) t.equal(outcomeOf(await credit(id)), '200')
  await product.search()
})

onDatabase(t, 'a decision shows its effect first, and belongs to what was shown', async (t: Test, at) => {
  const product = await startShop(t, at)
  const { send, order, save, rowOf, credit, call, book, outcomeOf, world, count } = product
  const lateRow = async (hash: string, more: Partial<PaymentOrder> = {}) => {
    const { outTradeNo } = await order(more)
    await book.close(outTradeNo)
    await save(outTradeNo, { transactionHash: hash, action: 'record' })
    return { outTradeNo, id: (await rowOf(outTradeNo)).id as number }
  }
  const preview = async (id: number) => (await call('POST', `${path}/${id}/credit/preview`)).data
  const hash = send({})
  const { id } = await lateRow(hash)
  assertMembers(t, await preview(id), {
    possible: true,
    blockedBy: null,
    amount: 100,
    availableAfter: 100,
    sentByBuyer: false,
  })
  t.equal(await count('money_payment_transaction'), 0, 'a preview changes nothing')
  t.equal(await product.balance(), 0)
  const { fingerprint } = await product.detail(id)
  await lateRow(hash)
  t.equal(
    outcomeOf(await credit(id, { fingerprint })),
    '409 web3-settlement.unmatched-payment-changed',
    'another order names it meanwhile',
  )
  world.answers.set(hash, undefined)
  t.equal(outcomeOf(await credit(id)), '503 web3-settlement.chain-not-available')
  world.answers.set(hash, paidChainFacts(hash, { receipt: null, transaction: null, canonicalBlockHash: null }))
  t.equal(outcomeOf(await credit(id)), '409 web3-settlement.unmatched-payment-changed', 'gone from the chain')
  world.answers.set(hash, paidChainFacts(hash))
  t.equal(outcomeOf(await credit(id)), '200')
  assertMembers(t, await preview(id), { possible: false, blockedBy: 'web3-settlement.unmatched-payment-closed' })

  const others: readonly (readonly [blockedBy: string, more: Partial<PaymentOrder>])[] = [
    ['payment.unmatched-without-account', { userId: null }],
    ['payment.unmatched-without-account', { asset: 'usd' }],
  ]
  for (const [blockedBy, more] of others) {
    const { id } = await lateRow(send({}), more)
    assertMembers(t, await preview(id), { possible: false, blockedBy })
    t.equal(outcomeOf(await credit(id)), `409 ${blockedBy}`)
  }
  const [{ id: adminId }] = (await call('GET', '/api/v1/admin/iam/users?keyword=admin')).data.items
  const own = await lateRow(send({}), { userId: adminId })
  t.equal(outcomeOf(await credit(own.id)), '403 web3-settlement.own-account')
  const repayment = { transactionHash: send({ from: shop, to: payer }) }
  assertMembers(t, (await call('POST', `${path}/${own.id}/repayment/preview`, repayment)).data, {
    possible: true,
    value: '1000000',
  })
  const pending = await order()
  await product.name(pending.outTradeNo, send({}))
  t.equal(
    outcomeOf(await call('POST', path, { outTradeNo: pending.outTradeNo, transactionHash: hashNumber(502) })),
    '409 web3-settlement.unmatched-payment-missing',
  )
})

onDatabase(
  t,
  'a payment that a pending order names and accepts is not credited to another order',
  async (t: Test, at) => {
    const { send, order, name, save, rowOf, credit, settle, book, outcomeOf, detail } = await startShop(t, at)
    const { outTradeNo: paid } = await order()
    const hash = send({})
    await name(paid, hash)
    // An order with another amount names the payment, and is then closed.
    const { outTradeNo: other } = await order({ amountRaw: '1000001' })
    await name(other, hash)
    await save(other)
    const { id } = await rowOf(other)
    t.equal(outcomeOf(await credit(id)), '409 web3-settlement.unmatched-payment-settles-order')
    await book.close(other)
    t.equal(
      outcomeOf(await credit(id)),
      '409 web3-settlement.unmatched-payment-settles-order',
      'also for a closed order',
    )
    t.equal((await settle(paid)).data.outcome, 'settled')
    t.equal((await detail(id)).state, 'used')
  },
)

onDatabase(
  t,
  'the operator who named a payment cannot handle it if a second person is required',
  async (t: Test, at) => {
    const product = await startShop(t, at, { 'platform.money.web3.settlement.review.four-eyes': true })
    const { send, order, save, rowOf, credit, operator, book, outcomeOf } = product
    await operator('kim', 'money:web3:unmatched-payment:view', 'money:web3:unmatched-payment:handle')
    await operator('lee', 'money:web3:unmatched-payment:view')
    const { outTradeNo } = await order()
    await book.close(outTradeNo)
    await save(outTradeNo, { transactionHash: send({}), action: 'record' })
    const { id } = await rowOf(outTradeNo)
    t.equal(outcomeOf(await credit(id)), '403 web3-settlement.second-person-required')
    t.equal((await credit(id, {}, 'lee')).code, '403')
    t.equal(outcomeOf(await credit(id, {}, 'kim')), '200')
  },
)

onDatabase(t, 'a tolerance settles a payment of nearly the right amount', async (t: Test, at) => {
  const key = 'platform.money.web3.settlement.amount-tolerance'
  const product = await startShop(t, at, { [key]: 100 })
  const { send, order, name, settle, rowOf, search } = product
  const outcomes: string[] = []
  for (const value of [990_000n, 1_010_000n, 989_999n, 1_010_001n]) {
    const { outTradeNo } = await order()
    await name(outTradeNo, send({ value }))
    outcomes.push((await settle(outTradeNo)).data.outcome)
    await search()
    outcomes.push((await rowOf(outTradeNo))?.kind ?? 'none')
  }
  t.same(outcomes, ['settled', 'none', 'settled', 'none', 'skipped', 'short', 'skipped', 'long'])
  const mine = await order({ amountRaw: '995000' })
  const rival = await order()
  const hash = send({})
  for (const { outTradeNo } of [mine, rival]) await name(outTradeNo, hash)
  assertMembers(t, (await product.save(mine.outTradeNo)).data, { plan: { claimedBy: [rival.outTradeNo] } })
})
