import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Below those that systems give to whoever asks for any port, and to connections: nobody is given one before it is used. */
const ports = { first: 20_000, end: 32_000 }

/**
 * A port that nobody listens on, for a server that has to be told its port, or for an address at which nobody is. A server
 * that can choose by itself listens on port 0 instead.
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

/** Whether somebody listens on a port of this machine. */
const listens = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 10_000 })
    const end = (answer: boolean) => () => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })

/**
 * The reason to skip tests that need a server of this machine; `false` when it serves. Only a port on which nobody listens
 * is a reason: a server that is there and refuses (a wrong password, no rights) would otherwise hide all of its tests.
 *
 * @param use one use of the server, as the tests make of it; without one it is enough that somebody listens
 * @throws what the use threw
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
