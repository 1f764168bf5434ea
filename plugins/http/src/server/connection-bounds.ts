import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { openConnections } from './door-server.ts'

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
export function boundConnections(server: Server, { maxConnections, sendTimeoutMs }: ConnectionBounds): void {
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
  const { bytesWritten = 0, writeQueueSize = 0 } = handleOf(socket)
  const taken = bytesWritten - writeQueueSize
  const isUnsent = socket.writableLength > 0 || writeQueueSize > 0
  progress.checksWithoutProgress =
    isWorkedFor(socket) && isUnsent && taken === progress.taken ? progress.checksWithoutProgress + 1 : 0
  progress.taken = taken
  return progress.checksWithoutProgress
}

/**
 * Returns the internal handle of a socket. It counts the bytes that were passed to the system and those that wait
 * there. The types of Node.js do not declare it.
 */
const handleOf = (socket: Socket) =>
  (socket as { _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null })._handle ?? {}

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
