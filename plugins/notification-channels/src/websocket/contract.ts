import { extensionPoint, service, shape } from '@plinth/kernel'

export interface WebsocketCaller {
  /** Id of the user; undefined for a guest. */
  readonly userId: number | undefined
  /** Id of the login session, or `guest-` and a UUID. */
  readonly sessionId: string
  /** BCP 47 tag of the user's language. */
  readonly locale: string
}

/** Decides who may join a group, such as the readers of a topic. */
export interface WebsocketGroupGuard {
  /**
   * Called once per subscription. An error, or no result within 5 seconds, counts as false. Without a guard that
   * returns true, only public groups can be joined.
   *
   * @param group 1 to 100 characters: letters, digits, `.`, `_`, `:`, `/` and `-`
   */
  mayJoin(group: string, caller: WebsocketCaller): boolean | Promise<boolean>
}

/** Guards of groups. A client may join a group if one guard returns true. */
export const websocketGroupGuard = extensionPoint<WebsocketGroupGuard>('notification.websocket-group-guard', {
  from: '@plinth/notification-channels/websocket',
  live: true,
  names: shape.dotted,
  shape: shape.object<WebsocketGroupGuard>({ mayJoin: shape.function }),
})

export interface Presence {
  readonly sockets: number
  readonly guests: number
  readonly users: number
  ofUser(userId: number): number
  ofSession(sessionId: string): number
  ofGroup(group: string): number
}

/** Counts connections, but only those of this instance. */
export const presence = service<Presence>('notification.presence', {
  from: '@plinth/notification-channels/websocket',
})

/**
 * Close codes of this product. RFC 6455, section 7.4.1, defines the other codes that the server sends: 1001 the server
 * stops, 1003 a binary frame, 1009 a frame that is too large.
 */
export const closeCodes = {
  /** The session has ended. The client must sign in before it connects again. */
  sessionEnded: 4401,
  /** The client reads too slowly. It should connect again and read the inbox. */
  tooSlow: 4408,
  /** The client sends too much. */
  tooMany: 4429,
} as const
