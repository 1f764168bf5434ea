import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { until } from '@plinth/dev/testing'
import { startHalfOpenProxy } from '@plinth/dev/testing/database'
import t from 'tap'

t.test(
  'a proxy passes bytes, becomes silent with all connections open, and accepts new connections again',
  async (t) => {
    const sessions: Socket[] = []
    let received = 0
    const echo = createServer((socket) => {
      sessions.push(socket)
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        received += bytes.length
        socket.write(bytes)
      })
    }).listen(0, '127.0.0.1')
    await once(echo, 'listening')
    const proxy = await startHalfOpenProxy({ port: (echo.address() as AddressInfo).port })
    t.teardown(async () => {
      await proxy.close()
      echo.close()
    })
    const open = async () => {
      const socket = connect(proxy.port, proxy.host)
      await once(socket, 'connect')
      return socket
    }
    const ask = async (socket: Socket) => {
      socket.write('x')
      return String((await once(socket, 'data'))[0])
    }

    const early = await open()
    t.equal(await ask(early), 'x')
    proxy.fallSilent()
    const late = await open()
    early.write('lost')
    late.write('lost')
    proxy.recover()
    const responses: string[] = []
    for (const socket of [early, late]) socket.on('data', (bytes) => responses.push(String(bytes)))
    const fresh = await open()
    // If the silent connections still responded, their responses would have arrived before this one.
    t.equal(await ask(fresh), 'x')
    t.same([responses, received], [[], 2], 'connections from the silence stay silent')
    t.same([proxy.accepted, proxy.clients, sessions.length], [3, 3, 2])

    early.destroy()
    late.destroy()
    fresh.destroy()
    await until(() => proxy.clients === 0, 'no client is connected', 0)
    t.notOk(sessions[0]?.destroyed, 'it sees that clients have gone, and the server behind it does not')
  },
)
