/** Tests who may open realtime connections, and how many. */

import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { assertMembers, throwsWith } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { ConnectionCounter } from '../src/websocket/connections/admission.ts'
import {
  type ConnectOptions,
  key,
  password,
  RefusedHandshakeError,
  startWebsocket,
} from './fixtures/websocket-product.ts'

type Product = Awaited<ReturnType<typeof startWebsocket>>

async function start(t: Test, config: Record<string, string | number | boolean> = {}) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return startWebsocket(t, at, { config })
}

/** Returns the HTTP response to a handshake that is rejected. */
async function rejectedBy(product: Product, options: ConnectOptions): Promise<unknown> {
  try {
    await product.connect(options)
    return 'connected'
  } catch (error) {
    if (error instanceof RefusedHandshakeError) return error.body.data?.reason
    throw error
  }
}

t.test('[N-007] a client with a token or a session of this site is accepted', async (t) => {
  const product = await start(t, { 'platform.notification.channels.websocket.guests.enabled': true })
  const { user, connect, url, lines } = product
  const ada = await user('ada')
  const { host } = new URL(url)
  const signIn = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ username: 'ada', password, session: 'cookie' }),
  })
  const cookie = String(signIn.headers.get('set-cookie')).split(';', 1)[0] ?? ''

  const forms: Record<string, ConnectOptions> = {
    'a header': { token: ada.token },
    'a sub-protocol': { protocols: ['bearer', ada.token] },
    'the query': { query: `?token=${ada.token}` },
    'a token from a page of another site': { protocols: ['bearer', ada.token], origin: 'https://shop.example' },
    'the cookie': { headers: { cookie }, origin: url },
    'the cookie, by what the browser says': { headers: { cookie, 'sec-fetch-site': 'same-origin' } },
  }
  for (const [name, options] of Object.entries(forms)) {
    const { hello, ws } = await connect(options)
    t.match(hello, { type: 'connected', userId: ada.id, sessionId: /^\d+$/, locale: 'en' }, name)
    t.equal(ws.protocol, options.protocols === undefined ? '' : 'bearer', 'never the token')
    t.equal(ws.extensions, '', 'no compression')
  }

  const foreign: Record<string, ConnectOptions> = {
    'another site': { headers: { cookie }, origin: 'https://evil.example' },
    'a sandboxed page': { headers: { cookie }, origin: 'null' },
    'another port': { headers: { cookie }, origin: `http://${host.split(':')[0]}:1` },
    'a sister site': { headers: { cookie, 'sec-fetch-site': 'same-site' }, origin: url },
    'nobody says which page': { headers: { cookie } },
    'a guest of another site': { origin: 'https://evil.example' },
  }
  for (const [name, options] of Object.entries(foreign)) {
    t.equal(await rejectedBy(product, options), 'notification-websocket.origin-unproven', name)
  }

  const planted = `plinth_${'Q7s'.repeat(14)}x`
  for (const options of [
    { token: planted },
    { protocols: ['bearer', planted] },
    { query: `?token=${planted}` },
    { headers: { cookie: `plinth-session=${planted}` }, origin: url },
    { headers: { authorization: `Basic ${planted}` } },
    { protocols: ['bearer'] },
    { query: '?token=' },
  ]) {
    t.equal(
      await rejectedBy(product, options),
      'iam.token-invalid',
      `a credential that is wrong makes no guest: ${Object.keys(options)}`,
    )
  }
  t.equal(await rejectedBy(product, { query: `?token=${planted.repeat(20)}` }), 'http.invalid-input')
  const body = JSON.stringify({ name: 'script', expiresAt: new Date(Date.now() + 3_600_000).toISOString() })
  const created = await fetch(`${url}/api/v1/iam/users/me/api-tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ada.token}` },
    body,
  })
  const { data: apiToken } = (await created.json()) as { data: { token: string } }
  for (const options of [
    { token: apiToken.token },
    { protocols: ['bearer', apiToken.token] },
    { query: `?token=${apiToken.token}` },
    { headers: { cookie: `plinth-session=${apiToken.token}` }, origin: url },
  ]) {
    t.equal(await rejectedBy(product, options), 'iam.api-token-misplaced', `no API token: ${Object.keys(options)}`)
  }
  const log = JSON.stringify(lines)
  t.match(log, '/api/v1/ws')
  for (const secret of [planted, ada.token, cookie.slice(15)]) t.notMatch(log, secret, 'no token in the log')
})

t.test('[N-029] guests are accepted if they are allowed', async (t) => {
  const product = await start(t)
  t.equal(await rejectedBy(product, {}), 'notification-websocket.credential-missing')
  await product.change('guests.enabled', true)
  const { connect, presence, facade, metrics, user } = product
  const [guest, other, ada] = [await connect(), await connect({ origin: product.url }), await user('ada')]
  const page = await connect({ token: ada.token })
  t.match(guest.hello, { userId: null, sessionId: /^guest-[0-9a-f-]{36}$/ })
  t.not(guest.hello.sessionId, other.hello.sessionId)
  t.match(presence, { sockets: 3, guests: 2, users: 1 })
  t.match(await metrics.metrics(), /platform_notification_websocket_sockets\{caller="guest"\} 2/)

  const translate = (content: string, recipient: object) =>
    facade.send({ subject: 's', content, recipients: [recipient as never] }, { channels: ['websocket'] })
  await translate('to guests', { kind: 'websocket-guest' })
  await translate('to one session', { kind: 'websocket-session', sessionId: guest.hello.sessionId })
  for (const client of [guest, other, page]) await client.settled()
  const contents = (client: typeof guest) => client.received.slice(1).map(({ data }) => data.content)
  t.same(contents(guest), ['to guests', 'to one session'])
  t.same(contents(other), ['to guests'])
  t.same(contents(page), [], 'who is logged in is no guest')
})

t.test('connections are limited per user, per address and in total', async (t) => {
  const product = await start(t)
  const { user, connect, change, presence } = product
  const [ada, bob] = [await user('ada'), await user('bob')]
  const tooMany = async (options: ConnectOptions, limit: string) => {
    const rejected = await product.connect(options).catch((error: unknown) => error as RefusedHandshakeError)
    t.hasStrict(rejected, { body: { code: '429', data: { reason: 'notification-websocket.too-many', limit } } })
  }
  await change('max-sockets-per-user', 2)
  const first = await connect({ token: ada.token })
  await connect({ token: ada.token })
  await tooMany({ token: ada.token }, 'user')
  first.ws.close()
  await first.closed
  await connect({ token: bob.token })
  await connect({ token: ada.token })
  t.equal(presence.ofUser(ada.id), 2, 'a place that was given back')
  await change('max-sockets-per-address', 3)
  await tooMany({ token: bob.token }, 'address')
  await change('max-sockets-per-address', 4)
  t.match(await rejectedBy(product, { token: 'nonsense' }), 'iam.token-invalid')
  const last = await connect({ token: bob.token })
  await change('max-sockets', 4)
  last.ws.terminate()
  await last.closed
  const again = await connect({ token: bob.token })
  t.ok(again.hello, 'refused handshakes and broken connections take no place')
  await tooMany({ token: bob.token }, 'instance')
})

t.test('a disabled channel accepts no connection and pushes nothing', async (t) => {
  const product = await start(t)
  const ada = await product.user('ada')
  const client = await product.connect({ token: ada.token })
  await product.change('enabled', false)
  t.same(await client.closed, [1001, 'switched-off'])
  t.equal(await rejectedBy(product, { token: ada.token }), 'notification-websocket.switched-off')
  const recipients = [{ kind: 'user', userId: ada.id } as const]
  const results = await product.facade.send({ subject: 's', content: 'c', recipients }, { channels: ['websocket'] })
  assertMembers(t, results, [{ skipped: true, errorCode: 'notification.channel-disabled' }])
})

t.test('a request that is no handshake of this endpoint stays a request, and no connection remains', async (t) => {
  const { url } = await start(t)
  const port = Number(new URL(url).port)
  /** Returns everything that the server sends until it closes the connection. */
  const ask = async (lines: readonly string[], body = '') => {
    const socket = connectSocket(port, '127.0.0.1')
    socket.on('error', () => {})
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
    await once(socket, 'close')
    return text
  }
  const upgrade = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
  const nonce = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
  t.match(await ask(['GET /api/v1/ws HTTP/1.1', 'Host: x', 'Connection: close']), /upgrade-needed/)
  t.match(await ask(['GET /api/v1/ws HTTP/1.1', ...upgrade, nonce]), /credential-missing/, 'refused, then closed')
  t.match(await ask(['GET /other/api/v1/ws HTTP/1.1', ...upgrade, nonce]), /^HTTP\/1\.1 404 /)
  t.match(await ask(['GET /api/v1/ws HTTP/1.1', ...upgrade, 'Host: y', nonce]), /host-ambiguous/)
  const old = ['GET /health/live HTTP/1.1', 'Host: x', 'Upgrade: websocket', 'Connection: Upgrade, close', nonce]
  t.match(await ask(old), /^HTTP\/1\.1 200 /)
  const h2c = [
    'POST /api/v1/auth/login HTTP/1.1',
    'Host: x',
    'Connection: Upgrade, HTTP2-Settings, close',
    'Upgrade: h2c',
  ]
  const body = JSON.stringify({ username: 'ada', password })
  const typed = ['HTTP2-Settings: AAMAAABk', 'Content-Type: application/json', `Content-Length: ${body.length}`]
  t.match(await ask([...h2c, ...typed], body), /"code":"401"|"code":"4\d\d"/, 'its body is read')
  t.match(await ask(['GET /api/v1/ws?token=x HTTP/1.1', ...upgrade]), /token-invalid/)
})

t.test('a handshake that violates RFC 6455 is rejected, and its slot is released', async (t) => {
  const product = await start(t, { [`${key}.max-sockets`]: 1 })
  const ada = await product.user('ada')
  const port = Number(new URL(product.url).port)
  for (const lines of [
    ['Sec-WebSocket-Version: 12', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
    ['Sec-WebSocket-Version: 13'],
  ]) {
    const socket = connectSocket(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const head = [`GET /api/v1/ws?token=${ada.token} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket']
    socket.write(`${[...head, ...lines].join('\r\n')}\r\n\r\n`)
    await once(socket, 'close')
    t.match(text, /^HTTP\/1\.1 4\d\d /)
  }
  t.ok(await product.connect({ token: ada.token }))
})

t.test('guests and users without permissions leave a tenth of the connections to operators', async (t) => {
  const admission = new ConnectionCounter({ maxSockets: 100, maxSocketsPerAddress: 1000 })
  const full = { code: '429', reason: 'notification-websocket.too-many', data: { limit: 'public' } }
  const leaves = Array.from({ length: 90 }, () => {
    admission.enter('192.0.2.1')
    return admission.enterPublic()
  })
  throwsWith(t, () => admission.enterPublic(), full)
  t.doesNotThrow(() => admission.enter('192.0.2.2'), 'an operator takes a place of the connection alone')
  leaves[0]?.()
  t.doesNotThrow(() => admission.enterPublic())
})
