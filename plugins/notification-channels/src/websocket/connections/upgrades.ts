import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpRequest } from '@plinth/http'
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws'

/** Loaded without an import; `node-http.ts` of `@plinth/http` explains why. */
const { ServerResponse: Response } = process.getBuiltinModule('node:http')

/** Milliseconds after which a connection is terminated if the client does not complete the closing handshake. */
const closeTimeout = 5_000

/** Options with `closeTimeout`, which the types of `ws` lack. */
interface SocketOptions extends ServerOptions {
  readonly closeTimeout: number
}

interface Handshake {
  readonly socket: Socket
  readonly head: Buffer
  readonly response: ServerResponse
}

type Application = { readonly server: object; routing(request: IncomingMessage, response: ServerResponse): void }

/**
 * Passes WebSocket handshakes to the application as requests, so that all rules for requests apply. Other upgrades
 * (`h2c`, other paths) are treated as requests without an upgrade. A rejected handshake gets a response, and its
 * connection is closed.
 */
export class HandshakeForwarder {
  readonly #path: string
  readonly #handshakes = new WeakMap<IncomingMessage, Handshake>()
  readonly #sockets: WebSocketServer

  constructor(path: string, maxPayload: number) {
    this.#path = path
    const options: SocketOptions = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload,
      closeTimeout,
      // The token, which browsers send as a second protocol, must not be returned in the response.
      handleProtocols: (protocols) => (protocols.has('bearer') ? 'bearer' : false),
    }
    this.#sockets = new WebSocketServer(options)
  }

  attach({ server, routing }: Application): void {
    const node = server as Server
    const shouldUpgradeCallback = (request: IncomingMessage) => this.#isHandshake(request)
    Object.assign(node, { shouldUpgradeCallback })
    // The socket always comes from `node:net`, although the types of Node.js allow others.
    node.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      // Node.js has removed its own listener. Without a listener, an `error` event would end the process.
      socket.on('error', () => socket.destroy())
      const response = new Response(request)
      response.shouldKeepAlive = false
      response.assignSocket(socket)
      response.once('finish', () => socket.end(() => socket.destroy()))
      this.#handshakes.set(request, { socket, head, response })
      routing(request, response)
    })
  }

  /** True if the request is a handshake that is not completed yet. */
  has({ raw }: Pick<HttpRequest, 'raw'>): boolean {
    return this.#handshakes.has(raw)
  }

  /** Calls `ended` once when the connection is closed. */
  onEnd({ raw }: Pick<HttpRequest, 'raw'>, ended: () => void): void {
    const socket = this.#handshakes.get(raw)?.socket
    if (socket === undefined || socket.closed) ended()
    else socket.once('close', ended)
  }

  /** Completes a handshake. `open` is not called if the client disconnects or violates RFC 6455. */
  complete({ raw }: Pick<HttpRequest, 'raw'>, open: (ws: WebSocket) => void): void {
    const handshake = this.#handshakes.get(raw)
    if (handshake === undefined) return
    const { socket, head, response } = handshake
    // Releases the HTTP response, because the connection may stay open for a long time.
    response.detachSocket(socket)
    this.#handshakes.delete(raw)
    this.#sockets.handleUpgrade(raw, socket, head, open)
  }

  #isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
    const [path = ''] = url.split('?', 1)
    return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && path.endsWith(this.#path)
  }
}
