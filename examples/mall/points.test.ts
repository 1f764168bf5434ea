/**
 * Tests orders of the mall that are paid with member points, through HTTP: points on hold, refunds and cancellations.
 */
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { onDatabase, startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct, omitUndefined } from '@plinth/kernel'
import pointsPlugin, { memberPoints } from '@plinth/member-points'
import money from '@plinth/money'
import paymentsPlugin from '@plinth/money/payments'
import schedulerPlugin from '@plinth/scheduler'
import sitePlugin from '@plinth/site'
import t, { type Test } from 'tap'
import mallPlugin, { mall } from './plugin.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'correct horse battery staple'
const day = 86_400_000
/** Price in minor units, and the points that the paid order earns. The first order earns 100 points in addition. */
const [price, earned] = [25_900, 259]

async function startShop(t: Test, at: TestDatabase) {
  const clock = manualClock(Date.UTC(2026, 5, 1))
  const product = defineProduct({
    name: 'mall',
    plugins: [
      databasePlugin,
      eventsPlugin,
      httpPlugin,
      sitePlugin,
      i18nPlugin,
      iamPlugin,
      schedulerPlugin,
      money,
      paymentsPlugin,
      pointsPlugin,
      mallPlugin,
    ],
    config: {
      ...at.config,
      'platform.http.port': 0,
      'platform.http.overload.max-wait': '1m',
      'platform.http.response-check': true,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.member-points.expire.auto-startup': false,
      'platform.example.mall.test-payments': true,
      'platform.example.mall.credit-asset': 'points:mall',
    },
  })
  const running = await startMigrated(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const logIn = async (username: string) => {
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    return async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) => {
      const url = `/api/v1/${path}`
      return (await server.inject(omitUndefined({ method, url, headers, payload }))).json()
    }
  }
  await running.service(accounts).createAdministrator({ username: 'admin', password }, origin)
  const goodsId = await running
    .service(mall)
    .catalogue.add({ sku: 'TEA', name: 'Tea', price, stock: 1_000, lowStock: 2, delivery: 'virtual' })
  const settled = () => running.service(events).idle()
  const member = async (username: string) => {
    const { id } = await running.service(accounts).create({ username, password }, origin)
    // These tests move the clock, so an earlier session may have expired.
    const call = async (method: 'GET' | 'POST', path: string, payload?: object) =>
      (await logIn(username))(method, path, payload)
    const order = async (credit?: number) => {
      const lines = [{ goodsId, quantity: 1 }]
      const { data } = await call('POST', 'mall/orders', omitUndefined({ lines, credit }))
      return String(data.orderNo)
    }
    const pay = async (orderNo: string) => {
      const response = await call('POST', `mall/orders/${orderNo}/payments`, { provider: 'test' })
      await settled()
      return response
    }
    const cancel = (orderNo: string) => call('POST', `mall/orders/${orderNo}/cancel`, {})
    const ask = (orderNo: string, amount: number) =>
      call('POST', `mall/orders/${orderNo}/refunds`, { amount, reason: 'x' })
    /** Requests a refund and approves it. */
    const refund = async (orderNo: string, amount: number) => {
      const { refundNo } = (await ask(orderNo, amount)).data
      const decision = `admin/mall/refunds/${refundNo}/decision`
      const response = await (await logIn('admin'))('POST', decision, { approve: true })
      await settled()
      return response
    }
    /** Returns the available points and the points on hold. */
    const balance = async () => {
      const { available, frozen } = (await call('GET', 'member-points/users/me/overview')).data
      return [available, frozen]
    }
    return { id, call, order, pay, cancel, ask, refund, balance }
  }
  const administrator = () => logIn('admin')
  return { running, clock, member, administrator, settled, points: running.service(memberPoints) }
}

onDatabase(t, 'points on hold stay claimed when their order is refunded', async (t, at) => {
  const shop = await startShop(t, at)
  const ann = await shop.member('ann')
  const first = await ann.order()
  await ann.pay(first)
  t.same(await ann.balance(), [earned + 100, 0], 'the first order has a reward of its own')

  await t.test('a cancelled order returns only the points that no refund claims', async (t) => {
    const second = await ann.order(earned + 100)
    t.same(await ann.balance(), [0, earned + 100])
    await ann.refund(first, price)
    t.same(await ann.balance(), [0, earned + 100], 'nothing can be taken now')
    await ann.cancel(second)
    t.same(await ann.balance(), [100, 0])
    const { items } = (await ann.call('GET', 'member-points/users/me/ledgers')).data
    t.match(items[0], { kind: 'points.refund', points: -earned }, 'the member sees what was taken')
  })

  await t.test('the same event again earns no points', async (t) => {
    for (let round = 0; round < 3; round++) {
      const paid = await ann.order()
      await ann.pay(paid)
      const held = await ann.order(earned)
      await ann.refund(paid, price)
      await ann.cancel(held)
    }
    t.same(await ann.balance(), [100, 0])
  })

  await t.test('points that were spent and are returned by another refund are deducted too', async (t) => {
    const paid = await ann.order()
    await ann.pay(paid)
    const bought = await ann.order(earned + 100)
    const { cashAmount } = (await ann.call('GET', `mall/orders/${bought}`)).data
    await ann.pay(bought)
    const more = Math.floor(cashAmount / 100)
    t.same(await ann.balance(), [more, 0])
    await ann.refund(paid, price)
    t.same(await ann.balance(), [0, 0], 'other points of the member pay for a part of those that were spent')
    await ann.refund(bought, cashAmount)
    t.same(await ann.balance(), [100, 0])
  })
})

onDatabase(t, 'returned points keep their expiry and are not earned again', async (t, at) => {
  const shop = await startShop(t, at)
  const bob = await shop.member('bob')
  await shop.points.rewardLottery(bob.id, 'gift', 1_000)
  const sources = async () => {
    const call = await shop.administrator()
    return (await call('GET', `admin/member-points/sources?userId=${bob.id}`)).data.items
  }
  const [{ expiresAt }] = await sources()
  shop.clock.shiftWallClock(10 * day)
  const cancelled = await bob.order(300)
  await bob.cancel(cancelled)
  const bought = await bob.order(500)
  await bob.pay(bought)
  const paid = price - 500
  const before = (await bob.call('GET', 'member-points/users/me/overview')).data
  await bob.refund(bought, paid)

  t.same(await bob.balance(), [1_000 + 100, 0], 'the gift, and the reward of a first order')
  const after = (await bob.call('GET', 'member-points/users/me/overview')).data
  t.equal(after.monthEarned, before.monthEarned, 'nothing was earned by a refund')
  t.equal(after.monthReturned, 500)
  const left = await sources()
  assertMembers(
    t,
    left.filter(({ sourceType }: { sourceType: string }) => sourceType === 'marketing-lottery'),
    [{ remaining: 1_000, consumed: 0, expiresAt }],
  )
  t.equal(left.length, 2, 'no source is made for what comes back')

  await t.test('points that are returned to an expired source expire too', async (t) => {
    const late = await bob.order(1_000)
    await bob.pay(late)
    shop.clock.shiftWallClock(356 * day)
    t.equal((await bob.refund(late, price - 1_000)).code, '200')
    const { items } = (await bob.call('GET', 'member-points/users/me/ledgers')).data
    await shop.points.expire()
    t.same((await bob.balance())[1], 0)
    const ledger = (await bob.call('GET', 'member-points/users/me/ledgers')).data.items
    t.ok(
      [...items, ...ledger].some(({ kind, points }) => kind === 'money.reverse' && points === 1_000),
      'the member sees that they came back',
    )
    t.ok(
      ledger.some(
        ({ kind, points }: { kind: string; points: number }) => kind === 'points.expire' && points === -1_000,
      ),
      'and that they expired',
    )
    t.same(await bob.balance(), [100, 0], 'the reward of the first order is younger')
  })
})

onDatabase(t, 'a deleted member earns no points and gets none back', async (t, at) => {
  const shop = await startShop(t, at)
  const [cid, dan] = [await shop.member('cid'), await shop.member('dan')]
  const account = async (id: number) => {
    const call = await shop.administrator()
    return (await call('GET', `admin/member-points/accounts?userId=${id}`)).data
  }
  await shop.points.rewardLottery(cid.id, 'gift', 1_000)
  const bought = await cid.order(400)
  await cid.pay(bought)
  const requested = (await cid.ask(bought, price - 400)).data
  await cid.order(600)
  const admin = await shop.administrator()
  for (const { id } of [cid, dan]) await admin('DELETE', `admin/iam/users/${id}`)
  await shop.settled()
  const books = async (id: number) => {
    const rows = await shop.running
      .service(database)
      .query<Record<string, unknown>>(
        'select available, frozen, status from money_account where owner_id = ? and asset = ?',
        [String(id), 'points:mall'],
      )
    return rows.map(({ available, frozen, status }) => [Number(available), Number(frozen), status])
  }
  t.same(await books(cid.id), [[0, 600, 'closed']])
  t.same(await books(dan.id), [[0, 0, 'closed']], 'an account that did not exist is closed, too')

  for (const { id } of [cid, dan]) await shop.points.rewardLottery(id, 'late', 5)
  await shop.points.rewardTask({ task: 'first-order', userId: dan.id })
  t.same(await books(dan.id), [[0, 0, 'closed']])
  shop.clock.shiftWallClock(day)
  await shop.running.service(mall).orders.cancelUnpaid(new Date(shop.clock.now()), new AbortController().signal)
  t.same(await books(cid.id), [[0, 0, 'closed']], 'a hold that ends gives nothing back')
  const decision = `admin/mall/refunds/${requested.refundNo}/decision`
  t.equal((await (await shop.administrator())('POST', decision, { approve: true })).code, '200')
  await shop.settled()
  t.same(await books(cid.id), [[0, 0, 'closed']])
  t.same((await account(cid.id)).items?.length ?? 0, 1)
})
