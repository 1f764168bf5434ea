/** The checkout as a buyer sees it, with a chain whose responses the test defines. */
import approval from '@plinth/approval'
import databasePlugin, { database } from '@plinth/database'
import { applyLiveValues, assertKeyEffect, assertMembers, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase, onDatabase, startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { definePlugin, defineProduct, type JsonValue, omitUndefined, type Plugin } from '@plinth/kernel'
import { declaredTasks } from '@plinth/kernel/host'
import money from '@plinth/money'
import paymentsPlugin, { payments } from '@plinth/money/payments'
import cleanupPlugin from '@plinth/quickstart-cleanup'
import { type Chain, type ChainFacts, chains } from '@plinth/web3'
import settlementPlugin from '@plinth/web3-settlement'
import t, { type Test } from 'tap'
import checkoutPlugin, { checkout } from './plugin.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'correct horse battery staple'
const root = '/api/v1/checkout'
const hash = `0x${'ab'.repeat(32)}`
const blockHash = `0x${'cd'.repeat(32)}`
const token = `0x${'a1'.repeat(20)}`
const receiver = `0x${'c3'.repeat(20)}`
const key = 'platform.example.checkout'

async function startCheckout(
  t: Test,
  db: TestDatabase,
  config: Readonly<Record<string, JsonValue>> = {},
  plugins: readonly Plugin[] = [],
) {
  const clock = manualClock(Date.UTC(2026, 10, 1))
  const local: Chain = {
    name: 'local',
    chainId: 31337,
    enabled: true,
    requiredConfirmations: 3,
    finality: 'depth',
    maxHeadLagBlocks: 50,
    explorerTransactionUrl: null,
    providers: [],
  }
  const known = new Map([['local', local]])
  let said: unknown = { error: 'rpc-query-failed', attempts: [] }
  const chain = definePlugin({
    id: 'test.chains',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [chains],
    setup: ({ provide }) =>
      provide(chains, {
        list: async () => [...known.values()],
        get: async (name) => known.get(name),
        facts: async () => said as ChainFacts,
        factsOfMany: async (_, hashes) => new Map(hashes.map((one) => [one, said as ChainFacts])),
      }),
  })
  const product = defineProduct({
    name: 'checkout',
    plugins: [
      databasePlugin,
      eventsPlugin,
      httpPlugin,
      i18nPlugin,
      iamPlugin,
      cleanupPlugin,
      money,
      paymentsPlugin,
      chain,
      checkoutPlugin,
      ...plugins,
    ],
    config: {
      ...db.config,
      'platform.http.port': 0,
      // On a busy host the load shedder would otherwise reject requests.
      'platform.http.overload.max-wait': '1m',
      'platform.http.response-check': true,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      [`${key}.chain`]: 'local',
      [`${key}.token`]: token,
      [`${key}.receiver`]: receiver,
      ...config,
    },
  })
  const running = await startMigrated(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const logIn = async (username: string) => {
    const payload = { username, password }
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    return async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) =>
      (await server.inject(omitUndefined({ method, url, headers, payload }))).json()
  }
  await running.service(accounts).createAdministrator({ username: 'admin', password }, origin)
  const member = async (username: string) => {
    await running.service(accounts).create({ username, password }, origin)
    const call = await logIn(username)
    return (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => call(method, `${root}/${path}`, payload)
  }
  return {
    running,
    clock,
    known,
    member,
    admin: await logIn('admin'),
    db: running.service(database),
    payments: running.service(payments),
    seed: () => running.service(checkout).seedDemo(),
    async closeUnpaid() {
      const [task] = running.service(declaredTasks).scheduledTasks.filter(({ plugin }) => plugin === 'example.checkout')
      await task?.run(new AbortController().signal)
    },
    says: (facts: unknown) => {
      said = facts
    },
  }
}

const mined = (change: object = {}) => ({
  providerId: 'one',
  chainId: 31337,
  transaction: { hash },
  head: 11,
  canonicalBlockHash: blockHash,
  receipt: { transactionHash: hash, blockHash, blockNumber: 10, status: 'success', logs: [] },
  ...change,
})

onDatabase(
  t,
  'a sale returns the amount and the progress of the payment, and is delivered when it is settled',
  async (t, db) => {
    const { member, payments, seed, says } = await startCheckout(t, db)
    t.equal(await seed(), 3)
    t.equal(await seed(), 0, 'once')
    const [ann, bob] = [await member('ann'), await member('bob')]
    const { data: offers } = await ann('GET', 'offers')
    assertMembers(
      t,
      offers.items.map(({ code }: { code: string }) => code),
      ['DEMO-SEAT', 'DEMO-COURSE', 'DEMO-EBOOK'],
    )
    const course = offers.items[1]
    const { data: made } = await ann('POST', 'orders', { offerId: course.id })
    t.hasStrict(made, {
      offer: { code: 'DEMO-COURSE' },
      price: 4_900,
      status: 'pending',
      transactionHash: null,
      deliveredAt: null,
      pay: { chainName: 'local', chainId: 31337, tokenContract: token, receiver, amountRaw: '49000000' },
    })
    t.equal(made.pay.requiredConfirmations, 3)
    const { orderNo } = made
    const progress = async () => (await ann('GET', `orders/${orderNo}/progress`)).data
    t.same(await progress(), { state: 'waiting', confirmations: null, requiredConfirmations: 3 })

    t.hasStrict(await ann('PUT', `orders/${orderNo}/transaction`, { transactionHash: '0x12' }), { code: '400' })
    const announced = await ann('PUT', `orders/${orderNo}/transaction`, {
      transactionHash: hash.toUpperCase().replace('X', 'x'),
    })
    t.hasStrict(announced.data, { transactionHash: hash, status: 'pending', deliveredAt: null }, 'it proves nothing')
    t.hasStrict(await progress(), { state: 'unreachable', confirmations: null })
    for (const [facts, expected] of [
      [mined({ receipt: null, canonicalBlockHash: null }), { state: 'waiting', confirmations: null }],
      [mined(), { state: 'confirming', confirmations: 2 }],
      [mined({ head: 12 }), { state: 'confirmed', confirmations: 3 }],
      [mined({ canonicalBlockHash: hash }), { state: 'waiting', confirmations: null }],
      [mined({ receipt: { ...mined().receipt, status: 'reverted' } }), { state: 'failed', confirmations: 2 }],
    ] as const) {
      says(facts)
      t.match(await progress(), expected)
    }
    for (const path of [`orders/${orderNo}`, `orders/${orderNo}/progress`]) {
      t.hasStrict(
        await bob('GET', path),
        { code: '404', data: { reason: 'checkout.order-unknown' } },
        'of somebody else',
      )
    }
    t.same((await bob('GET', 'orders')).data.items, [])

    const settlement = { outTradeNo: orderNo, type: 'web3-settlement', transactionHash: hash }
    t.hasStrict(await payments.settle(settlement), { outcome: 'settled' })
    t.hasStrict(await payments.settle(settlement), { outcome: 'skipped' })
    t.hasStrict((await ann('GET', `orders/${orderNo}`)).data, {
      status: 'success',
      deliveredAt: '2026-11-01T00:00:00.000Z',
    })
    assertMembers(t, (await ann('GET', 'orders')).data.items, [{ orderNo, status: 'success' }])
    t.hasStrict(await ann('PUT', `orders/${orderNo}/transaction`, { transactionHash: blockHash }), {
      code: '409',
      data: { reason: 'payment.order-not-pending' },
    })
    t.hasStrict(await ann('POST', 'orders', { offerId: 7 }), {
      code: '404',
      data: { reason: 'checkout.offer-unknown' },
    })
  },
)

onDatabase(t, 'a checkout that is not set up is closed, and prices follow the decimals of the token', async (t, db) => {
  const { member, seed, known, running } = await startCheckout(t, db)
  await seed()
  const ann = await member('ann')
  const [{ id: offerId }] = (await ann('GET', 'offers?size=1')).data.items
  const order = () => ann('POST', 'orders', { offerId })
  const [amounts] = await assertKeyEffect(t, 'platform.example.checkout.token-decimals', {
    changed: 18,
    async observe(values) {
      await applyLiveValues(running, values)
      const { price, pay } = (await order()).data
      return [price, pay.amountRaw]
    },
  })
  assertMembers(t, amounts, { before: [12_000, `120${'0'.repeat(6)}`], after: [12_000, `120${'0'.repeat(18)}`] })
  const closed = { code: '409', data: { reason: 'checkout.closed' } }
  const local = known.get('local') as Chain
  for (const change of [{ enabled: false }, { requiredConfirmations: null }]) {
    known.set('local', { ...local, ...change })
    t.match(await order(), closed, JSON.stringify(change))
  }
  known.set('local', local)
  const codes = await assertKeyEffect(t, 'platform.example.checkout.{chain,token,receiver}', {
    changed: '0x12',
    async observe(values) {
      await applyLiveValues(running, values)
      const { code, data } = await order()
      return data.reason ?? code
    },
  })
  for (const { key, before, after } of codes) t.same([before, after], ['200', 'checkout.closed'], key)
})

onDatabase(t, 'demo offers are removed if no offer was ordered', async (t, db) => {
  const { member, seed, admin } = await startCheckout(t, db)
  const cleanup = '/api/v1/admin/install/quickstart-cleanups/checkout'
  const clean = async () => {
    const payload = { moduleCode: 'checkout', dataType: 'demo-offers', confirmation: 'CLEAN-CHECKOUT' }
    return (await admin('POST', cleanup, payload)).data.modules[0]
  }
  await seed()
  assertMembers(t, (await admin('GET', cleanup)).data, { state: 'ready', targets: [{ type: 'offers', count: 3 }] })
  assertMembers(t, await clean(), { outcome: 'cleaned', removed: [{ count: 3 }] })
  const ann = await member('ann')
  t.same((await ann('GET', 'offers')).data.items, [])
  await seed()
  const [{ id: offerId }] = (await ann('GET', 'offers?size=1')).data.items
  t.hasStrict(await ann('POST', 'orders', { offerId }), { code: '200' })
  assertMembers(t, (await admin('GET', cleanup)).data, {
    state: 'blocked',
    blockers: [{ code: 'real-orders', count: 1 }],
  })
  t.hasStrict(await clean(), { outcome: 'blocked', executed: false })
})

onDatabase(t, 'a sale that is not paid in time is closed, and its amount becomes available again', async (t, db) => {
  const config = { [`${key}.payment-timeout`]: '10m', [`${key}.amount-release`]: '2h' }
  const product = await startCheckout(t, db, config, [approval, settlementPlugin])
  const { clock, member, admin, payments, seed, says, closeUnpaid } = product
  await seed()
  const [{ id: offerId }] = (await (await member('guest'))('GET', 'offers?size=1')).data.items
  const order = async (username: string) => {
    const call = await member(username)
    const { orderNo, pay, expiresAt } = (await call('POST', 'orders', { offerId })).data
    t.equal(expiresAt, new Date(clock.now() + 600_000).toISOString(), 'the buyer sees until when to pay')
    const sale = async () => (await call('GET', `orders/${orderNo}`)).data
    return { call, orderNo, amount: pay.amountRaw, sale, path: `orders/${orderNo}` }
  }
  const late = await order('ann')
  const [announced, reviewed, closed] = [await order('bob'), await order('cleo'), await order('dan')]
  const all = [late, announced, reviewed, closed]
  t.equal(new Set(all.map(({ amount }) => amount)).size, 4)
  const reported = (await announced.call('PUT', `${announced.path}/transaction`, { transactionHash: hash })).data
  t.equal(reported.expiresAt, null, 'an order that names a transaction does not expire')
  says(mined())
  const reviews = '/api/v1/admin/web3/payment-settlement-review-logs'
  const review = (outTradeNo: string, transactionHash: string) =>
    admin('POST', reviews, { outTradeNo, transactionHash, action: 'settle' })
  t.equal((await review(reviewed.orderNo, blockHash)).data.status, 'open')
  await payments.close(closed.orderNo)
  const states = async () => {
    await closeUnpaid()
    const open = await product.db.query<{ order_no: string }>(
      'select order_no from checkout_sale where open_terms is not null',
    )
    const keepsAmount = new Set(open.map((row) => row.order_no))
    return Promise.all(
      all.map(async ({ sale, orderNo }) => [(await sale()).status, keepsAmount.has(orderNo) ? 'reserved' : 'free']),
    )
  }
  const waiting = ['pending', 'reserved']
  clock.shiftWallClock(599_999)
  t.same(await states(), [waiting, waiting, waiting, ['closed', 'reserved']])
  clock.shiftWallClock(1)
  t.same(await states(), [['closed', 'reserved'], waiting, waiting, ['closed', 'reserved']])
  t.equal((await late.sale()).expiresAt, null)
  const other = (await (await member('eve'))('POST', 'orders', { offerId })).data
  t.notOk(new Set(all.map(({ amount }) => amount)).has(other.pay.amountRaw), 'a late payment fits no other order')
  clock.shiftWallClock(7_199_999)
  t.same(await states(), [['closed', 'reserved'], waiting, waiting, ['closed', 'reserved']])
  clock.shiftWallClock(1)
  t.same(await states(), [['closed', 'free'], waiting, waiting, ['closed', 'free']])
  t.equal((await late.call('GET', `${late.path}/progress`)).data.state, 'closed')
  const next = (await late.call('POST', 'orders', { offerId })).data
  t.equal(next.pay.amountRaw, late.amount, 'the amount is free again')

  const rejected = await late.call('PUT', `${late.path}/transaction`, { transactionHash: hash })
  t.same([rejected.code, rejected.data.reason], ['409', 'payment.order-not-pending'])
  const { data: lateReview } = await review(late.orderNo, `0x${'ef'.repeat(32)}`)
  t.equal(lateReview.reasons[0], 'local-order-not-settleable', 'a late payment is for a person')
})

t.test('the deadlines of an unpaid sale come from the configuration', async (t) => {
  const stateAfter = (waitMs: number) => async (config: KeyValues) => {
    const at = await createDatabase('sqlite')
    t.teardown(() => at.drop())
    const { clock, member, seed, closeUnpaid } = await startCheckout(t, at, config)
    await seed()
    const ann = await member('ann')
    const [{ id: offerId }] = (await ann('GET', 'offers?size=1')).data.items
    const { orderNo, pay } = (await ann('POST', 'orders', { offerId })).data
    clock.shiftWallClock(3_600_000)
    await closeUnpaid()
    clock.shiftWallClock(waitMs)
    await closeUnpaid()
    const next = (await ann('POST', 'orders', { offerId })).data
    const { status } = (await ann('GET', `orders/${orderNo}`)).data
    return { status, isFree: next.pay.amountRaw === pay.amountRaw }
  }
  await assertKeyEffect(t, 'platform.example.checkout.payment-timeout', { changed: '3h', observe: stateAfter(0) })
  await assertKeyEffect(t, 'platform.example.checkout.amount-release', {
    changed: '1h',
    observe: stateAfter(3_600_000),
  })
})
