import { type HttpReply, type HttpRequest, type HttpServer, routesWith, Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Identity } from '@plinth/iam'
import type { InboxEmbedding } from '@plinth/inbox'
import type { Clock, Logger } from '@plinth/kernel'
import type { RawData, WebSocket } from 'ws'
import { ConnectionCounter, callerOf } from './connections/admission.ts'
import type { ClientMessages } from './connections/client-messages.ts'
import { ClientSocket, type SocketTable } from './connections/socket-table.ts'
import type { HandshakeForwarder } from './connections/upgrades.ts'
import type { ConnectionUpkeep } from './connections/upkeep.ts'
import type { WebsocketCaller } from './contract.ts'
import { businessError } from './declarations.ts'
import type { SocketMetrics } from './metrics.ts'
import type { FanOut } from './pushes/fan-out.ts'

export const path = '/api/v1/ws'

const { rawRoute } = routesWith<{ readonly endpoint: Endpoint }>()

export const routes = [
  rawRoute({
    method: 'GET',
    path,
    operationId: 'openWebsocket',
    summary: 'Open the realtime connection (WebSocket)',
    description:
      'Callers are authenticated by the session cookie, `Authorization: Bearer`, the sub-protocols `bearer, <token>`, or the query parameter `token`. Callers without these are guests, if guests are allowed. The server sends `{"event":"notification.created"|"notification.read","data":...}`. The client can send `{"type":"subscribe"|"unsubscribe","group":...}` and `{"type":"ping"}`.',
    access: 'public',
    produces: ['application/json'],
    request: {
      query: Type.Object({
        token: Type.Optional(
          Type.String({ maxLength: 256, description: 'Access token, for clients that cannot set headers.' }),
        ),
        locale: Type.Optional(
          Type.String({ maxLength: 64, description: 'Language of texts. Default: `Accept-Language`.' }),
        ),
      }),
    },
    reasons: [
      'iam.api-token-expired',
      'iam.api-token-invalid',
      'iam.api-token-misplaced',
      'iam.session-ambiguous',
      'iam.token-expired',
      'iam.token-invalid',
      'iam.token-out-of-audience',
      'notification-websocket.credential-missing',
      'notification-websocket.going',
      'notification-websocket.origin-unproven',
      'notification-websocket.switched-off',
      'notification-websocket.too-many',
      'notification-websocket.upgrade-needed',
    ],
    handler: (request, { endpoint }, reply) => endpoint.open(request, reply),
  }),
]

/** Settings that are read at each use, so that a change takes effect immediately. */
export interface EndpointSettings {
  readonly enabled: boolean
  readonly guestsEnabled: boolean
  readonly maxSockets: number
  readonly maxSocketsPerUser: number
  readonly maxSocketsPerAddress: number
  readonly maxMessageRate: number
  readonly maxBuffered: number
}

interface EndpointDependencies {
  readonly settings: EndpointSettings
  readonly upgrades: HandshakeForwarder
  readonly table: SocketTable
  readonly messages: ClientMessages
  readonly upkeep: ConnectionUpkeep
  readonly fanOut: FanOut
  readonly identity: Pick<Identity, 'authenticate' | 'authenticateFor'>
  readonly embedding: InboxEmbedding | undefined
  readonly translator: Pick<Translator, 'negotiate'> | undefined
  readonly networkOf: HttpServer['networkOf']
  readonly stoppedListening: HttpServer['stoppedListening']
  readonly metrics: SocketMetrics
  readonly clock: Clock
  readonly log: Logger
}

type Handshake = Omit<HttpRequest, 'query'> & {
  readonly query: { readonly token?: string; readonly locale?: string }
}

export class Endpoint {
  readonly #parts: EndpointDependencies
  readonly #admission: ConnectionCounter
  /** Number of open and pending connections by user id. */
  readonly #byUser = new Map<number, number>()
  #isGoing = false

  constructor(parts: EndpointDependencies) {
    this.#parts = parts
    this.#admission = new ConnectionCounter(parts.settings)
  }

  /** Opens a connection. @throws BusinessError of `callerOf`; "400", "429" and "503" of `notification-websocket` */
  async open(request: Handshake, reply: HttpReply): Promise<HttpReply> {
    const { settings, upgrades, identity, embedding, translator, networkOf, fanOut } = this.#parts
    if (!upgrades.has(request)) throw businessError('upgrade-needed')
    if (this.#isGoing) throw businessError('going')
    if (!settings.enabled) throw businessError('switched-off')
    const leave = this.#admission.enter(networkOf(request.clientIp))
    upgrades.onEnd(request, leave)
    const { token, locale: expected } = request.query
    const locale = expected === undefined ? request.locale : (translator?.negotiate(expected) ?? request.locale)
    const { headers, calledHost, contextPath, isHttps } = request
    const facts = { headers, calledHost, contextPath, isHttps, token, locale }
    const rules = { identity, embedding, mayBeGuest: settings.guestsEnabled }
    const { isOperator, ...admitted } = await callerOf(facts, rules)
    const { caller } = admitted
    if (!isOperator) upgrades.onEnd(request, this.#admission.enterPublic())
    this.#enterUser(request, caller)
    await fanOut.listen()
    if (this.#isGoing) throw businessError('going')
    reply.hijack()
    upgrades.complete(request, (ws) => this.#opened(ws, admitted))
    return reply
  }

  /**
   * Closes all connections when the server accepts no more of them, so that no client connects to this instance again.
   * Resolves when all are closed. If the signal aborts, terminates the connections that are still open.
   */
  async drain(signal: AbortSignal): Promise<void> {
    const { table, stoppedListening } = this.#parts
    const { promise: aborted, resolve } = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (!signal.aborted) await Promise.race([stoppedListening(), aborted])
    this.#isGoing = true
    this.closeAll('going-away')
    const cut = () => {
      for (const socket of table.all()) socket.terminate()
    }
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut, { once: true })
    await table.empty()
    signal.removeEventListener('abort', cut)
  }

  closeAll(reason: string): void {
    for (const socket of this.#parts.table.all()) socket.close(1001, reason)
  }

  cutAll(): void {
    this.#isGoing = true
    for (const socket of this.#parts.table.all()) socket.terminate()
  }

  #enterUser(request: Handshake, { userId }: WebsocketCaller): void {
    if (userId === undefined) return
    const open = this.#byUser.get(userId) ?? 0
    if (open >= this.#parts.settings.maxSocketsPerUser) throw businessError('too-many', { data: { limit: 'user' } })
    this.#byUser.set(userId, open + 1)
    this.#parts.upgrades.onEnd(request, () => {
      const left = (this.#byUser.get(userId) ?? 1) - 1
      if (left === 0) this.#byUser.delete(userId)
      else this.#byUser.set(userId, left)
    })
  }

  #opened(ws: WebSocket, admitted: Pick<ClientSocket, 'caller' | 'recheck'>): void {
    const { settings, table, messages, upkeep, metrics, clock, log } = this.#parts
    const socket = new ClientSocket(ws, admitted, settings, clock)
    ws.on('error', ({ message }) => log.debug({ reason: message }, 'a client violated the protocol of the connection'))
    ws.on('close', (code) => {
      table.remove(socket)
      metrics.closed(code)
    })
    ws.on('ping', () => void socket.takesOne())
    ws.on('message', (data: RawData, isBinary: boolean) => {
      if (!socket.isOpen || !socket.takesOne()) return
      if (isBinary) socket.close(1003, 'text-only')
      else void messages.receive(socket, String(data))
    })
    table.add(socket)
    upkeep.wake()
    const { sessionId, userId = null, locale } = admitted.caller
    socket.send(JSON.stringify({ type: 'connected', userId, sessionId, locale }))
    if (this.#isGoing) socket.close(1001, 'going-away')
  }
}
