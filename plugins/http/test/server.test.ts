import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { assertMembers, manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { definePlugin, type HealthCheck, healthCheck } from '@plinth/kernel'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { type HttpServer, metrics } from '../src/index.ts'
import { GracefulServer } from '../src/server/door-server.ts'
import { bodyOf, exchangeRawHttp, startHttp } from './start-http.ts'

const checks = (named: Readonly<Record<string, HealthCheck>>) =>
  definePlugin({
    id: 'checks',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [healthCheck],
    setup({ contribute }) {
      for (const [name, check] of Object.entries(named)) contribute(healthCheck, name, check)
    },
  })

/** Adds a public GET route under /api/v1/shop that runs the handler and returns null. */
const get = (http: HttpServer, name: string, handler: () => unknown) =>
  http.route({
    method: 'GET',
    path: `/api/v1/shop/${name}`,
    summary: name,
    access: 'public',
    response: Type.Null(),
    handler: async () => {
      await handler()
      return null
    },
  })

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A client with one keep-alive connection that sends requests one after the other. */
class Caller {
  readonly socket: Socket
  isClosed = false
  #received = ''
  #wake = () => {}

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.setEncoding('utf8')
    this.socket.on('data', (chunk) => {
      this.#received += chunk
      this.#wake()
    })
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.isClosed = true
      this.#wake()
    })
  }

  send(path: string): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  }

  /** Returns the next complete response. Throws if the connection ends first. */
  async answer(): Promise<{ status: number; isLast: boolean; body: { code: string } }> {
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n')
      const head = this.#received.slice(0, end)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (end >= 0 && this.#received.length >= end + 4 + length) {
        const body = this.#received.slice(end + 4, end + 4 + length)
        this.#received = this.#received.slice(end + 4 + length)
        return { status: Number(head.slice(9, 12)), isLast: /connection: close/i.test(head), body: JSON.parse(body) }
      }
      if (this.isClosed) throw new Error('cut')
      await this.#change()
    }
  }

  async closed(): Promise<true> {
    while (!this.isClosed) await this.#change()
    return true
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** Returns the reason why a new connection is rejected, or `undefined` if it is accepted. */
const rejectionOf = (port: number) =>
  new Promise<string | undefined>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(undefined)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
  })

t.test('K-018 a stop under load interrupts no request', async (t) => {
  let served = 0
  let release = () => {}
  const slow = new Promise<void>((resolve) => {
    release = resolve
  })
  const { running, port } = await startHttp(t, (http) => {
    get(http, 'busy', async () => {
      served++
      for (let turns = served % 7; turns > 0; turns--) await turn()
    })
    get(http, 'slow', () => slow)
  })
  const listening = port()
  const idle = new Caller(listening)
  const silent = new Caller(listening)
  idle.send('/health/live')
  t.match(await idle.answer(), { status: 200, isLast: false })
  const waiting = new Caller(listening)
  waiting.send('/api/v1/shop/slow')
  const prober = new Caller(listening)
  prober.send('/health/ready')
  t.hasStrict(await prober.answer(), { status: 200, isLast: false, body: { code: '200' } })

  let failures = 0
  const work = async () => {
    const caller = new Caller(listening)
    for (;;) {
      caller.send('/api/v1/shop/busy')
      const { status, isLast } = await caller.answer()
      if (status !== 200) failures++
      if (isLast) return
    }
  }
  const workers = Array.from({ length: 40 }, work)
  await until(() => served >= 2000, 'the calls are served', 0)
  const stopping = running.stop('SIGTERM')
  // The request is sent immediately, because the server closes idle connections when it stops listening.
  prober.send('/health/ready')
  const results = await Promise.allSettled(workers)
  t.same([results.filter(({ status }) => status === 'rejected').length, failures], [0, 0], 'every request was answered')
  t.hasStrict(await prober.answer(), {
    status: 503,
    isLast: true,
    body: { code: '503', data: { reason: 'http.not-ready' } },
  })
  t.equal(running.state, 'draining')
  await until(async () => (await rejectionOf(listening)) !== undefined, 'the listener refuses', 0)
  t.equal(await rejectionOf(listening), 'ECONNREFUSED', 'the door closes while a request is under way')
  release()
  t.hasStrict(await waiting.answer(), { status: 200, isLast: true, body: { code: '200' } })
  await stopping
  t.ok(await idle.closed(), 'an idle connection is closed')
  t.ok(await silent.closed(), 'and one that never asked')
})

t.test(
  'K-018 closing the server rejects no earlier connection, and waits a second for connections without a request',
  async (t) => {
    const { running, port } = await startHttp(t, (http) =>
      get(http, 'busy', async () => {
        for (let turns = 3; turns > 0; turns--) await turn()
      }),
    )
    const listening = port()
    const half = new Caller(listening)
    half.socket.write('GET /health/live HTTP/1.1\r\nHost: ')
    const slow = new Caller(listening)
    slow.socket.write('GET /health/live HTTP/1.1\r\n')
    let isOver = false
    let [answered, rejected] = [0, 0]
    const cut: string[] = []
    const fresh = async () => {
      while (!isOver && rejected === 0) {
        await pause(5)
        const answer = await exchangeRawHttp(
          listening,
          'GET /api/v1/shop/busy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
        ).catch((error: NodeJS.ErrnoException) => error.code ?? 'unknown')
        if (answer === 'ECONNREFUSED') {
          if (rejected++ > 0) continue
          // This request is completed first, because it has only one second after the server stopped listening.
          t.notOk(half.isClosed, 'who has begun to ask is waited for')
          half.socket.write('x\r\n\r\n')
        } else if (answer.startsWith('HTTP/1.1 200')) answered++
        else cut.push(answer)
      }
    }
    const callers = Array.from({ length: 30 }, fresh)
    await until(() => answered >= 300, 'the calls are answered', 0)
    const stopping = running.stop('SIGTERM')
    await Promise.all(callers)
    isOver = true
    t.ok(rejected > 0, 'the door is closed')
    t.same(cut, [], `no fresh connection was reset; ${answered} were answered`)
    t.match(await half.answer(), { status: 200, isLast: true })
    const drip = setInterval(() => slow.socket.write('x'), 100)
    t.ok(await slow.closed(), 'who sends a byte now and then is not')
    clearInterval(drip)
    await stopping
  },
)

t.test('K-018 closing the server serves all connections that wait, also if 200 arrive at the same time', async (t) => {
  const server = new GracefulServer((_request, response) => response.end('{}'))
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const callers = Array.from({ length: 200 }, () => new Caller(port))
  for (const caller of callers) caller.send('/')
  // The server accepts one connection per tick, so most of them wait when the last caller is connected.
  await Promise.all(callers.map(({ socket }) => once(socket, 'connect')))
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  await server.closeDoor(resolve)
  const served = await Promise.allSettled(callers.map((caller) => caller.answer()))
  t.equal(served.filter(({ status }) => status === 'fulfilled').length, 200)
  for (const { socket } of callers) socket.destroy()
  await closed
})

/** A thread that sends a request on a new connection when it gets a port, sets the flag when connected, and reports the result. */
const clientThread = `
const { workerData, parentPort } = require('node:worker_threads')
const { connect } = require('node:net')
parentPort.on('message', (port) => {
  const socket = connect(port, '127.0.0.1', () => {
    socket.write('GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')
    Atomics.store(workerData, 0, 1)
  })
  let received = ''
  socket.on('data', (chunk) => { received += chunk })
  socket.on('error', (error) => { received = error.code })
  socket.on('close', () => parentPort.postMessage(received))
})`

t.test('K-018 closing the server serves a connection that arrives while a tick takes long', async (t) => {
  const server = new GracefulServer((_request, response) => response.end('{}'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const isConnected = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(clientThread, { eval: true, workerData: isConnected })
  t.teardown(() => thread.terminate())
  await once(thread, 'online')
  const work = createServer()
  work.listen(0, '127.0.0.1')
  await once(work, 'listening')
  const sender = connect((work.address() as AddressInfo).port, '127.0.0.1')
  const [receiver] = (await once(work, 'connection')) as [Socket]
  t.teardown(() => {
    sender.destroy()
    work.close()
  })
  // This work runs in the tick in which the server finds no waiting connection, after the system was asked for one.
  receiver.on('data', () => {
    thread.postMessage((server.address() as AddressInfo).port)
    const limit = performance.now() + 10_000
    while (Atomics.load(isConnected, 0) === 0 && performance.now() < limit);
  })
  setImmediate(() => sender.write('x'))
  const answered = once(thread, 'message')
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  await server.closeDoor(resolve)
  t.match(String(await answered), /^HTTP\/1\.1 200 /)
  await closed
})

t.test('K-018 requests that are not finished at the drain deadline are interrupted', async (t) => {
  const clock = manualClock()
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  let requested = 0
  const never = () => {
    requested++
    return new Promise(() => {})
  }
  const { running, port } = await startHttp(t, (http) => get(http, 'never', never), { clock, logger })
  const caller = new Caller(port())
  caller.send('/api/v1/shop/never')
  await until(() => requested !== 0, 'it is asked', 0)
  const stopping = running.stop('SIGTERM')
  stopping.catch(() => {})
  await clock.advance(9999)
  t.notOk(caller.isClosed)
  await clock.advance(1)
  await t.rejects(caller.answer(), /cut/)
  await rejectsWith(t, stopping, { code: 'PLINTH_STOP_FAILED' })
  t.match(lines.join(), /connections were closed at the drain deadline/)
})

t.test('the drain delay gives a load balancer time to react', async (t) => {
  const clock = manualClock()
  const { running, call, port } = await startHttp(t, undefined, { clock, set: { 'platform.http.drain-delay': '5s' } })
  const listening = port()
  const stopping = running.stop('SIGTERM')
  await until(() => clock.sleepers !== 0, 'a timer is set', 0)
  const late = await call('/health/ready')
  t.hasStrict(late, { status: 503, body: { code: '503' } }, 'a new connection is still accepted')
  t.equal(late.headers.get('connection'), 'close')
  t.equal((await call('/health/live')).status, 200, 'alive while it drains')
  await clock.advance(5000)
  await stopping
  t.equal(await rejectionOf(listening), 'ECONNREFUSED')
})

t.test('a drain delay beyond the drain deadline is shortened and does not make the stop fail', async (t) => {
  const [clock, lines] = [manualClock(), [] as string[]]
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const { running, port } = await startHttp(t, undefined, {
    clock,
    logger,
    set: { 'platform.http.drain-delay': '60s' },
  })
  const listening = port()
  const stopping = running.stop('SIGTERM')
  await until(() => clock.sleepers !== 0, 'a timer is set', 0)
  await clock.advance(8_000)
  await stopping
  t.equal(await rejectionOf(listening), 'ECONNREFUSED')
  const said = lines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg.startsWith('the drain deadline is shorter'))
  assertMembers(t, said, [
    { wantedMs: 60_000, delayMs: 8_000, deadlineMs: 10_000, fix: /platform\.kernel\.drain-deadline/ },
  ])
})

t.test('readiness runs every health check with a deadline, and shows callers no details', async (t) => {
  const clock = manualClock()
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  let failing: 'nothing' | 'throws' | 'hangs' = 'nothing'
  let requested = 0
  let isAborted = false
  const database: HealthCheck = (signal) => {
    requested++
    if (failing === 'throws') throw new Error('password for db-1.internal refused')
    if (failing === 'hangs') {
      signal.addEventListener('abort', () => {
        isAborted = true
      })
      return new Promise(() => {})
    }
  }
  const { call, server } = await startHttp(t, undefined, {
    clock,
    logger,
    plugins: [checks({ database, cache: async () => {} })],
  })
  t.match(await call('/health/ready'), { status: 200, body: { code: /^200$/, message: 'success', data: null } })
  failing = 'throws'
  const failed = await call('/health/ready')
  t.hasStrict(failed, { status: 503, body: { code: '503', data: { reason: 'http.not-ready' } } })
  t.notMatch(failed.text, /database|password|db-1/)
  await call('/health/ready')
  const news = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'not ready')
  t.equal(news.length, 1)
  assertMembers(
    t,
    news,
    [{ failed: { database: 'password for db-1.internal refused' } }],
    'logged once, not at every probe',
  )
  t.equal((await call('/health/live')).status, 200, 'liveness asks nobody')

  failing = 'hangs'
  requested = 0
  const together = [server.inject('/health/ready'), server.inject('/health/ready')]
  await until(() => requested !== 0, 'it is asked', 0)
  await clock.advance(1999)
  t.notOk(isAborted)
  await clock.advance(1)
  for (const { statusCode } of await Promise.all(together)) t.equal(statusCode, 503)
  t.ok(isAborted, 'the check is told to give up')
  t.equal(requested, 1, 'probes that come together share one answer')
  failing = 'nothing'
  t.equal((await call('/health/ready')).status, 200)
  t.match(lines.at(-1), /ready again/)
})

t.test(
  'a health check that passes with warnings leaves the product ready, and the log contains them once',
  async (t) => {
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
    let warnings: string[] = []
    const { call } = await startHttp(t, undefined, { logger, plugins: [checks({ disk: () => ({ warnings }) })] })
    const news = () =>
      lines.map((line) => JSON.parse(line)).filter(({ msg }: { msg: string }) => msg.startsWith('health checks report'))
    t.equal((await call('/health/ready')).status, 200)
    t.same(news(), [])
    warnings = ['The disk is slow. Replace it.']
    for (let probe = 0; probe < 3; probe++) t.equal((await call('/health/ready')).status, 200)
    assertMembers(t, news(), [{ level: 40, warnings: { disk: warnings } }])
    t.equal(news().length, 1)
    warnings = []
    t.equal((await call('/health/ready')).status, 200)
    t.equal(news().length, 2, 'and their end')
  },
)

t.test('A24 metrics count requests by route pattern and envelope code', async (t) => {
  const clock = manualClock()
  const { call, server, running } = await startHttp(
    t,
    (http) => {
      http.route({
        method: 'GET',
        path: '/api/v1/shop/items/:id',
        summary: 'Item',
        access: 'public',
        request: { params: Type.Object({ id: Type.Integer() }) },
        response: Type.Null(),
        handler: async () => {
          await clock.advance(30)
          return null
        },
      })
    },
    { clock },
  )
  for (const id of ['1', '2', 'x']) await server.inject(`/api/v1/shop/items/${id}`)
  for (const path of ['/secret-1', '/secret-2', '/secret-3']) await call(path)
  const { text, headers } = await call('/metrics')
  t.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  const item = 'method="GET",route="/api/v1/shop/items/:id"'
  const has = (line: string) => t.ok(text.split('\n').includes(line), line)
  has(`http_request_duration_seconds_bucket{${item},code="200",le="0.025"} 0`)
  has(`http_request_duration_seconds_bucket{${item},code="200",le="0.05"} 2`)
  has(`http_request_duration_seconds_bucket{${item},code="200",le="+Inf"} 2`)
  has(`http_request_duration_seconds_sum{${item},code="200"} 0.06`)
  has(`http_request_duration_seconds_count{${item},code="200"} 2`)
  has(`http_request_duration_seconds_count{${item},code="400"} 1`)
  has('http_request_duration_seconds_count{method="*",route="unmatched",code="404"} 3')
  has('# TYPE http_request_duration_seconds histogram')
  t.notMatch(text, /secret/, 'no address of a caller is a tag')
  t.match(text, /nodejs_eventloop_lag_seconds/)
  t.match(JSON.stringify(await running.service(metrics).getMetricsAsJSON()), /http_request_duration_seconds_count/)

  const asStranger = { headers: { 'x-forwarded-for': '203.0.113.9' } }
  t.hasStrict(await call('/metrics', asStranger), { status: 404, body: { data: { reason: 'http.route-unknown' } } })
  t.match(await call('/health/ready', asStranger), { status: 200 })

  const off = await startHttp(t, undefined, { set: { 'platform.http.metrics.enabled': 'false' } })
  t.equal((await off.call('/metrics')).status, 404)
  t.same(await off.running.service(metrics).getMetricsAsJSON(), [], 'the registry is there for others, empty')
})

t.test('the access log is a live key and contains no query', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const { call, running } = await startHttp(t, undefined, { logger })
  const logged = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
  await call('/health/live')
  t.equal(logged().length, 0, 'off by default')
  await running.config.apply([{ name: 'platform.http.access-log', by: 'key', written: true, place: 'row 1' }])
  await call('/nothing?token=secret', { headers: { 'x-trace-id': 'abc-1' } })
  assertMembers(t, logged(), [
    { traceId: 'abc-1', method: 'GET', path: '/nothing', status: 404, code: /^404$/, durationMs: Number },
  ])
  t.notMatch(lines.join(), /secret/)
})

t.test('A29 the API reference page loads nothing from other hosts and runs no inline script', async (t) => {
  const { call } = await startHttp(t)
  for (const path of ['/docs', '/docs/']) {
    const { status, text, headers } = await call(path)
    t.equal(status, 200)
    const policy = headers.get('content-security-policy') ?? ''
    t.same(policy.split(';').sort(), [
      "base-uri 'self'",
      "default-src 'self'",
      "font-src 'self' data:",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self' data: blob:",
      "object-src 'none'",
      "script-src 'self'",
      "script-src-attr 'none'",
      "style-src 'self'",
    ])
    t.notMatch(policy, /script-src[^;]*unsafe/)
    t.notMatch(policy, /https?:|upgrade-insecure/)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    const files = [...text.matchAll(/(?:src|href)="(reference[^"]+)"/g)].map(([, file]) => file as string)
    t.same(files, ['reference.css', 'reference.js'])
    for (const file of files) t.equal((await call(`/docs/${file}`)).status, 200, file)
    t.notMatch(text, /(?:src|href)="(?:https?:)?\/\//)
    t.notMatch(text, /<style| style=| on[a-z]+=/)
    t.notMatch(text, /<script(?![^>]* src=)/)
  }
  t.notMatch((await call('/docs/reference.css')).text, /url\(/)
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const logged = await startHttp(t, undefined, { logger })
  const outside = await exchangeRawHttp(
    logged.port(),
    'GET /docs/operations/%2e%2e%2fx HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  )
  t.match(outside, /^HTTP\/1\.1 404 /, 'an unknown operation is not found')
  t.equal(bodyOf(outside).data.reason, 'http.route-unknown')
  t.same(
    lines.filter((line) => JSON.parse(line).level >= 50),
    [],
    'a stranger writes no error into the log',
  )
  const off = await startHttp(t, undefined, { set: { 'platform.http.docs.enabled': 'false' } })
  for (const path of ['/docs/', '/docs/openapi.json']) t.equal((await off.call(path)).status, 404)
  t.match(await off.server.openapi(), { openapi: '3.1.1' })
})

t.test('the server listens in the role web; a worker serves only probes; a command never listens', async (t) => {
  const add = (http: HttpServer) => get(http, 'item', () => {})
  const worker = await startHttp(t, add, { roles: ['worker'], set: { 'platform.http.worker-port': '0' } })
  t.equal((await worker.call('/health/ready')).status, 200)
  t.equal((await worker.call('/metrics')).status, 200)
  for (const path of ['/api/v1/shop/item', '/docs/']) t.equal((await worker.call(path)).status, 404)
  const quiet = await startHttp(t, add, { roles: ['worker'] })
  t.equal(quiet.server.url, undefined)
  const command = await startHttp(t, add, { roles: ['cli'], set: { 'platform.http.worker-port': '0' } })
  t.equal(command.server.url, undefined)
  t.hasStrict((await command.server.inject('/api/v1/shop/item')).json(), { code: '200' })
  const both = await startHttp(t, add, { roles: ['web', 'worker'], set: { 'platform.http.worker-port': '0' } })
  t.equal((await both.call('/api/v1/shop/item')).status, 200)
  const stopped = both.server
  await both.running.stop('test')
  t.equal(stopped.url, undefined)
})

t.test('a port that is already used prevents the start with a fix', async (t) => {
  const { port } = await startHttp(t)
  await rejectsWith(t, startHttp(t, undefined, { set: { 'platform.http.port': String(port()) } }), {
    code: 'PLINTH_START_FAILED',
    fix: /platform\.http\.port/,
    cause: { code: 'PLINTH_HTTP_LISTEN' },
  })
})

t.test('headers must arrive within a minute, and never later than the whole request', async (t) => {
  for (const [requestTimeout, headersTimeout] of [
    ['5m', 60_000],
    ['1s', 1000],
  ] as const) {
    const { call } = await startHttp(t, undefined, { set: { 'platform.http.request-timeout': requestTimeout } })
    const served: Server[] = []
    const note = (message: unknown) => served.push((message as { server: Server }).server)
    subscribe('http.server.request.start', note)
    await call('/health/live')
    unsubscribe('http.server.request.start', note)
    assertMembers(t, served, [{ headersTimeout }], requestTimeout)
  }
})

t.test('a request that does not arrive in time gets 408', async (t) => {
  const set = { 'platform.http.request-timeout': '1s' }
  const { port } = await startHttp(
    t,
    (http) =>
      http.route({
        method: 'POST',
        path: '/api/v1/shop/item',
        summary: 'Save',
        access: 'public',
        response: Type.Null(),
        handler: () => null,
      }),
    { set },
  )
  const begun = 'POST /api/v1/shop/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  const responses = await Promise.all(
    [`${begun}Content-Length: 5\r\n\r\nab`, begun].map((text) => exchangeRawHttp(port(), text)),
  )
  for (const answer of responses) {
    t.match(answer, /^HTTP\/1\.1 408 /)
    t.hasStrict(bodyOf(answer), { code: '408', data: { reason: 'http.request-timeout' } })
  }
})

const planted = {
  bearer: 'planted-bearer-token',
  install: 'planted-install-token',
  cookie: 'planted-cookie',
  query: 'planted-query',
  body: 'planted-body',
}
const credentials = [
  `Authorization: Bearer ${planted.bearer}`,
  `X-Install-Token: ${planted.install}`,
  `Cookie: session=${planted.cookie}`,
  'X-Trace-Id: trace-1',
]

t.test('K-009 no log line of Fastify contains headers, query or body of the caller', async (t) => {
  const lines: string[] = []
  const waiting: { text: string; resolve: () => void }[] = []
  const logger = pino(
    { level: 'trace' },
    {
      write: (line: string) => {
        lines.push(line)
        for (const { text, resolve } of waiting) if (line.includes(text)) resolve()
      },
    },
  )
  const logged = (text: string) =>
    new Promise<void>((resolve) => {
      if (lines.some((line) => line.includes(text))) resolve()
      else waiting.push({ text, resolve })
    })
  const { port } = await startHttp(
    t,
    (http) => {
      const raw = (
        name: string,
        handler: Parameters<typeof http.rawRoute>[0]['handler'],
        method: 'GET' | 'POST' = 'GET',
      ) =>
        http.rawRoute({
          method,
          path: `/api/v1/shop/${name}`,
          summary: name,
          access: 'public',
          produces: ['text/plain'],
          handler,
        })
      raw('endless', (_request, _, reply) => {
        const endless = function* () {
          for (;;) yield Buffer.alloc(65_536, 'x')
        }
        return reply.type('text/plain').send(Readable.from(endless()))
      })
      raw('header', (_request, _, reply) => reply.header('x-broken', 'a\nb').send('never'))
      raw('late', (_request, _, reply) => {
        reply.raw.writeHead(200).write('begun')
        return reply.send('again')
      })
      raw('torn', (_request, _, reply) =>
        reply.type('text/plain').send(
          Readable.from(
            (async function* () {
              yield 'begun'
              throw new Error('the disk is gone')
            })(),
          ),
        ),
      )
      raw('own', async (request, _, reply) => {
        request.log.info({ req: request.raw, res: reply.raw, request, reply }, `called ${request.url}`)
        request.log.info(request.raw)
        request.log.child({ part: 'child' }).info({ req: request.raw }, 'child')
        throw Object.assign(new Error(`failed at ${request.raw.url}`), {
          request: request.raw,
          config: request.headers,
        })
      })
      raw('posted', () => Promise.reject(new Error('no')), 'POST')
    },
    { logger, set: { 'platform.http.access-log': 'true' } },
  )
  const ask = (name: string, method = 'GET', body = '') =>
    `${method} /api/v1/shop/${name}?token=${planted.query} HTTP/1.1\r\nHost: x\r\n${credentials.join('\r\n')}\r\n` +
    (body === '' ? 'Connection: close\r\n\r\n' : `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`)

  const socket = connect(port(), '127.0.0.1', () => socket.write(ask('endless')))
  await new Promise<void>((resolve) => socket.once('data', () => resolve()))
  socket.destroy()
  await logged('stream closed prematurely')
  t.match(
    lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'stream closed prematurely'),
    { traceId: 'trace-1', res: { method: 'GET', route: '/api/v1/shop/endless', status: 200 } },
  )
  const header = await exchangeRawHttp(port(), ask('header'))
  t.match(header, /^HTTP\/1\.1 200 /)
  t.hasStrict(bodyOf(header), { code: '500', data: null }, 'a header that cannot be sent is a failure like any other')
  t.match(header, /x-trace-id: trace-1/i)
  for (const name of ['late', 'torn', 'own', 'nowhere']) await exchangeRawHttp(port(), ask(name)).catch(() => undefined)
  for (const body of [`{"password":"${planted.body}"`, JSON.stringify({ password: planted.body }), planted.body]) {
    await exchangeRawHttp(
      port(),
      ask('posted', 'POST', body).replace('Cookie:', 'Content-Type: application/json\r\nCookie:'),
    )
  }
  await exchangeRawHttp(port(), `GET /${planted.query} NONSENSE\r\n${credentials.join('\r\n')}\r\n\r\n`)
  await exchangeRawHttp(port(), ask('own').replace('/api', '/%zz'))
  t.match(lines.join(''), /Reply was already sent/)
  t.match(lines.join(''), /failed at/)
  t.match(lines.join(''), /the disk is gone/)
  for (const [name, secret] of Object.entries(planted)) t.notOk(lines.join('').includes(secret), name)
})

t.test('K-009 K-016 a logger that fails changes no response', async (t) => {
  let isBroken = false
  const logger = pino(
    {
      level: 'trace',
      hooks: {
        streamWrite: () => {
          if (isBroken) throw new Error('no space left on device')
          return ''
        },
      },
    },
    { write: () => {} },
  )
  const { call } = await startHttp(
    t,
    (http) => {
      get(http, 'good', () => {})
      get(http, 'bad', () => Promise.reject(new Error('secret reason')))
      get(http, 'odd', () => {
        throw Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error('no message')
          },
        })
      })
    },
    { logger, set: { 'platform.http.access-log': 'true' } },
  )
  isBroken = true
  const failure = { status: 200, body: { code: '500', data: null } }
  t.hasStrict(await call('/api/v1/shop/good'), { status: 200, body: { code: '200', data: null } })
  for (const path of ['bad', 'odd']) t.match(await call(`/api/v1/shop/${path}`), failure)
  t.notMatch((await call('/api/v1/shop/bad')).text, 'secret')
  t.hasStrict(await call('/nowhere'), { status: 404, body: { code: '404' } })
  t.match(await call('/health/ready'), { status: 200 })
  isBroken = false
})
