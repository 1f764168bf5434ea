import { assertMembers } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import t from 'tap'
import { pages } from '../src/admin-pages.ts'
import { startRoutes } from './fixtures/limited-routes.ts'

const path = '/api/v1/admin/rate-limit/operations'
const viewer = { 'x-grants': 'rate-limit:view' }

t.test('R-019 R-020 R-025 R-030 R-070 R-071 R-072 the operations snapshot', async (t) => {
  const { call, running } = await startRoutes(t, {})
  t.equal((await call(path)).code, '403', 'it needs its permission')
  t.equal((await call(path, { headers: { 'x-grants': 'other:view' } })).code, '403')
  const { code, data } = await call(path, { headers: viewer })
  t.equal(code, '200')
  assertMembers(t, data, {
    defaultStore: 'memory',
    defaultWindow: '1m',
    defaultWindowMs: 60_000,
    defaultMaxAttempts: 60,
    annotationEnabled: true,
    trustedProxies: [
      '127.0.0.0/8',
      '10.0.0.0/8',
      '172.16.0.0/12',
      '192.168.0.0/16',
      '169.254.0.0/16',
      '::1/128',
      'fe80::/10',
      'fc00::/7',
    ],
    trustForwardedHeaders: true,
    clientHeaders: ['X-Forwarded-For', 'CF-Connecting-IP', 'X-Real-IP'],
    ipv6Prefix: 64,
    responseHeaders: ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'],
    metricsAvailable: true,
    metricName: 'platform.rate.limit.requests',
  })
  t.same(data.stores, [
    { name: 'broken', provider: 'broken', shared: false, algorithm: 'fixed-window', available: true },
    { name: 'memory', provider: 'memory', shared: false, algorithm: 'fixed-window', available: true },
  ])
  t.same(Object.keys(data).sort(), [
    'annotationEnabled',
    'clientHeaders',
    'defaultMaxAttempts',
    'defaultStore',
    'defaultWindow',
    'defaultWindowMs',
    'ipv6Prefix',
    'metricName',
    'metricsAvailable',
    'protectionGaps',
    'responseHeaders',
    'runbookHints',
    'settings',
    'stores',
    'trustForwardedHeaders',
    'trustedProxies',
  ])
  t.same((await call(path, { headers: viewer })).data, data, 'asking changes nothing')
  t.match(await running.service(http).openapi(), { paths: { [path]: { get: {} } } })
})

t.test('the snapshot says whether the product serves metrics', async (t) => {
  for (const enabled of [true, false]) {
    const { call, running } = await startRoutes(t, { config: { 'platform.http.metrics.enabled': enabled } })
    const { data } = await call(path, { headers: viewer })
    t.equal(data.metricsAvailable, enabled)
    t.equal(/platform\.http\.metrics\.enabled/.test(data.runbookHints.join()), !enabled, 'and what to do about it')
    t.equal((await running.service(http).inject('/metrics')).statusCode, enabled ? 200 : 404)
  }
})

t.test('R-105 the hints match the product and the language of the caller', async (t) => {
  const hints = async (set: Record<string, string>, language = 'en') => {
    const { call } = await startRoutes(t, { set })
    const { data } = await call(path, { headers: { ...viewer, 'accept-language': language } })
    return (data.runbookHints as string[]).join('\n')
  }
  const plain = await hints({})
  t.match(plain, /default store memory counts separately in each process.*default-store=shared-window/)
  t.match(plain, /use shared-window, or shared-bucket for expensive calls/)
  t.match(plain, /trusted-proxies/)
  t.match(plain, /only the header that your proxy sets .*now X-Forwarded-For, CF-Connecting-IP, X-Real-IP/)
  const one = { 'platform.rate-limit.annotation.client-ip.headers': '["X-Real-IP"]' }
  t.notMatch(await hints(one), /only the header that your proxy sets/)
  t.notMatch(plain, /is disabled|without being counted|\{\{/)
  t.match(await hints({}, 'zh-CN'), /默认存储 memory 只在单个进程内计数/)
  t.match(await hints({ 'platform.rate-limit.enabled': 'false' }), /is disabled/)
  t.match(await hints({ 'platform.rate-limit.failure-policy': 'open' }), /without being counted/)
  t.match(await hints({ 'platform.rate-limit.annotation.shadow': 'true' }), /only report/)
})

t.test('the snapshot lists the settings that the hints are about', async (t) => {
  const { call } = await startRoutes(t, { set: { 'platform.rate-limit.enabled': 'false' } })
  const { settings, runbookHints } = (await call(path, { headers: viewer })).data
  t.strictSame(settings, [
    'platform.rate-limit.enabled',
    'platform.rate-limit.default-store',
    'platform.rate-limit.annotation.client-ip.headers',
  ])
  t.notMatch(runbookHints.join(), /platform\.rate-limit\.enabled/, 'the page has a link')
})

t.test('R-105 hints about settings that let calls pass are distinguished', async (t) => {
  const gaps = async (set: Record<string, string>) => {
    const { call } = await startRoutes(t, { set })
    const { data } = await call(path, { headers: viewer })
    t.ok(data.protectionGaps.every((gap: string) => data.runbookHints.includes(gap)))
    return data.protectionGaps
  }
  t.same(await gaps({}), [])
  assertMembers(
    t,
    await gaps({ 'platform.rate-limit.enabled': 'false', 'platform.rate-limit.failure-policy': 'open' }),
    [/is disabled/, /without being counted/],
  )
  assertMembers(t, await gaps({ 'platform.rate-limit.annotation.shadow': 'true' }), [/only report/])
})

t.test('R-022 R-071 the snapshot shows configured values, and no secrets', async (t) => {
  const { call } = await startRoutes(t, {
    set: {
      'platform.rate-limit.annotation.enabled': 'false',
      'platform.rate-limit.annotation.draft-headers': 'true',
      'platform.rate-limit.default-window': '90s',
      'platform.rate-limit.default-max-attempts': '0',
      'platform.rate-limit.annotation.client-ip.trusted-proxies': '["192.0.2.0/24"]',
      'platform.rate-limit.annotation.client-ip.trust-forwarded-headers': 'false',
    },
  })
  const { data, body } = await call(path, { headers: viewer })
  assertMembers(t, data, {
    annotationEnabled: false,
    defaultWindow: '1m30s',
    defaultWindowMs: 90_000,
    defaultMaxAttempts: 0,
    trustedProxies: ['192.0.2.0/24'],
    trustForwardedHeaders: false,
  })
  t.same(data.responseHeaders.slice(-2), ['RateLimit-Policy', 'RateLimit'])
  t.notMatch(body, /redis:|password|6379/)
})

t.test('the page shows the names of stores, and links to the settings', async (t) => {
  const columns = pages.flatMap(({ sections }) => sections.flatMap((section) => section.columns))
  const named = columns
    .flatMap((column) => [column, ...(column.columns ?? [])])
    .filter(({ labels }) => labels?.['shared-window'])
  t.strictSame(
    named.map(({ field }) => field),
    ['name', 'defaultStore'],
  )
  t.match(columns.find(({ field }) => field === 'settings')?.of, { page: 'system-config.centre' })
})
