/** What a buyer sees of a checkout, on a chain that says what the test lets it say. */
import databasePlugin, { database } from '@plinth/database'
import { onEachDatabase, startMigrated, type TestDatabase } from '@plinth/database/testing'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { definePlugin, defineProduct, type JsonValue } from '@plinth/kernel'
import { manualClock } from '@plinth/kernel/testing'
import money from '@plinth/money'
import paymentsPlugin, { payments } from '@plinth/money/payments'
import cleanupPlugin from '@plinth/quickstart-cleanup'
import { type Chain, type ChainFacts, chains } from '@plinth/web3'
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

async function startCheckout(t: Test, db: TestDatabase, config: Readonly<Record<string, JsonValue>> = {}) {
  const local: Chain = {
    ...{ name: 'local', chainId: 31337, enabled: true, requiredConfirmations: 3, finality: 'depth' },
    ...{ maxHeadLagBlocks: 50, explorerTransactionUrl: null, providers: [] },
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
        factsOfMany: async () => new Map(),
      }),
  })
  const product = defineProduct({
    name: 'checkout',
    plugins: [
      ...[databasePlugin, eventsPlugin, httpPlugin, i18nPlugin, iamPlugin, cleanupPlugin],
      ...[money, paymentsPlugin, chain, checkoutPlugin],
    ],
    config: {
      ...db.config,
      'platform.http.port': 0,
      // On a busy machine too, nothing is refused for having waited.
      'platform.http.overload.max-wait': '1m',
      'platform.http.response-check': true,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      [`${key}.chain`]: 'local', // effect of platform.example.checkout.chain
      [`${key}.token`]: token, // effect of platform.example.checkout.token
      [`${key}.receiver`]: receiver, // effect of platform.example.checkout.receiver
      ...config,
    },
  })
  const running = await startMigrated(product, { clock: manualClock(Date.UTC(2026, 10, 1)) })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const logIn = async (username: string) => {
    const payload = { username, password }
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    return async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) =>
      (await server.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })).json()
  }
  await running.service(accounts).createAdministrator({ username: 'admin', password }, origin)
  const member = async (username: string) => {
    await running.service(accounts).create({ username, password }, origin)
    const call = await logIn(username)
    return (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => call(method, `${root}/${path}`, payload)
  }
  return {
    ...{ running, known, member, admin: await logIn('admin'), db: running.service(database) },
    payments: running.service(payments),
    seed: () => running.service(checkout).seedDemo(),
    says: (facts: unknown) => {
      said = facts
    },
  }
}

const mined = (change: object = {}) => ({
  ...{ providerId: 'one', chainId: 31337, transaction: { hash }, head: 11, canonicalBlockHash: blockHash },
  receipt: { transactionHash: hash, blockHash, blockNumber: 10, status: 'success', logs: [] },
  ...change,
})

onEachDatabase(t, 'a sale says what to pay, how far the payment is, and delivers once it is settled', async (t, db) => {
  const { member, payments, seed, says } = await startCheckout(t, db)
  t.equal(await seed(), 3)
  t.equal(await seed(), 0, 'once')
  const [ann, bob] = [await member('ann'), await member('bob')]
  const { data: offers } = await ann('GET', 'offers')
  t.match(
    offers.items.map(({ code }: { code: string }) => code),
    ['DEMO-SEAT', 'DEMO-COURSE', 'DEMO-EBOOK'],
  )
  const course = offers.items[1]
  const { data: made } = await ann('POST', 'orders', { offerId: course.id })
  t.match(made, {
    ...{ offer: { code: 'DEMO-COURSE' }, price: 4_900, status: 'pending', transactionHash: null, deliveredAt: null },
    pay: { chainName: 'local', chainId: 31337, tokenContract: token, receiver, amountRaw: '49000000' },
  })
  t.equal(made.pay.requiredConfirmations, 3)
  const { orderNo } = made
  const progress = async () => (await ann('GET', `orders/${orderNo}/progress`)).data
  t.same(await progress(), { state: 'waiting', confirmations: null, requiredConfirmations: 3 })

  t.match(await ann('PUT', `orders/${orderNo}/transaction`, { transactionHash: '0x12' }), { code: '400' })
  const announced = await ann('PUT', `orders/${orderNo}/transaction`, {
    transactionHash: hash.toUpperCase().replace('X', 'x'),
  })
  t.match(announced.data, { transactionHash: hash, status: 'pending', deliveredAt: null }, 'it proves nothing')
  t.match(await progress(), { state: 'unreachable', confirmations: null })
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
    t.match(await bob('GET', path), { code: '404', data: { reason: 'checkout.order-unknown' } }, 'of somebody else')
  }
  t.same((await bob('GET', 'orders')).data.items, [])

  const settlement = { outTradeNo: orderNo, type: 'web3-settlement', transactionHash: hash }
  t.match(await payments.settle(settlement), { outcome: 'settled' })
  t.match(await payments.settle(settlement), { outcome: 'skipped' })
  t.match((await ann('GET', `orders/${orderNo}`)).data, { status: 'success', deliveredAt: '2026-11-01T00:00:00.000Z' })
  t.match((await ann('GET', 'orders')).data.items, [{ orderNo, status: 'success' }])
  t.match(await ann('PUT', `orders/${orderNo}/transaction`, { transactionHash: blockHash }), {
    code: '409',
    data: { reason: 'payment.order-not-pending' },
  })
  t.match(await ann('POST', 'orders', { offerId: 7 }), { code: '404', data: { reason: 'checkout.offer-unknown' } })
})

onEachDatabase(
  t,
  'a checkout that is not set up is closed, and prices follow the decimals of the token',
  async (t, db) => {
    // effect of platform.example.checkout.token-decimals
    const { member, seed, known, running } = await startCheckout(t, db, { [`${key}.token-decimals`]: 18 })
    await seed()
    const ann = await member('ann')
    const [{ id: offerId }] = (await ann('GET', 'offers?size=1')).data.items
    const order = () => ann('POST', 'orders', { offerId })
    t.match((await order()).data, { price: 12_000, pay: { amountRaw: `120${'0'.repeat(18)}` } })
    const closed = { code: '409', data: { reason: 'checkout.closed' } }
    const local = known.get('local') as Chain
    for (const change of [{ enabled: false }, { requiredConfirmations: null }]) {
      known.set('local', { ...local, ...change })
      t.match(await order(), closed, JSON.stringify(change))
    }
    known.set('local', local)
    for (const name of ['chain', 'token', 'receiver']) {
      const set = (written: string) =>
        running.config.apply([{ name: `${key}.${name}`, by: 'key', written, place: 'row 1' }])
      await set('0x12')
      t.match(await order(), closed, name)
      await set({ chain: 'local', token, receiver }[name] ?? '')
      t.match(await order(), { code: '200' }, name)
    }
  },
)

onEachDatabase(t, 'demo offers are removed while nobody has ordered one', async (t, db) => {
  const { member, seed, admin } = await startCheckout(t, db)
  const cleanup = '/api/v1/admin/install/quickstart-cleanups/checkout'
  const clean = async () => {
    const payload = { moduleCode: 'checkout', dataType: 'demo-offers', confirmation: 'CLEAN-CHECKOUT' }
    return (await admin('POST', cleanup, payload)).data.modules[0]
  }
  await seed()
  t.match((await admin('GET', cleanup)).data, { state: 'ready', targets: [{ type: 'offers', count: 3 }] })
  t.match(await clean(), { outcome: 'cleaned', removed: [{ count: 3 }] })
  const ann = await member('ann')
  t.same((await ann('GET', 'offers')).data.items, [])
  await seed()
  const [{ id: offerId }] = (await ann('GET', 'offers?size=1')).data.items
  t.match(await ann('POST', 'orders', { offerId }), { code: '200' })
  t.match((await admin('GET', cleanup)).data, { state: 'blocked', blockers: [{ code: 'real-orders', count: 1 }] })
  t.match(await clean(), { outcome: 'blocked', executed: false })
})
