import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { BusinessError } from '@plinth/kernel'
import t from 'tap'
import { Type } from 'typebox'
import { createForwarding } from '../src/caller/forwarding.ts'
import type { HttpServer } from '../src/index.ts'
import { exchangeRawHttp, startHttp } from './start-http.ts'

const facts = (http: HttpServer) => {
  http.route({
    method: 'GET',
    path: '/api/v1/shop/facts',
    summary: 'What lies in front',
    access: 'public',
    response: Type.Object({ contextPath: Type.String(), isHttps: Type.Boolean(), host: Type.String() }),
    handler: ({ contextPath, isHttps, calledHost }) => ({ contextPath, isHttps, host: calledHost }),
  })
}
const path = '/api/v1/shop/facts'

t.test('I-009 I-193 headers of a proxy are used if the proxy is trusted', async (t) => {
  const { server } = await startHttp(t, facts)
  const seen = async (headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
    (await server.inject({ url: path, headers, remoteAddress })).json().data
  const plain = { contextPath: '', isHttps: false, host: 'localhost:80' }
  t.same(await seen({}), plain)
  const reported = {
    'x-forwarded-prefix': '/shop/',
    'x-forwarded-proto': 'HTTPS',
    'x-forwarded-host': 'a.example:8443',
  }
  t.same(await seen(reported), { contextPath: '/shop', isHttps: true, host: 'a.example:8443' })
  t.same(await seen(reported, '203.0.113.9'), plain, 'P36 from anybody else they are ignored')
  t.match(await seen({ 'x-forwarded-prefix': '/a/b, /c', 'x-forwarded-proto': 'https, http' }), {
    contextPath: '/a/b',
    isHttps: true,
  })
  for (const bad of ['//evil', '/a//b', '/a/../b', '/.', 'shop', '/a b', '/a?b', '/a%2fb', '/a\\b', 'https://evil']) {
    t.equal((await seen({ 'x-forwarded-prefix': bad })).contextPath, '', `P36 ${bad}`)
  }
})

t.test('P33 Strict-Transport-Security is sent only over HTTPS, RFC 6797 section 7.2', async (t) => {
  const reported = { 'x-forwarded-proto': 'https' }
  const sent = async (server: HttpServer, headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
    (await server.inject({ url: '/docs/', headers, remoteAddress })).headers['strict-transport-security']
  const { server } = await startHttp(t)
  t.equal(await sent(server, reported), 'max-age=31536000; includeSubDomains')
  t.equal(await sent(server, {}), undefined, 'plain HTTP')
  t.equal(await sent(server, { 'x-forwarded-proto': 'http' }), undefined)
  t.equal(await sent(server, reported, '203.0.113.9'), undefined, 'said by anybody')
  const rules = 'platform.rate-limit.annotation.client-ip'
  const deaf = await startHttp(t, undefined, { set: { [`${rules}.trust-forwarded-headers`]: 'false' } })
  t.equal(await sent(deaf.server, reported), undefined, 'no proxy is believed')
  const other = await startHttp(t, undefined, { set: { [`${rules}.trusted-proxies`]: '203.0.113.0/24' } })
  t.equal(await sent(other.server, reported), undefined, 'another proxy is')
  t.match(await sent(other.server, reported, '203.0.113.9'), /^max-age=/)

  const { isHttps } = createForwarding({ peer: () => ({ address: '203.0.113.9', isProxy: false }) }, '')
  const direct = (socket: object) => isHttps({ headers: {}, socket } as never)
  t.equal(direct(Object.create(TLSSocket.prototype, { encrypted: { value: true } })), true, 'without a proxy')
  t.equal(direct(new Socket()), false)
})

t.test('I-193 a configured context path is removed, whether a proxy has removed it or not', async (t) => {
  const { call } = await startHttp(t, facts, { set: { 'platform.http.context-path': '/shop' } })
  for (const url of [path, `/shop${path}`, `/shop${path}?x=1`]) {
    t.equal((await call(url)).body.data.contextPath, '/shop', url)
  }
  for (const url of [`/shopping${path}`, `/shop/shop${path}`, '/shop', '/shop?x']) {
    t.equal((await call(url)).status, 404, url)
  }
  await t.rejects(startHttp(t, facts, { set: { 'platform.http.context-path': '//evil' } }), /context-path/)
})

t.test('I-186 a handler for every request also sees unknown paths, pages and handshakes', async (t) => {
  const seen: string[] = []
  let isClosed = false
  const { call, port } = await startHttp(t, (http) => {
    facts(http)
    http.everyRequest(async ({ method, url }) => {
      seen.push(`${method} ${url}`)
      if (isClosed) throw new BusinessError('503', 'Closed', { reason: 'shop.closed' })
    })
  })
  t.equal((await call(path)).body.code, '200')
  t.equal((await call('/nowhere')).status, 404)
  t.equal((await call('/docs/')).status, 200)
  t.equal((await call('/health/live', { method: 'HEAD' })).status, 200)
  t.same(seen, [`GET ${path}`, 'GET /nowhere', 'GET /docs/', 'HEAD /health/live'])
  isClosed = true
  for (const url of [path, '/nowhere', '/docs/', '/health/live']) {
    t.hasStrict((await call(url)).body, { code: '503', data: { reason: 'shop.closed' } }, url)
  }
  const handshake = await exchangeRawHttp(
    port(),
    'GET /api/v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  t.match(handshake, /shop\.closed/)
})
