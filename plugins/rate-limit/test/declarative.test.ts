import { rejectsWith } from '@plinth/dev/testing'
import { http, type KeyStrategy, type RateLimited } from '@plinth/http'
import { type IdentityResolver, rateLimiter } from '@plinth/rate-limit'
import t from 'tap'
import { sha256Hex, startRoutes } from './fixtures/limited-routes.ts'

t.test(
  'C-022 C-023 C-024 R-043 R-048 R-060 R-061 R-062 R-063 R-064 a denial is code "429" with HTTP status 200',
  async (t) => {
    const { call, clock, handled } = await startRoutes(t, { limits: { things: { maxAttempts: 2, windowSeconds: 30 } } })
    const resetSeconds = Math.ceil((clock.now() + 30_000) / 1000)
    const first = await call('things')
    t.hasStrict(first, { status: 200, code: '200', data: { path: 'things' } })
    t.match(first.headers, {
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': `${resetSeconds}`,
    })
    t.equal(first.headers['retry-after'], undefined, 'Retry-After only when denied')
    await call('things')
    await clock.advance(10_500)
    const denied = await call('things')
    t.hasStrict(denied, { status: 200, code: '429', data: { reason: 'rate-limit.exceeded', retryAfter: 20 } })
    t.match(denied.headers, {
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': `${resetSeconds}`,
      'retry-after': '20',
    })
    t.equal(denied.message, 'Too many requests. Try again in 20 s.')
    const chinese = await call('things', { headers: { 'accept-language': 'zh-CN' } })
    t.equal(chinese.message, '请求过于频繁，请在 20 秒后重试。')
    t.equal(handled.length, 2, 'a denied request never reaches the handler')
    await clock.advance(20_000)
    t.equal((await call('things')).code, '200', 'after Retry-After the request passes')
  },
)

t.test('R-047 R-048 a silent denial is 204 without a body', async (t) => {
  const { call, handled } = await startRoutes(t, { limits: { beat: { maxAttempts: 1, silent: true } } })
  t.equal((await call('beat')).code, '200')
  const denied = await call('beat')
  t.match(denied, { status: 204, body: '' })
  t.match(denied.headers, { 'x-ratelimit-remaining': '0', 'retry-after': '60' })
  t.same(handled, ['beat'])
})

t.test('R-024 R-040 R-045 R-051 the default key is the route pattern and the hashed address', async (t) => {
  const { call, keys } = await startRoutes(t, {
    limits: { 'items/:id': { maxAttempts: 1 }, 'POST items/:id': { maxAttempts: 1 } },
  })
  t.equal((await call('items/1')).code, '200')
  t.equal((await call('items/2')).code, '429', 'the pattern counts, not the URL')
  t.equal((await call('items/1', { from: '203.0.113.2' })).code, '200', 'addresses are apart')
  t.equal(
    (await call('items/1', { method: 'POST', payload: { mobile: '13800138000' } })).code,
    '200',
    'methods are apart',
  )
  t.equal(keys[0], `rate-limit:web:GET:/api/v1/x/items/:id:${sha256Hex('203.0.113.1')}`)
  for (const key of keys) t.notMatch(key, /203\.0\.113/, 'no clear address in a key')
})

t.test('R-024 the prefix of declared keys can be changed', async (t) => {
  const prefix = { 'platform.rate-limit.annotation.key-prefix': 'shop-front' }
  const { call, keys, running } = await startRoutes(t, { limits: { things: {} }, config: prefix })
  await call('things')
  await running.service(rateLimiter).consume({ key: 'orders' })
  const declared = `rate-limit:shop-front:GET:/api/v1/x/things:${sha256Hex('203.0.113.1')}`
  t.same(keys, [declared, 'rate-limit:orders'], 'it precedes declarative keys, and those alone')
})

t.test('R-045 R-056 R-057 R-058 R-107 each strategy shares the quota as documented', async (t) => {
  const user: IdentityResolver = async ({ headers }) => headers['x-user'] as string | undefined
  const cases: [KeyStrategy, { routes: boolean; addresses: boolean; users: boolean }][] = [
    ['GLOBAL', { routes: true, addresses: true, users: true }],
    ['IP', { routes: true, addresses: false, users: true }],
    ['USER', { routes: true, addresses: true, users: false }],
    ['ROUTE', { routes: false, addresses: true, users: true }],
    ['IP_ROUTE', { routes: false, addresses: false, users: true }],
    ['USER_ROUTE', { routes: false, addresses: true, users: false }],
  ]
  for (const [keyStrategy, shared] of cases) {
    const limit: RateLimited = { key: 'group', maxAttempts: 1, keyStrategy }
    const { call, keys } = await startRoutes(t, { limits: { a: limit, b: limit }, resolvers: [() => ' ', user] })
    const isShared = async (...other: Parameters<typeof call>) => (await call(...other)).code === '429'
    await call('a', { headers: { 'x-user': 'ada' } })
    t.equal(await isShared('a', { headers: { 'x-user': 'ada' } }), true, `${keyStrategy}: the same caller`)
    t.equal(await isShared('b', { headers: { 'x-user': 'ada' } }), shared.routes, `${keyStrategy}: another route`)
    t.equal(
      await isShared('a', { headers: { 'x-user': 'ada' }, from: '203.0.113.2' }),
      shared.addresses,
      `${keyStrategy}: address`,
    )
    t.equal(await isShared('a', { headers: { 'x-user': 'bob' } }), shared.users, `${keyStrategy}: another user`)
    t.ok(
      keys.every((key) => key.startsWith('rate-limit:web:group') && !/ada|bob|203\.0/.test(key)),
      'nobody is named',
    )
    if (keyStrategy === 'USER') t.equal(keys[0], `rate-limit:web:group:${sha256Hex('ada')}`)
  }
  const { call, keys } = await startRoutes(t, {
    limits: { mine: { maxAttempts: 1, keyStrategy: 'USER' }, all: { maxAttempts: 1, keyStrategy: 'GLOBAL' } },
    resolvers: [user],
  })
  t.equal((await call('mine')).code, '200')
  t.equal((await call('mine', { from: '203.0.113.2', headers: { 'x-user': ' ' } })).code, '429', 'anonymous is shared')
  t.equal(keys[0], `rate-limit:web:${sha256Hex('anonymous')}`)
  await call('all')
  t.equal(keys.at(-1), 'rate-limit:web:GET:/api/v1/x/all', 'never one key for everything')
})

t.test('R-041 R-042 R-044 R-046 zero means the default; the first declaration of a route applies', async (t) => {
  const { call, clock } = await startRoutes(t, {
    limits: {
      plain: { maxAttempts: 0, windowSeconds: -1, store: '' },
      nearest: [{ maxAttempts: 7 }, { maxAttempts: 100 }],
    },
    set: { 'platform.rate-limit.default-max-attempts': '3', 'platform.rate-limit.default-window': '5s' },
  })
  const { headers } = await call('plain')
  t.match(headers, { 'x-ratelimit-limit': '3', 'x-ratelimit-reset': `${Math.ceil((clock.now() + 5000) / 1000)}` })
  t.equal((await call('nearest')).headers['x-ratelimit-limit'], '7')
})

t.test('R-103 invalid input uses no quota', async (t) => {
  const { call } = await startRoutes(t, { limits: { 'POST codes': { maxAttempts: 1 } } })
  const send = (mobile: string) => call('codes', { method: 'POST', payload: { mobile } })
  for (let attempt = 0; attempt < 3; attempt++) t.equal((await send('12')).code, '400')
  t.equal((await send('13800138000')).code, '200')
  t.equal((await send('13800138000')).code, '429')
})

t.test('R-020 R-022 R-023 unlimited and disabled limits write no headers and deny nothing', async (t) => {
  for (const set of [
    { 'platform.rate-limit.default-max-attempts': '0' },
    { 'platform.rate-limit.enabled': 'false' },
    { 'platform.rate-limit.annotation.enabled': 'false' },
  ] as const) {
    const limit = 'platform.rate-limit.default-max-attempts' in set ? {} : { maxAttempts: 1 }
    const { call, running } = await startRoutes(t, { limits: { things: limit }, set })
    for (let attempt = 0; attempt < 3; attempt++) {
      const { code, headers } = await call('things')
      t.equal(code, '200')
      t.equal(headers['x-ratelimit-limit'], undefined)
    }
    const direct = await running.service(rateLimiter).consume({ key: 'direct', maxAttempts: 1 })
    t.equal(direct.limit, 'platform.rate-limit.annotation.enabled' in set || limit.maxAttempts === undefined ? 1 : 0)
  }
})

t.test('if the store fails, the closed policy rejects all requests', async (t) => {
  const { call, handled } = await startRoutes(t, { limits: { things: { store: 'broken', failurePolicy: 'closed' } } })
  t.hasStrict(await call('things'), { status: 200, code: '503', data: { reason: 'rate-limit.store-unavailable' } })
  t.same(handled, [])
})

t.test('R-015 an invalid declaration prevents the start instead of failing a request', async (t) => {
  const wrong: [RateLimited, RegExp][] = [
    [{ store: 'memroy' }, /"memroy"/],
    [{ cost: 0 }, /"cost"/],
    [{ maxAttempts: 1.5 }, /"maxAttempts"/],
    [{ windowSeconds: 0.0001 }, /"windowMs"/],
    [{ keyStrategy: 'EVERYBODY' as KeyStrategy }, /EVERYBODY/],
    [{ failurePolicy: 'maybe' as 'open' }, /"failurePolicy".*insurance, closed, open.*maybe/],
  ]
  for (const [limit, message] of wrong) await rejectsWith(t, startRoutes(t, { limits: { things: limit } }), { message })
})

t.test('R-066 R-068 the counter is on the metrics page', async (t) => {
  const { call, running } = await startRoutes(t, { limits: { things: { maxAttempts: 1 } } })
  await call('things')
  await call('things')
  const { body } = await running.service(http).inject({ method: 'GET', url: '/metrics', remoteAddress: '127.0.0.1' })
  t.match(body, /platform_rate_limit_requests_total\{store="memory",outcome="allowed"\} 1/)
  t.match(body, /platform_rate_limit_requests_total\{store="memory",outcome="rejected"\} 1/)
  t.notMatch(body, /203\.0\.113/)
})
