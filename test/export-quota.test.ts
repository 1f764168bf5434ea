import { startForTest } from '@plinth/dev/testing'
import { http, type RateLimited, type RouteInfo, rateLimitedAnnotation } from '@plinth/http'
import { accounts } from '@plinth/iam'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './fixtures/product-process.ts'

/** True for routes that read or change many objects in one call, found by words in their paths. */
const isCollective = ({ path }: RouteInfo) => /(?:^|[/-])(?:export|import|batch)(?:$|[/-])/.test(path)

/** Further routes that change many objects in one call, although their path contains no such word. */
const collective = ['POST /api/v1/admin/events/outbox/replay', 'POST /api/v1/admin/install/quickstart-cleanups']

const nameOf = ({ method, path }: RouteInfo) => `${method} ${path}`
const limitOf = ({ annotations }: RouteInfo) =>
  annotations.find(({ id }) => id === rateLimitedAnnotation)?.value as RateLimited | undefined

t.test('R-106 every export and batch endpoint has its own quota, lower than the default', async (t) => {
  const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
  const running = await startForTest(product, {
    set: {
      'platform.http.port': '0',
      'platform.database.sqlite.file': file,
      'platform.rate-limit.default-store': 'memory',
    },
  })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const setting = (key: string) => running.config.explain(`platform.rate-limit.${key}`)?.effective.value
  t.equal(setting('default-window'), '1m')
  const usual = Number(setting('default-max-attempts'))
  const perMinute = ({ maxAttempts = usual, windowSeconds = 60 }: RateLimited) => (maxAttempts * 60) / windowSeconds

  const found = server.routes.filter((route) => isCollective(route) || collective.includes(nameOf(route)))
  for (const name of ['GET /api/v1/admin/install/diagnostics/export', ...collective]) {
    t.ok(
      found.some((route) => nameOf(route) === name),
      `${name} is among them`,
    )
  }
  for (const route of found) {
    const limit = limitOf(route)
    t.ok(limit !== undefined && perMinute(limit) < usual, `${nameOf(route)} of the plugin ${route.plugin}`)
  }

  const founder = { username: 'founder', password: 'Correct-horse-7' }
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
  await running.service(accounts).createAdministrator(founder, origin)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: founder })
  const authorization = `Bearer ${login.json().data.accessToken}`
  const url = '/api/v1/admin/install/diagnostics/export'
  const { statusCode, headers } = await server.inject({ url, headers: { authorization } })
  t.equal(statusCode, 200)
  const changes = [{ key: 'platform.site.name', action: 'set', value: 'Shop' }]
  for (let review = 1; review <= 11; review++) {
    const preview = {
      method: 'POST',
      url: '/api/v1/admin/system-config/changes/preview',
      payload: { changes },
    } as const
    const response = await server.inject({ ...preview, headers: { authorization } })
    t.equal(response.json().code, '200', `preview ${review} within a minute`)
  }
  t.ok(Number(headers['x-ratelimit-limit']) < usual, 'the header of an answer says so')
})
