import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { assertMembers } from '@plinth/dev/testing'
import i18nPlugin from '@plinth/i18n'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { HttpServer } from '../src/index.ts'
import { bodyOf, exchangeRawHttp, startHttp } from './start-http.ts'

const url = '/api/v1/shop/items'

/** Adds routes that return the name from the request. */
function addItems(http: HttpServer): void {
  const name = Type.Object({ name: Type.String() })
  for (const method of ['POST', 'PUT'] as const) {
    http.route({
      method,
      path: url,
      summary: method,
      access: 'public',
      request: { body: name },
      response: Type.String(),
      handler: ({ body }) => body.name,
    })
  }
  http.route({
    method: 'GET',
    path: `${url}/:id`,
    summary: 'one',
    access: 'public',
    response: Type.String(),
    handler: (request) => (request.params as unknown as { id: string }).id,
  })
  http.rawRoute({
    method: 'GET',
    path: '/stream',
    summary: 's',
    access: 'public',
    hidden: true,
    produces: ['*/*'],
    handler: (_request, _, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-length': '10' })
      reply.raw.write('12345')
    },
  })
}

/** Returns the head of a raw response in lower case. */
const headOf = (response: string) => response.slice(0, response.indexOf('\r\n\r\n')).toLowerCase()

function isFailure(t: Test, response: string, status: number, reason: string): void {
  t.match(response, new RegExp(`^HTTP/1\\.1 ${status} `), reason)
  t.match(headOf(response), /content-type: application\/json; charset=utf-8/)
  t.match(headOf(response), /x-content-type-options: nosniff/)
  const body = bodyOf(response)
  t.same(Object.keys(body), ['code', 'message', 'data'])
  t.match(body, { code: `${status}`, message: /^[A-Z].+\.$/, data: { reason } })
}

t.test('B2 a request must have exactly one host', async (t) => {
  const { port, server } = await startHttp(t, addItems)
  const ask = (...lines: string[]) => exchangeRawHttp(port(), `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  const one = `GET ${url}/7 HTTP/1.1`
  isFailure(t, await ask(one, 'Host: shop.example', 'Host: evil.example'), 400, 'http.host-ambiguous')
  isFailure(t, await ask(one, 'Host: shop.example', 'hOST: shop.example'), 400, 'http.host-ambiguous')
  isFailure(t, await ask('GET /nothing HTTP/1.1', 'Host: a', 'Host: b'), 400, 'http.host-ambiguous')
  isFailure(t, await ask(one), 400, 'http.host-ambiguous')
  t.equal(bodyOf(await ask(one, 'Host: shop.example')).data, '7')
  t.equal(bodyOf(await ask(`GET ${url}/7 HTTP/1.0`)).data, '7', 'HTTP/1.0 knew no such header')
  isFailure(t, await ask(`GET ${url}/7 HTTP/1.0`, 'Host: a', 'Host: b'), 400, 'http.host-ambiguous')
  t.equal((await server.inject(`${url}/7`)).json().data, '7')
})

t.test('K-003 a body is JSON in UTF-8, or it is rejected', async (t) => {
  const { call, port } = await startHttp(t, addItems)
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    call(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  const plain = '{"name":"Tee"}'
  for (const encoding of ['gzip', 'GZIP', 'br', 'deflate', 'x-own', 'identity, gzip', 'gzip, identity']) {
    for (const body of [plain, gzipSync(plain)]) {
      const response = await post(body, { 'content-encoding': encoding })
      assertMembers(
        t,
        [response.status, response.body],
        [415, { data: { reason: 'http.content-encoding-unsupported' } }],
        encoding,
      )
      t.equal(response.headers.get('accept-encoding'), 'identity', 'RFC 9110, section 15.5.16')
    }
  }
  t.equal((await post(plain, { 'content-encoding': 'identity' })).body.data, 'Tee')

  for (const charset of ['utf-16', 'UTF-16LE', 'iso-8859-1', '"utf-16"', 'us-ascii', 'x']) {
    const response = await post(plain, { 'content-type': `application/json; charset=${charset}` })
    assertMembers(t, [response.status, response.body], [415, { data: { reason: 'http.charset-unsupported' } }], charset)
  }
  for (const type of ['application/json;charset=UTF-8', 'application/json; charset="utf-8"', 'application/json; v=1']) {
    t.equal((await post(plain, { 'content-type': type })).body.data, 'Tee', type)
  }

  const around = (bytes: readonly number[]) =>
    Uint8Array.from([...Buffer.from('{"name":"'), ...bytes, ...Buffer.from('"}')])
  for (const bytes of [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80]]) {
    const response = await post(around(bytes))
    assertMembers(t, [response.status, response.body], [400, { data: { reason: 'http.body-malformed' } }], `${bytes}`)
  }
  t.equal((await post(around([...Buffer.from('中文 🙂')]))).body.data, '中文 🙂')
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 12 }), async (bytes) => {
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
      const isText = Buffer.from(text).equals(bytes)
      const { status, body } = await post(around([...bytes]))
      return status === 200 ? isText && JSON.parse(`{"name":"${text}"}`).name === body.data : body.code === '400'
    }),
    { numRuns: 100 },
  )
  const bytes = Buffer.from('{"name":"é"}')
  const chunks = [bytes.subarray(0, 10), bytes.subarray(10)]
  const lines = chunks.map((part) => `${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`)
  const chunked = `POST ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  t.equal(bodyOf(await exchangeRawHttp(port(), `${chunked}${lines.join('')}0\r\n\r\n`)).data, 'é', 'cut in a character')
})

t.test('K-003 another method on a known path is 405 with the allowed methods', async (t) => {
  const { call, server } = await startHttp(t, addItems, { plugins: [i18nPlugin] })
  const allowOf = async (method: string, path: string) => {
    const { status, body, headers } = await call(path, { method })
    return [status, body?.data?.reason, headers.get('allow')]
  }
  const rejected = (allow: string) => [405, 'http.method-not-allowed', allow]
  t.same(await allowOf('GET', url), rejected('POST, PUT'))
  t.same(await allowOf('DELETE', `${url}?a=1`), rejected('POST, PUT'))
  t.same(await allowOf('OPTIONS', url), rejected('POST, PUT'))
  t.same(await allowOf('POST', `${url}/7`), rejected('GET, HEAD'))
  t.same(await allowOf('PATCH', '/health/live'), rejected('GET, HEAD'))
  t.same(await allowOf('PROPFIND', `${url}/7`), rejected('GET, HEAD'), 'a method that no route can have')
  t.same((await call(url, { method: 'HEAD' })).headers.get('allow'), 'POST, PUT')
  t.same(await allowOf('GET', '/api/v1/shop/none'), [404, 'http.route-unknown', null])
  t.same(await allowOf('POST', '/api/v1/shop/items/7/parts'), [404, 'http.route-unknown', null])
  const chinese = await call(url, { headers: { 'accept-language': 'zh' } })
  t.match(chinese.body, { code: /^405$/, message: '该地址不支持此请求方法。' })
  const text = JSON.stringify(await server.openapi())
  t.match(text, 'method not allowed (405, with `Allow`)', 'the description of the API says so')
})

t.test('K-003 requests that Node.js itself rejects also get an envelope', async (t) => {
  const { port } = await startHttp(t, addItems)
  const ask = (text: string) => exchangeRawHttp(port(), text)
  const head = `POST ${url} HTTP/1.1\r\nHost: x\r\n`
  const chunked = `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`
  isFailure(t, await ask('NONSENSE\r\n\r\n'), 400, 'http.request-malformed')
  isFailure(
    t,
    await ask(`${head}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`),
    400,
    'http.request-malformed',
  )
  isFailure(t, await ask(`${head}X: ${'x'.repeat(20_000)}\r\n\r\n`), 431, 'http.headers-too-large')
  isFailure(t, await ask(`${chunked}\r\n1;${'x'.repeat(20_000)}\r\n`), 413, 'http.body-too-large')
  const expecting = await ask(`${head}Expect: the-unexpected\r\nContent-Length: 2\r\n\r\n`)
  isFailure(t, expecting, 417, 'http.expectation-unsupported')
  t.match(headOf(expecting), /connection: close/)
  const chinese = await ask(`${head}Expect: x\r\nAccept-Language: zh\r\nX-Trace-Id: abc-1\r\n\r\n`)
  t.match(headOf(chinese), /x-trace-id: abc-1/)

  let begun = ''
  const socket = connect(port(), '127.0.0.1', () => socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n'))
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    begun += chunk
    if (begun.endsWith('12345')) socket.write('NONSENSE\r\n\r\n')
  })
  await once(socket, 'close')
  t.match(begun, /\r\n\r\n12345$/, 'nothing is written into an answer that has begun')
})

t.test('for an unknown path a browser gets a page, and a program gets an envelope', async (t) => {
  const { call } = await startHttp(t, addItems, { plugins: [i18nPlugin], set: { 'platform.http.context-path': '/s' } })
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
  const ask = (path: string, accept: string, language = 'en') =>
    call(path, { headers: { accept, 'accept-language': language } })

  for (const path of ['/nothing', '/s/nothing?a=<script>', '/storage/none.png', '/apis']) {
    const page = await ask(path, browser)
    t.equal(page.status, 404, path)
    t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    t.equal(page.headers.get('x-content-type-options'), 'nosniff')
    t.equal(page.headers.get('cache-control'), 'no-store')
    t.match(page.headers.get('vary'), /accept, accept-language/i)
    t.match(page.text, /<html lang="en">[\s\S]*This address does not exist\.[\s\S]*href="\/s\/"/)
    t.notMatch(page.text, /script|nothing\?|none\.png/, 'it shows nothing of the request')
    t.ok(page.text.length < 2_000)
    const policy = page.headers.get('content-security-policy') ?? ''
    t.match(policy, /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}'; /)
    t.match(policy, /frame-ancestors 'none'/)
    t.notMatch(policy, /unsafe|https?:|\*/)
  }
  const chinese = await ask('/nothing', browser, 'zh-CN,zh;q=0.9')
  t.match(chinese.text, /<html lang="zh-CN">[\s\S]*该地址不存在。/)
  t.match(await call('/nothing', { method: 'HEAD', headers: { accept: browser } }), { status: 404, text: '' })

  for (const [path, accept] of [
    ['/api', browser],
    ['/api/v1/none', browser],
    ['/s/api/v1/none', browser],
    ['/nothing', '*/*'],
    ['/nothing', 'application/json'],
    ['/nothing', 'application/json, text/html'],
    ['/nothing', 'application/json, text/html;q=0.9'],
    ['/nothing', 'text/html;q=0, */*'],
    ['/nothing', `text/html,${'x/x,'.repeat(2_000)}`],
  ] as const) {
    const response = await ask(path, accept)
    assertMembers(
      t,
      [response.status, response.body],
      [404, { code: '404', data: { reason: 'http.route-unknown' } }],
      path,
    )
  }
  t.hasStrict((await call('/nothing')).body, { code: '404' })
})

t.test(
  'B2 a transfer coding other than chunked, and any in HTTP/1.0, is rejected and the connection is closed',
  async (t) => {
    const { port } = await startHttp(t, addItems)
    const chunks = '10\r\n{"name": "cup"} \r\n0\r\n\r\n'
    const post = (version: string, coding: string) =>
      exchangeRawHttp(
        port(),
        `POST ${url} HTTP/${version}\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: ${coding}\r\n\r\n${chunks}`,
      )
    for (const coding of ['gzip, chunked', 'identity, chunked'])
      isFailure(t, await post('1.1', coding), 501, 'http.transfer-encoding-unsupported')
    isFailure(t, await post('1.0', 'chunked'), 400, 'http.transfer-encoding-unsupported')
  },
)
