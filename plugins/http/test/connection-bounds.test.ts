/** What one peer may make the process hold. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { HttpServer } from '../src/index.ts'
import { startHttp } from './start-http.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

/** A connection of a test, closed with it, and all that comes back on it. */
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
  return { socket, closed, read, received: () => received }
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

t.test('a connection that asks for more than 16 answers ahead is closed, others are served', async (t) => {
  let begun = 0
  let finish = () => {}
  const end = new Promise<void>((resolve) => {
    finish = resolve
  })
  const { call, port } = await startHttp(
    t,
    (server) => {
      route(server, '/api/v1/shop/slow', async () => {
        begun++
        await end
        return 'done'
      })
      route(server, '/api/v1/shop/quick', () => 'quick')
    },
    // On a slow machine too, none is refused for having waited.
    { set: { 'platform.http.overload.max-wait': '1m' } },
  )
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
  while (patient.received().split('HTTP/1.1 ').length <= 16) await once(patient.socket, 'data')
  t.equal(patient.received().split('HTTP/1.1 200').length, 17, 'sixteen are answered')
  patient.socket.write(get('/api/v1/shop/quick').repeat(16))
  while (patient.received().split('quick').length <= 16) await once(patient.socket, 'data')
  t.equal(patient.received().split('quick').length, 17, 'and sixteen more after them')
})

t.test('who does not read is cut, who reads slowly is not: effect of platform.http.send-timeout', async (t) => {
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
    { set: { 'platform.http.send-timeout': '400ms' } },
  )
  const lengthOf = (text: string) => text.length - text.indexOf('\r\n\r\n') - 4
  const deaf = await open(t, port())
  deaf.socket.pause()
  deaf.socket.write(get('/api/v1/shop/large'))
  while (served.length === 0) await pause(1)
  const waiting = await open(t, port())
  waiting.read()
  waiting.socket.write(get('/api/v1/shop/slow'))

  const slow = await open(t, port())
  slow.socket.write(get('/api/v1/shop/large'))
  const readInSteps = async (socket: Socket) => {
    let length = 0
    socket.setEncoding('latin1').on('data', async (chunk: string) => {
      length += chunk.length
      socket.pause()
      await pause(5)
      socket.resume()
    })
    while (length < megabytes.length) await once(socket, 'data')
  }
  await readInSteps(slow.socket)
  t.pass('each byte that is taken starts the time anew')
  if (!served[0]?.destroyed) await once(served[0] as Socket, 'close')
  // The deaf one finds out when it reads.
  deaf.read()
  deaf.socket.resume()
  t.ok(lengthOf(await deaf.closed) < megabytes.length, 'the one that read nothing did not get it all')
  finish()
  while (!waiting.received().includes('done')) await once(waiting.socket, 'data')
  t.match(waiting.received(), /^HTTP\/1.1 200/, 'a handler may take its time')
})

t.test('effect of platform.http.max-connections: what comes beyond is closed at once', async (t) => {
  const { port } = await startHttp(t, (server) => route(server, '/api/v1/shop/quick', () => 'quick'), {
    set: { 'platform.http.max-connections': '2' },
  })
  const first = await open(t, port())
  const second = await open(t, port())
  const third = await open(t, port())
  third.read()
  t.equal(await third.closed, '')
  for (const { socket, read, received } of [first, second]) {
    read()
    socket.write(get('/api/v1/shop/quick'))
    while (!received().includes('quick')) await once(socket, 'data')
    t.match(received(), /^HTTP\/1.1 200/)
  }
})

t.test('the API description is one buffer with a tag', async (t) => {
  const { call, running } = await startHttp(t)
  const first = await call('/docs/openapi.json')
  const tag = first.headers.get('etag') ?? ''
  t.match(tag, /^"[\w-]{22}"$/)
  const again = await call('/docs/openapi.json', { headers: { 'if-none-match': `"other", W/${tag}` } })
  t.match({ status: again.status, text: again.text }, { status: 304, text: '' })
  await running.config.apply([{ name: 'platform.site.name', by: 'key', written: 'Acme', place: 'test' }])
  const renamed = await call('/docs/openapi.json', { headers: { 'if-none-match': tag } })
  t.equal(renamed.status, 200, 'another name, another description')
  t.not(renamed.headers.get('etag'), tag)
})
