import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { freePort, manualClock, startForTest, throwsWith } from '@plinth/dev/testing'
import http, { metrics } from '@plinth/http'
import { definePlugin, defineProduct, service } from '@plinth/kernel'
import { manifestEntries } from '@plinth/kernel/host'
import outgoingPlugin, {
  isOutgoingHttpError,
  type OutgoingHttp,
  type OutgoingHttpError,
  outgoingHttp,
} from '@plinth/outgoing-http'
import t, { type Test } from 'tap'
import { selfSigned } from '../../mail/test/fixtures/mail-server.ts'
import { type Lookup, OutgoingHttpClient, type OutgoingSettings } from '../src/client.ts'

const standard: OutgoingSettings = {
  allowedHosts: [],
  allowedCidrs: [],
  allowedPorts: [],
  allowHttp: true,
  deadlineMs: 5000,
  connectTimeoutMs: 60_000,
  headerTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  maxResponseBytes: 1024,
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Starts a server on loopback that records its requests. */
async function server(t: Test, answer: Answer = (_, response) => response.end('ok')) {
  const requests: IncomingMessage[] = []
  const closed: Promise<void>[] = []
  const listening = createServer((request, response) => {
    requests.push(request)
    closed.push(new Promise((resolve) => request.socket.once('close', () => resolve())))
    request.resume()
    request.once('end', () => answer(request, response))
  })
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    listening.closeAllConnections()
    listening.close()
  })
  const { port } = listening.address() as AddressInfo
  const arrived = async (count: number) => {
    while (requests.length < count) await once(listening, 'request')
  }
  return { port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}`, requests, closed, arrived }
}

const nobody: Lookup = (_, __, callback) => callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
const answering =
  (...responses: readonly string[][]): Lookup =>
  (_, __, callback) => {
    const addresses = responses.length > 1 ? (responses as string[][]).shift() : responses[0]
    callback(
      null,
      (addresses ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }

function client(t: Test, settings: Partial<OutgoingSettings> = {}, lookup: Lookup = nobody, clock = manualClock()) {
  const made = new OutgoingHttpClient({ settings: () => ({ ...standard, ...settings }), clock, lookup })
  t.teardown(() => made.stop())
  return made
}

async function failure(work: Promise<unknown>): Promise<OutgoingHttpError> {
  try {
    await work
  } catch (error) {
    if (isOutgoingHttpError(error)) return error
    throw error
  }
  throw new Error('it was answered')
}

t.test('a request and a connection test reach an IPv6 address', async (t) => {
  const listening = createServer((_, response) => response.end('reached'))
  await new Promise<void>((resolve) => listening.listen(0, '::1', resolve))
  t.teardown(() => listening.close())
  const host = `[::1]:${(listening.address() as AddressInfo).port}`
  const outgoing = client(t, { allowedHosts: [host] })
  await outgoing.reach({ url: `http://${host}/` })
  t.hasStrict(await outgoing.request({ url: `http://${host}/` }), { body: 'reached' })
})

t.test('N-057 private addresses are rejected in every notation, and never contacted', async (t) => {
  const there = await server(t)
  const { port } = there
  const outgoing = client(t, { allowedPorts: [String(port)] })
  const hosts = [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '１２７.０.０.１',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
    // The URL standard treats these texts as host names until a dot is removed.
    '127.0.0.1..',
    '127.0.0.1...',
    '2130706433..',
    '169.254.169.254..',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '192.0.0.192',
    '198.18.0.1',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[fec0::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[::2]',
    '[4000::1]',
  ]
  for (const host of hosts) {
    const error = await failure(outgoing.request({ url: `http://${host}:${port}/secret-path` }))
    t.hasStrict(error, { code: 'address-refused', mayHaveArrived: false }, host)
    t.notMatch(JSON.stringify([error.message, error.stack, Object.entries(error)]), 'secret-path')
  }
  for (const host of ['1.1.1.1', '8.8.8.8', '[2606:4700:4700::1111]', '[::ffff:1.1.1.1]', 'example.com']) {
    t.doesNotThrow(() => outgoing.check(`https://${host}/`), host)
  }
  t.equal(there.requests.length, 0)
})

t.test('names are only used if all their addresses are allowed', async (t) => {
  const there = await server(t)
  const { port } = there
  const request = { url: `http://hook.example.com:${port}/` }
  const settings = { allowedPorts: [String(port)] }
  for (const address of ['127.0.0.1', '::1', '169.254.169.254', '::ffff:127.0.0.1']) {
    const error = await failure(client(t, settings, answering([address])).request(request))
    t.hasStrict(error, { code: 'address-refused', mayHaveArrived: false }, address)
  }
  const mixed = client(t, settings, answering(['93.184.215.14', '127.0.0.1']))
  t.hasStrict(
    await failure(mixed.request(request)),
    { code: 'address-refused' },
    'one private address among public ones',
  )
  t.hasStrict(await failure(client(t, settings).request(request)), { code: 'host-unknown', mayHaveArrived: false })
  t.equal(there.requests.length, 0)

  // The rules apply to the address of the host and not to its name.
  const opened = client(t, { ...settings, allowedCidrs: ['127.0.0.0/8'] }, answering(['127.0.0.1']))
  t.match(await opened.request(request), { status: 200, body: 'ok' })
  t.equal(there.requests[0]?.headers.host, `hook.example.com:${port}`)
  const mapped = client(t, { ...settings, allowedCidrs: ['::ffff:127.0.0.0/104'] }, answering(['127.0.0.1']))
  t.equal((await mapped.request(request)).status, 200, 'a range of mapped addresses is one of IPv4 addresses')

  for (const entry of [`hook.example.com:${port}`, `HOOK.example.com.:${port}`, `*.example.com:${port}`]) {
    const named = client(t, { allowedHosts: [entry] }, answering(['127.0.0.1']))
    t.equal((await named.request(request)).status, 200, entry)
    t.equal((await named.request({ url: `http://hook.example.com.:${port}/` })).status, 200, `${entry}, with a dot`)
    const other = await failure(named.request({ url: `http://example.org:${port}/` }))
    t.hasStrict(other, { code: 'port-refused' })
  }
  const literal = client(t, { allowedHosts: [there.host] })
  t.equal((await literal.request({ url: there.url })).status, 200)
  const metadata = client(t, { allowedHosts: [`hook.example.com:${port}`] }, answering(['169.254.169.254']))
  t.hasStrict(
    await failure(metadata.request(request)),
    { code: 'address-refused' },
    'a named host opens private ranges only',
  )
})

t.test('a name that resolves to another address the second time does not bypass the check', async (t) => {
  const there = await server(t)
  const settings = { allowedPorts: [String(there.port)], allowedCidrs: ['127.0.0.1/32'] }
  const rebinding = client(t, settings, answering(['127.0.0.1'], ['127.0.0.2']))
  const request = { url: `http://rebind.example.com:${there.port}/` }
  t.equal((await rebinding.request(request)).status, 200, 'the socket connects to the address that was checked')
  t.equal(there.requests[0]?.socket.localAddress, '127.0.0.1')
  rebinding.reload()
  t.hasStrict(await failure(rebinding.request(request)), { code: 'address-refused' }, 'each connection is checked anew')
  t.equal(there.requests.length, 1)
})

t.test('a proxy from the environment is not used, because it would resolve names itself', async (t) => {
  const [there, proxy] = [await server(t), await server(t)]
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']
  const before = names.map((name) => [name, process.env[name]] as const)
  t.teardown(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  for (const name of names) process.env[name] = proxy.url
  const outgoing = client(t, { allowedHosts: [there.host] })
  t.equal((await outgoing.request({ url: there.url })).status, 200)
  t.same([there.requests.length, proxy.requests.length], [1, 0])
})

t.test('TLS verifies the host name of the URL, and a certificate of an unknown authority is rejected', async (t) => {
  const named: string[] = []
  let answered = 0
  const { key, cert } = selfSigned()
  const secure = createSecureServer({
    key,
    cert,
    SNICallback(name, done) {
      named.push(name)
      done(null)
    },
  })
  secure.on('request', (_, response) => {
    answered++
    response.end()
  })
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    secure.closeAllConnections()
    secure.close()
  })
  const { port } = secure.address() as AddressInfo
  const outgoing = client(t, { allowedHosts: [`hook.example.com:${port}`] }, answering(['127.0.0.1']))
  const rejected = await failure(outgoing.request({ url: `https://hook.example.com:${port}/secret-path` }))
  t.hasStrict(rejected, { code: 'tls-failed', mayHaveArrived: false })
  t.same(named, ['hook.example.com'], 'though the socket connects to the address that was checked')
  t.equal(answered, 0)
})

t.test('protocol, port, user name and form of a URL', async (t) => {
  const outgoing = client(t, { allowHttp: false })
  const cases: [string, string][] = [
    ['http://example.com/', 'url-refused'],
    ['ftp://example.com/', 'url-refused'],
    ['file:///etc/passwd', 'url-refused'],
    ['not a url', 'url-refused'],
    ['https://user:pass-word@example.com/', 'url-refused'],
    ['https://user@example.com/', 'url-refused'],
    ['https://example.com:22/', 'port-refused'],
    ['https://example.com:6379/', 'port-refused'],
  ]
  for (const [url, code] of cases) {
    const error = await failure(outgoing.request({ url }))
    t.match(error, { code, mayHaveArrived: false }, url)
    t.notMatch(error.message, 'pass-word')
    throwsWith(t, () => outgoing.check(url), { code })
  }
  for (const url of ['https://example.com/', 'https://example.com:8443/', 'https://example.com:80/'])
    outgoing.check(url)
  throwsWith(t, () => outgoing.check('http://example.com/'), { message: /^http:\/\/example\.com: Unencrypted/ })
  const bad = { url: 'https://example.com/', headers: { 'x-token': 'one\r\ntwo-secret: 1' } }
  const error = await failure(client(t, {}, answering(['93.184.215.14'])).request(bad))
  t.hasStrict(error, { code: 'request-refused', mayHaveArrived: false })
  t.notMatch(error.message, 'two-secret')
})

t.test('the request and the response', async (t) => {
  const there = await server(t, async (request, response) => {
    response.writeHead(request.url === '/moved' ? 302 : 201, { location: '/other', 'x-two': ['a', 'b'] }).end('grüße')
  })
  const outgoing = client(t, { allowedHosts: [there.host] })
  const headers = { 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip' }
  const answer = await outgoing.request({ url: `${there.url}/a?b=c%2Bd`, headers, body: '{"a":1}' })
  t.match(answer, { status: 201, body: 'grüße', truncated: false, headers: { 'x-two': 'a, b' } })
  const [first] = there.requests
  t.match(first, { method: 'POST', url: '/a?b=c%2Bd' })
  t.match(first?.headers, { 'content-type': 'application/json', 'accept-encoding': 'identity', 'content-length': '7' })

  t.match(await outgoing.request({ url: `${there.url}/moved`, method: 'GET' }), { status: 302, body: 'grüße' })
  t.equal(there.requests.length, 2, 'a redirect is not followed')
})

t.test('a response is read only up to its limit', async (t) => {
  const there = await server(t, (_, response) => {
    const write = () => {
      while (response.write('x'.repeat(4096)));
    }
    response.on('drain', write)
    write()
  })
  const outgoing = client(t, { allowedHosts: [there.host] })
  const answer = await outgoing.request({ url: there.url })
  t.match(answer, { status: 200, truncated: true })
  t.equal(answer.body.length, 1024)
  await there.closed[0]
  t.pass('the socket is destroyed')
  t.equal((await outgoing.request({ url: there.url, maxResponseBytes: 10 })).body.length, 10)
})

t.test('every wait ends, and the socket with it', async (t) => {
  const hanging = await server(t, () => {})
  const settings = { allowedHosts: [hanging.host] }
  const clock = manualClock()
  const outgoing = client(t, settings, nobody, clock)
  const late = failure(outgoing.request({ url: `${hanging.url}/secret` }))
  await hanging.arrived(1)
  clock.advance(5000)
  t.hasStrict(await late, { code: 'deadline-exceeded', mayHaveArrived: true, origin: hanging.url })
  await hanging.closed[0]
  // A caller may set a shorter deadline.
  const soon = failure(outgoing.request({ url: hanging.url, deadlineMs: 10 }))
  await hanging.arrived(2)
  clock.advance(10)
  t.match(await soon, { code: /^deadline-exceeded$/, message: /within 10 ms/ })

  const controller = new AbortController()
  const given = failure(outgoing.request({ url: hanging.url, signal: controller.signal }))
  await hanging.arrived(3)
  controller.abort(new Error('with a secret'))
  t.match(await given, { code: /^aborted$/, mayHaveArrived: true, message: /Cancelled$/ })
  await hanging.closed[2]
  const before = await failure(outgoing.request({ url: hanging.url, signal: controller.signal }))
  t.hasStrict(before, { code: 'aborted', mayHaveArrived: false }, 'aborted before: nothing is sent')
  t.equal(hanging.requests.length, 3)

  const silent = client(t, { ...settings, headerTimeoutMs: 20 })
  t.hasStrict(await failure(silent.request({ url: hanging.url })), { code: 'answer-timeout', mayHaveArrived: true })

  const slow = await server(t, (_, response) => response.writeHead(200).write('begun'))
  const stalled = client(t, { allowedHosts: [slow.host], bodyTimeoutMs: 20 })
  t.hasStrict(await failure(stalled.request({ url: slow.url })), { code: 'answer-timeout', mayHaveArrived: true })
  await slow.closed[0]
})

t.test('an unreachable server received nothing; an interrupted request may have arrived', async (t) => {
  const gone = await server(t)
  const port = await freePort()
  const rejected = await failure(
    client(t, { allowedHosts: [`127.0.0.1:${port}`] }).request({ url: `http://127.0.0.1:${port}/` }),
  )
  t.match(rejected, { code: /^connect-failed$/, mayHaveArrived: false, message: /\(ECONNREFUSED\)$/ })

  const plain = await failure(client(t, { allowedHosts: [gone.host] }).request({ url: `https://${gone.host}/` }))
  t.match(plain, { mayHaveArrived: false, code: /tls-failed|connect-failed/ }, 'no TLS there')

  const cutting = await server(t, (request) => request.socket.destroy())
  const lost = await failure(client(t, { allowedHosts: [cutting.host] }).request({ url: cutting.url }))
  t.hasStrict(lost, { code: 'connection-lost', mayHaveArrived: true })

  const garbage = createSocketServer((socket) => socket.on('error', () => {}).end('no HTTP at all\r\n\r\n'))
  await new Promise<void>((resolve) => garbage.listen(0, '127.0.0.1', resolve))
  t.teardown(() => garbage.close())
  const host = `127.0.0.1:${(garbage.address() as AddressInfo).port}`
  const odd = await failure(client(t, { allowedHosts: [host] }).request({ url: `http://${host}/` }))
  t.match(odd, { mayHaveArrived: true, code: /answer-invalid|connection-lost/ })

  // A name that never resolves.
  const never: Lookup = () => {}
  const waiting = client(t, { connectTimeoutMs: 20 }, never)
  const timedOut = await failure(waiting.request({ url: 'https://slow.example.com/' }))
  t.hasStrict(timedOut, { code: 'connect-timeout', mayHaveArrived: false })
})

t.test('one client per product: keys are live, requests are measured, stop ends them', async (t) => {
  const there = await server(t, (request, response) => {
    if (request.url !== '/hang') response.writeHead(request.url === '/no' ? 404 : 200).end()
  })
  const product = defineProduct({ name: 'outgoing', plugins: [outgoingPlugin, http] })
  const set = { 'platform.http.port': '0', 'platform.outgoing-http.allow-http': 'true' }
  const running = await startForTest(product, { set })
  const outgoing = running.service(outgoingHttp)
  t.hasStrict(await failure(outgoing.request({ url: there.url })), { code: 'port-refused' }, 'refused by default')
  const report = await running.config.apply([
    { by: 'key', name: 'platform.outgoing-http.allowed-hosts', written: [there.host], place: 'row 1' },
  ])
  t.same(report.problems, [])
  t.equal((await outgoing.request({ url: there.url })).status, 200)
  t.equal((await outgoing.request({ url: `${there.url}/no` })).status, 404)
  const text = await running.service(metrics).metrics()
  for (const [outcome, count] of [
    ['2xx', 1],
    ['4xx', 1],
    ['port-refused', 1],
  ] as const) {
    t.match(text, `platform_outgoing_http_requests_total{plugin="kernel",outcome="${outcome}"} ${count}`)
  }
  t.match(text, /platform_outgoing_http_request_duration_seconds_count\{plugin="kernel"\} 3/)
  const hanging = failure(outgoing.request({ url: `${there.url}/hang` }))
  await there.arrived(3)
  await running.stop('test ended')
  t.hasStrict(await hanging, { code: 'stopped', mayHaveArrived: true })
  t.hasStrict(await failure(outgoing.request({ url: there.url })), { code: 'stopped', mayHaveArrived: false })
})

t.test('a connection can be tested without a request', async (t) => {
  const { port, host, url, requests } = await server(t)
  await client(t, { allowedHosts: [host] }).reach({ url: `${url}/secret-path?token=secret` })
  await client(t, { allowedHosts: [`hook.example.com:${port}`] }, answering(['127.0.0.1'])).reach({
    url: `http://hook.example.com:${port}/`,
  })
  t.strictSame(requests, [], 'nothing was asked')

  const all = client(t, { allowedHosts: [host] }, answering(['10.0.0.1']))
  for (const [address, code] of [
    ['https://hook.example.com/secret-path', 'address-refused'],
    ['https://169.254.169.254/', 'address-refused'],
    ['ftp://hook.example.com/', 'url-refused'],
    [`https://hook.example.com:${port}/`, 'port-refused'],
    [`https://${host}/secret-path`, 'tls-failed'],
  ] as const) {
    const rejected = await failure(all.reach({ url: address, deadlineMs: 60_000 }))
    const expected = code === 'tls-failed' ? /tls-failed|connect-failed/ : code
    t.match(rejected, { code: expected, mayHaveArrived: false }, address)
    t.notMatch(rejected.message, 'secret-path')
  }
  t.hasStrict(await failure(client(t).reach({ url: 'https://hook.example.com/' })), { code: 'host-unknown' })

  // This server accepts connections but never responds to the TLS handshake.
  const silent = createSocketServer()
  const sockets: { destroyed: boolean }[] = []
  const connected = new Promise<void>((resolve) =>
    silent.on('connection', (socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      resolve()
    }),
  )
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port: silentPort } = silent.address() as AddressInfo
  const clock = manualClock()
  const waiting = client(t, { allowedHosts: [`127.0.0.1:${silentPort}`], connectTimeoutMs: 3000 }, nobody, clock)
  const late = failure(waiting.reach({ url: `https://127.0.0.1:${silentPort}/` }))
  await connected
  await clock.advance(3000)
  t.hasStrict(await late, { code: 'connect-timeout' })
  const given = new AbortController()
  const aborted = failure(waiting.reach({ url: `https://127.0.0.1:${silentPort}/`, signal: given.signal }))
  given.abort()
  t.hasStrict(await aborted, { code: 'aborted' })
  t.hasStrict(await failure(waiting.reach({ url: `https://127.0.0.1:${silentPort}/`, signal: given.signal })), {
    code: 'aborted',
  })
})

/** Returns a plugin that passes its HTTP client to the test. */
function hosted(id: string, hosts: { readonly outgoingHosts?: readonly string[] }) {
  const client = service<OutgoingHttp>(`${id}.client`)
  const plugin = definePlugin({
    id,
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { outgoingHttp },
    provides: [client],
    ...hosts,
    setup: ({ services, provide }) => provide(client, services.outgoingHttp),
  })
  return { client, plugin }
}

t.test('a plugin reaches only the hosts that it declares; without a declaration it reaches every host', async (t) => {
  const there = await server(t)
  const any = hosted('any', {})
  const one = hosted('one', { outgoingHosts: ['api.example.com', '*.example.org'] })
  const local = hosted('local', { outgoingHosts: ['localhost'] })
  const none = hosted('none', { outgoingHosts: [] })
  const plugins = [http, outgoingPlugin, any.plugin, one.plugin, local.plugin, none.plugin]
  const set = {
    'platform.http.port': '0',
    'platform.outgoing-http.allow-http': 'true',
    'platform.outgoing-http.allowed-hosts': JSON.stringify([there.host, `localhost:${there.port}`]),
  }
  const running = await startForTest(defineProduct({ name: 'hosts', plugins }), { set })
  t.teardown(() => running.stop('test ended'))
  const clientOf = ({ client }: ReturnType<typeof hosted>) => running.service(client)
  t.equal((await clientOf(any).request({ url: there.url })).status, 200)
  t.equal((await clientOf(local).request({ url: `http://localhost:${there.port}/` })).status, 200)
  const undeclared = { code: 'host-undeclared', mayHaveArrived: false }
  for (const limited of [one, local, none]) {
    t.hasStrict(await failure(clientOf(limited).request({ url: there.url })), undeclared)
    t.hasStrict(await failure(clientOf(limited).reach({ url: there.url })), undeclared)
  }
  t.equal(there.requests.length, 2, 'nothing else was sent')
  t.match(
    await running.service(metrics).metrics(),
    /platform_outgoing_http_requests_total\{plugin="one",outcome="host-undeclared"\} 1\n/,
    'operators see rejected requests',
  )

  const check = (url: string) => {
    try {
      clientOf(one).check(url)
      return undefined
    } catch (error) {
      return (error as OutgoingHttpError).code
    }
  }
  for (const host of ['api.example.com', 'API.example.com', 'api.example.com.', 'a.example.org', 'a.b.example.org']) {
    t.equal(check(`https://${host}/`), undefined, host)
  }
  for (const host of ['example.org', 'xexample.org', 'api.example.com.evil.example', 'b.api.example.com']) {
    t.equal(check(`https://${host}/`), 'host-undeclared', host)
  }

  const entries = running.contributions(manifestEntries).get('outgoing-hosts')?.()
  t.strictSame(Object.fromEntries(entries ?? []), {
    any: ['*'],
    one: ['api.example.com', '*.example.org'],
    local: ['localhost'],
    none: [],
  })
})

t.test('a stream returns the bytes as they arrive, under the same rules', async (t) => {
  const size = 3_000_000
  const there = await server(t, (request, response) => {
    if (request.url === '/silent') return
    response.writeHead(request.url === '/moved' ? 302 : 200, { location: 'http://127.0.0.1/', 'x-a': ['1', '2'] })
    if (request.url === '/cut') return void response.write('part', () => request.socket.destroy())
    if (request.url === '/endless') return void response.write('part')
    response.end(Buffer.alloc(size, 255))
  })
  const settings = { allowedHosts: [there.host], maxResponseBytes: 10 }
  const clock = manualClock()
  const outgoing = client(t, settings, nobody, clock)
  const open = (path: string, more: object = {}) =>
    outgoing.stream({ url: `${there.url}${path}`, method: 'GET', ...more })

  const { status, headers, content } = await open('/')
  t.same([status, headers['x-a']], [200, '1, 2'])
  t.ok(Buffer.concat(await content.toArray()).equals(Buffer.alloc(size, 255)), 'bytes are neither decoded nor limited')
  const moved = await open('/moved')
  t.equal(moved.status, 302, 'redirects are not followed')
  moved.content.destroy()

  t.hasStrict(await failure((await open('/cut')).content.toArray()), { code: 'connection-lost', mayHaveArrived: true })
  const cancelled = new AbortController()
  const endless = await open('/endless', { signal: cancelled.signal })
  cancelled.abort()
  t.hasStrict(await failure(endless.content.toArray()), { code: 'aborted' })
  const unread = await open('/endless')
  unread.content.destroy()
  await there.closed.at(-1)
  t.pass('the connection of an unread body is closed')

  const late = failure(open('/silent', { deadlineMs: 700 }))
  await there.arrived(7 - 1)
  await clock.advance(700)
  t.hasStrict(await late, { code: 'deadline-exceeded', mayHaveArrived: true })
  t.hasStrict(await failure(client(t).stream({ url: there.url })), { code: 'port-refused' })
  const hidden = client(t, { allowedPorts: [String(there.port)] }, answering(['127.0.0.1']))
  t.hasStrict(await failure(hidden.stream({ url: `http://public.example:${there.port}/` })), {
    code: 'address-refused',
  })
})

t.test('streams that are read slowly hold up no requests, and a wait for a connection ends', async (t) => {
  const there = await server(t, (request, response) => {
    if (request.url === '/endless') response.write('part')
    else response.end('ok')
  })
  const clock = manualClock()
  const outgoing = client(t, { allowedHosts: [there.host] }, nobody, clock)
  const open = () => outgoing.stream({ url: `${there.url}/endless`, method: 'GET', deadlineMs: 700 })
  const most = 1_024
  const streams = await Promise.all(Array.from({ length: most }, open))
  t.hasStrict(await outgoing.request({ url: there.url }), { status: 200, body: 'ok' })
  const waiting = failure(open())
  await clock.advance(700)
  t.hasStrict(await waiting, { code: 'deadline-exceeded' })
  streams[0]?.content.destroy()
  const next = await open()
  t.equal(next.status, 200)
  t.equal(there.requests.length, most + 2, 'the request that was given up is not sent')
  for (const { content } of [...streams, next]) content.destroy()
})
