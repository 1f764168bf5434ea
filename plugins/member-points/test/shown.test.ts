/** Tests the texts that members see: names of ledger entries, amounts of rules, completed tasks, and figures. */

import { assertMembers } from '@plinth/dev/testing'
import { onSqlite } from '@plinth/dev/testing/database'
import { orderPaid, orderRefunded } from '@plinth/events'
import { definePlugin } from '@plinth/kernel'
import { ledgerKinds } from '@plinth/money'
import t from 'tap'
import { type Points, reasonOf, startPoints } from './fixtures/product.ts'

const shop = definePlugin({
  id: 'test.shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [ledgerKinds],
  setup({ contribute }) {
    contribute(ledgerKinds, 'shop.order-hold', { en: 'Held for an order', 'zh-CN': '订单冻结' })
  },
})

async function saveRule({ loginAs, clock }: Points, rule: object) {
  const response = await (await loginAs('root')).call('POST', 'admin/member-points/rules', { enabled: true, ...rule })
  clock.shiftWallClock(10)
  return response
}

onSqlite(t, 'members see names of entries and titles of tasks, not codes', async (t, at) => {
  const product = await startPoints(t, at, { plugins: [shop] })
  const { ledger, points, ref } = product
  await product.administrator()
  const member = await product.member('ada')
  const displayTitle = { en: 'Read the newsletter', 'zh-CN': '阅读通讯' }
  await saveRule(product, { code: 'newsletter', type: 'task', config: { points: 7 }, displayTitle })
  await points.rewardTask({ task: 'newsletter', userId: member.id })
  const hold = { ...ref(member.id), amount: 5, key: 'h', kind: 'shop.order-hold' }
  const { holdId } = await ledger.hold(hold)
  await ledger.release({ holdId, key: 'r' })
  await ledger.debit({ ...ref(member.id), amount: 1, key: 'd', kind: 'unnamed.spend' })
  await ledger.credit({ ...ref(member.id), amount: 1, key: 'c', kind: 'unnamed.gift' })
  const names = async (language: string) => {
    const path = 'member-points/users/me/ledgers'
    const { data } = await member.call('GET', path, undefined, { 'accept-language': language })
    return data.items.map(({ displayName }: { displayName: string }) => displayName).reverse()
  }
  t.same(await names('en'), [
    'Read the newsletter',
    'Held for an order',
    'Hold released',
    'Points used',
    'Points received',
  ])
  t.same(await names('zh-CN'), ['阅读通讯', '订单冻结', '冻结解除', '积分使用', '积分获得'])
})

onSqlite(t, 'the amount of an order rule is shown in its currency', async (t, at) => {
  const product = await startPoints(t, at)
  await product.administrator()
  const member = await product.member('ada')
  const shown = async (config: object) => {
    await saveRule(product, { code: 'order-reward', type: 'order', config: { points: 1, perAmount: 100, ...config } })
    const { data } = await member.call('GET', 'member-points/tasks', undefined, { 'accept-language': 'en' })
    return data.find(({ code }: { code: string }) => code === 'order-reward').displayDescription
  }
  t.match(await shown({ currency: 'JPY' }), /1 for every ¥100\./)
  t.match(await shown({ currency: 'CNY' }), /1 for every CN¥1\.00\./)
  t.match(await shown({ currency: 'KWD', perAmount: 1_500 }), /1 for every KWD\s1\.500\./)
  t.match(await shown({ currency: 'POINTS' }), /1 for every 100 minor units of POINTS\./)
  t.match(await shown({}), /1 for every 100 minor units of the currency\./)
})

onSqlite(t, 'a task that is rewarded once is shown as done', async (t, at) => {
  const product = await startPoints(t, at)
  const { points } = product
  await product.administrator()
  const member = await product.member('ada')
  const task = async (expected: string) => {
    const { data } = await member.call('GET', 'member-points/tasks')
    const { repeatable, completed } = data.find(({ code }: { code: string }) => code === expected)
    return { repeatable, completed }
  }
  await saveRule(product, { code: 'newsletter', type: 'task', config: { points: 7 } })
  await saveRule(product, { code: 'survey', type: 'task', config: { points: 3, once: true } })
  t.same(await task('newsletter'), { repeatable: true, completed: false })
  await points.rewardTask({ task: 'newsletter', userId: member.id, subject: 'june' })
  t.same(await task('newsletter'), { repeatable: true, completed: false }, 'a subject can be rewarded again')
  await points.rewardTask({ task: 'newsletter', userId: member.id })
  t.same(await task('newsletter'), { repeatable: false, completed: true })

  t.same(await task('survey'), { repeatable: false, completed: false })
  t.match(await points.rewardTask({ task: 'survey', userId: member.id, subject: 'a' }), { points: 3, replayed: false })
  t.match(await points.rewardTask({ task: 'survey', userId: member.id, subject: 'b' }), { replayed: true })
  t.same(await task('survey'), { repeatable: false, completed: true })
  t.same(await task('first-order'), { repeatable: false, completed: false })
})

onSqlite(t, 'figures of members are correct at their limits', async (t, at) => {
  const product = await startPoints(t, at)
  const { ledger, points, ref, events, clock } = product
  const admin = await product.administrator()
  const member = await product.member('ada')
  const most = Number.MAX_SAFE_INTEGER

  await t.test('more than 2^53 - 1 points of one kind in a month', async (t) => {
    const big = await product.member('big')
    for (const key of ['one', 'two']) {
      await ledger.credit({ ...ref(big.id), amount: most, key: `${key} in`, kind: 'test.grant' })
      await ledger.debit({ ...ref(big.id), amount: most, key: `${key} out`, kind: 'test.spend' })
    }
    const { code, data } = await big.call('GET', 'member-points/users/me/overview')
    t.hasStrict({ code, ...data }, { code: '200', available: 0, monthEarned: most, monthUsed: most })
  })

  await t.test('an owner of the type user has the id of a user', async (t) => {
    for (const id of ['abc', '0', '1e3', '9007199254740993']) {
      const owner = { type: 'user', id }
      const posting = { owner, asset: 'points:mall', amount: 1, key: `owner ${id}`, kind: 'test.grant' }
      const rejected = await ledger.credit(posting).catch((error) => error)
      t.hasStrict(rejected, { code: '400', reason: 'money.posting-invalid', data: { field: 'owner.id' } }, id)
    }
  })

  await t.test('a check-in shows how many points paid a debt', async (t) => {
    const config = { points: 1, perAmount: 100, recovery: 'future-grants' }
    await saveRule(product, { code: 'order-reward', type: 'order', config })
    const order = { orderNo: 'o', userId: member.id, cashAmount: 300, currency: 'CNY', paidAt: clock.now() }
    await events.publish(orderPaid, order, { key: 'o' })
    await events.idle()
    await points.spend({ userId: member.id, points: 3, key: 's' })
    const refund = { refundNo: 'r', orderNo: 'o', userId: member.id, refundAmount: 300, orderCashAmount: 300 }
    await events.publish(orderRefunded, refund, { key: 'o' })
    await events.idle()
    const { data } = await member.call('POST', 'member-points/users/me/check-in')
    t.match(data, { points: 5, settled: 3 })
    t.same(await product.balance(member.id), [2, 0])
  })

  await t.test('operators cannot adjust their own points', async (t) => {
    const { call } = await product.loginAs('root')
    const [{ id }] = (await product.rows(`select id from iam_user where username = 'root'`)) as [{ id: number }]
    const body = { userId: id, points: 1_000_000_000, reason: 'x' }
    for (const path of ['manual-adjustments', 'manual-adjustments/preview']) {
      const expected = path.endsWith('preview') ? { userId: id, points: 1 } : body
      const response = await call('POST', `admin/member-points/${path}`, expected, { 'idempotency-key': path })
      t.hasStrict(response, { code: '403', data: { reason: 'member-points.own-account' } }, path)
    }
    t.same(await product.balance(id), [0, 0])
    t.ok(admin)
  })

  await t.test('a transfer keeps the expiry', async (t) => {
    await points.rewardLottery(101, 'gift', 30)
    const lots = (userId: number) =>
      product.rows('select remaining, expires_at from points_source where user_id = ? order by expires_at', [userId])
    const [{ expires_at: expiry }] = (await lots(101)) as [{ expires_at: number }]
    clock.shiftWallClock(86_400_000)
    await points.rewardLottery(101, 'later', 30)
    const sides = { from: { type: 'user', id: '101' }, to: { type: 'user', id: '102' } }
    await ledger.transfer({ ...sides, asset: 'points:mall', amount: 40, key: 'give', kind: 'test.give' })
    assertMembers(t, await lots(102), [
      { remaining: 30, expires_at: expiry },
      { remaining: 10, expires_at: expiry + 86_400_000 + 10 * 0 },
    ])
    t.equal(await reasonOf(points.spend({ userId: 102, points: 41, key: 'x' })), '409 money.balance-insufficient')
  })
})

onSqlite(t, 'an operator sees why an order got points or none, and what a refund took back', async (t, at) => {
  const product = await startPoints(t, at)
  const { events, clock } = product
  const operator = await product.administrator()
  const [ada, ben] = [await product.member('ada'), await product.member('ben')]
  const orderReward = { code: 'order-reward', type: 'order', config: { points: 1, perAmount: 100, currency: 'CNY' } }
  await saveRule(product, orderReward)
  const pay = async (orderNo: string, given: object = {}) => {
    const order = { orderNo, userId: ada.id, cashAmount: 300, currency: 'CNY', paidAt: clock.now(), ...given }
    await events.publish(orderPaid, order, { key: orderNo })
    await events.idle()
  }
  const refund = async (orderNo: string) => {
    const fact = { refundNo: `r-${orderNo}`, orderNo, userId: ada.id, refundAmount: 100, orderCashAmount: 300 }
    await events.publish(orderRefunded, fact, { key: orderNo })
    await events.idle()
  }
  const rewardsOf = async (orderNo: string, { call } = operator) =>
    (await call('GET', `admin/member-points/order-rewards?orderNo=${orderNo}`)).data.items
  await pay('good')
  await refund('good')
  await pay('dollars', { currency: 'USD' })
  await pay('small', { cashAmount: 99 })
  await refund('unpaid')
  await saveRule(product, { ...orderReward, enabled: false })
  await pay('off')
  await saveRule(product, orderReward)
  await product.db.execute("update money_account set status = 'closed' where owner_id = ?", [String(ada.id)])
  await pay('closed')
  for (const [orderNo, outcome, granted] of [
    ['good', 'granted', 3],
    ['dollars', 'other-currency', null],
    ['small', 'too-little', null],
    ['unpaid', 'awaited', null],
    ['off', 'rule-off', null],
    ['closed', 'account-closed', null],
  ] as const)
    assertMembers(t, await rewardsOf(orderNo), [{ orderNo, userId: ada.id, outcome, granted }], orderNo)
  const [{ ruleId }] = await rewardsOf('off')
  t.match((await operator.call('GET', `admin/member-points/rules/${ruleId}`)).data, { enabled: false, version: 3 })
  const { data } = await operator.call('GET', 'admin/member-points/order-reversals?orderNo=good')
  assertMembers(t, data.items, [{ refundNo: 'r-good', deducted: 1, asset: 'points:mall' }])
  t.same(await rewardsOf('unknown'), [])
  const all = (await operator.call('GET', 'admin/member-points/order-rewards')).data.items
  t.equal(new Set(all.map(({ orderNo }: { orderNo: string }) => orderNo)).size, all.length)
  t.ok(all.length >= 6, 'without an order, all orders')
  t.equal((await ben.call('GET', 'admin/member-points/order-rewards?orderNo=good')).code, '403')
})
