import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { Type } from 'typebox'
import type { HttpServer } from '../src/index.ts'
import { bodyOf, exchangeRawHttp, startHttp } from './start-http.ts'

const decode = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
} as const

const words = (bytes: number) => 'plinth '.repeat(Math.ceil(bytes / 7)).slice(0, bytes)
const small = words(900)
const medium = words(4_000)
const large = words(400_000)

/** Adds a route that responds with a text in the envelope. */
const answering = (http: HttpServer, name: string, text: string, more: { readonly compress?: boolean } = {}) =>
  http.route({
    method: 'GET',
    path: `/api/v1/shop/${name}`,
    summary: 'A text of the test',
    access: 'public',
    response: Type.String(),
    ...more,
    handler: () => text,
  })

/** Adds a raw route that responds with a body of this media type. */
const sending = (
  http: HttpServer,
  name: string,
  type: string,
  body: () => string | Buffer | Readable,
  headers: Readonly<Record<string, string>> = {},
) =>
  http.rawRoute({
    method: 'GET',
    path: `/api/v1/shop/${name}`,
    summary: 'A body of the test',
    access: 'public',
    produces: [type],
    handler: (_request, _parts, reply) => reply.type(type).headers(headers).send(body()),
  })

const ask = async (server: HttpServer, name: string, encoding: string | undefined, method: 'GET' | 'HEAD' = 'GET') => {
  const headers = encoding === undefined ? {} : { 'accept-encoding': encoding }
  const response = await server.inject({ method, url: `/api/v1/shop/${name}`, headers })
  const used = response.headers['content-encoding'] as keyof typeof decode | undefined
  const plain = used === undefined ? response.rawPayload : decode[used](response.rawPayload)
  return { used, response, text: plain.toString(), bytes: response.rawPayload.length }
}

t.test('a response is compressed in an encoding that the caller accepts', async (t) => {
  const { server } = await startHttp(t, (http) => {
    answering(http, 'small', small)
    answering(http, 'medium', medium)
    answering(http, 'large', large)
  })
  for (const name of ['medium', 'large']) {
    for (const [accepted, expected] of [
      ['gzip, deflate, br, zstd', 'zstd'],
      ['gzip, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['identity', undefined],
      ['deflate', undefined],
      [undefined, undefined],
    ] as const) {
      const { used, response, text, bytes } = await ask(server, name, accepted)
      t.equal(used, expected, `${name}: ${accepted}`)
      t.equal(JSON.parse(text).data, name === 'medium' ? medium : large)
      if (expected === undefined) continue
      t.ok(bytes < 1_000)
      t.match(response.headers.vary, /accept-encoding/)
      const length = response.headers['content-length']
      if (length !== undefined) t.equal(Number(length), bytes)
    }
  }
  t.equal((await ask(server, 'small', 'gzip')).used, undefined, 'below 1 KiB')
})

t.test('a route with a secret is not compressed', async (t) => {
  const { server } = await startHttp(t, (http) => answering(http, 'secret', medium, { compress: false }))
  t.equal((await ask(server, 'secret', 'gzip')).used, undefined)
  t.hasStrict(
    server.routes.find(({ path }) => path === '/api/v1/shop/secret'),
    { isCompressed: false },
  )
})

t.test('only textual content is compressed', async (t) => {
  const events = `data: ${medium}\n\n`
  const { server } = await startHttp(t, (http) => {
    sending(http, 'events', 'text/event-stream', () => Readable.from([events]))
    sending(http, 'image', 'image/png', () => Buffer.from(medium))
    sending(http, 'export', 'application/json; charset=utf-8', () => Readable.from(['["', large, '"]']))
    sending(http, 'page', 'text/html; charset=utf-8', () => `<p>${medium}</p>`)
    sending(http, 'packed', 'text/css', () => Buffer.from(medium), { 'content-encoding': 'x-own' })
    sending(http, 'fixed', 'text/css', () => medium, { 'cache-control': 'no-store, no-transform' })
    // This text begins like a zlib stream.
    sending(http, 'digits', 'text/plain; charset=utf-8', () => `80${medium}`)
  })
  const of = async (name: string) =>
    (await server.inject({ url: `/api/v1/shop/${name}`, headers: { 'accept-encoding': 'gzip' } })).headers[
      'content-encoding'
    ]
  t.strictSame(await Promise.all(['events', 'image', 'export', 'page', 'packed', 'fixed', 'digits'].map(of)), [
    undefined,
    undefined,
    'gzip',
    'gzip',
    'x-own',
    undefined,
    undefined,
  ])
  t.equal((await ask(server, 'export', 'br')).text, `["${large}"]`)
  t.equal((await ask(server, 'digits', 'gzip')).text, `80${medium}`)
})

t.test('HEAD, conditional requests and ranges describe the content that GET sends', async (t) => {
  const { server } = await startHttp(t, (http) => {
    sending(http, 'tagged', 'text/plain', () => medium, { etag: '"one"' })
    http.rawRoute({
      method: 'GET',
      path: '/api/v1/shop/part',
      summary: 'A part of a text',
      access: 'public',
      produces: ['text/plain'],
      handler: (_request, _parts, reply) =>
        reply.code(206).header('content-range', `bytes 0-3999/9000`).type('text/plain').send(medium),
    })
  })
  const got = await ask(server, 'tagged', 'gzip')
  t.hasStrict(got.response.headers, { etag: 'W/"one"', 'content-encoding': 'gzip' })
  const head = await ask(server, 'tagged', undefined, 'HEAD')
  t.hasStrict(head.response.headers, { etag: 'W/"one"', 'content-length': String(medium.length) })
  const variant = (
    await server.inject({ method: 'HEAD', url: '/api/v1/shop/tagged', headers: { 'accept-encoding': 'gzip' } })
  ).headers
  t.hasStrict(variant, { etag: 'W/"one"', vary: 'accept-encoding' })
  t.notOk('content-length' in variant, 'its length is not known')
  t.equal((await ask(server, 'part', 'gzip')).used, undefined, 'offsets of a range are those of the plain content')
  const docs = await server.inject({ url: '/docs/openapi.json', headers: { 'accept-encoding': 'gzip' } })
  t.equal(docs.headers['content-encoding'], 'gzip')
  const headers = { 'accept-encoding': 'gzip', 'if-none-match': String(docs.headers.etag) }
  const again = await server.inject({ url: '/docs/openapi.json', headers })
  assertMembers(t, [again.statusCode, again.headers.etag, again.rawPayload.length], [304, docs.headers.etag, 0])
})

t.test('an error on a compressed route is readable', async (t) => {
  const { server } = await startHttp(t, (http) =>
    http.route({
      method: 'POST',
      path: '/api/v1/shop/items',
      summary: 'Many items',
      access: 'public',
      request: { body: Type.Object({ items: Type.Array(Type.Integer()) }) },
      response: Type.Null(),
      handler: () => null,
    }),
  )
  const response = await server.inject({
    method: 'POST',
    url: '/api/v1/shop/items',
    headers: { 'accept-encoding': 'gzip' },
    payload: { items: Array.from({ length: 300 }, () => 'x') },
  })
  t.equal(response.headers['content-encoding'], 'gzip')
  t.hasStrict(JSON.parse(gunzipSync(response.rawPayload).toString()), { code: '400' })
})

t.test('compression of responses that nobody reads uses limited memory', { timeout: 60_000 }, async (t) => {
  // Random text, so that its compressed form does not fit into the buffers of the connection.
  const noise = randomBytes(3_000_000).toString('base64')
  const { server, port } = await startHttp(t, (http) => {
    answering(http, 'noise', noise)
    answering(http, 'large', large)
  })
  const request = 'GET /api/v1/shop/noise HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n'
  const sockets = Array.from({ length: 64 }, () => {
    const socket = connect(port(), '127.0.0.1', () => socket.write(request))
    socket.once('data', () => socket.pause())
    return socket
  })
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(sockets.map((socket) => once(socket, 'data')))
  const get = () =>
    exchangeRawHttp(
      port(),
      'GET /api/v1/shop/large HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n',
    )
  const plain = await get()
  t.notMatch(plain, /content-encoding/i, 'further responses are sent uncompressed')
  t.equal(bodyOf(plain).data, large)
  for (const socket of sockets) socket.destroy()
  let freed = plain
  while (!/content-encoding: gzip/i.test(freed)) freed = await get()
  t.match(freed, /content-encoding: gzip/i, 'closed connections free their places')
  t.ok(server.url)
})
