import { extensionPoint, service, shape } from '@plinth/kernel'

/** Who is at the other end of a socket. */
export interface WebsocketCaller {
  /** `undefined` for a guest. */
  readonly userId: number | undefined
  /** Of a user the id of the login session, as a text; of a guest an id of its own, `guest-` and a UUID. */
  readonly sessionId: string
  /** Language of its texts, a BCP 47 tag. */
  readonly locale: string
}

/** Decides who may join a group, such as the readers of a topic. */
export interface WebsocketGroupGuard {
  /**
   * Whether the caller may join the group; asked once for each subscription, under a deadline of 5 seconds. A group that no
   * guard answers `true` for cannot be joined; a guard that throws or hangs lets nobody in.
   *
   * @param group 1 to 100 characters: letters, digits, `.`, `_`, `:`, `/` and `-`
   */
  mayJoin(group: string, caller: WebsocketCaller): boolean | Promise<boolean>
}

/** Guards of groups; one `true` is enough. */
export const websocketGroupGuard = extensionPoint<WebsocketGroupGuard>('notification.websocket-group-guard', {
  from: '@plinth/notification-channels/websocket',
  live: true,
  names: shape.dotted,
  shape: shape.object<WebsocketGroupGuard>({ mayJoin: shape.function }),
})

/** Sockets of this instance. */
export interface Presence {
  /** All open sockets. */
  readonly sockets: number
  /** Open sockets of guests. */
  readonly guests: number
  /** Users with an open socket. */
  readonly users: number
  ofUser(userId: number): number
  ofSession(sessionId: string): number
  ofGroup(group: string): number
}

/** Who is connected to this instance right now. For one user on all instances, ask each of them. */
export const presence = service<Presence>('notification.presence', {
  from: '@plinth/notification-channels/websocket',
})

/**
 * Close codes of this endpoint, beside those of RFC 6455, section 7.4.1: 1001 the server goes away, 1003 a binary frame, 1009 a
 * frame that is too large.
 */
export const closeCodes = {
  /** The login session has ended: log in before coming again. */
  sessionEnded: 4401,
  /** The client reads more slowly than it is sent to: come again and read the inbox. */
  tooSlow: 4408,
  /** The client sends more messages than are allowed. */
  tooMany: 4429,
} as const
