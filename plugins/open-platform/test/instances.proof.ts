import { fork } from 'node:child_process'
import { join } from 'node:path'
import { assertMembers, until, type WatchedProcess, watchProcess } from '@plinth/dev/testing'
import { createDatabase, onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis, skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import type { JsonValue } from '@plinth/kernel'
import { configCentre } from '@plinth/system-config'
import t, { type Test } from 'tap'
import {
  type Application,
  administrator,
  configOn,
  describeOutcome,
  exchange,
  signedHeadersFor,
  startOpen,
} from './fixtures/product.ts'

const apps = '/api/v1/admin/open-platform/apps'

/** Tests that two instances of one product behave like a single one. */
async function asOne(t: Test, db: TestDatabase, config: Readonly<Record<string, JsonValue>> = {}) {
  const one = await startOpen(t, db, { config })
  const other = await startOpen(t, db, { config, clock: one.clock })
  const admin = await one.adminToken()

  await t.test('two instances may create the first application at the same time', async (t) => {
    const both = await Promise.all([one.createApp(admin), other.createApp(admin)])
    for (const app of both) {
      t.equal(describeOutcome(await one.signed(app)), '200')
      t.equal(
        describeOutcome(await other.signed(app)),
        '200',
        'an instance learns the key of the secrets when it needs it',
      )
    }
    const history = await one.running.service(configCentre).history({}, { size: 20, offset: 0, count: 'exact' })
    const made = history.items.filter(({ key }) => key === 'platform.open-platform.security.secret-key')
    t.equal(made.length, 1, 'one key was made')
    assertMembers(t, made, [{ origin: 'state', actor: 'open-platform', sensitive: true, before: undefined }])
  })

  await t.test('C-052 a nonce that was used on one instance is rejected on the other', async (t) => {
    const app = await one.createApp(admin)
    const headers = one.headersOf(app, {})
    t.equal(describeOutcome(await one.signed(app, { headers })), '200')
    t.equal(describeOutcome(await other.signed(app, { headers })), '401 open-platform.nonce-used')
    for (let round = 0; round < 5; round++) {
      const same = one.headersOf(app, {})
      const responses = await Promise.all(
        [one, other, one, other].map((instance) => instance.signed(app, { headers: same })),
      )
      t.equal(responses.filter(({ code }) => code === '200').length, 1, 'of many at once one passes')
    }
  })

  await t.test('R-097 the instances share the quota of an application', async (t) => {
    const app = await one.createApp(admin, { rateLimitPerMinute: 6 })
    const instances = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other))
    const responses = await Promise.all(instances.map((instance) => instance.signed(app)))
    t.equal(responses.filter(({ code }) => code === '200').length, 6)
    t.equal(responses.filter(({ code }) => code === '429').length, 4)
  })

  await t.test('a change on one instance applies on the other immediately', async (t) => {
    const app = await one.createApp(admin)
    t.equal(describeOutcome(await other.signed(app)), '200')
    await one.call('POST', `${apps}/${app.id}/disable`, admin, {})
    t.equal(describeOutcome(await other.signed(app)), '401 open-platform.signature-invalid')
    await one.call('POST', `${apps}/${app.id}/enable`, admin, {})
    const { data } = await one.call('POST', `${apps}/${app.id}/rotate-secret`, admin, { graceSeconds: 0 })
    t.equal(describeOutcome(await other.signed(app)), '401 open-platform.signature-invalid')
    t.equal(describeOutcome(await other.signed(data as Application)), '200')
    await other.call('DELETE', `${apps}/${app.id}`, admin)
    t.equal(describeOutcome(await one.signed(data as Application)), '401 open-platform.signature-invalid')
  })
}

onDatabase(t, 'two instances on one database', (t, db) => asOne(t, db))

t.test('two instances on Redis', { skip: skipRedis }, async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  await asOne(t, db, redis.config)
})

t.test(
  'C-052 every signed request is rejected while the shared store is unavailable',
  { skip: skipWithoutRedisProgram },
  async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.drop())
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const { adminToken, createApp, signed, call } = await startOpen(t, db, { config: redis.config })
    const admin = await adminToken()
    const app = await createApp(admin)
    t.equal(describeOutcome(await signed(app)), '200')
    await redis.kill()
    const headers = { 'x-trace-id': 'while-away' }
    t.hasStrict(await signed(app, { headers }), {
      status: 200,
      code: '503',
      data: { reason: 'open-platform.replay-check-unavailable' },
    })
    t.equal(
      describeOutcome(await signed({ ...app, secret: 'plinth_open_wrong' })),
      '401 open-platform.signature-invalid',
    )
    t.equal((await call('GET', apps, admin)).code, '200', 'administration goes on')
    await redis.start()
    await until(async () => (await signed(app)).code === '200', 'signed calls are back with it')
  },
)

/** Starts an instance in a child process. It is stopped when the test ends. */
async function startProcess(t: Test, db: TestDatabase): Promise<{ server: WatchedProcess; base: string }> {
  const config = {
    ...configOn(db),
    // Records wait longer than the test runs, so that only a stop writes them.
    'platform.open-platform.metering.flush-interval': '1m',
    // Processes use real time, and this host may be slow, so the deadline is long.
    'platform.rate-limit.store-deadline': '1m',
  }
  const program = join(import.meta.dirname, 'fixtures', 'instance.ts')
  const server = watchProcess(t, fork(program, [JSON.stringify(config)], { silent: true }))
  const base = await server.until(() => server.messages[0], 'it listens')
  return { server, base: String(base) }
}

onDatabase(t, 'C-051 C-052 two processes: a replay is rejected on both, and a stop loses no record', async (t, db) => {
  const one = await startProcess(t, db)
  const other = await startProcess(t, db)
  const send = (base: string, method: string, target: string, headers: object, body: object) =>
    exchange(base, method, target, { 'content-type': 'application/json', ...headers }, JSON.stringify(body))
  const login = await send(one.base, 'POST', '/api/v1/auth/login', {}, administrator)
  const authorization = `Bearer ${login.data.accessToken}`
  const app: Application = (await send(one.base, 'POST', apps, { authorization }, { name: 'Partner' })).data
  const signed = (base: string, headers = signedHeadersFor(app, {}, Date.now())) =>
    exchange(base, 'GET', '/api/v1/open/whoami', headers, '')

  const headers = signedHeadersFor(app, {}, Date.now())
  t.equal(describeOutcome(await signed(one.base, headers)), '200')
  t.equal(describeOutcome(await signed(other.base, headers)), '401 open-platform.nonce-used')
  const responses = await Promise.all(Array.from({ length: 20 }, (_, index) => signed((index % 2 ? one : other).base)))
  t.same(new Set(responses.map(describeOutcome)), new Set(['200']))
  const same = signedHeadersFor(app, {}, Date.now())
  const raced = await Promise.all([one, other, one, other, one, other].map(({ base }) => signed(base, same)))
  t.equal(raced.filter(({ code }) => code === '200').length, 1, 'of many at once one passes')

  for (const { server } of [one, other]) t.same(await server.end('SIGTERM'), [0, null])
  const later = await startOpen(t, db)
  const rows = await later.db.query<{ n: unknown }>('select count(*) as n from open_call where app_key = ?', [
    app.appKey,
  ])
  t.equal(Number(rows[0]?.n), 22)
})
