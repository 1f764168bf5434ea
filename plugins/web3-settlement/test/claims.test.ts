/**
 * Tests to which order a payment belongs: several orders claim the transfer, the transfer is older than its order, or a
 * proven payer sent it.
 */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import { payments } from '@plinth/money/payments'
import { orderSettlements } from '@plinth/web3-settlement'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { competingOrdersOf, showsSameCompetingOrders, type TransferClaim } from '../src/planning/transfers.ts'
import { createOrder, hashNumber, paidChainFacts } from './fixtures/doubles.ts'
import { adminWeb3Path, type RunningSettlement, reviewPath, startSettlement } from './fixtures/product.ts'
import { address, payer, stranger, transferLog } from './fixtures/ready-case.ts'

const minute = 60_000

/** Creates two pending orders with equal terms and the same transaction. */
async function contested(product: RunningSettlement) {
  const mine = await product.paidOrder()
  const other = await product.paidOrder({ transactionHash: mine.transactionHash ?? null })
  return { mine, other, hash: String(mine.transactionHash) }
}

const overdue = async ({ clock, call }: RunningSettlement) => {
  clock.shiftWallClock(31 * minute)
  return (await call('POST', `${reviewPath}/auto-handle-expired`)).data
}

onDatabase(
  t,
  'a transfer that two pending orders claim waits for an operator, with one notice each',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { save, settle, call, statusOf, log, reported, runTask, clock } = product
    const { mine, other } = await contested(product)
    const [first, second] = [(await save(other.outTradeNo)).data, (await save(mine.outTradeNo)).data]
    for (const [review, rival] of [
      [first, mine],
      [second, other],
    ] as const) {
      const plan = { causes: ['named-by-another-order'], claimedBy: [rival.outTradeNo] }
      assertMembers(t, review, { state: 'review_required', candidate: false, reasons: [], plan })
    }
    const item = { reason: 'named-by-another-order', handlingLogId: null, result: null }
    assertMembers(t, await overdue(product), { handled: 2, executed: 0, items: [item, item] })
    t.match(await overdue(product), { handled: 0 })
    clock.shiftWallClock(6 * minute)
    await runTask('money.web3.payment-settlement.retry')
    await reported()
    t.equal(log.sent.length, 2, 'one notice for each review')
    t.ok(JSON.stringify(log.sent).includes('named-by-another-order'))
    for (const { id } of [first, second]) {
      assertMembers(t, (await call('GET', `${reviewPath}/${id}`)).data, {
        status: /^open$/,
        state: /^review_required$/,
        heldAt: String,
        lastAttempt: { outcome: /^skipped$/, reasons: ['named-by-another-order'], attemptedAt: String },
        attempts: [{ startedBy: 'auto-approve', outcome: /^skipped$/, reasons: ['named-by-another-order'] }],
      })
    }
    assertMembers(t, (await settle(second.id)).data, { outcome: 'skipped', reasons: ['named-by-another-order'] })
    const batch = await call('POST', `${reviewPath}/retry-batch`, { ids: [first.id, second.id] })
    t.match(batch.data, { executed: 0 }, 'a batch accepts no causes')
    t.hasStrict((await settle(second.id, 'settle', undefined, true)).data, { outcome: 'settled' })
    assertMembers(t, (await settle(first.id, 'settle', undefined, true)).data, {
      reasons: ['transaction-already-exists'],
    })
    t.equal(await statusOf(mine.outTradeNo), 'success')
    t.equal(await statusOf(other.outTradeNo), 'pending')
    t.hasStrict((await call('GET', `${reviewPath}/${first.id}`)).data, {
      state: 'blocked',
      candidate: false,
      retryable: false,
    })
  },
)

onSqlite(
  t,
  'an overdue review of such a transfer stays open although overdue reviews are rejected',
  async (t: Test, at) => {
    const config = { 'platform.money.web3.settlement.review.auto.action': 'auto-reject' }
    const product = await startSettlement(t, at, { config })
    const { mine } = await contested(product)
    const { data: review } = await product.save(mine.outTradeNo)
    const alone = (await product.save((await product.paidOrder()).outTradeNo)).data
    t.match(await overdue(product), { handled: 2, executed: 0 })
    t.match((await product.call('GET', `${reviewPath}/${review.id}`)).data, { status: /^open$/, heldAt: String })
    t.hasStrict((await product.call('GET', `${reviewPath}/${alone.id}`)).data, { status: 'rejected' })
  },
)

onSqlite(
  t,
  'a review that is ready when it is saved is held if another one names its transaction',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { paidOrder, save, call } = product
    const mine = await paidOrder()
    const { data: review } = await save(mine.outTradeNo)
    t.hasStrict(review, { state: 'ready' })
    // This order specifies no transaction, but its review does.
    const other = await createOrder(product.db, { outTradeNo: 'unnamed', scene: 'test', transactionHash: null })
    const { data: claim } = await save(other.outTradeNo, { transactionHash: mine.transactionHash })
    assertMembers(t, claim, { state: 'review_required', plan: { claimedBy: [mine.outTradeNo] } })
    t.match(await overdue(product), { handled: 2, executed: 0 })
    t.match((await call('GET', `${reviewPath}/${review.id}`)).data, { status: /^open$/, heldAt: String })
    // The operator can only accept causes that the review lists, but this review lists none.
    assertMembers(t, (await product.settle(review.id, 'settle', undefined, true)).data, {
      reasons: ['named-by-another-order'],
    })
  },
)

onSqlite(t, 'an operator accepts the other orders that the review shows, and no later ones', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const { paidOrder, save, settle, call } = product
  const { mine, other } = await contested(product)
  const { data: review } = await save(other.outTradeNo)
  assertMembers(t, review, { plan: { causes: ['named-by-another-order'], claimedBy: [mine.outTradeNo] } })
  const late = await paidOrder({ transactionHash: mine.transactionHash ?? null })
  const rejected = await settle(review.id, 'settle', undefined, true)
  assertMembers(t, rejected.data, { outcome: 'skipped', reasons: ['named-by-another-order'] })
  t.hasStrict((await call('GET', `${reviewPath}/${review.id}`)).data, { status: 'open', state: 'review_required' })
  const { data: next } = await save(other.outTradeNo)
  t.same(next.plan.claimedBy, [mine.outTradeNo, late.outTradeNo])
  t.hasStrict((await settle(next.id, 'settle', undefined, true)).data, { outcome: 'settled' })
})

onEachDatabase(
  t,
  'a review lists the orders that name its transaction, at most the ten newest',
  async (t: Test, at) => {
    const { paidOrder, save, settle } = await startSettlement(t, at)
    const first = await paidOrder()
    const transactionHash = first.transactionHash ?? null
    const rivals: string[] = []
    const more = async (count: number) => {
      for (let made = 0; made < count; made++) rivals.push((await paidOrder({ transactionHash })).outTradeNo)
    }
    await more(3)
    const { data: review } = await save(first.outTradeNo)
    t.match(review.plan, { claimedBy: rivals, claimedByTotal: 3 })
    t.equal(review.plan.claimedBy.length, 3)
    await more(9)
    const { plan } = (await save(first.outTradeNo)).data
    t.same([plan.claimedBy, plan.claimedByTotal], [rivals.slice(-10), 12], 'the two oldest are only counted')
    const newest = (await save(String(rivals.at(-1)))).data.plan
    t.same(
      [newest.claimedBy, newest.claimedByTotal],
      [rivals.slice(1, -1), 12],
      'an order does not claim against itself',
    )
    const oldest = (await save(String(rivals[0]))).data.plan
    t.same([oldest.claimedBy, oldest.claimedByTotal], [rivals.slice(-10), 12], 'also where it is not among the newest')
    assertMembers(t, (await settle(review.id, 'settle', undefined, true)).data, { reasons: ['named-by-another-order'] })
  },
)

onDatabase(
  t,
  'an order that claims the transfer later needs a new review, whatever its position among the others',
  async (t: Test, at) => {
    const { paidOrder, save, settle, db } = await startSettlement(t, at)
    const first = await paidOrder()
    const transactionHash = first.transactionHash ?? null
    const old = await paidOrder({ transactionHash: hashNumber(800) })
    const middle: string[] = []
    const name = (outTradeNo: string, hash: string | null) =>
      db.execute('update money_payment_order set transaction_hash = ? where out_trade_no = ?', [hash, outTradeNo])
    for (let made = 0; made < 13; made++) {
      const { outTradeNo } = await paidOrder({ transactionHash: made === 1 ? hashNumber(801) : transactionHash })
      middle.push(outTradeNo)
    }
    const rejected = async (id: number) =>
      assertMembers(t, (await settle(id, 'settle', undefined, true)).data, { reasons: ['named-by-another-order'] })
    for (const late of [old.outTradeNo, String(middle[1])]) {
      const { data: review } = await save(first.outTradeNo)
      await name(late, transactionHash)
      await rejected(review.id)
    }
    const { data: review } = await save(first.outTradeNo)
    t.equal(review.plan.claimedByTotal, 14)
    await db.execute("update money_payment_order set status = 'closed' where out_trade_no in (?, ?, ?, ?, ?)", [
      ...middle.slice(0, 5),
    ])
    const { data: fewer } = await save(first.outTradeNo)
    t.equal(fewer.plan.claimedByTotal, 9)
    await db.execute("update money_payment_order set status = 'closed' where out_trade_no = ?", [String(middle[6])])
    t.hasStrict(
      (await settle(fewer.id, 'settle', undefined, true)).data,
      { outcome: 'settled' },
      'one less is no late claim',
    )
  },
)

onDatabase(
  t,
  'an order that replaces one of twelve others needs a new review, also beyond the ten newest',
  async (t: Test, at) => {
    const { paidOrder, save, settle, db } = await startSettlement(t, at)
    const first = await paidOrder()
    const transactionHash = first.transactionHash ?? null
    const late = await paidOrder({ transactionHash: hashNumber(800) })
    const rivals: string[] = []
    for (let made = 0; made < 12; made++) rivals.push((await paidOrder({ transactionHash })).outTradeNo)
    const name = (outTradeNo: string, hash: string | null) =>
      db.execute('update money_payment_order set transaction_hash = ? where out_trade_no = ?', [hash, outTradeNo])
    const { data: review } = await save(first.outTradeNo)
    await name(String(rivals[0]), null)
    await name(late.outTradeNo, transactionHash)
    const { data: next } = await save(first.outTradeNo)
    for (const { plan } of [review, next]) {
      t.same([plan.claimedBy, plan.claimedByTotal], [rivals.slice(-10), 12], 'both show the same')
      t.notOk('claimedByDigest' in plan, 'a digest would confirm guessed order numbers')
    }
    const skipped = (await settle(review.id, 'settle', undefined, true)).data
    assertMembers(t, skipped, { outcome: 'skipped', reasons: ['named-by-another-order'] })
    t.equal((await settle(next.id, 'settle', undefined, true)).data.outcome, 'settled', 'the new review shows them')
  },
)

onEachDatabase(
  t,
  'only orders whose terms accept the transfer stop its settlement, and these always do',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { paidOrder, save, statusOf } = product
    const mine = await paidOrder()
    const transactionHash = mine.transactionHash ?? null
    const others = [{ amountRaw: '1000001' }, { tokenContract: stranger }, { receiver: stranger }, { amountRaw: null }]
    for (let made = 0; made < 30; made++) {
      const { outTradeNo } = await paidOrder({ ...others[made % others.length], transactionHash })
      if (made < 8) await save(outTradeNo)
    }
    assertMembers(t, (await save(mine.outTradeNo)).data, {
      state: 'ready',
      plan: { causes: [], claimedBy: [], claimedByTotal: 0 },
    })
    t.match(await overdue(product), { executed: 1 })
    t.equal(await statusOf(mine.outTradeNo), 'success')

    const next = await paidOrder()
    for (const change of others) await paidOrder({ ...change, transactionHash: next.transactionHash ?? null })
    const rival = await paidOrder({ transactionHash: next.transactionHash ?? null })
    assertMembers(t, (await save(next.outTradeNo)).data, {
      state: 'review_required',
      plan: { causes: ['named-by-another-order'], claimedBy: [rival.outTradeNo], claimedByTotal: 1 },
    })
    await product.login('admin')
    t.match(await overdue(product), { handled: 1, executed: 0 })
    t.equal(await statusOf(next.outTradeNo), 'pending')
  },
)

onDatabase(
  t,
  'a transfer from an address that is bound by key to the buyer belongs to the order of the buyer',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { running, paidOrder, save, statusOf } = product
    const users = running.service(accounts)
    const bind = async (subject: string, proof: string) => {
      const identity = { provider: 'evm', chainType: 'evm', subject, proof }
      const actor = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
      const { account } = await users.resolveExternal(identity, { username: subject, fallbackPrefix: 'wallet' }, actor)
      return account.id
    }
    const userId = await bind(payer, 'ecrecover')
    const contractOwner = await bind(stranger, 'eip-1271:10')
    const mine = await paidOrder({ userId })
    const thief = await paidOrder({ transactionHash: mine.transactionHash ?? null })
    assertMembers(t, (await save(mine.outTradeNo)).data, { state: 'ready', plan: { causes: [], payer } })
    assertMembers(t, (await save(thief.outTradeNo)).data, {
      state: 'review_required',
      plan: { causes: ['named-by-another-order'], claimedBy: [mine.outTradeNo] },
    })
    // An order of the buyer claims the transfer, even though it specifies no transaction.
    const waiting = await paidOrder({ userId, amountRaw: '7', transactionHash: null })
    const hash = hashNumber(77)
    product.world.answers.set(hash, paidChainFacts(hash, {}, [transferLog(0, { value: 7n })]))
    const second = await createOrder(product.db, { outTradeNo: 'second', amountRaw: '7', transactionHash: hash })
    assertMembers(t, (await save(second.outTradeNo)).data, {
      state: 'review_required',
      plan: { causes: ['named-by-another-order'], claimedBy: [waiting.outTradeNo] },
    })
    // On another chain, another person may own the contract at this address.
    const byContract = await paidOrder({ userId: contractOwner })
    const other = await paidOrder({ transactionHash: byContract.transactionHash ?? null })
    product.world.answers.set(
      String(byContract.transactionHash),
      paidChainFacts(String(byContract.transactionHash), {}, [transferLog(0, { from: stranger })]),
    )
    assertMembers(t, (await save(byContract.outTradeNo)).data, {
      state: 'review_required',
      plan: { causes: ['named-by-another-order'], claimedBy: [other.outTradeNo] },
    })
    await overdue(product)
    const statuses = [mine, thief, waiting, second, byContract].map(({ outTradeNo }) => statusOf(outTradeNo))
    t.same(await Promise.all(statuses), ['success', 'pending', 'pending', 'pending', 'pending'])
  },
)

t.test('no review shows more other orders than were read', async (t) => {
  const plan = { outTradeNo: 'mine', payer: null, transfer: null }
  const claimOf = (outTradeNo: string) =>
    ({ outTradeNo, namesTransaction: true, logIndex: null, payer: null, acceptsTransfer: true }) as const
  const shown = (claims: readonly TransferClaim[], hasMoreClaims: boolean) => {
    const { listed, total, digest } = competingOrdersOf(claims, { ...plan, hasMoreClaims })
    return { claimedBy: listed, claimedByTotal: total, claimedByDigest: digest }
  }
  const few = [claimOf('a'), claimOf('b')]
  t.ok(showsSameCompetingOrders(shown(few, false), shown(few, false)))
  t.ok(showsSameCompetingOrders(shown(few, false), shown(few.slice(1), false)), 'one less')
  t.notOk(showsSameCompetingOrders(shown(few, false), shown(few, true)))
  const many = Array.from({ length: 12 }, (_, at) => claimOf(`order-${at}`))
  t.ok(showsSameCompetingOrders(shown(many, false), shown(many.toReversed(), false)), 'in any order')
  t.notOk(showsSameCompetingOrders(shown(many, true), shown(many, true)))
  const { claimedByDigest, ...stored } = shown(many, false)
  t.notOk(showsSameCompetingOrders(stored, shown(many, false)), 'a plan of an earlier release has no digest')
})

onEachDatabase(t, 'an order that claims in several ways is counted once', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const { paidOrder, save, running } = product
  const first = await paidOrder()
  const transactionHash = first.transactionHash ?? null
  const rivals: string[] = []
  const prove = (outTradeNo: string) => running.service(payments).provePayer(outTradeNo, payer, 'account')
  for (let made = 0; made < 13; made++) {
    const { outTradeNo } = await paidOrder({ transactionHash: made % 2 === 0 ? transactionHash : null })
    await prove(outTradeNo)
    await save(outTradeNo, { transactionHash })
    rivals.push(outTradeNo)
  }
  const seen = async () => {
    const { plan } = (await save(first.outTradeNo)).data
    return [plan.claimedBy, plan.claimedByTotal]
  }
  t.same(await seen(), [rivals.slice(-10), 13])
  await prove(first.outTradeNo)
  t.same(await seen(), [rivals.slice(-10), 13], 'all are of the same payer and name the transaction')
})

onSqlite(t, 'a transfer that is older than its order waits for an operator', async (t: Test, at) => {
  const config = { 'platform.money.web3.settlement.block-time-tolerance': '2m' }
  const product = await startSettlement(t, at, { config })
  const { paidOrder, save, db, clock } = product
  const createdAfter = async (ms: number) => {
    const hash = hashNumber(900 + ms)
    const { outTradeNo } = await paidOrder({ transactionHash: hash }, undefined)
    product.world.answers.set(hash, paidChainFacts(hash, { blockTime: clock.now() }))
    await db.execute('update money_payment_order set created_at = ? where out_trade_no = ?', [
      clock.now() + ms,
      outTradeNo,
    ])
    return (await save(outTradeNo)).data
  }
  t.hasStrict(await createdAfter(2 * minute), { state: 'ready' })
  assertMembers(t, await createdAfter(2 * minute + 1), {
    state: 'review_required',
    plan: { causes: ['transfer-before-order'], blockTime: new Date(clock.now()).toISOString() },
  })
  t.match(await overdue(product), { handled: 2, executed: 1 })
})

onDatabase(
  t,
  'a transfer belongs to the order of its proven payer, also if another order claims it',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { save, statusOf, running, paidOrder, call } = product
    const { mine, other } = await contested(product)
    await running.service(payments).provePayer(mine.outTradeNo, payer, 'signature')
    const claim = (await save(other.outTradeNo)).data
    assertMembers(t, (await save(mine.outTradeNo)).data, { state: 'ready', plan: { causes: [], payer } })
    t.hasStrict(claim, { state: 'review_required' })
    // A pending order of the proven payer also claims the transfer, even though it specifies no transaction.
    const waiting = await paidOrder({ amountRaw: '7', transactionHash: null })
    await running.service(payments).provePayer(waiting.outTradeNo, stranger, 'account')
    const hash = hashNumber(77)
    product.world.answers.set(hash, paidChainFacts(hash, {}, [transferLog(0, { from: stranger, value: 7n })]))
    const thief = await paidOrder(
      { amountRaw: '7', transactionHash: hash },
      paidChainFacts(hash, {}, [transferLog(0, { from: stranger, value: 7n })]),
    )
    await product.db.execute('update money_payment_order set transaction_hash = ? where out_trade_no = ?', [
      hash,
      thief.outTradeNo,
    ])
    assertMembers(t, (await save(thief.outTradeNo)).data, {
      state: 'review_required',
      plan: { causes: ['named-by-another-order'], claimedBy: [waiting.outTradeNo] },
    })
    t.hasStrict((await save(waiting.outTradeNo, { transactionHash: hash })).data, { state: 'ready' })
    // The proven payer of this order did not send the transfer.
    const wrong = await paidOrder()
    await running.service(payments).provePayer(wrong.outTradeNo, stranger, 'account')
    assertMembers(t, (await save(wrong.outTradeNo)).data, {
      state: 'review_required',
      plan: { causes: ['payer-mismatch'] },
    })
    t.match(await overdue(product), { handled: 5, executed: 2 })
    for (const [order, status] of [
      [mine, 'success'],
      [waiting, 'success'],
      [other, 'pending'],
      [thief, 'pending'],
      [wrong, 'pending'],
    ] as const) {
      t.equal(await statusOf(order.outTradeNo), status, order.outTradeNo)
    }
    t.equal((await call('GET', `${reviewPath}?lastOutcome=skipped`)).data.total, 3)
  },
)

onSqlite(t, 'only an address that a key has proven is a payer without a signature', async (t: Test, at) => {
  const { running, paidOrder, db, rows } = await startSettlement(t, at)
  const actor = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
  const users = running.service(accounts)
  const orderOf = async (subject: string, proof?: string) => {
    const identity = { provider: 'evm', chainType: 'evm', subject, ...(proof === undefined ? {} : { proof }) }
    const { account } = await users.resolveExternal(identity, { username: subject, fallbackPrefix: 'wallet' }, actor)
    const { outTradeNo } = await paidOrder()
    await db.execute('update money_payment_order set user_id = ? where out_trade_no = ?', [account.id, outTradeNo])
    return outTradeNo
  }
  const prove = (outTradeNo: string, claimed: string) =>
    running
      .service(orderSettlements)
      .provePayer(outTradeNo, { address: claimed })
      .then(
        () => 'proven',
        ({ reason }) => reason,
      )
  // On another chain, another person may own the contract at this address.
  const byContract = await orderOf(payer, 'eip-1271:10')
  t.equal(await prove(byContract, payer), 'web3-settlement.payer-not-proven')
  const [byKey, byOperator] = [await orderOf(stranger, 'ecrecover'), await orderOf(address('e1'))]
  t.equal(await prove(byKey, stranger), 'proven')
  t.equal(await prove(byOperator, address('e1')), 'proven')
  t.same(await rows('select payer, payer_proof from money_payment_order order by id'), [
    { payer: null, payer_proof: null },
    { payer: stranger, payer_proof: 'account' },
    { payer: address('e1'), payer_proof: 'account' },
  ])
  await users.storeExternalProof({ provider: 'evm', subject: payer }, 'ecrecover')
  t.equal(await prove(byContract, payer), 'proven')
})

onSqlite(t, 'a transfer is credited automatically only to its sender, in any order of claims', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const { db, world, running, save, statusOf, rows } = product
  const buyers = ['b1', 'b2', 'b3'].map(address)
  let made = 0
  let credited = 0
  const buyer = fc.integer({ min: 0, max: 2 })
  const randomWorld = fc.record({
    /**
     * Orders with their buyers and amounts. If payers are proven, the payer distinguishes the orders; otherwise the
     * amount does.
     */
    orders: fc.array(fc.record({ buyer, amount: fc.integer({ min: 1, max: 2 }) }), { minLength: 2, maxLength: 5 }),
    isProven: fc.boolean(),
    /** Transfers. Each number is the index of the order that the transfer pays. */
    transfers: fc.array(fc.nat(4), { minLength: 1, maxLength: 3 }),
    /**
     * Sequence in which orders claim transfers. The claim is made by the order itself, or only by a review of the
     * order.
     */
    namings: fc.array(fc.record({ order: fc.nat(4), transfer: fc.nat(2), byReview: fc.boolean() }), {
      minLength: 1,
      maxLength: 8,
    }),
    timeouts: fc.array(fc.nat(8), { maxLength: 2 }),
  })
  await fc.assert(
    fc.asyncProperty(randomWorld, async ({ orders, isProven, transfers, namings, timeouts }) => {
      made += 1
      const amounts = new Set<string>()
      const list: { outTradeNo: string; buyer: number; amountRaw: string }[] = []
      for (const [index, one] of orders.entries()) {
        // Without a proven payer, amounts must differ, because all orders of a product are paid to one address.
        const amountRaw = String(isProven ? one.amount : 100 + index)
        amounts.add(amountRaw)
        const outTradeNo = `random-${made}-${index}`
        await createOrder(db, { outTradeNo, scene: 'test', amountRaw, transactionHash: null })
        if (isProven) await running.service(payments).provePayer(outTradeNo, buyers[one.buyer] ?? '', 'account')
        list.push({ outTradeNo, buyer: one.buyer, amountRaw })
      }
      const paid = transfers.map((at, index) => {
        const order = list[at % list.length]
        const hash = hashNumber(1_000_000 + made * 10 + index)
        const from = buyers[order?.buyer ?? 0] ?? ''
        world.answers.set(
          hash,
          paidChainFacts(hash, {}, [transferLog(0, { from, value: BigInt(order?.amountRaw ?? 0) })]),
        )
        return { hash, buyer: order?.buyer, outTradeNo: order?.outTradeNo }
      })
      for (const [at, { order, transfer, byReview }] of namings.entries()) {
        const target = list[order % list.length]
        const payment = paid[transfer % paid.length]
        if (target === undefined || payment === undefined) continue
        if ((await statusOf(target.outTradeNo)) !== 'pending') continue
        if (!byReview) await running.service(payments).attachTransaction(target.outTradeNo, payment.hash)
        await save(target.outTradeNo, { transactionHash: payment.hash })
        if (timeouts.includes(at)) await overdue(product)
        await product.login('admin')
      }
      await overdue(product)
      await product.login('admin')
      for (const { hash, buyer: sender, outTradeNo } of paid) {
        const [row] = await rows(
          `select out_trade_no from money_payment_transaction where transaction_hash = '${hash}'`,
        )
        if (row === undefined) continue
        credited += 1
        const order = list.find((one) => one.outTradeNo === row['out_trade_no'])
        if (order?.buyer !== sender) throw new Error(`${hash} of buyer ${sender} was credited to ${order?.outTradeNo}`)
        if (!isProven && order?.outTradeNo !== outTradeNo) throw new Error(`${hash} was for ${outTradeNo}`)
      }
    }),
    { numRuns: 40 },
  )
  t.ok(credited >= 10, `${credited} transfers were credited`)
})

/** Creates two operators of one organisation. */
async function colleagues({ call, operator }: RunningSettlement, acts: readonly string[]) {
  const permissions = acts.map((act) => `money:web3:payment-settlement${act}`)
  const [userId, colleague] = [await operator('sam', ...permissions), await operator('kim')]
  for (const id of [userId, colleague]) await call('PUT', `/api/v1/admin/iam/users/${id}`, { orgId: 7 })
  /** Changes the data scope of the first operator. */
  const limit = async (dataScope: 'all' | 'org') => {
    const [{ id, version }] = (await call('GET', '/api/v1/admin/iam/roles?keyword=role-sam')).data.items
    return call('PUT', `/api/v1/admin/iam/roles/${id}`, { name: 'sam', dataScope, permissions, version })
  }
  return { userId, colleague, limit }
}

onDatabase(t, 'a plan contains no order outside the data scope of the caller', async (t: Test, at) => {
  const product = await startSettlement(t, at)
  const { call, paidOrder } = product
  const { userId, colleague, limit } = await colleagues(product, ['-review-log:view', '-review-log:create'])
  const contest = async (rivalUser: number | null) => {
    const mine = await paidOrder({ userId })
    const rival = await paidOrder({ userId: rivalUser, transactionHash: mine.transactionHash ?? null })
    return [mine.outTradeNo, rival.outTradeNo] as const
  }
  const [[first, near], [second, foreign]] = [await contest(colleague), await contest(null)]
  const shownRivals = async (outTradeNo: string) => {
    const { data: review } = await product.save(outTradeNo, {}, 'sam')
    const payment = `${adminWeb3Path}/payment-confirmations`
    const plans = [
      (await call('POST', payment, { outTradeNo }, 'sam')).data,
      (await call('POST', `${payment}/batch`, { items: [{ outTradeNo }] }, 'sam')).data.items[0],
      review.plan,
      (await call('GET', `${reviewPath}/${review.id}`, undefined, 'sam')).data.plan,
      (await call('GET', `${reviewPath}?outTradeNo=${outTradeNo}`, undefined, 'sam')).data.items[0].plan,
    ]
    return plans.map(({ causes, claimedBy, claimedByTotal }) => [...causes, ...claimedBy, claimedByTotal].join(' '))
  }
  const shown = (...names: readonly string[]) => Array(5).fill(['named-by-another-order', ...names, 1].join(' '))
  t.same(await shownRivals(second), shown(foreign), 'scope "all" sees every order')
  t.equal((await limit('org')).code, '200')
  t.same(await shownRivals(first), shown(near), 'the order of a colleague')
  t.same(await shownRivals(second), shown(), 'the cause and the total stay without the foreign order')
})

onDatabase(
  t,
  'an operator can accept the other orders of a transfer only if their data scope includes all of them',
  async (t: Test, at) => {
    const product = await startSettlement(t, at)
    const { paidOrder, save, settle, statusOf, count } = product
    const { userId, colleague, limit } = await colleagues(product, [
      '-review-log:view',
      '-review-log:create',
      ':execute',
    ])
    const contest = async (...users: readonly (number | null)[]) => {
      const mine = await paidOrder({ userId })
      for (const user of users) await paidOrder({ userId: user, transactionHash: mine.transactionHash ?? null })
      return mine.outTradeNo
    }
    const near = await contest(colleague)
    const foreign = [await contest(colleague, null), await contest(...Array(11).fill(colleague))]
    await limit('org')
    const reviewOf = async (outTradeNo: string) => (await save(outTradeNo, {}, 'sam')).data.id
    const reviews = [await reviewOf(String(foreign[0])), await reviewOf(String(foreign[1]))]
    for (const id of reviews) {
      for (const verb of ['settle', 'retry'] as const) {
        const { code, data } = await settle(id, verb, 'sam', true)
        t.same([code, data.reason], ['403', 'web3-settlement.other-orders-out-of-scope'])
      }
      t.same(
        (await settle(id, 'settle', 'sam')).data.reasons,
        ['named-by-another-order'],
        'without acceptance as before',
      )
    }
    t.equal(await count('money_payment_transaction'), 0)
    t.equal((await settle(await reviewOf(near), 'settle', 'sam', true)).data.outcome, 'settled', 'of the organisation')
    await limit('all')
    for (const [place, id] of reviews.entries()) {
      t.equal((await settle(id, 'settle', 'sam', true)).data.outcome, 'settled')
      t.equal(await statusOf(String(foreign[place])), 'success')
    }
  },
)
