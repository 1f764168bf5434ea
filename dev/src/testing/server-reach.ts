import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Operating systems assign ports above this range automatically, so a port in this range stays free. */
const ports = { first: 20_000, end: 32_000 }

/**
 * Returns a free port for a server with a fixed port, or for an address that must have no server. A server that
 * can choose its port should listen on port 0 instead.
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

/** The limit is long, because on a busy machine the modules of a test load for many seconds before it sees the answer. */
const connectLimitMs = 120_000

const listens = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: connectLimitMs })
    const end = (response: boolean) => () => {
      socket.destroy()
      resolve(response)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })

/**
 * Returns the reason to skip tests that need a local server, or `false` if the server is available. Tests are skipped
 * only if nothing listens on the port. If the server rejects the use, for example because of a wrong password, this
 * function throws. Otherwise such a mistake would silently skip all tests.
 *
 * @param use tries to use the server as the tests do; by default, a listener is enough
 * @throws the error of `use`
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
