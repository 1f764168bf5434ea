import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpRequest } from '@plinth/http'
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws'

/** Not imported; `node-http.ts` of `@plinth/http` explains why. */
const { ServerResponse: Response } = process.getBuiltinModule('node:http')

/** For the closing handshake. */
const closeTimeout = 5_000

/** The types of `ws` lack `closeTimeout`. */
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
 * WebSocket handshakes pass through the application, so that all rules for requests apply. Other upgrades (`h2c`, other
 * paths) stay ordinary requests. A rejected handshake gets a response, and its connection is closed.
 */
export class Upgrades {
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
      // Never the token, which browsers also send as a protocol.
      handleProtocols: (protocols) => (protocols.has('bearer') ? 'bearer' : false),
    }
    this.#sockets = new WebSocketServer(options)
  }

  attach({ server, routing }: Application): void {
    const node = server as Server
    const shouldUpgradeCallback = (request: IncomingMessage) => this.#isHandshake(request)
    Object.assign(node, { shouldUpgradeCallback })
    // Always a socket of `node:net`, although the types of Node.js allow others.
    node.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      // Node.js removed its own listener. Without one, an `error` event ends the process.
      socket.on('error', () => socket.destroy())
      const response = new Response(request)
      response.shouldKeepAlive = false
      response.assignSocket(socket)
      response.once('finish', () => socket.end(() => socket.destroy()))
      this.#handshakes.set(request, { socket, head, response })
      routing(request, response)
    })
  }

  /** True if the handshake is not completed yet. */
  has({ raw }: Pick<HttpRequest, 'raw'>): boolean {
    return this.#handshakes.has(raw)
  }

  /** Calls `ended` once when the connection is closed. */
  onEnd({ raw }: Pick<HttpRequest, 'raw'>, ended: () => void): void {
    const socket = this.#handshakes.get(raw)?.socket
    if (socket === undefined || socket.closed) ended()
    else socket.once('close', ended)
  }

  /** `open` is not called if the client disconnects or violates RFC 6455. */
  complete({ raw }: Pick<HttpRequest, 'raw'>, open: (ws: WebSocket) => void): void {
    const handshake = this.#handshakes.get(raw)
    if (handshake === undefined) return
    const { socket, head, response } = handshake
    // The connection may stay open for long.
    response.detachSocket(socket)
    this.#handshakes.delete(raw)
    this.#sockets.handleUpgrade(raw, socket, head, open)
  }

  #isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
    const [path = ''] = url.split('?', 1)
    return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && path.endsWith(this.#path)
  }
}
