import { Readable } from 'node:stream'
import { assertMembers } from '@plinth/dev/testing'
import i18nPlugin from '@plinth/i18n'
import { BusinessError, definePlugin } from '@plinth/kernel'
import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { failureOf, failureText } from '../src/envelope.ts'
import type { HttpServer, RouteDeclaration } from '../src/index.ts'
import { createTranslate } from '../src/texts.ts'
import { bodyOf, exchangeRawHttp, startHttp } from './start-http.ts'

const Item = Type.Object({
  id: Type.Integer(),
  displayName: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
})
const item = { id: 7, displayName: 'Points', createdAt: '2026-01-02T03:04:05.000Z' }

/** Adds a public GET route under /api/v1/shop. */
function get(
  server: HttpServer,
  name: string,
  handler: RouteDeclaration['handler'],
  response: RouteDeclaration['response'] = Item,
) {
  server.route({
    method: 'GET',
    path: `/api/v1/shop/${name}`,
    summary: name,
    access: 'public',
    response,
    handler,
  })
}

/** Fails the test unless the body is an envelope without other members. */
function isEnvelope(t: Tap, body: { code: unknown; message: unknown; data: unknown }) {
  t.same(Object.keys(body), ['code', 'message', 'data'])
  t.type(body.code, 'string')
  t.type(body.message, 'string')
}
type Tap = Pick<typeof t, 'same' | 'type'>

t.test('C-004 C-005 C-006 C-007 C-012 K-016 a success has code "200", a message and a payload', async (t) => {
  const { call } = await startHttp(t, (http) => {
    get(http, 'sync', () => item)
    get(http, 'async', async () => item)
    get(http, 'nothing', async () => undefined as never, Type.Null())
    get(http, 'null', () => null, Type.Null())
    get(http, 'list', () => [item, item], Type.Array(Item))
    get(http, 'text', () => 'plain', Type.String())
    get(http, 'entity', () => ({ ...item, passwordHash: 'secret', created_by: 1 }) as typeof item)
  })
  for (const name of ['sync', 'async', 'entity']) {
    const { status, headers, text, body } = await call(`/api/v1/shop/${name}`)
    t.equal(status, 200)
    t.equal(headers.get('content-type'), 'application/json; charset=utf-8')
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    isEnvelope(t, body)
    t.same(body, { code: '200', message: 'success', data: item })
    t.notMatch(text, /passwordHash|created_by/, 'what the schema does not declare never leaves')
  }
  for (const name of ['nothing', 'null']) t.same((await call(`/api/v1/shop/${name}`)).body.data, null, name)
  t.same((await call('/api/v1/shop/list')).body.data, [item, item])
  t.same((await call('/api/v1/shop/text')).body, { code: '200', message: 'success', data: 'plain' })
  t.equal((await call('/api/v1/shop/sync', { method: 'HEAD' })).text, '')
})

t.test('C-008 C-009 C-010 files, redirects, streams and empty responses are unchanged', async (t) => {
  const { call, running } = await startHttp(t, (http) => {
    const raw = (name: string, produces: string, handler: Parameters<typeof http.rawRoute>[0]['handler']) =>
      http.rawRoute({
        method: 'GET',
        path: `/api/v1/shop/${name}`,
        summary: name,
        access: 'public',
        produces: [produces],
        handler,
      })
    raw('file', 'text/csv', (_request, _, reply) => reply.type('text/csv').send(Buffer.from('a,b\n1,2\n')))
    raw('redirect', 'text/html', (_request, _, reply) => reply.redirect('/elsewhere'))
    raw('events', 'text/event-stream', (_request, _, reply) =>
      reply.type('text/event-stream').send(Readable.from(['data: 1\n\n', 'data: 2\n\n'])),
    )
    raw('json', 'application/json', async () => ({ access_token: 'x' }))
    raw('broken', 'text/csv', () => {
      throw new BusinessError('404', 'No such file')
    })
    get(http, 'silent', () => t.fail('the handler must not run') as never)
    http.guard({
      name: 'silent',
      stage: 'quota',
      forRoute: ({ path }) =>
        path.endsWith('/silent')
          ? (_request, reply) => void reply.header('retry-after', '3').code(204).send()
          : undefined,
    })
  })
  const file = await call('/api/v1/shop/file')
  t.match(file, { status: 200, text: 'a,b\n1,2\n' })
  t.equal(file.headers.get('content-type'), 'text/csv')
  const redirect = await call('/api/v1/shop/redirect', { redirect: 'manual' })
  t.match(redirect, { status: 302, text: '' })
  t.equal(redirect.headers.get('location'), '/elsewhere')
  t.match(await call('/api/v1/shop/events'), { status: 200, text: 'data: 1\n\ndata: 2\n\n' })
  t.same((await call('/api/v1/shop/json')).body, { access_token: 'x' })
  t.match(await call('/api/v1/shop/broken'), {
    status: 200,
    body: { code: /^404$/, message: 'No such file', data: null },
  })
  const silent = await call('/api/v1/shop/silent')
  t.match(silent, { status: 204, text: '' })
  t.equal(silent.headers.get('retry-after'), '3', 'headers of a guard stay')
  t.equal(silent.headers.get('content-type'), null)
  t.equal(running.state, 'ready')
})

t.test('C-020 C-021 C-022 C-023 C-024 business failures have HTTP status 200', async (t) => {
  const { call } = await startHttp(t, (http) => {
    for (const code of ['400', '401', '403', '404', '409', '429', '500', '503', 'PAY-17']) {
      get(http, `fail/${code.toLowerCase()}`, (_request, _, reply) => {
        reply.header('x-ratelimit-limit', '5')
        throw new BusinessError(code, `Failed with ${code}`, { reason: 'shop.failed', data: { orderNo: 'A1' } })
      })
    }
    get(http, 'two-reasons', () => {
      throw new BusinessError('409', 'Taken', { reason: 'shop.taken', data: { reason: 'because', orderNo: 'A1' } })
    })
    get(http, 'bare', async () => {
      throw new BusinessError('409', 'Conflict')
    })
    http.route({
      method: 'GET',
      path: '/api/v1/shop/mine',
      summary: 'm',
      access: 'user',
      response: Item,
      handler: () => item,
    })
    http.route({
      method: 'GET',
      path: '/api/v1/admin/shop/all',
      summary: 'm',
      access: { permission: 'shop:view', scope: 'none' },
      response: Item,
      handler: () => item,
    })
  })
  for (const code of ['400', '401', '403', '404', '409', '429', '500', '503', 'PAY-17']) {
    const { status, headers, body } = await call(`/api/v1/shop/fail/${code.toLowerCase()}`)
    t.equal(status, 200)
    isEnvelope(t, body)
    t.same(body, { code, message: `Failed with ${code}`, data: { orderNo: 'A1', reason: 'shop.failed' } })
    t.equal(headers.get('x-ratelimit-limit'), '5', 'headers that were set before the failure stay (D4)')
  }
  t.same(
    (await call('/api/v1/shop/two-reasons')).body,
    { code: '409', message: 'Taken', data: { orderNo: 'A1', reason: 'shop.taken' } },
    'data does not replace the stable reason',
  )
  t.same((await call('/api/v1/shop/bare')).body, { code: '409', message: 'Conflict', data: null })
  for (const path of ['/api/v1/shop/mine', '/api/v1/admin/shop/all']) {
    t.hasStrict(await call(path), { status: 200, body: { code: '401', data: { reason: 'access.identity-missing' } } })
  }
})

t.test('K-003 K-004 transport failures have their HTTP status and an envelope', async (t) => {
  const { call, port } = await startHttp(
    t,
    (http) =>
      http.route({
        method: 'POST',
        path: '/api/v1/shop/items',
        summary: 'p',
        access: 'public',
        request: { body: Type.Object({ name: Type.String() }) },
        response: Type.Null(),
        handler: () => null,
      }),
    { set: { 'platform.http.body-limit': '64KiB' } },
  )
  const post = (body: string, type = 'application/json') =>
    call('/api/v1/shop/items', { method: 'POST', headers: { 'content-type': type }, body })
  const expected = [
    [await call('/nothing'), 404, 'http.route-unknown'],
    [await call('/api/v1/shop/items'), 405, 'http.method-not-allowed'],
    [await call('/api/v1/shop/%zz'), 400, 'http.url-malformed'],
    [await post('{"name":'), 400, 'http.body-malformed'],
    [await post('{"name":"x","__proto__":{"admin":true}}'), 400, 'http.body-malformed'],
    [await post('{"constructor":{"prototype":{"admin":true}}}'), 400, 'http.body-malformed'],
    [await post(JSON.stringify({ name: 'x'.repeat(64 * 1024) })), 413, 'http.body-too-large'],
    [await post('name=x', 'application/x-www-form-urlencoded'), 415, 'http.media-type-unsupported'],
    [await post('name', 'text/plain'), 415, 'http.media-type-unsupported'],
    [await post('{}', 'nonsense'), 415, 'http.media-type-unsupported'],
  ] as const
  for (const [{ status, body }, requested, reason] of expected) {
    t.equal(status, requested, reason)
    isEnvelope(t, body)
    t.match(body, { code: String(requested), data: { reason } })
    t.notMatch(body.message, /FST_|Unexpected token|position/)
  }
  for (const [request, status] of [
    ['NONSENSE\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    const response = await exchangeRawHttp(port(), request)
    t.match(response, new RegExp(`^HTTP/1\\.1 ${status} `))
    isEnvelope(t, bodyOf(response))
  }
})

t.test('a temporary failure is 503 with a retry time and no details', async (t) => {
  const lost = Object.assign(new Error('no connection to db.internal'), { unavailable: true })
  const { call } = await startHttp(t, (http) => {
    get(http, 'lost', () => Promise.reject(lost))
    get(http, 'wrapped', () => Promise.reject(new Error('saving failed', { cause: lost })))
    get(http, 'other', () => Promise.reject(Object.assign(new Error('of another kind'), { unavailable: 'no' })))
  })
  for (const path of ['/api/v1/shop/lost', '/api/v1/shop/wrapped']) {
    const { status, headers, body, text } = await call(path)
    t.equal(status, 503)
    t.match(headers.get('retry-after'), /^[1-9]\d*$/)
    t.match(body, { code: /^503$/, message: String, data: { reason: /^http\.unavailable$/ } })
    t.notMatch(text, /db\.internal|saving/)
  }
  t.hasStrict(await call('/api/v1/shop/other'), { status: 200, body: { code: '500' } })
})

t.test('K-005 K-012 an unexpected error tells the caller nothing, and the log contains everything', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
  const secret = `select * from iam_user where password_hash = 'x' -- /srv/app/db.ts`
  const { call } = await startHttp(
    t,
    (http) => {
      get(http, 'throws', () => {
        throw new TypeError(secret)
      })
      get(http, 'rejects', async () => {
        throw Object.assign(new Error(secret), { statusCode: 418, code: 'SQLITE_ERROR' })
      })
      get(http, 'upstream', async () => {
        throw Object.assign(new Error(secret), { statusCode: 404, code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      })
      get(http, 'pretends', () => {
        throw new BusinessError('200', secret)
      })
      get(http, 'wrong-shape', () => ({ nothing: true }) as never)
      get(http, 'logs', ({ log }) => {
        log.info({ step: 1 }, 'working')
        return item
      })
    },
    { logger },
  )
  for (const name of ['throws', 'rejects', 'upstream', 'pretends', 'wrong-shape']) {
    lines.length = 0
    const { status, text, body } = await call(`/api/v1/shop/${name}`, { headers: { 'x-trace-id': `trace-${name}` } })
    t.equal(status, 200)
    t.same(body, { code: '500', message: 'An unexpected error occurred. Report it with the trace id.', data: null })
    t.notMatch(text, /select|stack|\.ts|at /)
    const logged = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
    t.equal(logged.length, 1)
    t.match(logged[0], {
      traceId: `trace-${name}`,
      route: `/api/v1/shop/${name}`,
      method: 'GET',
      err: { stack: String },
    })
  }
  lines.length = 0
  await call('/api/v1/shop/logs', { headers: { 'x-trace-id': 'abc-1' } })
  assertMembers(
    t,
    lines.map((line) => JSON.parse(line)),
    [{ traceId: 'abc-1', plugin: 'http', step: 1, msg: 'working' }],
  )
})

t.test('K-012 a safe trace id of the caller is used, otherwise a UUID, and it is always returned', async (t) => {
  const { call, server } = await startHttp(t, (http) => {
    get(http, 'trace', ({ traceId }) => ({ traceId }), Type.Object({ traceId: Type.String() }))
    get(http, 'fails', () => {
      throw new BusinessError('409', 'x')
    })
  })
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  for (const given of ['abc-1', 'A_b.9', 'x'.repeat(64)]) {
    const { headers, body } = await call('/api/v1/shop/trace', { headers: { 'x-trace-id': given } })
    t.same([headers.get('x-trace-id'), body.data.traceId], [given, given])
  }
  for (const given of ['x'.repeat(65), 'a b', '<script>', '-leading', 'a,b', '']) {
    const { headers, body } = await call('/api/v1/shop/trace', { headers: { 'x-trace-id': given } })
    t.match(headers.get('x-trace-id'), uuid, JSON.stringify(given))
    t.equal(body.data.traceId, headers.get('x-trace-id'))
  }
  for (const path of ['/api/v1/shop/fails', '/nothing', '/health/live', '/api/v1/shop/%zz']) {
    t.equal((await call(path, { headers: { 'x-trace-id': 'abc-1' } })).headers.get('x-trace-id'), 'abc-1', path)
  }
  const drawn = await Promise.all(Array.from({ length: 300 }, () => server.inject('/health/live')))
  t.equal(new Set(drawn.map(({ headers }) => headers['x-trace-id'])).size, 300)
})

t.test('C-019 messages are in the language of the request', async (t) => {
  const shopTexts = definePlugin({
    id: 'shop-texts',
    version: '1.0.0',
    kernel: '^1.0.0',
    messages: { en: { shop: { gone: '{{name}} is gone' } }, 'zh-CN': { shop: { gone: '{{name}} 已下架' } } },
  })
  const { call, send } = await startHttp(
    t,
    (http) => {
      get(http, 'gone', () => {
        throw new BusinessError('404', 'Gone', { reason: 'shop.gone', params: { name: 'Tea' } })
      })
      get(http, 'untranslated', () => {
        throw new BusinessError('404', 'Original text', { reason: 'shop.unknown-reason' })
      })
      get(http, 'locale', ({ locale }) => ({ locale }), Type.Object({ locale: Type.String() }))
      http.route({
        method: 'POST',
        path: '/api/v1/shop/items',
        summary: 'p',
        access: 'public',
        request: { body: Type.Object({ name: Type.String({ minLength: 2 }) }) },
        response: Type.Null(),
        handler: () => null,
      })
    },
    { plugins: [i18nPlugin, shopTexts] },
  )
  const zh = { 'accept-language': 'zh-CN,zh;q=0.9,en;q=0.8' }
  t.equal((await call('/api/v1/shop/gone')).body.message, 'Tea is gone')
  t.equal((await call('/api/v1/shop/gone', { headers: zh })).body.message, 'Tea 已下架')
  t.equal((await call('/api/v1/shop/untranslated', { headers: zh })).body.message, 'Original text')
  t.equal((await call('/api/v1/shop/locale', { headers: zh })).body.data.locale, 'zh-CN')
  t.equal((await call('/nothing', { headers: zh })).body.message, '该地址不存在。')
  t.same((await send('POST', '/api/v1/shop/items', { name: '' }, zh)).body, {
    code: '400',
    message: '输入有误：name 至少需要 2 个字符。',
    data: {
      reason: 'http.invalid-input',
      errors: [{ field: 'name', rule: 'minLength', message: 'name 至少需要 2 个字符' }],
    },
  })
})

t.test('K-005 C-004 every thrown value becomes an envelope without a stack', async (t) => {
  let thrown: unknown
  const { server } = await startHttp(t, (http) => {
    get(http, 'sync', () => {
      throw thrown
    })
    get(http, 'async', async () => {
      throw thrown
    })
    http.guard({
      name: 'thrower',
      stage: 'gate',
      forRoute: ({ path }) =>
        path.endsWith('/guarded')
          ? () => {
              throw thrown
            }
          : undefined,
    })
    get(http, 'guarded', () => t.fail('a guard that throws must stop the request') as never)
  })
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const hostile = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('trap')
    },
  })
  const anything = fc.oneof(
    fc.anything(),
    fc.constantFrom(undefined, null, 0, '', false, hostile, Object.create(null), Symbol('x'), 10n),
    fc
      .tuple(fc.string(), fc.string(), fc.dictionary(fc.string(), fc.jsonValue()))
      .map(([code, message, data]) => new BusinessError(code, message, { data })),
    fc.constant(new BusinessError('409', 'x', { data: circular })),
    fc.string().map((code) => Object.assign(new Error('at x (/srv/x.ts:1:1)'), { code, statusCode: 204 })),
  )
  await fc.assert(
    fc.asyncProperty(anything, fc.constantFrom('sync', 'async', 'guarded'), async (value, route) => {
      thrown = value
      const { statusCode, body } = await server.inject(`/api/v1/shop/${route}`)
      const envelope = JSON.parse(body)
      const isShaped =
        Object.keys(envelope).join() === 'code,message,data' &&
        typeof envelope.code === 'string' &&
        typeof envelope.message === 'string'
      return statusCode === 200 && isShaped && envelope.code !== '200' && !body.includes('/srv/x.ts')
    }),
    { numRuns: 400 },
  )
  fc.assert(
    fc.property(fc.anything(), (value) => {
      const { code, message, data } = failureOf(value, createTranslate(undefined), 'en')
      return JSON.parse(failureText(code, message, data)).code !== '200'
    }),
  )
})

t.test('no cache stores the response for one caller, unless the handler allows it', async (t) => {
  const { call, send } = await startHttp(t, (server) => {
    get(server, 'item', () => item)
    const page = { method: 'GET', summary: 'Page', access: 'public', produces: ['text/plain'], hidden: true } as const
    server.rawRoute({ ...page, path: '/page', handler: () => 'page' })
    server.rawRoute({
      ...page,
      path: '/asset',
      handler: (_request, _, reply) => reply.header('cache-control', 'public, max-age=60').send('asset'),
    })
  })
  const cacheOf = async (path: string, headers: Record<string, string> = {}) =>
    (await call(path, { headers })).headers.get('cache-control')
  for (const credential of [{ authorization: 'Bearer x' }, { cookie: 'session=x' }]) {
    t.equal(await cacheOf('/page', credential), 'no-store')
    t.equal(await cacheOf('/nowhere', credential), 'no-store')
    t.equal(await cacheOf('/asset', credential), 'public, max-age=60')
  }
  t.equal(await cacheOf('/api/v1/shop/item'), 'no-store')
  t.equal(await cacheOf('/api/v1/shop/nowhere'), 'no-store')
  t.equal((await send('POST', '/api/v1/auth/login', {})).headers.get('cache-control'), 'no-store')
  t.equal(await cacheOf('/page'), null)
})
