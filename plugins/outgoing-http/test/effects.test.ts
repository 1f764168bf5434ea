import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net'
import { assertKeyEffect, type KeyValues, manualClock, rejectsWith, startForTest } from '@plinth/dev/testing'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import outgoingPlugin, { isOutgoingHttpError, outgoingHttp } from '@plinth/outgoing-http'
import t, { type Test } from 'tap'
import { OutgoingHttpClient } from '../src/client.ts'

/** Starts a local server whose responses the test writes. */
async function startServer(t: Test) {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** Waits until the request has arrived at the server. Throws if the request ends first. */
  const responseTo = async (request: Promise<unknown>): Promise<ServerResponse> => {
    const endedEarly = request.then((result) => Promise.reject(new Error(`The request did not arrive: ${result}`)))
    return (await Promise.race([once(server, 'request'), endedEarly]))[1]
  }
  return { server, port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}`, responseTo }
}

/**
 * Starts a product with only this plugin. Its request function returns the length of the response, or an error code and
 * a text.
 */
async function startClient(t: Test, config: Readonly<Record<string, JsonValue>>, clock = manualClock()) {
  const running = await startForTest(defineProduct({ name: 'test', plugins: [outgoingPlugin], config }), { clock })
  t.teardown(() => running.stop('test ended'))
  return async (url: string) => {
    try {
      return (await running.service(outgoingHttp).request({ url })).body.length
    } catch (error) {
      if (isOutgoingHttpError(error)) return `${error.code} ${error.message}`
      throw error
    }
  }
}

t.test('a private address is only reached as configured', async (t) => {
  const { server, host, port, url } = await startServer(t)
  server.on('request', (_, response: ServerResponse) => response.end('ok'))
  const http = { 'platform.outgoing-http.allow-http': true }
  const cidrs = { 'platform.outgoing-http.allowed-cidrs': ['127.0.0.0/8'] }
  const ports = { 'platform.outgoing-http.allowed-ports': [String(port)] }
  const hosts = { 'platform.outgoing-http.allowed-hosts': [host] }
  const observeWith = (config: Readonly<Record<string, JsonValue>>) => async (values: KeyValues) =>
    (await startClient(t, { ...config, ...values }))(url)
  const proofs = [
    await assertKeyEffect(t, 'platform.outgoing-http.allow-http', { changed: true, observe: observeWith(hosts) }),
    await assertKeyEffect(t, 'platform.outgoing-http.allowed-hosts', { changed: [host], observe: observeWith(http) }),
    await assertKeyEffect(t, 'platform.outgoing-http.allowed-ports', {
      changed: [String(port)],
      observe: observeWith({ ...http, ...cidrs }),
    }),
    await assertKeyEffect(t, 'platform.outgoing-http.allowed-cidrs', {
      changed: ['127.0.0.0/8'],
      observe: observeWith({ ...http, ...ports }),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [String(before).split(' ')[0], after]),
    [
      ['url-refused', 2],
      ['port-refused', 2],
      ['port-refused', 2],
      ['address-refused', 2],
    ],
  )
})

t.test('a response is read up to the maximum size', async (t) => {
  const { server, host, url } = await startServer(t)
  server.on('request', (_, response: ServerResponse) => response.end('x'.repeat(100_000)))
  const [sizes] = await assertKeyEffect(t, 'platform.outgoing-http.max-response-size', {
    changed: '1KiB',
    observe: async (values) => (await startClient(t, { ...allowing(host), ...values }))(url),
  })
  t.match(sizes, { before: 65_536, after: 1024 })
})

t.test('a request without a response ends at the deadline', async (t) => {
  const { host, url, responseTo } = await startServer(t)
  const [errors] = await assertKeyEffect(t, 'platform.outgoing-http.deadline', {
    changed: '2s',
    observe: async (values) => {
      const clock = manualClock()
      const long = { 'platform.outgoing-http.header-timeout': '10m' }
      const request = (await startClient(t, { ...allowing(host), ...long, ...values }, clock))(url)
      await responseTo(request)
      await clock.advance(15_000)
      return request
    },
  })
  t.match(errors, { before: /^deadline-exceeded .*within 15000 ms$/, after: /^deadline-exceeded .*within 2000 ms$/ })
})

/**
 * Waits for two equal timeouts of 100 ms, one after the other. A request that started before them has then passed a
 * timeout of 100 ms.
 */
async function passTimeouts(t: Test, host: string, url: string, code: 'connect-timeout' | 'answer-timeout') {
  const settings = {
    allowedHosts: [host],
    allowedCidrs: [],
    allowedPorts: [],
    allowHttp: true,
    deadlineMs: 60_000,
    connectTimeoutMs: 60_000,
    headerTimeoutMs: 100,
    bodyTimeoutMs: 100,
    maxResponseBytes: 1024,
    ...(code === 'connect-timeout' ? { connectTimeoutMs: 100 } : {}),
  }
  const client = new OutgoingHttpClient({ settings: () => settings, clock: manualClock(), lookup: () => {} })
  for (let count = 0; count < 2; count++) await rejectsWith(t, client.request({ url }), { code })
  client.stop()
}

t.test('a connection without a handshake ends at its timeout', async (t) => {
  const sockets: Socket[] = []
  const silent = createSocketServer((socket) => sockets.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const [errors] = await assertKeyEffect(t, 'platform.outgoing-http.connect-timeout', {
    compared: '1m',
    changed: '100ms',
    observe: async (values) => {
      const clock = manualClock()
      const connected = once(silent, 'connection')
      const request = (await startClient(t, { ...allowing(host), ...values }, clock))(`https://${host}/`)
      await connected
      await passTimeouts(t, host, `https://${host}/`, 'connect-timeout')
      await clock.advance(15_000)
      return String(await request).split(' ')[0]
    },
  })
  t.same([errors?.before, errors?.after], ['deadline-exceeded', 'connect-timeout'])
})

t.test('a server that is silent for too long gets no more time', async (t) => {
  const observeAfter = (begin: (response: ServerResponse) => void) => async (values: KeyValues) => {
    const { host, url, responseTo } = await startServer(t)
    const request = (await startClient(t, { ...allowing(host), ...values }))(url)
    const response = await responseTo(request)
    begin(response)
    await passTimeouts(t, host, url, 'answer-timeout')
    response.end('late')
    return String(await request).split(' ')[0]
  }
  const [headers] = await assertKeyEffect(t, 'platform.outgoing-http.header-timeout', {
    changed: '100ms',
    observe: observeAfter(() => {}),
  })
  t.match(headers, { before: '4', after: 'answer-timeout' })
  const [body] = await assertKeyEffect(t, 'platform.outgoing-http.body-timeout', {
    changed: '100ms',
    observe: observeAfter((response) => response.writeHead(200).write('begun ')),
  })
  t.match(body, { before: '10', after: 'answer-timeout' })
})

const allowing = (host: string) => ({
  'platform.outgoing-http.allow-http': true,
  'platform.outgoing-http.allowed-hosts': [host],
})
