import { database } from '@plinth/database'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import { configCentre } from '@plinth/system-config'
import t, { type Test } from 'tap'
import { type ApiResponse, describeOutcome, exportScope, orderScope, startOpen } from './fixtures/product.ts'

const whoami = { target: '/api/v1/open/whoami' }
const limitOf = ({ headers }: Pick<ApiResponse, 'headers'>) => headers['x-open-ratelimit-limit']
const quotaHeaders = ({ headers }: ApiResponse) => [
  headers['x-open-ratelimit-limit'],
  headers['x-open-ratelimit-remaining'],
  headers['x-open-ratelimit-reset'],
  headers['retry-after'],
]

async function limits(t: Test, start: ReturnType<typeof startOpen>) {
  const { adminToken, createApp, signed, call } = await start
  const admin = await adminToken()

  await t.test('R-097 a limit of the application overrides the default of 60', async (t) => {
    const three = await createApp(admin, { rateLimitPerMinute: 3 })
    const seen: ApiResponse[] = []
    for (let count = 0; count < 4; count++) seen.push(await signed(three, whoami))
    t.same(seen.map(describeOutcome), ['200', '200', '200', '429 rate-limit.exceeded'])
    const none = await createApp(admin)
    t.equal(limitOf(await signed(none)), '60')
    const explicit = await createApp(admin, { rateLimitPerMinute: null })
    t.equal(limitOf(await signed(explicit)), '60')
    t.equal(describeOutcome(await signed(none)), '200', 'applications have quotas of their own')

    const found = seen.map(quotaHeaders)
    const [, , reset] = found[0] ?? []
    const waits = found[3]?.[3]
    // The store measures real time but the clock of the product stands still, so the end of the window comes nearer.
    const sameWindow = (end: unknown) => Number(reset) - Number(end) < 60 && Number(end) <= Number(reset)
    const expected = ['2', '1', '0', '0'].map((left, index) => ['3', left, true, index === 3 ? waits : undefined])
    t.same(
      found.map(([limit, left, end, wait]) => [limit, left, sameWindow(end), wait]),
      expected,
      'R-099 headers on every answer, and Retry-After on a denial alone',
    )
    t.hasStrict(seen[3], { status: 200, code: '429', data: { reason: 'rate-limit.exceeded' } })
    const retryAfter = Number(waits)
    t.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60, `${retryAfter}`)
    t.equal(seen[3]?.data.retryAfter, retryAfter)
  })

  await t.test('R-098 case 43: 0 and negative limits mean unlimited and never the default', async (t) => {
    for (const rateLimitPerMinute of [0, -5]) {
      const app = await createApp(admin, { rateLimitPerMinute })
      const responses = await Promise.all(Array.from({ length: 65 }, () => signed(app)))
      t.ok(
        responses.every(({ code }) => code === '200'),
        `65 calls with ${rateLimitPerMinute}`,
      )
      assertMembers(t, quotaHeaders(responses[64] as ApiResponse), [
        '0',
        `${Number.MAX_SAFE_INTEGER}`,
        /^\d+$/,
        undefined,
      ])
      const path = `/api/v1/admin/open-platform/apps/${app.id}`
      t.equal((await call('GET', path, admin)).data.rateLimitPerMinute, rateLimitPerMinute, 'kept as it was given')
      t.equal((await call('PUT', path, admin, { rateLimitPerMinute: null })).data.rateLimitPerMinute, null)
      t.equal(limitOf(await signed(app)), '60', 'counts for the next call')
    }
  })
}

onEachDatabase(t, 'R-097 R-098 R-099 limits of applications', (t, db) => limits(t, startOpen(t, db)))

t.test('R-097 R-098 R-099 limits of applications (Redis)', { skip: skipRedis }, async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  await limits(t, startOpen(t, db, { config: redis.config }))
  const keys = await redis.keys()
  t.ok(keys.some((key) => key.includes('open-platform:nonce:')))
  t.notMatch(keys.join(), /plinth_open_/)
})

t.test('R-097 R-098 the default comes from the configuration', async (t) => {
  const key = 'platform.open-platform.security.default-rate-limit-per-minute'
  for (const [value, expected] of [
    [2, '2'],
    [0, '0'],
    [-1, '0'],
  ] as const) {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const { adminToken, createApp, signed, running } = await startOpen(t, db, { config: { [key]: value } })
    const admin = await adminToken()
    const app = await createApp(admin)
    t.equal(limitOf(await signed(app)), expected)
    const own = await createApp(admin, { rateLimitPerMinute: 7 })
    t.equal(limitOf(await signed(own)), '7')
    await running.service(configCentre).save([{ key, action: 'set', value: 9 }], { actor: { name: 'test' } })
    t.equal(limitOf(await signed(app)), '9', 'a change counts at once')
  }
})

t.test('R-099 a minute later the whole quota is available again', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const { adminToken, createApp, signed } = await startOpen(t, db, { clock })
  const app = await createApp(await adminToken(), { rateLimitPerMinute: 1 })
  t.equal(describeOutcome(await signed(app)), '200')
  await clock.advance(59_000)
  const denied = await signed(app)
  t.equal(describeOutcome(denied), '429 rate-limit.exceeded')
  t.equal(denied.headers['retry-after'], '1')
  await clock.advance(1_000)
  t.equal(describeOutcome(await signed(app)), '200')
})

t.test('R-100 a call with a higher cost takes more quota, from the store of its route', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { adminToken, createApp, signed } = await startOpen(t, db)
  const app = await createApp(await adminToken(), { rateLimitPerMinute: 5, scopes: [orderScope, exportScope] })
  const costly = { method: 'POST', target: '/api/v1/shop/exports', body: '{"year":2025}' }
  const first = await signed(app, costly)
  t.equal(first.code, '500', 'the handler ran')
  t.same(quotaHeaders(first).slice(0, 2), ['5', '2'])
  t.equal(describeOutcome(await signed(app, costly)), '429 rate-limit.exceeded')
  t.same(quotaHeaders(await signed(app)).slice(0, 2), ['5', '4'], 'another store, another quota')
})

t.test('quota is taken after all checks, and not for rejected calls', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { adminToken, createApp, signed } = await startOpen(t, db)
  const app = await createApp(await adminToken(), { rateLimitPerMinute: 2 })
  const rejected = [
    await signed({ ...app, secret: 'plinth_open_wrong' }),
    await signed(app, { timestamp: 1 }),
    await signed(app, { target: '/api/v1/shop/exports', method: 'POST', body: '{"year":2025}' }),
    await signed(app, { target: '/api/v1/open/echo', method: 'POST', body: '{"message":1}' }),
  ]
  t.same(
    rejected.map(({ code }) => code),
    ['401', '401', '403', '400'],
  )
  t.ok(rejected.every((response) => limitOf(response) === undefined))
  t.same(quotaHeaders(await signed(app)).slice(0, 2), ['2', '1'])
})

t.test('R-061 R-063 limits per user distinguish applications', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { adminToken, createApp, signed } = await startOpen(t, db)
  const admin = await adminToken()
  const [one, other] = [await createApp(admin), await createApp(admin)]
  const target = '/api/v1/shop/limited'
  const codes = []
  for (const app of [one, one, one, other, other, other]) codes.push((await signed(app, { target })).code)
  t.same(codes, ['200', '200', '429', '200', '200', '429'])
})

onDatabase(t, 'A25 a rejected call writes nothing, and a replay takes no quota', async (t, db) => {
  const clock = manualClock()
  const { adminToken, createApp, signed, call, running } = await startOpen(t, db, { clock })
  const admin = await adminToken()
  const app = await createApp(admin, { rateLimitPerMinute: 3 })
  const written = async () => {
    const rows = await running.service(database).query<{ name: string }>('select name from shared_store_entry')
    return rows.filter(({ name }) => name.includes('open-platform:nonce:')).length
  }
  const rejected = [
    ...Array.from({ length: 5 }, () => signed({ ...app, secret: 'plinth_open_wrong' })),
    ...Array.from({ length: 5 }, () =>
      signed(app, { target: '/api/v1/shop/exports', method: 'POST', body: '{"year":1}' }),
    ),
    ...Array.from({ length: 5 }, () =>
      signed(app, { target: '/api/v1/open/echo', method: 'POST', body: '{"message":1}' }),
    ),
  ]
  t.same(new Set((await Promise.all(rejected)).map(({ code }) => code)), new Set(['400', '401', '403']))
  t.equal(await written(), 0, 'neither a wrong signature nor a missing scope nor bad input')

  const first = { nonce: 'nonce-of-the-first-call' }
  t.equal(describeOutcome(await signed(app, first)), '200')
  for (let count = 0; count < 10; count++)
    t.equal(describeOutcome(await signed(app, first)), '401 open-platform.nonce-used')
  t.same(quotaHeaders(await signed(app)).slice(0, 2), ['3', '1'], 'ten replays took nothing')
  t.equal(describeOutcome(await signed(app)), '200')
  const late = { nonce: 'nonce-of-a-throttled-call', timestamp: Math.floor(clock.now() / 1000) }
  t.equal(describeOutcome(await signed(app, late)), '429 rate-limit.exceeded')
  const denied = await Promise.all(Array.from({ length: 30 }, () => signed(app)))
  t.same(new Set(denied.map(describeOutcome)), new Set(['429 rate-limit.exceeded']))
  t.equal(await written(), 3, 'one for each call that was served')

  // Database servers measure windows with their own clocks, so the test changes the limit instead of the time.
  const path = `/api/v1/admin/open-platform/apps/${app.id}`
  t.equal((await call('PUT', path, admin, { rateLimitPerMinute: 50 })).code, '200')
  const again = await Promise.all(Array.from({ length: 8 }, () => signed(app, late)))
  t.equal(again.filter(({ code }) => code === '200').length, 1, 'a denied call may be sent again, and is served once')
  t.same(new Set(again.map(describeOutcome)), new Set(['200', '401 open-platform.nonce-used']))
  t.equal(await written(), 4)
})
