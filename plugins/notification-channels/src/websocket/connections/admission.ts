import { randomUUID } from 'node:crypto'
import { type HttpRequest, pageOrigin } from '@plinth/http'
import { cookieToken, type Identity, isOperator } from '@plinth/iam'
import type { InboxEmbedding } from '@plinth/inbox'
import type { WebsocketCaller } from '../contract.ts'
import { businessError } from '../declarations.ts'

interface AdmissionRules {
  readonly identity: Pick<Identity, 'authenticate' | 'authenticateFor'>
  readonly embedding: Pick<InboxEmbedding, 'audience' | 'allowsOrigin'> | undefined
  readonly mayBeGuest: boolean
}

interface Admitted {
  readonly caller: WebsocketCaller
  readonly isOperator: boolean
  /** Checks the token of an embedded inbox again. Rejects with a `BusinessError` if it is no longer valid. */
  readonly recheck?: () => Promise<void>
}

type HandshakeFacts = Pick<HttpRequest, 'headers' | 'calledHost' | 'contextPath' | 'isHttps'> & {
  readonly token: string | undefined
  readonly locale: string
}

/**
 * Authenticates the caller of a handshake by the first of `Authorization: Bearer`, the sub-protocols `bearer, <token>`,
 * the query parameter `token`, and the session cookie. The token of an embedded inbox is not accepted in a query, and only
 * from this site and from sites that may embed inboxes. Browsers send cookies for any page. A cookie is therefore only
 * accepted from a page of this site, and a guest from a page of another site is rejected.
 *
 * @throws BusinessError "401" `iam.token-invalid`, `iam.token-expired`, `iam.session-ambiguous`,
 * `notification-websocket.credential-missing`; "403" `notification-websocket.origin-unproven`
 */
export async function callerOf(
  facts: HandshakeFacts,
  { identity, embedding, mayBeGuest }: AdmissionRules,
): Promise<Admitted> {
  const { locale } = facts
  const cookie = cookieToken(facts)
  const hidden = bearerOf(facts.headers.authorization) ?? protocolToken(facts)
  const shown = hidden ?? facts.token
  const origin = pageOrigin(facts)
  if (shown === undefined && cookie !== undefined && origin !== 'own') throw businessError('origin-unproven')
  const token = shown ?? cookie
  if (token !== undefined) {
    const check = async () =>
      hidden === undefined || embedding === undefined
        ? identity.authenticate(token)
        : identity.authenticateFor(embedding.audience, token)
    const principal = await check()
    if (principal.audience !== undefined) {
      if (origin === 'foreign' && !embedding?.allowsOrigin(facts.headers.origin)) throw businessError('origin-unproven')
      const caller = { userId: principal.userId, sessionId: `inbox-${randomUUID()}`, locale }
      return { caller, isOperator: false, recheck: async () => void (await check()) }
    }
    const { userId, sessionId } = principal
    return { caller: { userId, sessionId: String(sessionId), locale }, isOperator: isOperator(principal) }
  }
  if (!mayBeGuest) throw businessError('credential-missing')
  if (origin === 'foreign') throw businessError('origin-unproven')
  return { caller: { userId: undefined, sessionId: `guest-${randomUUID()}`, locale }, isOperator: false }
}

/**
 * Returns the bearer token of a header. For another scheme, it returns an empty token, which is invalid, instead of
 * treating the token as missing.
 */
function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  return /^bearer +(\S+)$/i.exec(header.trim())?.[1] ?? ''
}

/** Returns the token from `Sec-WebSocket-Protocol`, the only header that a page can set in a handshake. */
function protocolToken({ headers }: Pick<HandshakeFacts, 'headers'>): string | undefined {
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim())
  const at = protocols.indexOf('bearer')
  return at < 0 ? undefined : (protocols[at + 1] ?? '')
}

interface AdmissionLimits {
  readonly maxSockets: number
  readonly maxSocketsPerAddress: number
}

/**
 * Share of the connections that guests and users without permissions may use. Anyone can be such a client, so the
 * remaining connections are reserved for operators.
 */
const publicShare = 0.9

/** Counts connections and handshakes. */
export class ConnectionCounter {
  readonly #limits: AdmissionLimits
  readonly #byAddress = new Map<string, number>()
  /** Number of connections of guests and users without permissions. */
  #public = 0
  #total = 0

  /** @param limits are read at every connection */
  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /**
   * Counts a connection. Call the returned function once when the connection has ended.
   *
   * @throws BusinessError "429" `notification-websocket.too-many`
   */
  enter(address: string): () => void {
    const { maxSockets, maxSocketsPerAddress } = this.#limits
    const here = this.#byAddress.get(address) ?? 0
    if (this.#total >= maxSockets) throw businessError('too-many', { data: { limit: 'instance' } })
    if (here >= maxSocketsPerAddress) throw businessError('too-many', { data: { limit: 'address' } })
    this.#total += 1
    this.#byAddress.set(address, here + 1)
    return () => {
      this.#total -= 1
      const left = (this.#byAddress.get(address) ?? 1) - 1
      if (left === 0) this.#byAddress.delete(address)
      else this.#byAddress.set(address, left)
    }
  }

  /**
   * Counts a connection of a guest or a user without permissions, in addition to `enter`. Call the returned function
   * once when the connection has ended.
   *
   * @throws BusinessError "429" `notification-websocket.too-many`
   */
  enterPublic(): () => void {
    const most = Math.ceil(this.#limits.maxSockets * publicShare)
    if (this.#public >= most) throw businessError('too-many', { data: { limit: 'public' } })
    this.#public += 1
    return () => {
      this.#public -= 1
    }
  }
}
