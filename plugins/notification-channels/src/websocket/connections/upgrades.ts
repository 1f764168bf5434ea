import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpRequest } from '@plinth/http'
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws'

/** Not imported: see `@plinth/http`, `node-http.ts`. */
const { ServerResponse: Response } = process.getBuiltinModule('node:http')

/** Milliseconds that a client has to answer a goodbye. */
const closeTimeout = 5_000

/** The types of `ws` do not have `closeTimeout` yet. */
interface SocketOptions extends ServerOptions {
  readonly closeTimeout: number
}

interface Handshake {
  readonly socket: Duplex
  readonly head: Buffer
  readonly response: ServerResponse
}

type Application = { readonly server: object; routing(request: IncomingMessage, response: ServerResponse): void }

/**
 * Takes WebSocket handshakes through the routes of the application, so that all that holds for requests holds for them.
 * Every other request that asks for an upgrade (`Upgrade: h2c`, other paths) stays an ordinary one, and a handshake that is
 * refused is answered and closed.
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
      // Never the token, which a browser sends as a protocol as well.
      handleProtocols: (protocols) => (protocols.has('bearer') ? 'bearer' : false),
    }
    this.#sockets = new WebSocketServer(options)
  }

  attach({ server, routing }: Application): void {
    const node = server as Server
    const shouldUpgradeCallback = (request: IncomingMessage) => this.#isHandshake(request)
    Object.assign(node, { shouldUpgradeCallback })
    node.on('upgrade', (request, socket, head) => {
      // Node.js has removed its own listener.
      socket.on('error', () => socket.destroy())
      const response = new Response(request)
      response.shouldKeepAlive = false
      // Of an upgraded connection it is the socket of `node:net`.
      response.assignSocket(socket as never)
      response.once('finish', () => socket.end(() => socket.destroy()))
      this.#handshakes.set(request, { socket, head, response })
      routing(request, response)
    })
  }

  /** Whether the request is a handshake that is not complete yet. */
  has({ raw }: Pick<HttpRequest, 'raw'>): boolean {
    return this.#handshakes.has(raw)
  }

  /** Calls back once when the connection of a handshake has ended, whatever became of it. */
  onEnd({ raw }: Pick<HttpRequest, 'raw'>, ended: () => void): void {
    const socket = this.#handshakes.get(raw)?.socket
    if (socket === undefined || socket.closed) ended()
    else socket.once('close', ended)
  }

  /** Completes a handshake. `open` is not called when the client has gone, or breaks the rules of RFC 6455. */
  complete({ raw }: Pick<HttpRequest, 'raw'>, open: (ws: WebSocket) => void): void {
    const handshake = this.#handshakes.get(raw)
    if (handshake === undefined) return
    const { socket, head, response } = handshake
    // What belongs to the request is not kept for as long as the connection lives.
    response.detachSocket(socket as never)
    this.#handshakes.delete(raw)
    this.#sockets.handleUpgrade(raw, socket, head, open)
  }

  #isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
    const [path = ''] = url.split('?', 1)
    return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && path.endsWith(this.#path)
  }
}
