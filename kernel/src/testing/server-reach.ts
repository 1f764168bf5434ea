import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Below the ports that systems assign to connections and for port 0, so that the port stays free until it is used. */
const ports = { first: 20_000, end: 32_000 }

/**
 * Returns a port without a listener, for a server that needs a fixed port, or for an address without a server. A server
 * that can choose its port listens on port 0 instead.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = randomInt(ports.first, ports.end)
    const server = createServer().listen(port, host)
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Returns whether a server listens on a port of this machine. */
const listens = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 10_000 })
    const end = (response: boolean) => () => {
      socket.destroy()
      resolve(response)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })

/**
 * Returns the reason to skip tests that need a server of this machine; `false` if it is available. The only reason is a
 * port without a listener. A server that rejects the use (a wrong password, missing permissions) would otherwise skip
 * all its tests.
 *
 * @param use one use of the server, as in the tests; without it a listener is enough
 * @throws the error of the use
 */
export async function skipWithoutServer(
  name: string,
  port: number,
  use: () => Promise<unknown> = async () => {},
): Promise<false | string> {
  if (!(await listens(port))) return `no ${name} on 127.0.0.1:${port}`
  try {
    await use()
    return false
  } catch (error) {
    throw new Error(`${name} listens on 127.0.0.1:${port} and refuses: its tests cannot be skipped`, { cause: error })
  }
}
