import { rejectsWith } from '@plinth/dev/testing'
import type { RateLimited } from '@plinth/http'
import t from 'tap'
import { sha256Hex, startRoutes } from './fixtures/limited-routes.ts'

t.test(
  'R-046 a limit on a path applies to all routes below it; a limit of the route has priority, then the longest path',
  async (t) => {
    const { call, keys } = await startRoutes(t, {
      limits: { a: [], 'a/b': [], 'a/b/:id': [], 'a/own': { maxAttempts: 9 }, ab: [], 'POST a': [] },
      under: { '/api/v1/x/a': { maxAttempts: 2 }, '/api/v1/x/a/b': { maxAttempts: 5 } },
    })
    const limitOf = async (path: string, requested = {}) => (await call(path, requested)).headers['x-ratelimit-limit']
    t.equal(await limitOf('a'), '2')
    t.equal(await limitOf('a', { method: 'POST', payload: { mobile: '13800138000' } }), '2')
    t.equal(await limitOf('a/b'), '5')
    t.equal(await limitOf('a/b/7'), '5')
    t.equal(await limitOf('a/own'), '9')
    t.equal(await limitOf('ab'), undefined, 'a path ends at a slash')
    t.same(
      keys.map((key) => key.replace(sha256Hex('203.0.113.1'), 'me')),
      ['GET:/api/v1/x/a', 'POST:/api/v1/x/a', 'GET:/api/v1/x/a/b', 'GET:/api/v1/x/a/b/:id', 'GET:/api/v1/x/a/own'].map(
        (route) => `rate-limit:web:${route}:me`,
      ),
      'each route has a quota of its own',
    )
    const shared = await startRoutes(t, {
      limits: { a: [], b: [] },
      under: { '/api/v1/x': { key: 'x', maxAttempts: 1, keyStrategy: 'IP' } },
    })
    t.equal((await shared.call('a')).code, '200')
    t.equal((await shared.call('b')).code, '429', 'a business key makes it one')
  },
)

t.test(
  'R-046 routes that share a quota but have different windows prevent the start, and the error names both',
  async (t) => {
    const hour: RateLimited = { key: 'report', keyStrategy: 'IP', maxAttempts: 5, windowSeconds: 3600 }
    const rejected: [RateLimited, RateLimited, RegExp][] = [
      [hour, { ...hour, windowSeconds: 1 }, /"report".*a window of 3600 s instead of a window of 1 s/],
      [hour, { key: 'report', keyStrategy: 'IP' }, /a window of 3600 s instead of the default window/],
      [{ keyStrategy: 'USER', windowSeconds: 9 }, { keyStrategy: 'USER' }, /the strategy USER/],
      [{ ...hour, keyStrategy: 'GLOBAL' }, { ...hour, keyStrategy: 'GLOBAL', windowSeconds: 1 }, /"report"/],
    ]
    for (const [a, b, message] of rejected) {
      const starting = startRoutes(t, { limits: { a, b } })
      await rejectsWith(t, starting, { message, cause: { code: 'PLINTH_RATE_LIMIT_DECLARATION' } }, String(message))
      await rejectsWith(t, starting, { message: /GET \/api\/v1\/x\/b \(plugin "test.routes"\).*GET \/api\/v1\/x\/a/ })
    }
    const { call } = await startRoutes(t, {
      limits: {
        a: hour,
        b: { ...hour, maxAttempts: 1 },
        c: { ...hour, keyStrategy: 'IP_ROUTE', windowSeconds: 1 },
        d: { ...hour, keyStrategy: 'USER', windowSeconds: 1 },
        e: { ...hour, key: 'other', windowSeconds: 1 },
        f: [],
        g: { windowSeconds: 7 },
      },
    })
    t.equal((await call('a')).code, '200', 'what counts apart may differ')
    t.equal((await call('b')).code, '429', 'and limits may differ within one quota')
  },
)

t.test('R-046 an invalid limit on a path prevents the start', async (t) => {
  const wrong: [string, RateLimited, RegExp][] = [
    ['/api/v1/y', {}, /\/api\/v1\/y.*no route/],
    ['api/v1/x', {}, /must look like/],
    ['/api/v1/x/:id', {}, /without parameters/],
    ['/api/v1/x', { cost: -1 }, /"cost"/],
    ['/api/v1/x', { store: 'memroy' }, /"memroy"/],
  ]
  for (const [path, limit, message] of wrong) {
    await rejectsWith(t, startRoutes(t, { limits: { a: [] }, under: { [path]: limit } }), { message }, path)
  }
})

t.test('R-047 R-049 R-050 silent is rejected at the start if a denial must be reported', async (t) => {
  const silent: RateLimited = { maxAttempts: 1, silent: true }
  for (const path of [
    '/api/v1/auth/login',
    '/api/v1/auth/verify/sms-codes',
    '/api/v1/orders',
    '/api/v1/mall/orders/:id',
    '/api/v1/money/payments',
    '/api/v1/cashier/refunds',
    '/api/v1/ai/gateway/openai/v1/messages',
  ]) {
    await rejectsWith(t, startRoutes(t, { limits: { [path]: silent } }), { message: /"silent" is not for/ }, path)
  }
  await rejectsWith(t, startRoutes(t, { limits: { '/api/v1/orders': [] }, under: { '/api/v1': silent } }), {
    message: /"silent"/,
  })
  for (const path of ['/api/v1/x/heartbeat', '/api/v1/tracking/events', '/api/v1/client-logs']) {
    const { call } = await startRoutes(t, { limits: { [path]: silent } })
    await call(path)
    t.equal((await call(path)).status, 204, path)
  }
})

t.test('the fields of the IETF draft are optional', async (t) => {
  const limits = { things: { maxAttempts: 2, windowSeconds: 30 }, plain: {} }
  const off = await startRoutes(t, { limits })
  t.notOk('ratelimit' in (await off.call('things')).headers)
  const set = { 'platform.rate-limit.annotation.draft-headers': 'true' }
  const { call, clock } = await startRoutes(t, { limits, set })
  t.match((await call('things')).headers, {
    'ratelimit-policy': '"default";q=2;w=30',
    ratelimit: '"default";r=1;t=30',
    'x-ratelimit-limit': '2',
  })
  await call('things')
  await clock.advance(10_500)
  t.match((await call('things')).headers, { ratelimit: '"default";r=0;t=20', 'retry-after': '20' })
  t.match((await call('plain')).headers, { 'ratelimit-policy': '"default";q=60;w=60' })
})

t.test('R-102 an IPv6 network is one caller, and its size is configurable', async (t) => {
  const limits = { things: { maxAttempts: 1 } }
  const code = async (call: Awaited<ReturnType<typeof startRoutes>>['call'], from: string) =>
    (await call('things', { from })).code
  const single = await startRoutes(t, {
    limits,
    set: { 'platform.rate-limit.annotation.client-ip.ipv6-prefix': '128' },
  })
  t.equal(await code(single.call, '2001:db8::1'), '200')
  t.equal(await code(single.call, '2001:db8::2'), '200')
  t.equal(await code(single.call, '2001:DB8:0:0::1'), '429', 'one address in two spellings')
  t.equal(single.keys[0], `rate-limit:web:GET:/api/v1/x/things:${sha256Hex('2001:db8::1')}`)
  const { call, keys } = await startRoutes(t, { limits })
  t.equal(await code(call, '2001:db8::1'), '200')
  t.equal(await code(call, '2001:db8::ffff:1:2'), '429')
  t.equal(await code(call, '2001:db8:0:1::1'), '200')
  t.equal(await code(call, '203.0.113.1'), '200')
  t.equal(await code(call, '203.0.113.2'), '200', 'IPv4 addresses stay apart')
  t.equal(await code(call, '::ffff:203.0.113.1'), '429', 'an IPv4 address inside IPv6 is that address')
  t.ok(
    keys.every((key) => !/2001|203/.test(key)),
    'no address in a key',
  )
})

t.test('R-052 R-054 address headers are used only from trusted proxies', async (t) => {
  for (const header of ['x-real-ip', 'cf-connecting-ip']) {
    const { call } = await startRoutes(t, { limits: { things: { maxAttempts: 1 } } })
    const code = async (from: string, address: string) =>
      (await call('things', { from, headers: { [header]: address } })).code
    t.equal(await code('10.0.0.1', '1.2.3.4'), '200')
    t.equal(await code('10.0.0.2', '1.2.3.4'), '429', 'the same client behind another proxy')
    t.equal(await code('10.0.0.1', '1.2.3.5'), '200')
    t.equal(await code('10.0.0.1', '1.2.3.4, 1.2.3.6'), '200', 'what is no single address is the proxy itself')
    t.equal(await code('203.0.113.9', '1.2.3.7'), '200')
    t.equal(await code('203.0.113.9', '1.2.3.8'), '429', 'a stranger names nobody')
  }
})

t.test('R-026 R-052 R-053 R-055 proxies, ports and notations make one caller of one client', async (t) => {
  const limits = { things: { maxAttempts: 1 } }
  /** True if the second request uses the quota of the first. */
  const shares = async (first: [string, string?], second: [string, string?], set: Record<string, string> = {}) => {
    const { call } = await startRoutes(t, { limits, set })
    const ask = async ([from, chain]: [string, string?]) =>
      (await call('things', { from, headers: chain === undefined ? {} : { 'x-forwarded-for': chain } })).code
    await ask(first)
    return (await ask(second)) === '429'
  }
  t.equal(await shares(['203.0.113.9', '1.2.3.4'], ['203.0.113.9', '1.2.3.5']), true, 'a stranger names nobody')
  t.equal(await shares(['127.0.0.1', '9.9.9.9, 1.2.3.4, 10.0.0.1'], ['127.0.0.1', '8.8.8.8, 1.2.3.4']), true)
  t.equal(await shares(['127.0.0.1', '1.2.3.4'], ['127.0.0.1', '1.2.3.5']), false)
  t.equal(await shares(['127.0.0.1', '1.2.3.4:5555'], ['127.0.0.1', '1.2.3.4:6666']), true)
  t.equal(await shares(['127.0.0.1', '[2001:db8::1]:443'], ['127.0.0.1', '2001:DB8:0::1']), true)
  t.equal(await shares(['::ffff:1.2.3.4'], ['1.2.3.4']), true)
  t.equal(await shares(['127.0.0.1', '1.2.3.4, garbage, 10.0.0.1'], ['10.0.0.1']), true)
  for (const chain of ['', ',', ' , ,']) t.equal(await shares(['127.0.0.1', chain], ['127.0.0.1']), true, `"${chain}"`)
  const distrust = { 'platform.rate-limit.annotation.client-ip.trust-forwarded-headers': 'false' }
  t.equal(await shares(['127.0.0.1', '1.2.3.4'], ['127.0.0.1', '1.2.3.5'], distrust), true)
})
