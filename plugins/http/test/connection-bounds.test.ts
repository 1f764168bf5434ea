/** Tests the limits of the resources that one client can use. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { assertKeyEffect, until } from '@plinth/dev/testing'
import sitePlugin from '@plinth/site'
import t, { type Test } from 'tap'
import type { HttpServer } from '../src/index.ts'
import { startHttp } from './start-http.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

type Step = PromiseWithResolvers<void>

/** Opens a connection that is closed with the test, and records all received data. */
async function open(t: Test, port: number) {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  let received = ''
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)))
  const read = () =>
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk
    })
  const cut = closed.then(() => Promise.reject(new Error('The connection was closed')))
  cut.catch(() => {})
  /** Waits for more data. Rejects if the connection ends first. */
  const more = () => Promise.race([once(socket, 'data'), cut])
  return { socket, closed, read, more, received: () => received }
}

const route = (server: HttpServer, path: string, handler: (socket: Socket) => unknown) =>
  server.rawRoute({
    method: 'GET',
    path,
    summary: 'A page of the test',
    access: 'public',
    produces: ['text/plain'],
    handler: async ({ raw }, _, reply) => reply.type('text/plain').send(await handler(raw.socket)),
  })

t.test('a connection with more than 16 pipelined requests is closed, and others are served', async (t) => {
  let begun = 0
  let finish = () => {}
  const end = new Promise<void>((resolve) => {
    finish = resolve
  })
  const { call, port } = await startHttp(t, (server) => {
    route(server, '/api/v1/shop/slow', async () => {
      begun++
      await end
      return 'done'
    })
    route(server, '/api/v1/shop/quick', () => 'quick')
  })
  const patient = await open(t, port())
  patient.read()
  patient.socket.write(get('/api/v1/shop/slow').repeat(16))
  const greedy = await open(t, port())
  greedy.read()
  greedy.socket.write(get('/api/v1/shop/slow').repeat(1_200))
  t.equal(await greedy.closed, '', 'nothing was answered yet, and nothing will be')
  t.equal((await call('/api/v1/shop/quick')).text, 'quick')
  t.ok(begun <= 32, `${begun} requests were begun`)
  finish()
  while (patient.received().split('HTTP/1.1 ').length <= 16) await patient.more()
  t.equal(patient.received().split('HTTP/1.1 200').length, 17, 'sixteen are answered')
  patient.socket.write(get('/api/v1/shop/quick').repeat(16))
  while (patient.received().split('quick').length <= 16) await patient.more()
  t.equal(patient.received().split('quick').length, 17, 'and sixteen more after them')
})

t.test('pipelined requests do not start after the caller has disconnected', async (t) => {
  let begun = 0
  let finish = () => {}
  const end = new Promise<void>((resolve) => {
    finish = resolve
  })
  const [slowBegun, firstBegun, cut] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Step, Step, Step]
  const { call, port } = await startHttp(
    t,
    (server) => {
      route(server, '/api/v1/shop/slow', () => {
        slowBegun.resolve()
        return end
      })
      route(server, '/api/v1/shop/next', () => ++begun)
      server.rawRoute({
        method: 'GET',
        path: '/api/v1/shop/first',
        summary: 'Ends with its connection',
        access: 'public',
        produces: ['text/plain'],
        handler: ({ raw }, _, reply) => {
          raw.socket.once('close', cut.resolve)
          reply.hijack()
          firstBegun.resolve()
        },
      })
    },
    { set: { 'platform.http.overload.max-requests': '2' } },
  )
  const slow = await open(t, port())
  slow.socket.write(get('/api/v1/shop/slow'))
  await slowBegun.promise
  const { socket } = await open(t, port())
  // All requests are sent together, so the other requests already wait on the connection when the first one has
  // started.
  socket.write(get('/api/v1/shop/first') + get('/api/v1/shop/next').repeat(3))
  await firstBegun.promise
  socket.destroy()
  await cut.promise
  finish()
  t.equal((await call('/api/v1/shop/slow')).status, 200, 'others are served')
  t.equal(begun, 0)
})

t.test('the connection of a caller that reads nothing is closed after the send timeout', async (t) => {
  const [states] = await assertKeyEffect(t, 'platform.http.send-timeout', {
    changed: '1s',
    async observe(values) {
      const served = Promise.withResolvers<Socket>()
      const { port } = await startHttp(
        t,
        (server) =>
          route(server, '/api/v1/shop/large', (socket) => {
            served.resolve(socket)
            return Buffer.alloc(8 * 2 ** 20, 'x')
          }),
        { set: values as Record<string, string> },
      )
      const { socket } = await open(t, port())
      socket.pause()
      socket.write(get('/api/v1/shop/large'))
      const closed = once(await served.promise, 'close').then(() => 'closed')
      return Promise.race([closed, pause(5_000, 'open', { ref: false })])
    },
  })
  t.match(states, { before: 'open', after: 'closed' })
})

t.test('a client that does not read is disconnected, a slow reader is not', async (t) => {
  const megabytes = Buffer.alloc(8 * 2 ** 20, 'x')
  let finish = () => {}
  const end = new Promise<void>((resolve) => {
    finish = resolve
  })
  const served: Socket[] = []
  const { port } = await startHttp(
    t,
    (server) => {
      route(server, '/api/v1/shop/large', (socket) => {
        served.push(socket)
        return megabytes
      })
      route(server, '/api/v1/shop/slow', () => end.then(() => 'done'))
    },
    { set: { 'platform.http.send-timeout': '5s' } },
  )
  const lengthOf = (text: string) => text.length - text.indexOf('\r\n\r\n') - 4
  const deaf = await open(t, port())
  deaf.socket.pause()
  deaf.socket.write(get('/api/v1/shop/large'))
  await until(() => served.length !== 0, 'the calls are served')
  const waiting = await open(t, port())
  waiting.read()
  waiting.socket.write(get('/api/v1/shop/slow'))

  const slow = await open(t, port())
  slow.socket.write(get('/api/v1/shop/large'))
  // The client reads in 16 steps with pauses that are shorter than the send timeout. The operating system buffers
  // megabytes, and reports progress to the server only about once per megabyte.
  let length = 0
  slow.socket.on('data', (chunk) => {
    length += chunk.length
  })
  for (let step = 1; step <= 16; step++) {
    slow.socket.resume()
    while (length < (step * megabytes.length) / 16) await slow.more()
    slow.socket.pause()
    await pause(350)
  }
  t.ok(length >= megabytes.length, 'each byte that is taken starts the time anew')
  if (!served[0]?.destroyed) await once(served[0] as Socket, 'close')
  // A client that does not read notices that the connection was closed only when it reads again.
  deaf.read()
  deaf.socket.resume()
  t.ok(lengthOf(await deaf.closed) < megabytes.length, 'the one that read nothing did not get it all')
  finish()
  while (!waiting.received().includes('done')) await waiting.more()
  t.match(waiting.received(), /^HTTP\/1.1 200/, 'a handler may take its time')
})

t.test('a client that reads is not disconnected because the process was blocked', async (t) => {
  const megabytes = Buffer.alloc(8 * 2 ** 20, 'x')
  const served: Socket[] = []
  const { port } = await startHttp(
    t,
    (server) =>
      route(server, '/api/v1/shop/large', (socket) => {
        served.push(socket)
        return megabytes
      }),
    { set: { 'platform.http.send-timeout': '2s' } },
  )
  const { socket, read, more, received } = await open(t, port())
  socket.write(get('/api/v1/shop/large'))
  await until(() => served[0]?.writableLength, 'the response waits for its reader')
  // At least one check of the send timeout must run before the event loop is blocked. Otherwise the check could not
  // measure the pause.
  await pause(600)
  const end = performance.now() + 2_200
  while (performance.now() < end);
  // Lets the checks that became due during the pause run before the client can read.
  await new Promise(setImmediate)
  t.equal(served[0]?.destroyed, false)
  read()
  while (received().length < megabytes.length) await more()
  t.match(received(), /^HTTP\/1.1 200/)
})

t.test('a connection above the maximum number is closed immediately', async (t) => {
  const { port } = await startHttp(t, (server) => route(server, '/api/v1/shop/quick', () => 'quick'), {
    set: { 'platform.http.max-connections': '16' },
  })
  const allowed: Awaited<ReturnType<typeof open>>[] = []
  while (allowed.length < 16) allowed.push(await open(t, port()))
  const beyond = await open(t, port())
  beyond.read()
  t.equal(await beyond.closed, '')
  for (const { socket, read, more, received } of allowed) {
    read()
    socket.write(get('/api/v1/shop/quick'))
    while (!received().includes('quick')) await more()
    t.match(received(), /^HTTP\/1.1 200/)
  }
})

t.test('the API description is one buffer with an ETag', async (t) => {
  const { call, running } = await startHttp(t, undefined, { plugins: [sitePlugin] })
  const first = await call('/docs/openapi.json')
  const tag = first.headers.get('etag') ?? ''
  t.match(tag, /^W\/"[\w-]{22}"$/)
  const again = await call('/docs/openapi.json', { headers: { 'if-none-match': `"other", ${tag.slice(2)}` } })
  t.match({ status: again.status, text: again.text }, { status: 304, text: '' })
  await running.config.apply([{ name: 'platform.site.name', by: 'key', written: 'Acme', place: 'test' }])
  const renamed = await call('/docs/openapi.json', { headers: { 'if-none-match': tag } })
  t.equal(renamed.status, 200, 'another name, another description')
  t.not(renamed.headers.get('etag'), tag)
})
