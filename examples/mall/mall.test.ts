import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { declaredTasks } from '@plinth/kernel/host'
import { ledger } from '@plinth/money'
import { payments } from '@plinth/money/payments'
import t, { type Test } from 'tap'
import { Coupon } from './entities.ts'
import { startMall } from './test/start-mall.ts'

const root = '/api/v1/mall'
const typesOf = (found: readonly { readonly type: string }[]) => found.map(({ type }) => type)

onDatabase(
  t,
  'P-008 an order is created, paid, sent, refunded in parts and reviewed, and each event is published once',
  async (t: Test, db) => {
    const { clock, admin, member, add, published } = await startMall(t, db)
    const { id: userId, call } = await member('ann')
    const [tea, cup] = [await add('TEA', 4_500, 10), await add('CUP', 9_900, 10)]
    assertMembers(t, (await call('GET', `${root}/goods`)).data, {
      items: [
        { id: cup, stock: 10 },
        { id: tea, price: 4_500 },
      ],
    })

    const created = await call('POST', `${root}/orders`, {
      lines: [
        { goodsId: cup, quantity: 1 },
        { goodsId: tea, quantity: 2 },
      ],
    })
    t.hasStrict(created, { code: '200', data: { userId, status: 'unpaid', currency: 'CNY', paidAt: null } })
    t.match(created.data, { goodsAmount: 18_900, couponAmount: 0, cashAmount: 18_900, refundedAmount: 0 })
    const { orderNo, lines } = created.data
    t.match(orderNo, /^M20261101[0-9A-Z]+$/)
    t.hasStrict(await call('POST', `${root}/orders/${orderNo}/refunds`, { amount: 1, reason: 'early' }), {
      data: { reason: 'mall.order-not-paid', status: 'unpaid' },
    })
    const review = `${root}/orders/${orderNo}/lines/${lines[0].id}/review`
    t.hasStrict(await call('PUT', review, { rating: 5, body: 'Before it is paid' }), {
      data: { reason: 'mall.order-not-paid' },
    })
    t.same(await published(), [{ type: 'mall.order.status-changed', payload: { orderNo, userId, status: 'unpaid' } }])

    const paid = await call('POST', `${root}/orders/${orderNo}/payments`, { provider: 'test' })
    t.hasStrict(paid, { code: '200', data: { status: 'paid', paidAt: new Date(clock.now()).toISOString() } })
    t.hasStrict(await call('POST', `${root}/orders/${orderNo}/payments`, { provider: 'test' }), {
      code: '409',
      data: { reason: 'mall.order-not-unpaid', status: 'paid' },
    })
    t.same(await published(), [
      {
        type: 'commerce.order.paid',
        payload: { orderNo, userId, cashAmount: 18_900, currency: 'CNY', paidAt: clock.now() },
      },
      { type: 'mall.order.status-changed', payload: { orderNo, userId, status: 'paid' } },
      { type: 'mall.order.pending-fulfilment', payload: { orderNo } },
      { type: 'first-order', payload: { userId, orderNo } },
    ])

    t.hasStrict(await admin('POST', `/api/v1/admin/mall/orders/${orderNo}/ship`), { data: { status: 'shipped' } })
    t.hasStrict(await admin('POST', `/api/v1/admin/mall/orders/${orderNo}/ship`), {
      data: { reason: 'mall.order-not-paid', status: 'shipped' },
    })
    assertMembers(t, typesOf(await published()), ['mall.order.status-changed'])

    t.match(await call('PUT', review, { rating: 4, body: 'Good.' }), { data: { rating: 4 } })
    t.same(await published(), [], 'too short a word deserves nothing')
    const { data: written } = await call('PUT', review, { rating: 5, body: 'It keeps tea warm for hours.' })
    await call('PUT', review, { rating: 5, body: 'It keeps tea warm for hours, and coffee.' })
    t.same(await published(), [{ type: 'review-reward', payload: { userId, reviewId: String(written.reviewId) } }])
    t.hasStrict(await call('PUT', `${root}/orders/${orderNo}/lines/1/review`, { rating: 5, body: '' }), {
      data: { reason: 'mall.line-unknown' },
    })

    const ask = async (amount: number) =>
      call('POST', `${root}/orders/${orderNo}/refunds`, { amount, reason: 'broken' })
    const first = (await ask(9_900)).data
    t.hasStrict(first, { orderNo, amount: 9_900, currency: 'CNY', status: 'pending', decidedAt: null })
    t.hasStrict(await ask(9_001), { data: { reason: 'mall.refund-exceeds-paid', refundable: 9_000 } })
    const second = (await ask(9_000)).data
    t.same(typesOf(await published()), [
      'mall.after-sales.status-changed',
      'mall.after-sales.pending-review',
      'mall.after-sales.status-changed',
      'mall.after-sales.pending-review',
    ])
    const decide = (refundNo: string, approve: boolean) =>
      admin('POST', `/api/v1/admin/mall/refunds/${refundNo}/decision`, { approve })
    t.hasStrict(await decide(first.refundNo, true), {
      data: { status: 'refunded', currency: 'CNY', decidedBy: 'admin' },
    })
    t.hasStrict(await decide(first.refundNo, false), { data: { reason: 'mall.refund-decided', status: 'refunded' } })
    t.hasStrict(await decide(second.refundNo, false), { data: { status: 'rejected' } })
    t.hasStrict((await call('GET', `${root}/orders/${orderNo}`)).data, { status: 'shipped', refundedAmount: 9_900 })
    assertMembers(t, await published(), [
      { type: 'mall.after-sales.status-changed', payload: { afterSalesNo: first.refundNo, status: 'refunded' } },
      {
        type: 'commerce.order.refunded',
        payload: { refundNo: first.refundNo, orderNo, userId, refundAmount: 9_900, orderCashAmount: 18_900 },
      },
      { type: 'mall.after-sales.status-changed', payload: { afterSalesNo: second.refundNo, status: 'rejected' } },
    ])
    const third = (await ask(9_000)).data
    await decide(third.refundNo, true)
    t.hasStrict((await call('GET', `${root}/orders/${orderNo}`)).data, { status: 'refunded', refundedAmount: 18_900 })
    assertMembers(t, typesOf(await published()).slice(-2), ['commerce.order.refunded', 'mall.order.status-changed'])
    t.hasStrict(await ask(1), { data: { reason: 'mall.order-not-paid', status: 'refunded' } })
    assertMembers(t, (await admin('GET', '/api/v1/admin/mall/refunds?status=refunded')).data, {
      total: 2,
      items: [{ refundNo: third.refundNo }, { refundNo: first.refundNo }],
    })
    assertMembers(t, (await admin('GET', `/api/v1/admin/mall/orders?status=refunded&userId=${userId}`)).data, {
      items: [{ orderNo, lines: [{ quantity: 2 }, { quantity: 1 }] }],
    })
    t.match((await admin('GET', '/api/v1/admin/iam/audits?action=mall-refund.decide')).data, { total: 3 })
  },
)

onDatabase(t, 'stock, coupons, numbers and payments stay correct with many concurrent calls', async (t: Test, db) => {
  const { running, shop, clock, member, add, published } = await startMall(t, db)
  const [ann, bob] = [await member('ann'), await member('bob')]
  const course = await add('COURSE', 2_000, 7, 'virtual')
  const order = (who: typeof ann, more: object = {}) =>
    who.call('POST', `${root}/orders`, { lines: [{ goodsId: course, quantity: 1 }], ...more })

  const responses = await Promise.all(Array.from({ length: 10 }, (_, i) => order(i % 2 === 0 ? ann : bob)))
  const made = responses.filter(({ code }) => code === '200')
  t.equal(made.length, 7, 'no piece is sold twice')
  t.equal(responses.filter(({ data }) => data.reason === 'mall.stock-short').length, 3)
  t.equal(new Set(made.map(({ data }) => data.orderNo)).size, 7)
  const shortages = (await published()).filter(({ type }) => type.startsWith('mall.virtual'))
  t.same(
    shortages.map(({ type, payload }) => [type, payload['stock']]).sort(),
    [
      ['mall.virtual-delivery.low-stock', 2],
      ['mall.virtual-delivery.out-of-stock', 0],
    ],
    'told where the stock fell to the mark, and at its end',
  )
  const theirs = (who: typeof ann) =>
    made.filter(({ data }) => data.userId === who.id).map(({ data }) => String(data.orderNo))
  const [one = '', other = ''] = theirs(ann)
  t.hasStrict(await bob.call('GET', `${root}/orders/${one}`), { code: '404', data: { reason: 'mall.order-unknown' } })
  t.hasStrict(await bob.call('POST', `${root}/orders/${one}/payments`, { provider: 'test' }), { code: '404' })
  t.hasStrict(await bob.call('POST', `${root}/orders/${one}/cancel`), { code: '404' })

  const pay = (orderNo: string) => ann.call('POST', `${root}/orders/${orderNo}/payments`, { provider: 'test' })
  const payments = await Promise.all([...Array.from({ length: 5 }, () => pay(one)), pay(other)])
  t.equal(payments.filter(({ code }) => code === '200').length, 2, 'each is paid once')
  const after = await published()
  t.equal(after.filter(({ type }) => type === 'commerce.order.paid').length, 2)
  t.equal(after.filter(({ type }) => type === 'first-order').length, 1, 'one of them is the first')
  t.notOk(typesOf(after).includes('mall.order.pending-fulfilment'), 'nobody packs a course')

  const requested = await Promise.all(
    Array.from({ length: 6 }, () => ann.call('POST', `${root}/orders/${one}/refunds`, { amount: 700, reason: 'r' })),
  )
  t.equal(requested.filter(({ code }) => code === '200').length, 2, 'open requests together stay within the price')

  const [unpaid = ''] = theirs(bob)
  const cancels = await Promise.all([1, 2, 3].map(() => bob.call('POST', `${root}/orders/${unpaid}/cancel`)))
  t.equal(cancels.filter(({ code }) => code === '200').length, 1)
  const stock = async () => (await ann.call('GET', `${root}/goods`)).data.items[0].stock
  t.equal(await stock(), 1, 'its piece can be bought again')

  const em = running.service(database)
  await em.fork().insert(Coupon, {
    id: em.newId(),
    code: 'TEN',
    name: 'Ten',
    amount: 2_000,
    minAmount: 1_000,
    remaining: 2,
    demo: false,
    validUntil: new Date(clock.now() + 60_000),
  })
  t.hasStrict(await order(ann, { couponCode: 'NONE' }), { code: '409', data: { reason: 'mall.coupon-unusable' } })
  t.equal(await stock(), 1, 'a refused order takes nothing')
  const free = await order(ann, { couponCode: 'TEN' })
  t.hasStrict(free.data, { status: 'paid', couponAmount: 2_000, cashAmount: 0 }, 'nothing is left to be paid')
  t.match(
    (await published()).find(({ type }) => type === 'commerce.order.paid'),
    { payload: { cashAmount: 0 } },
  )
  const again = await add('COURSE-2', 2_000, 5, 'virtual')
  const wish = { lines: [{ goodsId: again, quantity: 2 }], couponCode: 'TEN' }
  t.hasStrict(await ann.call('POST', `${root}/orders`, wish), { data: { reason: 'mall.coupon-used' } })
  const withCoupon = (await bob.call('POST', `${root}/orders`, wish)).data
  t.match(withCoupon, { couponAmount: 2_000, cashAmount: 2_000 })
  await bob.call('POST', `${root}/orders/${withCoupon.orderNo}/cancel`)
  const back = (await bob.call('POST', `${root}/orders`, wish)).data
  t.match(back, { couponAmount: 2_000 }, 'the coupon of a cancelled order can be used again')
  clock.shiftWallClock(60_001)
  await bob.call('POST', `${root}/orders/${back.orderNo}/cancel`)
  t.hasStrict(await bob.call('POST', `${root}/orders`, wish), { data: { reason: 'mall.coupon-unusable' } }, 'too late')

  const twice = { lines: [1, 2].map(() => ({ goodsId: again, quantity: 1 })) }
  t.hasStrict(await ann.call('POST', `${root}/orders`, twice), {
    code: '400',
    data: { reason: 'mall.goods-repeated' },
  })
  t.hasStrict(await ann.call('POST', `${root}/orders`, { lines: [{ goodsId: 4711, quantity: 1 }] }), {
    data: { reason: 'mall.goods-unknown' },
  })
  await rejectsWith(t, shop.refunds.decide('R0', true, 'admin'), { message: 'The refund does not exist.' })
})

onDatabase(
  t,
  'unpaid orders are cancelled after their time, and test payments can be disabled',
  async (t: Test, db) => {
    const { running, clock, member, add, published } = await startMall(t, db, {
      'platform.example.mall.test-payments': false,
      'platform.example.mall.payment-timeout': '10m',
      'platform.example.mall.currency': 'EUR',
    })
    const { call } = await member('ann')
    const tea = await add('TEA', 4_500, 10)
    const order = async () => (await call('POST', `${root}/orders`, { lines: [{ goodsId: tea, quantity: 3 }] })).data
    const first = await order()
    t.equal(first.currency, 'EUR')
    t.hasStrict(await call('POST', `${root}/orders/${first.orderNo}/payments`, { provider: 'test' }), {
      code: '403',
      data: { reason: 'mall.test-payments-off' },
    })
    clock.shiftWallClock(600_001)
    const young = await order()
    await published()
    const [task] = running.service(declaredTasks).scheduledTasks.filter(({ plugin }) => plugin === 'example.mall')
    await task?.run(new AbortController().signal)
    assertMembers(t, (await call('GET', `${root}/orders?status=cancelled`)).data, {
      items: [{ orderNo: first.orderNo }],
      total: 1,
    })
    assertMembers(t, (await call('GET', `${root}/orders?status=unpaid`)).data, {
      items: [{ orderNo: young.orderNo }],
      total: 1,
    })
    t.equal((await call('GET', `${root}/goods`)).data.items[0].stock, 7)
    assertMembers(t, await published(), [{ payload: { orderNo: first.orderNo, status: 'cancelled' } }])
  },
)

onDatabase(t, 'a payment is rolled back if its event cannot be published', async (t: Test, db) => {
  const { shop, db: own, member, add } = await startMall(t, db)
  const { id, call } = await member('ann')
  const orderNo = await shop.orders.create(id, { lines: [{ goodsId: await add('TEA', 4_500, 10), quantity: 1 }] })
  const dies = own.transactional(async () => {
    await shop.orders.payForTest(id, orderNo)
    throw new Error('the caller fails after the payment')
  })
  await rejectsWith(t, dies, { message: 'the caller fails after the payment' })
  t.hasStrict((await call('GET', `${root}/orders/${orderNo}`)).data, { status: 'unpaid', paidAt: null })
  const [{ count }] = (await own.query('select count(*) as count from mall_first_order')) as [{ count: unknown }]
  t.equal(Number(count), 0)
})

onDatabase(t, 'credit is put on hold, captured with the payment, and returned with the last refund', async (t, db) => {
  const { running, admin, member, add } = await startMall(t, db, {
    'platform.example.mall.credit-asset': 'credit:test',
  })
  const { id, call } = await member('ann')
  const tea = await add('TEA', 4_500, 10)
  const account = { owner: { type: 'user', id: String(id) }, asset: 'credit:test' }
  const book = running.service(ledger)
  const balance = async () => {
    const { available, frozen } = await book.balance(account)
    return [available, frozen]
  }
  await book.credit({ ...account, amount: 3_000, key: 'gift', kind: 'test.gift' })
  const order = (credit: number) => call('POST', `${root}/orders`, { lines: [{ goodsId: tea, quantity: 1 }], credit })
  const pay = (orderNo: string) => call('POST', `${root}/orders/${orderNo}/payments`, { provider: 'test' })

  t.hasStrict(await order(3_001), { code: '409', data: { reason: 'money.balance-insufficient' } })
  t.hasStrict(await order(4_501), { code: '409', data: { reason: 'mall.credit-exceeds-price', price: 4_500 } })
  t.equal((await call('GET', `${root}/goods`)).data.items[0].stock, 10, 'a refused order takes nothing')
  const first = (await order(1_000)).data
  t.match(first, { creditAmount: 1_000, cashAmount: 3_500 })
  t.same(await balance(), [2_000, 1_000])
  await call('POST', `${root}/orders/${first.orderNo}/cancel`)
  t.same(await balance(), [3_000, 0], 'a cancelled order gives it back')

  const { orderNo } = (await order(3_000)).data
  t.same(await balance(), [0, 3_000])
  t.hasStrict(await pay(orderNo), { data: { status: 'paid', creditAmount: 3_000, cashAmount: 1_500 } })
  t.same(await balance(), [0, 0])
  t.hasStrict(await running.service(payments).get(orderNo), {
    status: 'success',
    provider: 'test',
    scene: 'mall.order',
    asset: 'cny',
    amount: 1_500,
    userId: id,
  })
  // Operators must be able to approve a refund with any reason that a customer may enter.
  const reason = '💔'.repeat(200)
  for (const [amount, after] of [
    [500, 0],
    [1_000, 3_000],
  ]) {
    const { refundNo } = (await call('POST', `${root}/orders/${orderNo}/refunds`, { amount, reason })).data
    const decided = await admin('POST', `/api/v1/admin/mall/refunds/${refundNo}/decision`, { approve: true })
    t.hasStrict(decided, { code: '200', data: { status: 'refunded', reason } })
    t.same(await balance(), [after, 0])
  }
  t.hasStrict(await running.service(payments).get(orderNo), { status: 'refunded', refundedAmount: 1_500 })
})

onDatabase(t, 'an operator does not decide the refund of the own order', async (t, db) => {
  const { running, admin, add } = await startMall(t, db)
  const tea = await add('TEA', 4_500, 10)
  const { data } = await admin('POST', `${root}/orders`, { lines: [{ goodsId: tea, quantity: 1 }] })
  await admin('POST', `${root}/orders/${data.orderNo}/payments`, { provider: 'test' })
  const refund = await admin('POST', `${root}/orders/${data.orderNo}/refunds`, { amount: 4_500, reason: 'broken' })
  for (const approve of [true, false]) {
    const decided = await admin('POST', `/api/v1/admin/mall/refunds/${refund.data.refundNo}/decision`, { approve })
    t.hasStrict(decided, { code: '403', data: { reason: 'mall.own-refund' } })
  }
  t.hasStrict(await running.service(payments).get(data.orderNo), { status: 'success', refundedAmount: 0 })
})

onDatabase(t, 'an order that was paid only with credit is refunded as a whole, once', async (t, db) => {
  const { running, admin, member, add, published } = await startMall(t, db, {
    'platform.example.mall.credit-asset': 'credit:test',
  })
  const { id, call } = await member('ann')
  const tea = await add('TEA', 4_500, 10)
  const account = { owner: { type: 'user', id: String(id) }, asset: 'credit:test' }
  const book = running.service(ledger)
  await book.credit({ ...account, amount: 4_500, key: 'gift', kind: 'test.gift' })
  const lines = [{ goodsId: tea, quantity: 1 }]
  const order = async (credit?: number) => (await call('POST', `${root}/orders`, { lines, credit })).data
  const { orderNo } = await order(4_500)
  t.hasStrict((await call('GET', `${root}/orders/${orderNo}`)).data, {
    status: 'paid',
    cashAmount: 0,
    creditAmount: 4_500,
  })
  const ask = (no: string, amount: number) => call('POST', `${root}/orders/${no}/refunds`, { amount, reason: 'broken' })
  const decide = (refundNo: string, approve: boolean) =>
    admin('POST', `/api/v1/admin/mall/refunds/${refundNo}/decision`, { approve })

  t.hasStrict(await ask(orderNo, 1), {
    data: { reason: 'mall.refund-exceeds-paid', refundable: 0, field: 'amount' },
  })
  const requested = await Promise.all([ask(orderNo, 0), ask(orderNo, 0)])
  const [one] = requested.filter(({ code }) => code === '200')
  t.hasStrict(
    requested.find(({ code }) => code !== '200'),
    { code: '409', data: { reason: 'mall.refund-asked' } },
  )
  t.hasStrict(await decide(one.data.refundNo, false), { data: { status: 'rejected' } })
  t.hasStrict(
    (await call('GET', `${root}/orders/${orderNo}`)).data,
    { status: 'paid' },
    'a refused request changes nothing',
  )
  const again = (await ask(orderNo, 0)).data
  t.hasStrict(await decide(again.refundNo, true), { code: '200', data: { status: 'refunded', amount: 0 } })
  t.match(await book.balance(account), { available: 4_500, frozen: 0 })
  t.hasStrict((await call('GET', `${root}/orders/${orderNo}`)).data, { status: 'refunded', refundedAmount: 0 })
  t.hasStrict(await ask(orderNo, 0), { data: { reason: 'mall.order-not-paid', status: 'refunded' } })
  t.notOk(typesOf(await published()).includes('commerce.order.refunded'), 'no money was paid back')

  const paid = await order()
  await call('POST', `${root}/orders/${paid.orderNo}/payments`, { provider: 'test' })
  t.hasStrict(await ask(paid.orderNo, 0), { code: '400', data: { reason: 'mall.refund-of-nothing', field: 'amount' } })
})

onDatabase(t, 'an order is either paid or cancelled, whichever happens first', async (t, db) => {
  const { running, member, add, shop } = await startMall(t, db)
  const { id } = await member('ann')
  const tea = await add('TEA', 4_500, 100)
  const book = running.service(payments)
  for (let round = 0; round < 6; round++) {
    const orderNo = await shop.orders.create(id, { lines: [{ goodsId: tea, quantity: 1 }] })
    const terms = {
      outTradeNo: orderNo,
      provider: 'bank',
      scene: 'mall.order',
      userId: id,
      asset: 'cny',
      amount: 4_500,
    }
    await book.create(terms)
    const settled = book.settle({ outTradeNo: orderNo, type: 'bank', transactionHash: `B${round}` })
    const cancelled = shop.orders.cancel(id, orderNo)
    const [first, second] = await Promise.allSettled(round % 2 === 0 ? [settled, cancelled] : [cancelled, settled])
    t.ok([first, second].some(({ status }) => status === 'fulfilled'))
    const { order } = await shop.orders.get(orderNo)
    const { status } = await book.get(orderNo)
    t.ok(
      (order.status === 'paid' && status === 'success') || (order.status === 'cancelled' && status === 'closed'),
      `${order.status}, ${status}`,
    )
  }
})

const cleanup = '/api/v1/admin/install/quickstart-cleanups/mall'

onDatabase(
  t,
  'I-173 I-176 I-177 I-179 demo goods are added and removed, and stay if they were ordered',
  async (t: Test, db) => {
    const { shop, admin, member, add } = await startMall(t, db)
    const { call } = await member('ann')
    const own = await add('OWN', 2_000, 10)
    const clean = async () => {
      const payload = { moduleCode: 'mall', dataType: 'demo-goods', confirmation: 'CLEAN-MALL' }
      return (await admin('POST', cleanup, payload)).data.modules[0]
    }
    const goods = async () =>
      (await call('GET', `${root}/goods`)).data.items.map(({ sku }: { sku: string }) => sku).sort()
    t.equal(await shop.seedDemo(), 4)
    t.equal(await shop.seedDemo(), 0, 'the demo data comes once')
    assertMembers(t, (await admin('GET', cleanup)).data, {
      moduleName: 'Mall',
      state: 'ready',
      executable: true,
      targets: [
        { type: 'goods', count: 4 },
        { type: 'coupons', count: 1 },
      ],
    })
    assertMembers(t, await clean(), { outcome: 'cleaned', removed: [{ count: 1 }, { count: 4 }] })
    t.same(await goods(), ['OWN'], 'real goods stay')

    await shop.seedDemo()
    const wish = { lines: [{ goodsId: own, quantity: 3 }], couponCode: 'DEMO-WELCOME' }
    const { data } = await call('POST', `${root}/orders`, wish)
    t.match(data, { couponAmount: 1_000, cashAmount: 5_000 })
    assertMembers(
      t,
      await clean(),
      { outcome: 'failed', errorKey: 'foreign-key', removed: [] },
      'the used coupon is protected',
    )
    t.equal((await goods()).length, 5, 'and everything came back')
    await call('POST', `${root}/orders/${data.orderNo}/cancel`)

    const [demo] = (await call('GET', `${root}/goods`)).data.items
    await call('POST', `${root}/orders`, { lines: [{ goodsId: demo.id, quantity: 1 }] })
    assertMembers(t, (await admin('GET', cleanup)).data, {
      state: 'blocked',
      blockers: [{ code: 'real-orders', count: 1 }],
    })
    t.hasStrict(await clean(), { outcome: 'blocked', executed: false })
  },
)

t.test('P-005 P-008 the mall imports no plugin that listens to it, and publishes only neutral events', (t) => {
  const files = [
    'catalogue',
    'orders',
    'refunds',
    'reviews',
    'member-routes',
    'admin-routes',
    'plugin',
    'demo',
    'credit',
  ]
  const sources = files.map((file) => readFileSync(join(import.meta.dirname, `${file}.ts`), 'utf8')).join('\n')
  const imported = new Set([...sources.matchAll(/from '(@plinth\/[^']+)'/g)].map(([, name]) => name))
  t.same(
    [...imported].filter((name) => /points|notification|linkage/.test(String(name))),
    [],
  )
  t.ok(imported.has('@plinth/events'))
  t.notMatch(sources, /\bevent\(/, 'it defines no event of its own')
  t.notMatch(sources, /points/i)
  t.end()
})

t.test('the points page of a member has all texts in both languages', async (t) => {
  // A browser module without types.
  const module: string = './web/assets/texts.js'
  const { texts } = (await import(module)) as { texts: Readonly<Record<string, Readonly<Record<string, string>>>> }
  const { en = {}, 'zh-CN': chinese = {} } = texts
  t.same(Object.keys(chinese), Object.keys(en))
  const placeholders = (text = '') => (text.match(/\{\w+\}/g) ?? []).sort()
  for (const [name, text] of Object.entries(en)) {
    t.not(text, '', name)
    t.same(placeholders(chinese[name]), placeholders(text), name)
  }
  const page = readFileSync(join(import.meta.dirname, 'web/points.html'), 'utf8')
  for (const [, name = ''] of page.matchAll(/data-(?:text|label)="(\w+)"/g)) t.ok(en[name], name)
})
