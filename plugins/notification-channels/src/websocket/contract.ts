import { extensionPoint, service, shape } from '@plinth/kernel'

/** The user or guest of a connection. */
export interface WebsocketCaller {
  /** Undefined for a guest. */
  readonly userId: number | undefined
  /** For a user, the id of the login session as text. For a guest, `guest-` and a UUID. */
  readonly sessionId: string
  /** Language of the texts, a BCP 47 tag. */
  readonly locale: string
}

/** Decides who may join a group, such as the readers of a topic. */
export interface WebsocketGroupGuard {
  /**
   * Returns true if the caller may join the group. It is called once per subscription, with a deadline of 5 seconds. An
   * error or a timeout counts as false. A group that is not public can only be joined if one guard returns true.
   *
   * @param group 1 to 100 characters: letters, digits, `.`, `_`, `:`, `/` and `-`
   */
  mayJoin(group: string, caller: WebsocketCaller): boolean | Promise<boolean>
}

/** Guards of groups. One that returns true is sufficient. */
export const websocketGroupGuard = extensionPoint<WebsocketGroupGuard>('notification.websocket-group-guard', {
  from: '@plinth/notification-channels/websocket',
  live: true,
  names: shape.dotted,
  shape: shape.object<WebsocketGroupGuard>({ mayJoin: shape.function }),
})

/** Connections of this instance. */
export interface Presence {
  /** All open connections. */
  readonly sockets: number
  /** Open connections of guests. */
  readonly guests: number
  /** Users with an open connection. */
  readonly users: number
  ofUser(userId: number): number
  ofSession(sessionId: string): number
  ofGroup(group: string): number
}

/** Open connections of this instance. To find a user on all instances, query each instance. */
export const presence = service<Presence>('notification.presence', {
  from: '@plinth/notification-channels/websocket',
})

/**
 * Close codes of this endpoint, in addition to those of RFC 6455, section 7.4.1: 1001 the server goes away, 1003 a
 * binary frame, 1009 a frame that is too large.
 */
export const closeCodes = {
  /** The login session has ended. Sign in before reconnecting. */
  sessionEnded: 4401,
  /** The client reads too slowly. Reconnect and read the inbox. */
  tooSlow: 4408,
  /** The client sends too many messages. */
  tooMany: 4429,
} as const
