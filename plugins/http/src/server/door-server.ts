import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTick } from 'node:timers/promises'

const known = new WeakMap<NetServer, ReadonlySet<Socket>>()

/** Returns the open connections of a server. All callers share one set, which is maintained from the first call on. */
export function openConnections(server: NetServer): ReadonlySet<Socket> {
  const open = known.get(server)
  if (open !== undefined) return open
  const sockets = new Set<Socket>()
  known.set(server, sockets)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

/**
 * Values of `node:http`. An import of the module reads all its exports, and one of them loads the WebSocket client of
 * Node.js. That costs each process 45 ms of CPU time and 3 MB.
 */
export const { METHODS, STATUS_CODES, Server, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http')

/** Maximum number of event loop ticks in which waiting connections are accepted; larger than the backlog. */
const maxTicks = 5_000

/**
 * The HTTP server of Node.js with a close that interrupts no request. `close()` of Node.js also closes idle connections
 * immediately, even if a request is being transmitted, and resets connections that wait to be accepted.
 */
export class DoorServer extends Server {
  #held: Socket[] | undefined

  /** Serves a new connection, or stores it while the waiting ones are accepted. */
  override emit(event: string, ...parameters: unknown[]): boolean {
    if (event !== 'connection' || this.#held === undefined) return super.emit(event, ...parameters)
    this.#held.push(parameters[0] as Socket)
    return true
  }

  /**
   * Accepts the waiting connections, then stops listening, and only then serves them: a caller that gets a response
   * earlier would connect again. The system provides one connection per tick, so a tick without one means that none is
   * waiting. Resolves when the server no longer listens.
   *
   * @param onClosed called when the last connection has ended
   */
  async closeDoor(onClosed: () => void): Promise<void> {
    const held: Socket[] = []
    this.#held = held
    await nextTick()
    for (let ticks = 0; ticks < maxTicks; ticks++) {
      const before = held.length
      await nextTick()
      if (held.length === before) break
    }
    this.#held = undefined
    NetServer.prototype.close.call(this, onClosed)
    for (const socket of held) this.emit('connection', socket)
  }
}
