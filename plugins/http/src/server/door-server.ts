import { Server as NetServer, Socket } from 'node:net'
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
    const [socket] = parameters
    if (event !== 'connection' || this.#held === undefined || !(socket instanceof Socket)) {
      return super.emit(event, ...parameters)
    }
    this.#held.push(socket)
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

/**
 * Maximum number of pipelined requests per connection (RFC 9112, section 9.3.2). A further request ends the connection.
 */
const maxPending = 16

export interface ConnectionBounds {
  /** Maximum number of open connections. Further connections are closed immediately. */
  readonly maxConnections: number
  /** Maximum time in which a peer accepts no data, milliseconds. */
  readonly sendTimeoutMs: number
}

/** Minimum number of checks of a connection within `sendTimeoutMs`, and maximum interval between two checks. */
const minChecks = 4
const maxPauseMs = 15_000

/**
 * Number of requests of a connection that have no complete response. Stored in a member of the socket, because a
 * WeakMap costs a fast route 2 % of its throughput.
 */
const unanswered: unique symbol = Symbol('requests without an answer')

declare module 'node:net' {
  interface Socket {
    [unanswered]?: number
    /**
     * Internal member of Node.js, which its types omit: the bytes that were passed to the operating system, and the bytes
     * that wait there.
     */
    readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null
  }
}

/** True if the headers of a request on the connection have arrived and its response is not complete. */
export const isWorkedFor = (socket: Socket): boolean => (socket[unanswered] ?? 0) > 0

/**
 * Limits the memory that one peer can use: requested but unread responses wait in memory. Handlers may take any time.
 * Only a peer that does not read is disconnected. Each request must be reported with `requestCame` and
 * `requestSettled`.
 *
 * All connections are checked together, several times within `sendTimeoutMs`. Node.js timers per connection would be
 * recreated for each request. The limit counts checks, not time, so a process that was suspended checks only once when
 * it continues.
 */
export function boundConnections(server: NetServer, { maxConnections, sendTimeoutMs }: ConnectionBounds): void {
  server.maxConnections = maxConnections
  const pauseMs = Math.min(sendTimeoutMs / minChecks, maxPauseMs)
  const open = openConnections(server)
  const seen = new WeakMap<Socket, Progress>()
  const look = () => {
    for (const socket of open) {
      const progress = seen.get(socket) ?? { taken: 0, checksWithoutProgress: 0 }
      seen.set(socket, progress)
      if (countChecksWithoutProgress(socket, progress) * pauseMs >= sendTimeoutMs) socket.destroy()
    }
  }
  server.once('listening', () => {
    const timer = setInterval(look, pauseMs).unref()
    server.once('close', () => clearInterval(timer))
  })
}

/** Observed progress of a connection that has data to send. */
interface Progress {
  /** Bytes that the operating system had accepted at the last check. */
  taken: number
  /** Consecutive checks without progress. */
  checksWithoutProgress: number
}

/** Checks a connection. Returns the number of consecutive checks in which its peer accepted nothing. */
function countChecksWithoutProgress(socket: Socket, progress: Progress): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = socket._handle ?? {}
  const taken = bytesWritten - writeQueueSize
  const isUnsent = socket.writableLength > 0 || writeQueueSize > 0
  progress.checksWithoutProgress =
    isWorkedFor(socket) && isUnsent && taken === progress.taken ? progress.checksWithoutProgress + 1 : 0
  progress.taken = taken
  return progress.checksWithoutProgress
}

/**
 * Counts a request of the connection.
 *
 * @returns false if the request must not be processed, because the connection has exceeded its limit
 */
export function requestCame(socket: Socket): boolean {
  const count = (socket[unanswered] ?? 0) + 1
  socket[unanswered] = count
  if (count > maxPending) socket.destroy()
  return !socket.destroyed
}

/** Reports that a request of the connection has its response or will not get one. */
export function requestSettled(socket: Socket): void {
  socket[unanswered] = (socket[unanswered] ?? 1) - 1
}
