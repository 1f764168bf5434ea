import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTick } from 'node:timers/promises'

const known = new WeakMap<NetServer, ReadonlySet<Socket>>()

/** The open connections of a server: one set for all who ask, kept from the first time on. */
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
 * Values of `node:http`. Importing the module reads all that it exports, and one of these loads the WebSocket client of
 * Node.js: 45 ms of processor and 3 MB in every process, for nothing.
 */
export const { METHODS, STATUS_CODES, Server, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http')

/** Ticks of the event loop in which waiting connections are accepted: more than may wait. */
const maxTicks = 5_000

/**
 * The HTTP server of Node.js with a door that closes without cutting a request. `close()` of Node.js also closes idle
 * connections immediately, some with a request on the wire, and closing resets the connections that wait to be accepted.
 */
export class DoorServer extends Server {
  #held: Socket[] | undefined

  /** Serves a new connection, or keeps it while the waiting ones are accepted. */
  override emit(event: string, ...parameters: unknown[]): boolean {
    if (event !== 'connection' || this.#held === undefined) return super.emit(event, ...parameters)
    this.#held.push(parameters[0] as Socket)
    return true
  }

  /**
   * Accepts the connections that wait, closes the door right after it, and only then serves them: a caller who gets a
   * response earlier would connect again. The system hands out one connection per tick, so a tick without one means that
   * none waits. Resolves when the door is closed.
   *
   * @param onClosed is called when the last connection has ended
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
