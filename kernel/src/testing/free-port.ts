import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

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
