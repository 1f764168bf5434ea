import { once } from 'node:events'
import { Writable } from 'node:stream'
import { database } from '@plinth/database'
import { assertMembers, manualClock, rejectsWith, throwsWith, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'
import { type OpenCaller, openApi } from '@plinth/open-platform'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { GuardedReply, GuardedRequest } from '../src/contract.ts'
import { countDays } from '../src/migrations/0003-count-days.ts'
import { CallMeter, type CallRecord } from '../src/usage/call-meter.ts'
import { describeOutcome, exportScope, orderScope, type SignedCall, shop, startOpen } from './fixtures/product.ts'

const usage = '/api/v1/admin/open-platform/usage'
const order = '/api/v1/shop/orders/:id'
const day = 86_400_000

const count = async (running: Pick<RunningProduct, 'service'>, table: string): Promise<number> => {
  const [row] = await running.service(database).query<{ n: unknown }>(`select count(*) as n from ${table}`)
  return Number(row?.n)
}

/** Returns the recorded calls in the database of a stopped product. */
async function recorded(t: Test, db: TestDatabase) {
  const { db: service, running } = await startOpen(t, db)
  const rows = await service.query<{
    app_key: string
    method: string
    route: string
    cost: unknown
    quota_limit: unknown
  }>('select app_key, method, route, day, cost, quota_limit, code, trace_id from open_call order by id')
  await running.stop('read')
  return rows.map((row) => ({ ...row, cost: Number(row.cost), quota_limit: Number(row.quota_limit) }))
}

onDatabase(t, 'C-051 every accepted call creates one record, and a graceful stop loses none', async (t, db) => {
  const clock = manualClock()
  const { adminToken, createApp, signed, running } = await startOpen(t, db, { clock })
  const admin = await adminToken()
  const app = await createApp(admin, { scopes: [orderScope, exportScope], rateLimitPerMinute: 50 })
  const unlimited = await createApp(admin, { rateLimitPerMinute: 0 })
  const calls: readonly SignedCall[] = [
    { target: '/api/v1/shop/orders/7?a=1', headers: { 'x-trace-id': 'trace-of-the-call' } },
    { target: '/api/v1/shop/orders/8', method: 'PUT', body: '{}' },
    { target: '/api/v1/shop/exports', method: 'POST', body: '{"year":2025}' },
  ]
  for (const call of calls) await signed(app, call)
  await signed(unlimited)
  const repeated = { target: '/api/v1/open/whoami', nonce: 'nonce-that-comes-twice' }
  await Promise.all([signed(app, repeated), signed(app, repeated)])
  const rejected = [
    await signed({ ...app, secret: 'plinth_open_wrong' }),
    await signed(app, { timestamp: 1 }),
    await signed(app, { target: '/api/v1/open/echo', method: 'POST', body: '{"message":1}' }),
    await signed(unlimited, { target: '/api/v1/shop/exports', method: 'POST', body: '{"year":2025}' }),
  ]
  t.same(
    rejected.map(describeOutcome).filter((code) => code === '200'),
    [],
  )
  t.equal(await count(running, 'open_call'), 0, 'nothing is written while a call waits for it')
  await running.stop('test')

  const facts = { app_key: app.appKey, quota_limit: 50, cost: 1, day: '2026-01-01' }
  const rows = await recorded(t, db)
  t.equal(rows.length, 5)
  const of = (route: string, method: string) => rows.find((row) => row.route === route && row.method === method)
  t.hasStrict(of(order, 'GET'), { ...facts, code: '200', trace_id: 'trace-of-the-call' })
  t.hasStrict(of(order, 'PUT'), { ...facts, code: '200' })
  t.hasStrict(of('/api/v1/shop/exports', 'POST'), { ...facts, code: '500', cost: 3 }, 'also of a call that failed')
  t.same(
    rows
      .filter(({ route }) => route === '/api/v1/open/whoami')
      .map((row) => [row.app_key, row.quota_limit])
      .sort(),
    [
      [app.appKey, 50],
      [unlimited.appKey, 0],
    ].sort(),
  )
})

onDatabase(t, 'C-051 usage by day, application and route', async (t, db) => {
  const clock = manualClock(Date.UTC(2026, 0, 30, 23, 59))
  const config = { 'platform.open-platform.metering.retention': '30d' }
  const { adminToken, createApp, signed, call, running } = await startOpen(t, db, { clock, config })
  const admin = await adminToken()
  const [one, other] = [await createApp(admin, { scopes: [orderScope, exportScope] }), await createApp(admin)]
  for (const id of [1, 2, 3]) await signed(one, { target: `/api/v1/shop/orders/${id}` })
  await signed(one, { target: '/api/v1/shop/exports', method: 'POST', body: '{"year":2025}' })
  await signed(other)
  await clock.advance(60_000)
  await signed(one, { target: '/api/v1/shop/orders/1' })
  await until(async () => {
    await clock.advance(1_000)
    return (await count(running, 'open_call')) === 6
  }, 'six records written')

  const lines = async (query = '') => (await call('GET', `${usage}?${query}`, admin)).data
  const line = { appId: one.id, appKey: one.appKey, method: 'GET', route: order, calls: 1, failed: 0, cost: 1 }
  const found: readonly { readonly id: string }[] = (await lines()).items
  t.equal(new Set(found.map(({ id }) => id)).size, 4, 'each line has a name of its own')
  t.same(
    found.map(({ id: _, ...line }) => line),
    [
      { day: '2026-01-31', ...line },
      { day: '2026-01-30', ...line, appId: other.id, appKey: other.appKey, route: '/api/v1/open/whoami' },
      { day: '2026-01-30', ...line, calls: 3, cost: 3 },
      { day: '2026-01-30', ...line, method: 'POST', route: '/api/v1/shop/exports', failed: 1, cost: 3 },
    ],
  )
  assertMembers(t, await lines(`appId=${other.id}`), { total: 1, items: [{ appId: other.id }] })
  t.match(await lines('from=2026-01-31'), { total: 1 })
  t.match(await lines('to=2026-01-30'), { total: 3 })
  assertMembers(t, await lines('page=2&size=3'), {
    total: 4,
    page: 2,
    size: 3,
    items: [{ route: '/api/v1/shop/exports' }],
  })
  const walked: unknown[] = []
  for (let next: string | null = ''; next !== null; ) {
    const page = await lines(`size=1${next === '' ? '' : `&cursor=${encodeURIComponent(next)}`}`)
    walked.push(...page.items)
    next = page.next
  }
  t.same(walked, (await lines()).items, 'by cursor')
  assertMembers(t, await lines('from=2026-02-01&to=2026-02-01'), { total: 0, items: [] })
  const backwards = await call('GET', `${usage}?from=2026-02-02&to=2026-02-01`, admin)
  t.hasStrict(backwards, { code: '400', data: { reason: 'open-platform.day-range', field: 'from' } })
  for (const bad of ['from=yesterday', 'to=2026-02-30', 'appId=x']) {
    t.equal((await call('GET', `${usage}?${bad}`, admin)).code, '400', bad)
  }
  await call('DELETE', `/api/v1/admin/open-platform/apps/${one.id}`, admin)
  assertMembers(
    t,
    await lines('from=2026-01-31'),
    { total: 1, items: [{ appKey: one.appKey }] },
    'records outlive the application',
  )

  await t.test('calls that an earlier version recorded are counted by the change set', async (t) => {
    const store = running.service(database)
    const before = (await lines()).items
    await store.execute('delete from open_call_day')
    t.same((await lines()).items, [])
    await countDays.data?.({
      db: store.fork().getKysely() as never,
      dialect: store.dialect,
      newId: () => store.newId(),
      now: Date.now,
      signal: new AbortController().signal,
    })
    t.same((await lines()).items, before)
  })

  await t.test('old records and secrets after their grace period are removed', async (t) => {
    await call('POST', `/api/v1/admin/open-platform/apps/${other.id}/rotate-secret`, admin, { graceSeconds: 60 })
    const purge = running.scheduledTasks.find(({ name }) => name === 'open-platform.purge')
    const { signal } = new AbortController()
    const previous = async () => {
      const [row] = await running
        .service(database)
        .query<{ kept: string | null }>('select previous_secret_enc as kept from open_app')
      return row?.kept
    }
    await purge?.run(signal)
    t.equal(await count(running, 'open_call'), 6)
    t.ok(await previous())
    await clock.advance(60_000)
    await purge?.run(signal)
    t.equal(await previous(), null)
    clock.shiftWallClock(29 * day)
    await purge?.run(signal)
    t.equal(await count(running, 'open_call'), 6)
    clock.shiftWallClock(day)
    await purge?.run(signal)
    t.equal(await count(running, 'open_call'), 1, 'of the last day that counts one is left')
    t.equal(await count(running, 'open_call_day'), 1)
  })
})

t.test('C-051 E11 days of usage use the time zone of the site', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock(Date.UTC(2026, 0, 30, 15, 59))
  const config = { 'platform.site.time-zone': 'Asia/Shanghai' }
  const { adminToken, createApp, signed, call, running } = await startOpen(t, db, { clock, config })
  const admin = await adminToken()
  const app = await createApp(admin)
  await signed(app)
  await clock.advance(60_000)
  await signed(app)
  await until(async () => {
    await clock.advance(1_000)
    return (await count(running, 'open_call')) === 2
  }, 'two records written')
  const { items } = (await call('GET', usage, admin)).data
  t.same(
    items.map((line: { day: string }) => line.day),
    ['2026-01-31', '2026-01-30'],
    'midnight in Shanghai is 16:00 in UTC; without days the list ends today there',
  )
})

t.test('C-051 the same call written twice is one record', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { adminToken, createApp, signed, running, clock } = await startOpen(t, db)
  const app = await createApp(await adminToken())
  const service = running.service(database)
  const { promise: lost, resolve: lose } = Promise.withResolvers<void>()
  const original = service.transactional.bind(service)
  service.transactional = async (work) => {
    const result = await original(work)
    if ((await count(running, 'open_call')) === 0) return result
    service.transactional = original
    lose()
    throw new Error('the connection was lost after the commit')
  }
  t.equal(describeOutcome(await signed(app)), '200')
  await until(async () => {
    await clock.advance(1_000)
    return (await count(running, 'open_call')) === 1
  }, 'the record is written')
  await lost
  t.equal(describeOutcome(await signed(app)), '200')
  await running.stop('what counts as unwritten is written again')
  t.equal((await recorded(t, db)).length, 2)
  const [day] = await (await startOpen(t, db)).db.query<{ calls: unknown }>('select calls from open_call_day')
  t.equal(Number(day?.calls), 2, 'and is counted once')
})

t.test('a call without a complete response is recorded when the product stops', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const slow = definePlugin({
    id: 'slow',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    setup: ({ services }) =>
      services.http.route({
        method: 'GET',
        path: '/api/v1/slow',
        summary: 'Slow',
        access: 'signed',
        annotations: [openApi({ scopes: [] })],
        response: Type.Null(),
        async handler() {
          reach()
          await held
          return null
        },
      }),
  })
  const clock = manualClock()
  const { adminToken, createApp, signed, running } = await startOpen(t, db, {
    clock,
    plugins: [shop, slow],
    stopMayFail: true,
  })
  const app = await createApp(await adminToken())
  const response = signed(app, { target: '/api/v1/slow' }).catch(() => 'cut')
  await reached
  const stopped = running.stop('test')
  // After the drain deadline the connection is closed.
  await until(async () => {
    await clock.advance(60_000)
    return running.state === 'stopped'
  }, 'the product stops')
  await stopped.catch(() => undefined)
  release()
  t.equal(await response, 'cut')
  assertMembers(t, await recorded(t, db), [{ route: '/api/v1/slow', code: null }])
})

t.test('C-051 calls wait for an unavailable database; if too many wait, further calls are rejected', async (t) => {
  const clock = manualClock()
  const written: CallRecord[] = []
  const batches: number[] = []
  let isAway = true
  const meter = new CallMeter({
    records: {
      async write(calls) {
        if (isAway) throw new Error('away')
        batches.push(calls.length)
        written.push(...calls)
      },
    },
    clock,
    log: pino({ level: 'silent' }),
    flushIntervalMs: () => 1000,
    dayOf: () => '2026-01-01',
  })
  meter.start()
  const caller: OpenCaller = {
    appId: 1,
    appKey: 'app_1',
    name: 'x',
    scopes: new Set<string>(),
    rateLimitPerMinute: 0,
    ownerUserId: null,
  }
  const accept = async (count: number, from: number) => {
    const ended = Array.from({ length: count }, (_, index) => {
      const raw = new Writable({ write: (_chunk, _encoding, done) => done() })
      const headers = { 'x-open-timestamp': '1', 'x-open-nonce': `nonce-${from + index}` }
      const request = { headers, method: 'GET', traceId: 'x', failureCode: '' } as unknown as GuardedRequest
      meter.assertRoom()
      const call = { caller, route: '/api/v1/x', cost: 1, quotaLimit: 0 }
      meter.accept(request, { raw, statusCode: 200 } as unknown as GuardedReply, call)
      return once(raw.end(), 'close')
    })
    await Promise.all(ended)
  }
  const full = { reason: 'open-platform.metering-unavailable', code: '503' }
  await accept(9_999, 0)
  meter.assertRoom()
  await accept(1, 9_999)
  throwsWith(t, () => meter.assertRoom(), full)
  for (let seconds = 0; seconds < 3; seconds++) await clock.advance(1000)
  throwsWith(t, () => meter.assertRoom(), full)
  t.equal(written.length, 0)
  isAway = false
  await clock.advance(1000)
  meter.assertRoom()
  t.equal(written.length, 10_000)
  t.equal(new Set(written.map(({ callKey }) => callKey)).size, 10_000)
  t.ok(batches.every((size) => size === 200))
  t.hasStrict(written[0], { appKey: 'app_1', code: '200', method: 'GET', day: '2026-01-01' })

  await accept(200, 10_000)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(written.length, 10_200, 'a full batch does not wait for the interval')
  await accept(5, 10_200)
  isAway = true
  await rejectsWith(t, meter.close(), { message: 'away' })
  isAway = false
  await meter.close()
  t.equal(written.length, 10_205)
  t.equal(clock.sleepers, 0)
})
