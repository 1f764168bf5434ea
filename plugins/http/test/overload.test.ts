import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { assertMembers, manualClock, until } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import type { StartOptions } from '@plinth/kernel/host'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { HttpServer } from '../src/index.ts'
import { LoadShedder } from '../src/server/overload.ts'
import { startHttp } from './start-http.ts'

/** Starts a server on which requests wait at most half a second. */
const start = (t: Test, addRoutes: (http: HttpServer) => void, options: StartOptions = {}) =>
  startHttp(t, addRoutes, { ...options, set: { 'platform.http.overload.max-wait': '500ms', ...options.set } })

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

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

/** Returns a handler whose calls stay open until the test ends them, one after the other. */
function held() {
  const ends: (() => void)[] = []
  const handler = () => new Promise<void>((resolve) => ends.push(resolve))
  return { handler, ends, begun: () => ends.length }
}

const refused = {
  status: 503,
  body: { code: '503', data: { reason: 'http.overloaded' }, message: /Try again in a few seconds/ },
}

/** Counts the requests that reached the server since this function was called. */
function arrivals(t: Test) {
  let count = 0
  const note = () => count++
  subscribe('http.server.request.start', note)
  t.teardown(() => unsubscribe('http.server.request.start', note))
  return () => count
}

/** Opens a connection that the test can close. */
async function open(t: Test, port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  return socket
}

t.test('excess requests wait or are rejected, and health requests pass', async (t) => {
  const clock = manualClock()
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const { handler, ends, begun } = held()
  const set = { 'platform.http.overload.max-requests': '2', 'platform.http.overload.max-waiting': '8' }
  const { call, port } = await start(t, (http) => get(http, 'item', handler), { set, clock, logger })
  const item = () => call('/api/v1/shop/item')
  const first = [item(), item()]
  await until(() => begun() >= 2, 'the calls have begun', 0)
  const waiting = Array.from({ length: 8 }, item)
  for (let probes = 0; probes < 5; probes++) {
    t.equal((await call('/health/live')).status, 200, 'liveness takes no place')
    t.equal((await call('/health/ready')).status, 200)
    t.equal((await call('/metrics')).status, 200)
  }
  t.equal(begun(), 2, 'others wait')
  for (const path of ['/api/v1/shop/item', '/nothing']) {
    const answer = await call(path)
    t.match(answer, refused, 'the queue is full')
    t.equal(answer.headers.get('retry-after'), '1')
    t.equal(answer.headers.get('cache-control'), 'no-store')
  }

  for (let index = 0; index < 10; index++) {
    await until(() => begun() > index, 'the call has begun', 0)
    ends[index]?.()
  }
  for (const answer of await Promise.all([...first, ...waiting])) t.equal(answer.status, 200)
  const news = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /overloaded/.test(msg))
  assertMembers(t, news, [{ msg: 'overloaded: requests are rejected' }, { rejected: 2, msg: 'no longer overloaded' }])

  await t.test('a disconnected client frees its slot, whether it waits or runs', async (t) => {
    const arrived = arrivals(t)
    const gone = [await open(t, port(), '/api/v1/shop/item'), await open(t, port(), '/api/v1/shop/item')]
    await until(() => begun() >= 12, 'the calls have begun', 0)
    const impatient = await open(t, port(), '/api/v1/shop/item')
    await until(() => arrived() >= 3, 'the calls have arrived', 0)
    impatient.destroy()
    for (let calls = 0; calls < 5; calls++) await call('/health/live')
    const next = item()
    await until(() => arrived() >= 9, 'the calls have arrived', 0)
    for (const socket of gone) socket.destroy()
    await until(() => begun() >= 13, 'the calls have begun', 0)
    ends[12]?.()
    t.equal((await next).status, 200)
    t.equal(begun(), 13, 'what nobody waits for was not begun')
  })

  await t.test('no request waits longer than the configured limit', async (t) => {
    const busy = [item(), item()]
    await until(() => begun() >= 15, 'the calls have begun', 0)
    const arrived = arrivals(t)
    const late = Array.from({ length: 8 }, item)
    await until(() => arrived() >= 8, 'the calls have arrived', 0)
    await clock.advance(499)
    t.match(await call('/nothing'), refused, 'it still waits')
    await clock.advance(1)
    for (const answer of await Promise.all(late)) t.match(answer, refused)
    ends[13]?.()
    ends[14]?.()
    for (const answer of await Promise.all(busy)) t.equal(answer.status, 200)
    t.equal(begun(), 15)
  })
})

t.test('a request that would wait too long is rejected immediately, with a time to retry', async (t) => {
  const clock = manualClock()
  const { handler, ends, begun } = held()
  const set = { 'platform.http.overload.max-requests': '1' }
  const { call } = await start(t, (http) => get(http, 'item', handler), { set, clock })
  const item = () => call('/api/v1/shop/item')
  const arrived = arrivals(t)
  let busy = item()
  await until(() => begun() >= 1, 'the calls have begun', 0)
  // Only one call waits at a time. Each call starts a tenth of a second after the previous one.
  for (let calls = 1; calls <= 60; calls++) {
    const next = item()
    await until(() => arrived() > calls, 'the calls have arrived', 0)
    await clock.advance(100)
    ends[calls - 1]?.()
    t.equal((await busy).status, 200)
    await until(() => begun() > calls, 'the calls have begun', 0)
    busy = next
  }
  // Each call takes a tenth of a second, so the sixth would wait longer than the allowed half second.
  const waiting = Array.from({ length: 6 }, item)
  await until(() => arrived() >= 67, 'the calls have arrived', 0)
  const seconds: number[] = []
  for (let calls = 0; calls < 400; calls++) {
    const answer = await call('/nothing')
    t.match(answer, refused)
    seconds.push(Number(answer.headers.get('retry-after')))
  }
  t.equal(seconds[0], 1)
  t.equal(seconds[100], 11, 'six wait, and a hundred come before')
  t.equal(seconds.at(-1), 30, 'nobody is sent away for longer')
  t.same(
    seconds,
    seconds.toSorted((one, other) => one - other),
  )
  for (let index = 60; index < 67; index++) {
    await until(() => begun() > index, 'the calls have begun', 0)
    ends[index]?.()
  }
  for (const answer of await Promise.all([busy, ...waiting])) t.equal(answer.status, 200)
})

t.test('a slow request does not cause rejections while slots are free', async (t) => {
  const clock = manualClock()
  const { handler, ends, begun } = held()
  const set = { 'platform.http.overload.max-requests': '1' }
  const { call } = await start(t, (http) => get(http, 'item', handler), { set, clock })
  const item = () => call('/api/v1/shop/item')
  const long = item()
  await until(() => begun() >= 1, 'the calls have begun', 0)
  await clock.advance(60_000)
  ends[0]?.()
  t.equal((await long).status, 200)
  const burst = Array.from({ length: 5 }, item)
  for (let index = 1; index <= 5; index++) {
    await until(() => begun() > index, 'the calls have begun', 0)
    ends[index]?.()
  }
  for (const answer of await Promise.all(burst)) t.equal(answer.status, 200)
})

t.test('a suspension of the process rejects no request', async (t) => {
  const { port } = await start(t, (http) =>
    get(http, 'item', () => {
      // Blocks the event loop for longer than the maximum wait.
      const end = performance.now() + 600
      while (performance.now() < end);
    }),
  )
  const callers = await Promise.all(Array.from({ length: 3 }, () => open(t, port(), '/api/v1/shop/item')))
  const statuses = await Promise.all(
    callers.map(
      (socket) => new Promise((resolve) => socket.once('data', (chunk) => resolve(String(chunk).slice(9, 12)))),
    ),
  )
  t.same(statuses, ['200', '200', '200'])
})

t.test(
  'many waiting requests are not rejected after a suspension, but are rejected if the rate stays low',
  async (t) => {
    let now = 0
    let handlingMs = 30
    const [served, refused] = [[] as IncomingMessage[], [] as IncomingMessage[]]
    const valve = new LoadShedder({
      bounds: { maxRequests: 1000, maxWaiting: 1000, maxWaitMs: 500 },
      clock: { now: () => now, monotonic: () => now, sleep: () => new Promise(() => {}) },
      log: pino({ level: 'silent' }),
      serve: (request) => {
        served.push(request)
        now += handlingMs
      },
      reject: (request) => refused.push(request),
    })
    const come = () => {
      for (let count = 0; count < 64; count++) {
        const request = new IncomingMessage(new Socket())
        valve.enter(request, new ServerResponse(request))
      }
    }
    come()
    now += 700
    handlingMs = 1
    for (let turns = 0; turns < 100; turns++) await turn()
    t.same([served.length, refused.length], [64, 0], 'the process stood still, and then all are served')

    handlingMs = 100
    come()
    for (let turns = 0; turns < 100; turns++) await turn()
    const late = refused.length
    t.equal(served.length + late, 128)
    t.ok(late > 32, `${late} of 64 are refused, who have waited too long`)
    come()
    t.ok(refused.length > late, 'and at once who would have to')
  },
)

t.test('waiting connections are accepted before more requests begin', async (t) => {
  const most = 100
  let served = 0
  const { port } = await start(t, (http) =>
    get(http, 'item', () => {
      const end = performance.now() + 6
      while (performance.now() < end);
      served++
    }),
  )
  let accepted = 0
  let servedBefore = 0
  const count = () => {
    if (++accepted === most) servedBefore = served
  }
  subscribe('net.server.socket', count)
  t.teardown(() => unsubscribe('net.server.socket', count))
  const statuses = await Promise.all(
    Array.from({ length: most }, async () => {
      const socket = await open(t, port(), '/api/v1/shop/item')
      return new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk).slice(9, 12))))
    }),
  )
  t.equal(accepted, most)
  t.ok(servedBefore < most / 3, `${servedBefore} of ${most} had been served when the last one was accepted`)
  t.equal(statuses.filter((status) => status === '200').length, served)
  t.equal(statuses.filter((status) => status === '503').length, most - served, 'everybody has an answer')
})

t.test('requests that never leave the event loop let others begin in between', async (t) => {
  const most = 300
  let served = 0
  const { port } = await start(t, (http) =>
    get(http, 'item', () => {
      const end = performance.now() + 5
      while (performance.now() < end);
      served++
    }),
  )
  const statuses = { 200: 0, 503: 0 }
  const connection = async () => {
    const socket = await open(t, port(), '/health/live')
    await new Promise((resolve) => socket.once('data', resolve))
    return socket
  }
  const callers = await Promise.all(Array.from({ length: most }, connection))
  const prober = await connection()
  const answered = (socket: Socket, path: string) =>
    new Promise<string>((resolve, reject) => {
      socket.once('data', (chunk) => resolve(String(chunk)))
      socket.once('close', () => reject(new Error('cut')))
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    })
  const all = Promise.all(
    callers.map(async (socket) => {
      const answer = await answered(socket, '/api/v1/shop/item')
      statuses[answer.slice(9, 12) as '200' | '503']++
      if (answer.startsWith('HTTP/1.1 503')) t.match(answer, /\r\nretry-after: [1-9]\d?\r\n[\s\S]*"http.overloaded"/)
    }),
  )
  t.match(await answered(prober, '/health/live'), /^HTTP\/1.1 200/)
  t.ok(served < most / 3, `liveness was answered after ${served} of ${most} others that came before it`)
  await all
  t.equal(statuses[200], served)
  t.equal(statuses[200] + statuses[503], most, `${JSON.stringify(statuses)}: everybody has an answer`)
  t.ok(statuses[503] > 0, 'who would have waited too long was refused')
})

t.test('simultaneous rejections are distributed over several ticks of the event loop', async (t) => {
  const most = 200
  const order: number[] = []
  let resolveAll = () => {}
  const all = new Promise<void>((resolve) => {
    resolveAll = resolve
  })
  const arrived = Array.from({ length: most }, () => {
    const request = new IncomingMessage(new Socket())
    return { request, response: new ServerResponse(request) }
  })
  const valve = new LoadShedder({
    bounds: { maxRequests: 1, maxWaiting: 0, maxWaitMs: 500 },
    clock: systemClock,
    log: pino({ level: 'silent' }),
    serve: () => {},
    reject: (request, _response, retryAfterSeconds) => {
      const end = performance.now() + 1
      while (performance.now() < end);
      t.ok(retryAfterSeconds >= 1)
      order.push(arrived.findIndex((each) => each.request === request))
      if (order.length === most - 2) resolveAll()
    },
  })
  for (const { request, response } of arrived) valve.enter(request, response)
  const atOnce = order.length
  t.ok(atOnce >= 1 && atOnce <= 10, `${atOnce} in the turn of their arrival`)
  arrived[most - 1]?.response.destroy()
  await turn()
  await turn()
  t.ok(order.length < most / 4, `${order.length} when others had their turn twice`)
  await all
  t.same(
    order,
    Array.from({ length: most - 2 }, (_, index) => index + 1),
    'in the order of their arrival, all but the first, which is served, and the one that went away',
  )
})

t.test('a request that waits for a slot keeps the process alive only by its connection', async (t) => {
  const slept = Promise.withResolvers<unknown>()
  const valve = new LoadShedder({
    bounds: { maxRequests: 1, maxWaiting: 1, maxWaitMs: 60_000 },
    clock: {
      ...systemClock,
      sleep: (_ms, _signal, options) => {
        slept.resolve(options)
        return new Promise<void>(() => {})
      },
    },
    log: pino({ level: 'silent' }),
    serve: () => {},
    reject: () => {},
  })
  for (let count = 0; count < 2; count++) {
    const request = new IncomingMessage(new Socket())
    valve.enter(request, new ServerResponse(request))
  }
  t.same(await slept.promise, { keepsAlive: false })
})
