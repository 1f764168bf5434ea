import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that a connection may send ahead of their answers (RFC 9112, section 9.3.2). More ends the connection. */
export const mostUnanswered = 16

export interface ConnectionBounds {
  /** Open connections at a time; what comes beyond is closed at once. */
  readonly maxConnections: number
  /** Milliseconds that a peer may take none of what is sent to it. */
  readonly sendTimeoutMs: number
}

/** Requests of a connection without an answer. A member of the socket: a WeakMap costs a fast route 2 % of its throughput. */
const unanswered: unique symbol = Symbol('requests without an answer')

declare module 'node:net' {
  interface Socket {
    [unanswered]?: number
  }
}

/** Whether a request of the connection has arrived, its headers at least, and is not answered yet. */
export const isWorkedFor = (socket: Socket): boolean => (socket[unanswered] ?? 0) > 0

/**
 * Bounds what one peer makes the process hold: answers that it asks for and does not read wait in memory. Handlers may
 * take their time; only who does not read, or is idle between two requests, is cut. Every request must be told by
 * `requestCame` and `requestSettled`.
 */
export function boundConnections(server: Server, { maxConnections, sendTimeoutMs }: ConnectionBounds): void {
  server.maxConnections = maxConnections
  // Node.js restarts the time with every byte that goes out or comes in. A listener takes over what it would do: cut.
  server.setTimeout(sendTimeoutMs, (socket) => {
    const unsent = unsentBytes(socket)
    // A process that was held up finds the timer due before what it could have read and written meanwhile: that comes first.
    setImmediate(() => {
      const waitsForUs = isWorkedFor(socket) && socket.writableLength === 0
      if (waitsForUs || unsentBytes(socket) < unsent) socket.setTimeout(sendTimeoutMs)
      else socket.destroy()
    })
  })
}

/** What the system has not taken yet of what was written, as Node.js itself looks it up when the time is over. */
const unsentBytes = (socket: Socket): number =>
  (socket as { _handle?: { readonly writeQueueSize: number } | null })._handle?.writeQueueSize ?? 0

/**
 * Counts a request of the connection.
 *
 * @returns false when it is not to be worked on: it was one too many, or came with that one
 */
export function requestCame(socket: Socket): boolean {
  const count = (socket[unanswered] ?? 0) + 1
  socket[unanswered] = count
  if (count > mostUnanswered) socket.destroy()
  return !socket.destroyed
}

/** A request of the connection has its answer, or never gets one. */
export function requestSettled(socket: Socket): void {
  socket[unanswered] = (socket[unanswered] ?? 1) - 1
}
