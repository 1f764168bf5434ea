import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that a connection may send ahead of their answers (RFC 9112, section 9.3.2). More ends the connection. */
export const mostUnanswered = 16

export interface ConnectionBounds {
  /** Open connections at a time; what comes beyond is closed at once. */
  readonly maxConnections: number
  /** Milliseconds that a peer may take none of what is sent to it. */
  readonly sendTimeoutMs: number
}

const unanswered = new WeakMap<Socket, number>()

/** Whether a request of the connection has arrived, its headers at least, and is not answered yet. */
export const isWorkedFor = (socket: Socket): boolean => (unanswered.get(socket) ?? 0) > 0

/**
 * Bounds what one peer makes the process hold: answers that it asks for and does not read wait in memory. Handlers may
 * take their time; only who does not read, or is idle between two requests, is cut.
 */
export function boundConnections(server: Server, { maxConnections, sendTimeoutMs }: ConnectionBounds): void {
  const settled = function (this: ServerResponse) {
    const { socket } = this.req
    unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1)
  }
  server.maxConnections = maxConnections
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const count = (unanswered.get(socket) ?? 0) + 1
    unanswered.set(socket, count)
    response.once('close', settled)
    if (count > mostUnanswered) socket.destroy()
  })
  // Node.js restarts the time with every byte that goes out or comes in. A listener takes over what it would do: cut.
  server.setTimeout(sendTimeoutMs, (socket) => {
    if (isWorkedFor(socket) && socket.writableLength === 0) socket.setTimeout(sendTimeoutMs)
    else socket.destroy()
  })
}
