import { setTimeout as pause } from 'node:timers/promises'
import { database } from '@plinth/database'
import { assertKeyEffect, assertMembers, manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { http, Type } from '@plinth/http'
import { idempotent } from '@plinth/idempotency'
import { definePlugin } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { configCentre, PluginEncryption } from '@plinth/system-config'
import fc from 'fast-check'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Claims } from '../src/claims.ts'
import { IdempotencyService, maxResponseBytes } from '../src/idempotency-service.ts'
import {
  type ApiResponse,
  configOn,
  describeOutcome,
  failedCallError,
  newShop,
  onEachStore,
  startShop,
} from './fixtures/product.ts'

async function sqlite(t: Test) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return configOn(db)
}

/** Returns a gate that blocks work until the test opens it. */
function gate() {
  const { promise, resolve: open } = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  return {
    open,
    arrived: arrived.promise,
    pass: () => {
      arrived.resolve()
      return promise
    },
  }
}

/** Returns a store in the memory of one process. The test can make its calls fail. */
function storeIn(values: Map<string, string>, broken = { get: false, keep: false }, held = new Set<string>()) {
  const store: Pick<SharedStore, 'get' | 'setIfAbsent' | 'acquire'> = {
    get: async (key) => {
      if (broken.get) throw new Error('gone')
      return values.get(key)
    },
    setIfAbsent: async (key, value) => {
      if (broken.keep) throw new Error('gone')
      if (!values.has(key)) values.set(key, value)
      return true
    },
    acquire: async (key) => {
      if (held.has(key)) return undefined
      held.add(key)
      return { key, fence: 1, renew: async () => true, release: async () => held.delete(key) }
    },
  }
  return store
}

const fixedKey = { find: async () => Buffer.alloc(32), get: async () => Buffer.alloc(32) }

/** Returns a service on a real database, whose shared store the test replaces. */
async function serviceOn(
  t: Test,
  store: Pick<SharedStore, 'get' | 'setIfAbsent' | 'acquire'>,
  key: { find(): Promise<Buffer | undefined>; get(): Promise<Buffer> } = fixedKey,
) {
  const { running } = await startShop(t, await sqlite(t), newShop())
  const log: string[] = []
  const service = new IdempotencyService({
    store,
    claims: new Claims({ db: running.service(database), retentionMs: () => 1000 }),
    box: new PluginEncryption(key),
    clock: manualClock(),
    log: pino({ level: 'info' }, { write: (line: string) => void log.push(line) }),
    retentionMs: () => 1000,
    leaseMs: () => 60_000,
  })
  return { run: service.run.bind(service), log }
}

onEachStore(t, 'a repeated call returns the first response, and nothing is executed again', async (t, config) => {
  const shop = newShop()
  const { send } = await startShop(t, config, shop)
  const first = await send('k-1', { item: 'lamp', count: 1, note: { a: 1, b: [2, { d: 4, c: 3 }] } })
  t.hasStrict(first, { status: 200, code: '200', data: { number: 1, secret: 'secret-of-1' } })
  t.equal(first.headers.get('idempotency-replayed'), null)
  const again = await send('k-1', { note: { b: [2, { c: 3, d: 4 }], a: 1 }, count: 1, item: 'lamp' })
  t.equal(again.text, first.text, 'byte for byte, whatever the order of members')
  t.equal(again.status, 200)
  t.equal(again.headers.get('idempotency-replayed'), 'true')
  t.same(shop.made, ['lamp'])

  t.equal(describeOutcome(await send('k-1', { item: 'lamp', count: 2 })), '422 idempotency.key-reused')
  t.equal((await send('k-1', undefined, { user: 'bob' })).data.number, 2, 'another caller')
  const returns = { path: '/api/v1/shop/returns' }
  t.equal((await send('k-1', undefined, returns)).data.number, 3, 'another route')
  t.equal((await send('k-2', undefined, { path: '/api/v1/shop/one/orders' })).data.number, 4)
  t.equal(
    describeOutcome(await send('k-2', undefined, { path: '/api/v1/shop/two/orders' })),
    '422 idempotency.key-reused',
    'a parameter of the path is content',
  )
  t.equal((await send(undefined)).data.number, 5, 'without a key nothing changes')
  t.equal((await send(undefined)).data.number, 6)
})

onEachStore(t, 'a failed call is not stored', async (t, config) => {
  const shop = newShop()
  const { send } = await startShop(t, config, shop)
  for (const failure of [failedCallError('409'), failedCallError('503'), new Error('out of paper')]) {
    shop.work = async () => failure
    t.not((await send('k-1')).code, '200')
  }
  t.equal((await send('k-1', { item: '', count: 1 })).code, '400')
  shop.work = async () => {}
  t.equal((await send('k-1', { item: 'chair', count: 3 })).data.number, 1, 'with other content too')
  t.same(shop.made, ['chair'])
})

onEachStore(t, 'of concurrent calls with one key at two instances, one is executed', async (t, config) => {
  const shop = newShop()
  const one = await startShop(t, config, shop)
  const two = await startShop(t, config, shop)
  let round = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(2), fc.boolean(), fc.nat(3)), { minLength: 2, maxLength: 12 }),
      async (calls) => {
        round++
        const before = shop.made.length
        shop.work = () => pause(calls.length)
        const responses = await Promise.all(
          calls.map(async ([key, isFirst, delay]): Promise<[number, ApiResponse]> => {
            await pause(delay)
            return [key, await (isFirst ? one : two).send(`round-${round}-${key}`)]
          }),
        )
        const keys = new Set(calls.map(([key]) => key))
        t.equal(shop.made.length - before, keys.size, `${calls.length} calls, ${keys.size} keys`)
        for (const key of keys) {
          const own = responses.filter(([of]) => of === key).map(([, response]) => response)
          const succeeded = own.filter(({ code }) => code === '200')
          t.equal(new Set(succeeded.map(({ text }) => text)).size, 1, 'all that succeed have one answer')
          t.equal(succeeded.filter(({ headers }) => headers.get('idempotency-replayed') === null).length, 1)
          const others = own.filter(({ code }) => code !== '200')
          t.same(
            new Set(others.map(describeOutcome)),
            new Set(others.length > 0 ? ['409 idempotency.in-progress'] : []),
          )
        }
      },
    ),
    { numRuns: 12 },
  )
})

t.test('a call in progress keeps its key while it runs; a dead process releases it', async (t) => {
  const config = await sqlite(t)
  const shop = newShop()
  const clock = manualClock()
  const lease = { 'platform.idempotency.lease': '30s' }
  const one = await startShop(t, config, shop, { clock, config: lease })
  const two = await startShop(t, config, shop, { clock, config: lease })
  const running = gate()
  shop.work = running.pass
  const slow = one.send('k-1')
  await running.arrived
  const leaseEnds = async () => {
    const statement = `select max(since) as ends from shared_store_entry where name like '%idempotency%'`
    const [row] = await one.running.service(database).query<{ ends: number }>(statement)
    return Number(row?.ends)
  }
  const firstEnd = await leaseEnds()
  for (let step = 0; step < 12; step++) {
    const rejected = await two.send('k-1')
    t.equal(describeOutcome(rejected), '409 idempotency.in-progress')
    t.equal(rejected.headers.get('retry-after'), '2')
    t.equal(rejected.data.retryAfter, 2)
    await clock.advance(10_000)
    await until(async () => (await leaseEnds()) === firstEnd + (step + 1) * 10_000, 'the renewal')
  }
  running.open()
  t.equal((await slow).data.number, 1)
  t.equal((await two.send('k-1')).data.number, 1)

  const dying = await startShop(t, config, shop, { clock: manualClock(clock.now()), config: lease })
  const stuck = gate()
  shop.work = stuck.pass
  const lost = dying.send('k-2')
  await stuck.arrived
  shop.work = async () => {}
  await clock.advance(29_000)
  t.equal(describeOutcome(await two.send('k-2')), '409 idempotency.in-progress')
  await clock.advance(1_000)
  t.equal((await two.send('k-2')).data.number, 2, 'its lease has ended')
  stuck.open()
  await lost
  t.equal((await two.send('k-2')).data.number, 2, 'the first answer that was kept counts')
})

t.test('after the retention a call is executed again', async (t) => {
  const [numbers] = await assertKeyEffect(t, 'platform.idempotency.retention', {
    changed: '2h',
    observe: async (config) => {
      const clock = manualClock()
      const { send } = await startShop(t, await sqlite(t), newShop(), { clock, config })
      const found = [(await send('k-1')).data.number]
      for (const passedMs of [2 * 3_600_000 - 1000, 1000]) {
        clock.shiftWallClock(passedMs)
        found.push((await send('k-1')).data.number)
      }
      return found
    },
  })
  assertMembers(t, numbers, { before: [1, 1, 1], after: [1, 1, 2] })
})

t.test('a call in progress is protected by its lease, and stored responses are encrypted with the key', async (t) => {
  const [leases] = await assertKeyEffect(t, 'platform.idempotency.lease', {
    changed: '45s',
    observe: async (config) => {
      const [shop, clock, running] = [newShop(), manualClock(), gate()]
      const instance = await startShop(t, await sqlite(t), shop, { clock, config })
      shop.work = running.pass
      const sent = instance.send('k-1')
      await running.arrived
      const statement = `select max(since) as ends from shared_store_entry where name like '%idempotency%'`
      const [row] = await instance.running.service(database).query<{ ends: number }>(statement)
      running.open()
      await sent
      return Number(row?.ends) - clock.now()
    },
  })
  t.equal(Number(leases?.after), 45_000)
  const key = 'platform.idempotency.secret-key'
  const [one = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const [outcomes] = await assertKeyEffect(t, 'platform.idempotency.secret-key', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const [db, shop, clock] = [await sqlite(t), newShop(), manualClock()]
      const first = await startShop(t, db, shop, { clock, config: { [key]: one } })
      await first.send('k-1')
      const second = await startShop(t, db, shop, { clock, config })
      return describeOutcome(await second.send('k-1'))
    },
  })
  t.same([outcomes?.before, outcomes?.after], ['200', '409 idempotency.answer-not-kept'])
})

t.test('no stored response can be read without the key', async (t) => {
  const shop = newShop()
  const { send, running } = await startShop(t, await sqlite(t), shop)
  await send('my-own-key', { item: 'lamp of Ann', count: 1 })
  const rows = await running
    .service(database)
    .query<{ content: string | null }>("select name, content from shared_store_entry where name like '%idempotency%'")
  t.notMatch(JSON.stringify(rows), /secret-of-1|lamp of Ann|my-own-key|never leaves|fingerprint/)
  t.ok(rows.some(({ content }) => content !== null && content.length > 100))
  const centre = running.service(configCentre)
  t.match(await centre.get('platform.idempotency.secret-key'), { stored: { version: 1, value: '******' } })
})

t.test('a call whose response cannot be encrypted or decrypted is not executed again', async (t) => {
  const values = new Map<string, string>()
  const key: { bytes: Buffer | undefined } = { bytes: Buffer.alloc(32, 1) }
  const find = async () => key.bytes
  const get = async () => {
    if (key.bytes === undefined) throw new Error('the master key is missing')
    return key.bytes
  }
  const { run, log } = await serviceOn(t, storeIn(values), { find, get })
  let done = 0
  const call = (name: string) => run({ scope: 's', key: name, fingerprint: 'f' }, async () => ++done)
  t.same(await call('one'), { value: 1, replayed: false, isClaimed: false })
  key.bytes = Buffer.alloc(32, 2)
  await rejectsWith(t, call('one'), { code: '409', reason: 'idempotency.answer-not-kept' })
  key.bytes = undefined
  t.same(await call('two'), { value: 2, replayed: false, isClaimed: false })
  await rejectsWith(t, call('two'), { code: '409', reason: 'idempotency.answer-not-kept' })
  t.match(log.join(''), /cannot be decrypted.*cannot be encrypted/s)
  t.equal(done, 2)
})

t.test('a response that is too large is not stored, and the caller learns that the call was executed', async (t) => {
  const shop = newShop()
  const { send } = await startShop(t, await sqlite(t), shop)
  shop.work = async () => 'x'.repeat(maxResponseBytes)
  t.equal((await send('k-1')).code, '200')
  t.equal(describeOutcome(await send('k-1')), '409 idempotency.answer-not-kept')
  t.equal(describeOutcome(await send('k-1', { item: 'x', count: 1 })), '422 idempotency.key-reused')
  t.equal(shop.made.length, 1)
  shop.work = async () => 'x'.repeat(maxResponseBytes - 200)
  t.equal((await send('k-2')).text, (await send('k-2')).text)
  t.equal(shop.made.length, 2)
})

t.test('a key is visible ASCII, and its caller must be known', async (t) => {
  const shop = newShop()
  const { send } = await startShop(t, await sqlite(t), shop)
  for (const key of ['', 'a b', 'x'.repeat(256), 'kéy']) {
    t.equal(describeOutcome(await send(key)), '400 idempotency.key-invalid', JSON.stringify(key))
  }
  t.equal((await send('x'.repeat(255))).code, '200')
  t.equal((await send('"8e03978e-40d5-43dd-bc93-6894a57f9324"')).code, '200', 'a structured header string')
  t.equal((await send('k-1', undefined, { user: '' })).code, '500', 'two whom nobody knows must not share answers')
  t.equal(shop.made.length, 2)
})

t.test('without the shared store no call is executed, and executed calls are not repeated immediately', async (t) => {
  const values = new Map<string, string>()
  const broken = { get: false, keep: false }
  const held = new Set<string>()
  const { run: runCall, log } = await serviceOn(t, storeIn(values, broken, held))
  let done = 0
  const run = () => runCall({ scope: 's', key: 'k', fingerprint: 'f' }, async () => ++done)
  broken.get = true
  for (let count = 0; count < 5; count++) {
    await rejectsWith(t, run(), { code: '503', reason: 'idempotency.store-unavailable' })
  }
  t.equal(done, 0)
  t.equal(log.join('').split('are refused').length - 1, 1, 'the log tells it once, not for each call')
  broken.get = false
  broken.keep = true
  t.same(await run(), { value: 1, replayed: false, isClaimed: false }, 'the caller has the answer')
  t.match(log.join(''), 'its result could not be stored')
  await rejectsWith(t, run(), { code: '409', reason: 'idempotency.in-progress' })
  // The lease expires.
  held.clear()
  broken.keep = false
  t.same(await run(), { value: 2, replayed: false, isClaimed: false })
  t.same(await run(), { value: 2, replayed: true, isClaimed: true })
  await rejectsWith(t, runCall({ scope: 's', key: 'k', fingerprint: 'other' }, run), { code: '422' })
  const nothing = () => runCall({ scope: 'other', key: 'k', fingerprint: 'f' }, async () => undefined)
  t.same(await nothing(), { value: undefined, replayed: false, isClaimed: false })
  t.same(await nothing(), { value: null, replayed: true, isClaimed: true })
})

t.test(
  'a route that cannot accept keys prevents the start, and the API description shows the routes that do',
  async (t) => {
    const config = await sqlite(t)
    const wrong = definePlugin({
      id: 'wrong',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { http },
      setup({ services: { http } }) {
        const route = { summary: 'Wrong', response: Type.Null(), annotations: [idempotent], handler: () => null }
        http.route({ ...route, method: 'POST', path: '/api/v1/wrong/public', access: 'public' })
        http.route({ ...route, method: 'GET', path: '/api/v1/wrong/read', access: 'user' })
      },
    })
    await rejectsWith(t, startShop(t, config, newShop(), { plugins: [wrong] }), {
      code: 'PLINTH_START_FAILED',
      message: /PLINTH_IDEMPOTENCY_ROUTE.*POST \/api\/v1\/wrong\/public.*GET \/api\/v1\/wrong\/read/,
    })
    const { openapi } = await startShop(t, config, newShop())
    const { paths } = await openapi()
    assertMembers(t, paths['/api/v1/shop/orders']?.['post'], {
      parameters: [{ name: 'Idempotency-Key', in: 'header', required: false, schema: { maxLength: 255 } }],
      responses: { 200: { headers: { 'Idempotency-Replayed': {} } } },
    })
  },
)
