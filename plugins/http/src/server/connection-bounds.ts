import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { openConnections } from './door-server.ts'

/** Requests that a connection may send ahead of their answers (RFC 9112, section 9.3.2). More ends the connection. */
const mostUnanswered = 16

export interface ConnectionBounds {
  /** Open connections at a time; what comes beyond is closed at once. */
  readonly maxConnections: number
  /** Milliseconds that a peer may take none of what is sent to it. */
  readonly sendTimeoutMs: number
}

/** Looks at a connection in the time that its peer has, at least, and the longest time between two. */
const fewestLooks = 4
const longestPauseMs = 15_000

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
 * take their time; only who does not read is cut. Every request must be told by `requestCame` and `requestSettled`.
 *
 * All connections are looked at together, a few times within `sendTimeoutMs`, instead of by a timer of each, which Node.js
 * would make anew for every request. Looks are counted, not time: a process that was held up looks once when it goes on.
 */
export function boundConnections(server: Server, { maxConnections, sendTimeoutMs }: ConnectionBounds): void {
  server.maxConnections = maxConnections
  const pauseMs = Math.min(sendTimeoutMs / fewestLooks, longestPauseMs)
  const open = openConnections(server)
  const seen = new WeakMap<Socket, Progress>()
  const look = () => {
    for (const socket of open) {
      const progress = seen.get(socket) ?? { taken: 0, looks: 0 }
      seen.set(socket, progress)
      if (looksWithoutProgress(socket, progress) * pauseMs >= sendTimeoutMs) socket.destroy()
    }
  }
  server.once('listening', () => {
    const timer = setInterval(look, pauseMs).unref()
    server.once('close', () => clearInterval(timer))
  })
}

/** What was seen of a connection that has something to send. */
interface Progress {
  /** Bytes that the system had taken. */
  taken: number
  /** Looks since then. */
  looks: number
}

/** Looks at it, and counts how often its peer was seen to have taken nothing. */
function looksWithoutProgress(socket: Socket, progress: Progress): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = handleOf(socket)
  const taken = bytesWritten - writeQueueSize
  const isUnsent = socket.writableLength > 0 || writeQueueSize > 0
  progress.looks = isWorkedFor(socket) && isUnsent && taken === progress.taken ? progress.looks + 1 : 0
  progress.taken = taken
  return progress.looks
}

/** What Node.js knows of the bytes that it has handed to the system and those that wait there, without saying so in its types. */
const handleOf = (socket: Socket) =>
  (socket as { _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null })._handle ?? {}

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
