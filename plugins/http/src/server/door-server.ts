import { Server as NetServer, Socket } from 'node:net'
import { setImmediate as nextTick } from 'node:timers/promises'

const known = new WeakMap<NetServer, ReadonlySet<Socket>>()

/** Returns the open connections of a server. Each call with the same server returns the same set. */
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
 * Members of `node:http`. An import statement would read all exports, and one of them loads the WebSocket client of
 * Node.js (45 ms of CPU time and 3 MB per process).
 */
export const { METHODS, STATUS_CODES, Server, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http')

/** Maximum number of event loop ticks in which waiting connections are accepted. Larger than the backlog. */
const maxTicks = 5_000
/**
 * Maximum duration in milliseconds of a tick after which the server may stop listening. A connection that arrives during a
 * tick is accepted in the next one, and would be reset if there is no next one. On a busy process a tick takes long.
 */
const shortTickMs = 0.5
/** Maximum time in milliseconds for which the server waits for a short tick. */
const maxWaitMs = 1_000

/**
 * HTTP server that stops without interrupting requests. `close()` of Node.js resets connections that have not been
 * accepted, and closes connections on which a request is just arriving.
 */
export class GracefulServer extends Server {
  #held: Socket[] | undefined

  /** Holds new connections back while `closeDoor` runs. */
  override emit(event: string, ...parameters: unknown[]): boolean {
    const [socket] = parameters
    if (event !== 'connection' || this.#held === undefined || !(socket instanceof Socket)) {
      return super.emit(event, ...parameters)
    }
    this.#held.push(socket)
    return true
  }

  /**
   * Accepts all waiting connections, stops listening, and then serves them. If they were served earlier, their callers
   * would connect again. The system passes on one connection per tick, so a short tick without a connection means that
   * none is waiting. Resolves when the server no longer listens.
   *
   * @param onClosed called when the last connection has ended
   */
  async closeDoor(onClosed: () => void): Promise<void> {
    const held: Socket[] = []
    this.#held = held
    await nextTick()
    const begunAt = performance.now()
    for (let ticks = 0, tickAt = begunAt; ticks < maxTicks; ticks++) {
      const before = held.length
      await nextTick()
      const now = performance.now()
      const isShort = now - tickAt < shortTickMs || now - begunAt > maxWaitMs
      tickAt = now
      if (held.length === before && isShort) break
    }
    this.#held = undefined
    NetServer.prototype.close.call(this, onClosed)
    for (const socket of held) this.emit('connection', socket)
  }
}

/**
 * Maximum number of pipelined requests per connection (RFC 9112, section 9.3.2). One more request destroys the
 * connection.
 */
const maxPending = 16

export interface ConnectionLimits {
  /** Maximum number of open connections. Further connections are closed immediately. */
  readonly maxConnections: number
  /** Milliseconds after which a connection is closed if its peer accepts no data. */
  readonly sendTimeoutMs: number
}

/** Minimum number of checks within `sendTimeoutMs`, and maximum interval between two checks. */
const minChecks = 4
const maxPauseMs = 15_000

/**
 * Member of a socket: the number of requests without a complete response. A WeakMap would lower the throughput of a
 * fast route by 2 %.
 */
const unanswered: unique symbol = Symbol('requests without an answer')

declare module 'node:net' {
  interface Socket {
    [unanswered]?: number
    /**
     * Internal member of Node.js that its types omit: bytes passed to the operating system, and bytes that still wait
     * there.
     */
    readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null
  }
}

/** True if a request on the connection has no complete response. */
export const hasOpenRequest = (socket: Socket): boolean => (socket[unanswered] ?? 0) > 0

/**
 * Closes connections whose peers do not read their responses, because unread responses fill the memory. Handlers may
 * take any time. Report each request with `registerRequest` and `unregisterRequest`.
 *
 * One timer checks all connections. A timer per connection would be recreated for each request. The limit counts
 * checks, so a suspension of the process closes no connection by mistake.
 */
export function limitConnections(server: NetServer, { maxConnections, sendTimeoutMs }: ConnectionLimits): void {
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

interface Progress {
  /** Bytes that the operating system had accepted at the last check. */
  taken: number
  checksWithoutProgress: number
}

/** Returns the number of consecutive checks in which the peer accepted no data. */
function countChecksWithoutProgress(socket: Socket, progress: Progress): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = socket._handle ?? {}
  const taken = bytesWritten - writeQueueSize
  const isUnsent = socket.writableLength > 0 || writeQueueSize > 0
  progress.checksWithoutProgress =
    hasOpenRequest(socket) && isUnsent && taken === progress.taken ? progress.checksWithoutProgress + 1 : 0
  progress.taken = taken
  return progress.checksWithoutProgress
}

/**
 * Reports that a request has arrived.
 *
 * @returns false if the connection has too many pipelined requests, so this one must not be processed
 */
export function registerRequest(socket: Socket): boolean {
  const count = (socket[unanswered] ?? 0) + 1
  socket[unanswered] = count
  if (count > maxPending) socket.destroy()
  return !socket.destroyed
}

/** Reports that a response is complete or will never be sent. */
export function unregisterRequest(socket: Socket): void {
  socket[unanswered] = (socket[unanswered] ?? 1) - 1
}
