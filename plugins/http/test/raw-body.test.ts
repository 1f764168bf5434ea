import { gzipSync } from 'node:zlib'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { BusinessError } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { HttpServer, RouteDeclaration, RouteGuard } from '../src/index.ts'
import { bodyOf, exchangeRawHttp, startHttp } from './start-http.ts'

const route = (path: string, more: Partial<RouteDeclaration> = {}): RouteDeclaration => ({
  method: 'POST',
  path,
  summary: 'A route',
  access: 'signed',
  response: Type.Any(),
  handler: ({ body }) => body ?? null,
  ...more,
})

/**
 * Starts a product with one signed and one public route. `seen` contains the bodies that the guard of the stage
 * `signature` received.
 */
async function start(t: Test, { set = {}, more = () => {} }: { set?: object; more?: (http: HttpServer) => void } = {}) {
  const seen: (Buffer | undefined)[] = []
  const started = await startHttp(
    t,
    (http) => {
      http.guard({
        name: 'signature',
        stage: 'signature',
        forRoute: ({ access }) => (access === 'signed' ? (request) => void seen.push(request.rawBody) : undefined),
      })
      http.route(route('/api/v1/shop/signed'))
      http.route(route('/api/v1/shop/signed', { method: 'GET', handler: ({ rawBody }) => rawBody?.length }))
      http.route(route('/api/v1/shop/signed', { method: 'DELETE' }))
      http.route(route('/api/v1/shop/public', { access: 'public', handler: ({ rawBody }) => rawBody === undefined }))
      more(http)
    },
    { set: { ...set } },
  )
  return { ...started, seen }
}

const head = (path: string, ...headers: string[]) =>
  [`POST ${path} HTTP/1.1`, 'host: x', 'connection: close', ...headers, '', ''].join('\r\n')

t.test('C-049 a signature guard gets exactly the bytes that were sent', async (t) => {
  const { call, port, seen } = await start(t)
  const exact = '{ "b" : 1.0,\t"a":"\\u00e9 é 漢 😀" ,"a":"last" }\r\n'
  const response = await call('/api/v1/shop/signed', {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: exact,
  })
  t.hasStrict(response.body, { code: '200', data: { b: 1, a: 'last' } })
  t.equal(seen.pop()?.toString('utf8'), exact)

  await t.test('a body in chunks that are cut within a character', async (t) => {
    const bytes = Buffer.from('{"a":"漢😀"}')
    const chunks = [bytes.subarray(0, 7), bytes.subarray(7, 11), bytes.subarray(11)]
    const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk.toString('latin1')}\r\n`).join('')
    const request = head('/api/v1/shop/signed', 'content-type: application/json', 'transfer-encoding: chunked')
    t.same(bodyOf(await exchangeRawHttp(port(), `${request}${body}0\r\n\r\n`)).data, { a: '漢😀' })
    t.same(seen.pop(), bytes)
  })

  await t.test('a file or stream route can be signed as well', async (t) => {
    const { send, seen } = await start(t, {
      more: (http) =>
        http.rawRoute({
          method: 'POST',
          path: '/api/v1/shop/signed/file',
          summary: 'File',
          access: 'signed',
          produces: ['text/plain'],
          handler: (request, _, reply) => reply.type('text/plain').send(request.rawBody),
        }),
    })
    t.equal((await send('POST', '/api/v1/shop/signed/file', { a: 1 })).text, '{"a":1}')
    t.equal(seen.length, 1)
  })
})

t.test('C-049 no body counts as an empty body', async (t) => {
  const { call, port, seen } = await start(t)
  const empty = Buffer.alloc(0)
  const url = '/api/v1/shop/signed'
  t.hasStrict((await call(url, { method: 'POST' })).body, { code: '200', data: null })
  t.same(seen.pop(), empty, 'no media type')
  await call(url, { method: 'POST', headers: { 'content-type': 'application/json' } })
  t.same(seen.pop(), empty, 'media type alone')
  await call(url, { method: 'DELETE' })
  t.same(seen.pop(), empty)
  t.equal((await call(url)).body.data, 0)
  t.same(seen.pop(), empty, 'GET')
  const chunked = head(url, 'content-type: application/json', 'transfer-encoding: chunked')
  t.equal(bodyOf(await exchangeRawHttp(port(), `${chunked}0\r\n\r\n`)).code, '200')
  t.same(seen.pop(), empty, 'no chunk')
  const get = `GET ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}`
  t.equal(bodyOf(await exchangeRawHttp(port(), get)).data, 0)
  t.same(seen.pop(), empty, 'the body of a GET is never read, so it is none')
})

t.test('an unknown path is rejected before any signature is checked', async (t) => {
  const { call, port, seen } = await start(t, { set: { 'platform.http.body-limit': '64KiB' } })
  const url = '/api/v1/shop/signed'
  const json = { 'content-type': 'application/json' }
  const large = JSON.stringify({ a: 'x'.repeat(64 * 1024) })
  const cases = [
    ['wrong media type', 415, { headers: { 'content-type': 'text/plain' }, body: 'x' }],
    ['no media type', 415, { headers: { 'content-type': '' }, body: new Blob(['x']) }],
    ['malformed JSON', 400, { headers: json, body: '{"a":' }],
    ['no UTF-8', 400, { headers: json, body: Buffer.from('{"a":"\xff"}', 'latin1') }],
    ['poisoned JSON', 400, { headers: json, body: '{"__proto__":{}}' }],
    ['too large', 413, { headers: json, body: large }],
    ['compressed: nothing is decoded', 415, { headers: { ...json, 'content-encoding': 'gzip' }, body: gzipSync('{}') }],
  ] as const
  for (const [name, status, init] of cases) {
    for (const path of [url, '/api/v1/shop/public']) {
      const response = await call(path, { method: 'POST', ...init })
      assertMembers(t, [response.status, response.body.code], [status, `${status}`], `${name}: ${path}`)
    }
  }
  const chunks = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`
  const chunked = head(url, 'content-type: application/json', 'transfer-encoding: chunked')
  t.equal(bodyOf(await exchangeRawHttp(port(), `${chunked}${chunks}`)).code, '413', 'too large in chunks')
  t.same(seen, [])
  const exact = JSON.stringify({ a: 'x'.repeat(56) })
  t.equal(exact.length, 64)
  t.hasStrict((await call(url, { method: 'POST', headers: json, body: exact })).body, { code: '200' })
})

t.test('routes without a signature guard store no bytes', async (t) => {
  const { send, seen } = await start(t)
  t.hasStrict((await send('POST', '/api/v1/shop/public', { a: 1 })).body, { code: '200', data: true })
  t.same(seen, [])
})

t.test('C-021 a signed route is closed until a signature guard accepts it', async (t) => {
  const codes = async (...guards: readonly RouteGuard[]) => {
    const { send } = await startHttp(t, (http) => {
      http.route(route('/api/v1/shop/signed'))
      for (const guard of guards) http.guard(guard)
    })
    return (await send('POST', '/api/v1/shop/signed', {})).body.code
  }
  const guard = (stage: RouteGuard['stage']) => ({ name: stage, stage, forRoute: () => () => {} }) as const
  t.equal(await codes(), '401')
  t.equal(await codes(guard('gate'), guard('access'), guard('quota')), '401', 'a login is no signature')
  t.equal(await codes({ ...guard('signature'), forRoute: () => undefined }), '401')
  t.equal(await codes(guard('signature')), '200')
  const user = await startHttp(t, (http) => {
    http.route(route('/api/v1/shop/user', { access: 'user' }))
    http.guard(guard('signature'))
  })
  t.equal((await user.send('POST', '/api/v1/shop/user', {})).body.code, '401', 'a signature is no login')
  const admin = startHttp(t, (http) => http.route(route('/api/v1/admin/shop/signed')))
  await rejectsWith(t, admin, { message: /is an admin path, and those who sign are no administrators/ })
})

t.test('signatures are checked after access and before input and quota', async (t) => {
  const ran: string[] = []
  const { send } = await startHttp(t, (http) => {
    for (const stage of ['quota', 'signature', 'access', 'gate'] as const) {
      http.guard({
        name: stage,
        stage,
        forRoute: () => async (request) => {
          ran.push(stage)
          if (request.headers['x-stop-at'] === stage) throw new BusinessError('403', `stopped at ${stage}`)
        },
      })
    }
    http.route(route('/api/v1/shop/signed', { request: { body: Type.Object({ n: Type.Integer() }) } }))
  })
  const order = ['gate', 'access', 'signature', 'quota']
  t.equal((await send('POST', '/api/v1/shop/signed', { n: 1 })).body.code, '200')
  t.same(ran.splice(0), order)
  t.equal((await send('POST', '/api/v1/shop/signed', { n: 'x' })).body.code, '400')
  t.same(ran.splice(0), order.slice(0, 3))
  const stopped = await send('POST', '/api/v1/shop/signed', { n: 'x' }, { 'x-stop-at': 'signature' })
  t.match(stopped.body, { code: /^403$/, message: 'stopped at signature' })
  t.same(ran.splice(0), order.slice(0, 3))
})

t.test('C-045 the API description lists the headers of a signed request', async (t) => {
  const schemes = { shopKey: { type: 'apiKey', in: 'header', name: 'X-Shop-Key' }, shopSignature: { type: 'apiKey' } }
  const { server } = await startHttp(t, (http) => {
    http.guard({
      name: 'signature',
      stage: 'signature',
      forRoute: () => () => {},
      security: ({ path }) => ({ schemes, scopes: [path] }),
    })
    http.route(route('/api/v1/shop/signed'))
    http.route(route('/api/v1/shop/user', { access: 'user' }))
  })
  const document = await server.openapi()
  const scopes = ['/api/v1/shop/signed']
  t.same(document.paths['/api/v1/shop/signed']?.['post'], {
    ...document.paths['/api/v1/shop/signed']?.['post'],
    security: [{ shopKey: scopes, shopSignature: scopes }],
  })
  assertMembers(t, document.paths['/api/v1/shop/user']?.['post'], { security: [{ bearer: [] }] })
  t.match(document.components, { securitySchemes: { bearer: { type: 'http' }, ...schemes } })
})
