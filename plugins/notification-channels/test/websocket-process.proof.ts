/** Tests what open WebSockets cost their process, and how the process ends. */

import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { rejectsWith, type WatchedProcess, watchProcess } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { connectTo, key } from './fixtures/websocket-product.ts'

const fixture = new URL('fixtures/websocket-process.ts', import.meta.url)

async function startProcess(t: Test, config: Readonly<Record<string, unknown>>) {
  const at = await createDatabase('sqlite')
  const all = {
    ...at.config,
    'platform.http.port': 0,
    // On a busy host the load shedder would otherwise reject requests.
    'platform.http.overload.max-wait': '1m',
    'platform.notification.default-channel': 'log',
    [`${key}.guests.enabled`]: true,
    ...config,
  }
  t.teardown(() => at.drop())
  const execArgv = [...process.execArgv, '--expose-gc']
  const server = watchProcess(t, fork(fixture, [JSON.stringify(all)], { execArgv, silent: true }))
  const url = await server.until(() => server.messages[0], 'it listens')
  return { server, url: String(url) }
}

t.test('[N-007] SIGTERM asks every open socket to close, and the process ends within its deadline', async (t) => {
  // Time limit for clients that listen to close their connections on a busy host.
  const deadlineMs = 20_000
  const { server, url } = await startProcess(t, { 'platform.kernel.drain-deadline': `${deadlineMs}ms` })
  const clients = await Promise.all(Array.from({ length: 50 }, () => connectTo(url)))
  const stuck = await connectTo(url)
  t.teardown(() => stuck.ws.terminate())
  stuck.ws.pause()
  const begunAt = performance.now()
  server.child.kill('SIGTERM')
  for (const { closed } of clients) t.same(await closed, [1001, 'going-away'])
  t.ok(performance.now() - begunAt < deadlineMs, 'those who listen are not waited for')
  t.same(await server.ended(), [0, null], 'it ends by itself, although one client never said goodbye')
  await rejectsWith(t, connectTo(url), { code: 'ECONNREFUSED' })
})

/** A masked close frame (RFC 6455, 5.5.1) with code 1000. The mask consists of zeros. */
const goodbye = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8])

/** Opens a WebSocket without a client library, reads the first message and closes it. */
async function visit(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    'GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  let received = ''
  for await (const chunk of socket) {
    const wasGreeted = received.includes('"connected"')
    received += String(chunk)
    if (!wasGreeted && received.includes('"connected"')) socket.write(goodbye)
  }
  if (!received.includes('"connected"')) throw new Error(received.slice(0, 200))
}

interface Memory {
  readonly heap: number
  readonly sockets: number
}

async function memoryOf({ child, messages, until }: WatchedProcess): Promise<Memory> {
  const { length } = messages
  child.send('memory')
  return (await until(() => messages[length], 'it tells its memory')) as Memory
}

t.test('200 times 100 sockets open and close, and the heap is as large as before', { timeout: 600_000 }, async (t) => {
  const { server, url } = await startProcess(t, {})
  const port = Number(new URL(url).port)
  const cycles = async (count: number) => {
    for (let cycle = 0; cycle < count; cycle++) await Promise.all(Array.from({ length: 100 }, () => visit(port)))
    return memoryOf(server)
  }
  const early = await cycles(50)
  const late = await cycles(150)
  t.same([early.sockets, late.sockets], [0, 0])
  const perSocket = (late.heap - early.heap) / 15_000
  t.ok(perSocket < 200, `${perSocket.toFixed(0)} bytes stay for each socket that came and went`)
})
