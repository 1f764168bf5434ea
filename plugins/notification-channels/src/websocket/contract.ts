import { extensionPoint, service, shape } from '@plinth/kernel'

export interface WebsocketCaller {
  /** Undefined for a guest. */
  readonly userId: number | undefined
  /** For a user, the id of the login session as text; for a guest, `guest-` and a UUID. */
  readonly sessionId: string
  /** Language of the texts as BCP 47 tag. */
  readonly locale: string
}

/** Decides who may join a group, such as the readers of a topic. */
export interface WebsocketGroupGuard {
  /**
   * True if the caller may join the group. Called once per subscription. An error, or no result within 5 seconds,
   * counts as false. Without a guard that returns true, only public groups can be joined.
   *
   * @param group 1 to 100 characters: letters, digits, `.`, `_`, `:`, `/` and `-`
   */
  mayJoin(group: string, caller: WebsocketCaller): boolean | Promise<boolean>
}

/** Extension point for guards of groups. It is sufficient that one guard returns true. */
export const websocketGroupGuard = extensionPoint<WebsocketGroupGuard>('notification.websocket-group-guard', {
  from: '@plinth/notification-channels/websocket',
  live: true,
  names: shape.dotted,
  shape: shape.object<WebsocketGroupGuard>({ mayJoin: shape.function }),
})

/** Number of connections of this instance. */
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

/** Counts the connections of this instance. To find a user on all instances, query each instance. */
export const presence = service<Presence>('notification.presence', {
  from: '@plinth/notification-channels/websocket',
})

/**
 * Close codes of this endpoint. It also uses codes of RFC 6455, section 7.4.1: 1001 the server stops, 1003 a binary
 * frame, 1009 a frame that is too large.
 */
export const closeCodes = {
  /** The login session has ended. The client must sign in before it reconnects. */
  sessionEnded: 4401,
  /** The client reads too slowly. It should reconnect and read the inbox. */
  tooSlow: 4408,
  /** The client sends too many messages. */
  tooMany: 4429,
} as const
