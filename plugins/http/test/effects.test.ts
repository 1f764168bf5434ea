/** Tests the effect of each configuration key of the HTTP server. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import {
  assertKeyEffect,
  assertMembers,
  freePort,
  type KeyValues,
  type ManualClock,
  manualClock,
  until,
} from '@plinth/dev/testing'
import { definePlugin, healthCheck, key } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { HttpServer } from '../src/index.ts'
import { startHttp } from './start-http.ts'

/** Starts the server with these configuration values. */
const startWith = (
  t: Test,
  values: KeyValues,
  addRoutes?: (http: HttpServer) => void,
  { set, ...options }: Parameters<typeof startHttp>[2] = {},
) =>
  startHttp(t, addRoutes, {
    ...options,
    set: {
      ...set,
      ...Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
      ),
    },
  })

const post = (http: HttpServer, handler: () => unknown = () => null) =>
  http.route({
    method: 'POST',
    path: '/api/v1/shop/items',
    summary: 'An action of the test',
    access: 'public',
    request: { body: Type.Object({ name: Type.String() }) },
    response: Type.Null(),
    handler: async () => {
      await handler()
      return null
    },
  })

t.test('the server listens on the configured address and port', async (t) => {
  const [hosts] = await assertKeyEffect(t, 'platform.http.host', {
    changed: '127.0.0.4',
    observe: async (values) => {
      const { server, call } = await startWith(t, values)
      return [new URL(server.url ?? '').hostname, (await call('/health/live')).status]
    },
  })
  t.same(
    [hosts?.before, hosts?.after],
    [
      ['127.0.0.1', 200],
      ['127.0.0.4', 200],
    ],
  )
  const [one, other] = [await freePort(), await freePort()]
  const [ports] = await assertKeyEffect(t, 'platform.http.port', {
    compared: one,
    changed: other,
    observe: async (values) => {
      const { port, call } = await startWith(t, values)
      return [port(), (await call('/health/live')).status]
    },
  })
  t.same(
    [ports?.before, ports?.after],
    [
      [one, 200],
      [other, 200],
    ],
  )
  const [workers] = await assertKeyEffect(t, 'platform.http.worker-port', {
    changed: 0,
    observe: async (values) => {
      const { server, call } = await startWith(t, values, undefined, { roles: ['worker'] })
      return server.url === undefined ? 'silent' : (await call('/health/live')).status
    },
  })
  t.same([workers?.before, workers?.after], ['silent', 200])
})

t.test('pages for programs are served as configured', async (t) => {
  const statusOf = (url: string, remoteAddress?: string) => async (values: KeyValues) => {
    const { server } = await startWith(t, values)
    return (await server.inject({ url, ...(remoteAddress && { remoteAddress }) })).statusCode
  }
  const proofs = [
    await assertKeyEffect(t, 'platform.http.metrics.allowed-clients', {
      changed: ['198.51.100.0/24'],
      observe: statusOf('/metrics', '198.51.100.9'),
    }),
    await assertKeyEffect(t, 'platform.http.metrics.enabled', { changed: false, observe: statusOf('/metrics') }),
    await assertKeyEffect(t, 'platform.http.docs.enabled', { changed: false, observe: statusOf('/docs/openapi.json') }),
    await assertKeyEffect(t, 'platform.http.context-path', {
      changed: '/shop',
      observe: statusOf('/shop/health/live'),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before, after]),
    [
      [404, 200],
      [200, 404],
      [200, 404],
      [404, 200],
    ],
  )
})

t.test('a body is read up to its limit', async (t) => {
  const [statuses] = await assertKeyEffect(t, 'platform.http.body-limit', {
    changed: '64KiB',
    observe: async (values) => {
      const { send } = await startWith(t, values, post)
      return (await send('POST', '/api/v1/shop/items', { name: 'x'.repeat(64 * 1024) })).status
    },
  })
  t.match(statuses, { before: 200, after: 413 })
})

t.test('an undeclared member of a response is an error if responses are checked', async (t) => {
  const [codes] = await assertKeyEffect(t, 'platform.http.response-check', {
    changed: true,
    observe: async (values) => {
      const { call } = await startWith(t, values, (http) =>
        http.route({
          method: 'GET',
          path: '/api/v1/shop/item',
          summary: 'An item',
          access: 'public',
          response: Type.Object({ id: Type.Integer() }),
          handler: async () => ({ id: 1, price: 2 }),
        }),
      )
      return (await call('/api/v1/shop/item')).body.code
    },
  })
  t.same([codes?.before, codes?.after], ['200', '500'])
})

t.test('responses are compressed as configured', async (t) => {
  const [encodings] = await assertKeyEffect(t, 'platform.http.compression.enabled', {
    changed: false,
    observe: async (values) => {
      const { server } = await startWith(t, values)
      const { headers } = await server.inject({ url: '/docs/openapi.json', headers: { 'accept-encoding': 'gzip' } })
      return headers['content-encoding'] ?? 'none'
    },
  })
  t.same([encodings?.before, encodings?.after], ['gzip', 'none'])
})

t.test('requests are logged if the access log is enabled', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.http.access-log', {
    changed: true,
    observe: async (values) => {
      const lines: string[] = []
      const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
      const { call } = await startWith(t, values, undefined, { logger })
      await call('/health/live')
      return lines.filter((line) => JSON.parse(line).msg === 'request').length
    },
  })
  t.match(counts, { before: 0, after: 1 })
})

t.test('a request must arrive within the configured time', async (t) => {
  const [times] = await assertKeyEffect(t, 'platform.http.request-timeout', {
    changed: '20s',
    observe: async (values) => {
      const { call } = await startWith(t, values)
      const served: Server[] = []
      const note = (message: unknown) => served.push((message as { server: Server }).server)
      subscribe('http.server.request.start', note)
      await call('/health/live')
      unsubscribe('http.server.request.start', note)
      return served.map(({ requestTimeout, headersTimeout }) => ({ requestTimeout, headersTimeout }))
    },
  })
  t.same(times?.before, [{ requestTimeout: 30_000, headersTimeout: 30_000 }])
  t.same(times?.after, [{ requestTimeout: 20_000, headersTimeout: 20_000 }])
})

t.test('connections are accepted up to the maximum number', async (t) => {
  const [last] = await assertKeyEffect(t, 'platform.http.max-connections', {
    changed: 16,
    observe: async (values) => {
      const { port } = await startWith(t, values)
      const sockets: Socket[] = []
      t.teardown(() => {
        for (const socket of sockets) socket.destroy()
      })
      for (let count = 0; count < 17; count++) {
        const socket = connect(port(), '127.0.0.1').on('error', () => {})
        sockets.push(socket)
        await once(socket, 'connect')
      }
      sockets.at(-1)?.write('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      let received = ''
      sockets.at(-1)?.on('data', (chunk) => {
        received += chunk
      })
      await once(sockets.at(-1) as Socket, 'close')
      return received.slice(0, 12)
    },
  })
  t.match(last, { before: 'HTTP/1.1 200', after: '' })
})

t.test('a server that stops waits for the drain delay', async (t) => {
  const [drained] = await assertKeyEffect(t, 'platform.http.drain-delay', {
    changed: '3s',
    observe: async (values) => {
      const clock = manualClock()
      const sleeps: number[] = []
      const { sleep } = clock
      clock.sleep = (ms, ...others) => {
        sleeps.push(ms)
        return sleep(ms, ...others)
      }
      const { running, call } = await startWith(t, values, undefined, { clock })
      let hasStopped = false
      const stopping = running.stop('test').then(() => {
        hasStopped = true
      })
      await until(() => hasStopped || sleeps.includes(3000), 'the server has stopped, or it waits', 0)
      if (hasStopped) return 'stopped'
      const { status } = await call('/health/ready')
      await clock.advance(3000)
      await stopping
      return status
    },
  })
  t.same([drained?.before, drained?.after], ['stopped', 503])
})

t.test('a health check must finish within its deadline', async (t) => {
  const [aborted] = await assertKeyEffect(t, 'platform.http.readiness-deadline', {
    changed: '7s',
    observe: async (values) => {
      const clock = manualClock()
      const requested = Promise.withResolvers<AbortSignal>()
      const stuck = definePlugin({
        id: 'stuck',
        version: '1.0.0',
        kernel: '^1.0.0',
        contributes: [healthCheck],
        setup: ({ contribute }) =>
          contribute(healthCheck, 'stuck', (signal) => {
            requested.resolve(signal)
            return new Promise(() => {})
          }),
      })
      const { server } = await startWith(t, values, undefined, { clock, plugins: [stuck] })
      const response = server.inject('/health/ready')
      const signal = await requested.promise
      await clock.advance(6_999)
      const { aborted } = signal
      await clock.advance(1)
      return [aborted, (await response).statusCode]
    },
  })
  t.same(
    [aborted?.before, aborted?.after],
    [
      [true, 503],
      [false, 503],
    ],
  )
})

/** Sends eleven requests. They are handled only after all of them have arrived and `meanwhile` has ended. */
async function overload(t: Test, values: KeyValues, meanwhile: (clock: ManualClock) => Promise<void> = async () => {}) {
  const clock = manualClock()
  const gate = Promise.withResolvers<void>()
  let begun = 0
  const { send, call } = await startWith(
    t,
    values,
    (http) =>
      post(http, () => {
        begun++
        return gate.promise
      }),
    { clock },
  )
  let arrived = 0
  const count = () => arrived++
  subscribe('http.server.request.start', count)
  const responses = Array.from({ length: 11 }, () => send('POST', '/api/v1/shop/items', { name: 'x' }))
  await until(() => arrived === 11, 'the requests have arrived', 0)
  unsubscribe('http.server.request.start', count)
  for (let probes = 0; probes < 5; probes++) await call('/health/live')
  const begunAtOnce = begun
  await meanwhile(clock)
  gate.resolve()
  const statuses = (await Promise.all(responses)).map(({ status }) => status)
  return { begunAtOnce, rejected: statuses.filter((status) => status === 503).length }
}

t.test('a server handles some requests at the same time, and others wait', async (t) => {
  const few = { 'platform.http.overload.max-requests': 1 }
  const [most] = await assertKeyEffect(t, 'platform.http.overload.max-requests', {
    changed: 2,
    observe: (values) => overload(t, values),
  })
  t.match(most, { before: { begunAtOnce: 11, rejected: 0 }, after: { begunAtOnce: 2, rejected: 0 } })
  const [queue] = await assertKeyEffect(t, 'platform.http.overload.max-waiting', {
    changed: 8,
    observe: (values) => overload(t, { ...few, ...values }),
  })
  t.match(queue, { before: { rejected: 0 }, after: { rejected: 2 } })
  const [wait] = await assertKeyEffect(t, 'platform.http.overload.max-wait', {
    compared: '5s',
    changed: '2s',
    observe: (values) => overload(t, { ...few, ...values }, (clock) => clock.advance(2000)),
  })
  t.match(wait, { before: { rejected: 0 }, after: { rejected: 10 } })
})

t.test(
  'a product that is not ready reports the stored values that may be the cause, until it was ready once',
  async (t) => {
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
    const picky = definePlugin({
      id: 'picky',
      version: '1.0.0',
      kernel: '^1.0.0',
      config: { 'platform.picky.place': key.string({ title: 'Place', default: 'here', reload: 'live' }) },
      contributes: [healthCheck],
      setup: ({ contribute, config }) =>
        contribute(healthCheck, 'picky', async () => {
          if (config.get('platform.picky.place') !== 'here') throw new Error('nothing is there')
        }),
    })
    const { running, server } = await startHttp(t, undefined, { logger, plugins: [picky] })
    const store = (...written: string[]) =>
      running.config.apply(
        written.map((value) => ({ name: 'platform.picky.place', by: 'key', written: value, place: 'stored value 7' })),
      )
    const isReady = async () => (await server.inject('/health/ready')).statusCode === 200
    const news = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => /ready/.test(msg))
    await store('nowhere')
    t.equal(await isReady(), false)
    const begin =
      'not ready. It runs on the stored value 7. To go on without: `plinth config reset platform.picky.place`'
    t.match(news().at(-1), { failed: { picky: 'nothing is there' }, msg: begin })
    await store()
    t.equal(await isReady(), true)
    await store('nowhere')
    t.equal(await isReady(), false)
    t.equal(news().at(-1).msg, 'not ready', 'it worked with the values of the start')
  },
)

t.test('the address of a caller is determined as configured', async (t) => {
  const proxies = { 'platform.rate-limit.annotation.client-ip.trusted-proxies': ['192.0.2.0/24'] }
  const seenWith = (config: KeyValues) => async (values: KeyValues) => {
    const { server } = await startWith(t, { ...config, ...values }, (http) =>
      http.route({
        method: 'GET',
        path: '/api/v1/shop/me',
        summary: 'Who calls',
        access: 'public',
        response: Type.Object({ ip: Type.String(), network: Type.String() }),
        handler: ({ clientIp }) => ({ ip: clientIp, network: http.networkOf('2001:db8:1:2:3::4') }),
      }),
    )
    const headers = { 'x-forwarded-for': '198.51.100.1', 'x-real-ip': '198.51.100.2' }
    const response = await server.inject({ url: '/api/v1/shop/me', remoteAddress: '192.0.2.1', headers })
    return response.json().data as { ip: string; network: string }
  }
  const proofs = [
    await assertKeyEffect(t, 'platform.rate-limit.annotation.client-ip.trusted-proxies', {
      changed: ['192.0.2.0/24'],
      observe: seenWith({}),
    }),
    await assertKeyEffect(t, 'platform.rate-limit.annotation.client-ip.headers', {
      changed: ['X-Real-IP'],
      observe: seenWith(proxies),
    }),
    await assertKeyEffect(t, 'platform.rate-limit.annotation.client-ip.trust-forwarded-headers', {
      changed: false,
      observe: seenWith(proxies),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before.ip, after.ip]),
    [
      ['192.0.2.1', '198.51.100.1'],
      ['198.51.100.1', '198.51.100.2'],
      ['198.51.100.1', '192.0.2.1'],
    ],
  )
  const [networks] = await assertKeyEffect(t, 'platform.rate-limit.annotation.client-ip.ipv6-prefix', {
    changed: 48,
    observe: seenWith({}),
  })
  t.match(networks, { before: { network: /2001:0?db8:0*1:0*2:/ }, after: { network: /2001:0?db8:0*1:/ } })
})

t.test('a drain delay that is longer than every stop deadline is rejected', async (t) => {
  const start = startHttp(t, undefined, { set: { 'platform.http.drain-delay': '30d' } })
  await t.rejects(start, /platform\.http\.drain-delay/)
})

t.test('the address of the server is logged once', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const { server } = await startHttp(t, undefined, { logger, set: { 'platform.http.host': '0.0.0.0' } })
  const news = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /listening/i.test(msg))
  assertMembers(t, news, [{ msg: 'listening', url: server.url }])
})
