import type { Clock } from '@plinth/kernel'
import type WebSocket from 'ws'
import { closeCodes, type Presence, type WebsocketCaller } from '../contract.ts'

interface SocketBounds {
  /** Maximum number of bytes that wait to be sent to a client. */
  readonly maxBuffered: number
  /** Maximum number of messages and pings that a client may send per second. */
  readonly maxMessageRate: number
}

const second = 1_000

/** A connection. It is closed if the client reads too slowly, sends too much or no longer responds. */
export class ClientSocket {
  readonly caller: WebsocketCaller
  readonly recheck?: (() => Promise<void>) | undefined
  readonly groups = new Set<string>()
  joining = 0
  readonly #ws: WebSocket
  readonly #bounds: SocketBounds
  readonly #clock: Pick<Clock, 'monotonic'>
  #isAnswered = true
  #secondBegan = Number.NEGATIVE_INFINITY
  #received = 0

  /** @param admitted `recheck` is absent for sessions and guests, see `callerOf` */
  constructor(
    ws: WebSocket,
    { caller, recheck }: Pick<ClientSocket, 'caller' | 'recheck'>,
    bounds: SocketBounds,
    clock: Pick<Clock, 'monotonic'>,
  ) {
    this.#ws = ws
    this.caller = caller
    this.recheck = recheck
    this.#bounds = bounds
    this.#clock = clock
    ws.on('pong', () => {
      this.#isAnswered = true
    })
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Sends a text. Returns false if the connection is closed. Closes it if the client reads too slowly. */
  send(text: string | Buffer): boolean {
    if (!this.isOpen) return false
    if (this.#ws.bufferedAmount > this.#bounds.maxBuffered) {
      this.close(closeCodes.tooSlow, 'too-slow')
      return false
    }
    this.#ws.send(text, { binary: false })
    return true
  }

  /** Counts a message of the client. If the client sends too much, closes the connection and returns false. */
  takesOne(): boolean {
    const now = this.#clock.monotonic()
    if (now - this.#secondBegan >= second) {
      this.#secondBegan = now
      this.#received = 0
    }
    this.#received += 1
    if (this.#received <= this.#bounds.maxMessageRate) return true
    this.close(closeCodes.tooMany, 'too-many-messages')
    return false
  }

  /** Sends a ping. Terminates the connection if the client did not reply to the last one. */
  beat(): void {
    if (!this.#isAnswered) {
      this.terminate()
      return
    }
    if (!this.isOpen) return
    this.#isAnswered = false
    this.#ws.ping()
  }

  /**
   * Closes the connection. The library `ws` terminates it if the client does not complete the closing handshake within
   * some seconds.
   */
  close(code: number, reason: string): void {
    if (this.isOpen) this.#ws.close(code, reason)
  }

  terminate(): void {
    this.#ws.terminate()
  }
}

export interface Targets {
  readonly userIds?: readonly number[]
  /** All users with an id of at most this number: the recipients of a broadcast. */
  readonly usersUpTo?: number
  readonly sessionIds?: readonly string[]
  readonly groups?: readonly string[]
  readonly guests?: boolean
}

/** The open connections of this instance. */
export class SocketTable implements Presence {
  readonly #all = new Set<ClientSocket>()
  readonly #byUser = new Map<number, Set<ClientSocket>>()
  readonly #bySession = new Map<string, Set<ClientSocket>>()
  readonly #byGroup = new Map<string, Set<ClientSocket>>()
  readonly #guests = new Set<ClientSocket>()
  #emptied: (() => void)[] = []

  get sockets(): number {
    return this.#all.size
  }
  get guests(): number {
    return this.#guests.size
  }
  get users(): number {
    return this.#byUser.size
  }
  ofUser = (userId: number): number => this.#byUser.get(userId)?.size ?? 0
  ofSession = (sessionId: string): number => this.#bySession.get(sessionId)?.size ?? 0
  ofGroup = (group: string): number => this.#byGroup.get(group)?.size ?? 0

  all(): readonly ClientSocket[] {
    return [...this.#all]
  }

  add(socket: ClientSocket): void {
    const { userId, sessionId } = socket.caller
    this.#all.add(socket)
    put(this.#bySession, sessionId, socket)
    if (userId === undefined) this.#guests.add(socket)
    else put(this.#byUser, userId, socket)
  }

  remove(socket: ClientSocket): void {
    const { userId, sessionId } = socket.caller
    if (!this.#all.delete(socket)) return
    this.#guests.delete(socket)
    take(this.#bySession, sessionId, socket)
    if (userId !== undefined) take(this.#byUser, userId, socket)
    for (const group of [...socket.groups]) this.leave(socket, group)
    if (this.#all.size === 0) for (const tell of this.#emptied.splice(0)) tell()
  }

  join(socket: ClientSocket, group: string): void {
    if (!this.#all.has(socket)) return
    socket.groups.add(group)
    put(this.#byGroup, group, socket)
  }

  leave(socket: ClientSocket, group: string): void {
    socket.groups.delete(group)
    take(this.#byGroup, group, socket)
  }

  /** Returns the connections of the targets, each only once. */
  of({
    userIds = [],
    usersUpTo = 0,
    sessionIds = [],
    groups = [],
    guests = false,
  }: Targets): ReadonlySet<ClientSocket> {
    const found = new Set<ClientSocket>()
    const add = (sockets: Iterable<ClientSocket> = []) => {
      for (const socket of sockets) found.add(socket)
    }
    for (const userId of userIds) add(this.#byUser.get(userId))
    if (usersUpTo > 0) for (const [userId, sockets] of this.#byUser) if (userId <= usersUpTo) add(sockets)
    for (const sessionId of sessionIds) add(this.#bySession.get(sessionId))
    for (const group of groups) add(this.#byGroup.get(group))
    if (guests) add(this.#guests)
    return found
  }

  /** Resolves when no connection is open. */
  async empty(): Promise<void> {
    if (this.#all.size > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve))
  }
}

function put<K>(index: Map<K, Set<ClientSocket>>, key: K, socket: ClientSocket): void {
  const known = index.get(key)
  if (known === undefined) index.set(key, new Set([socket]))
  else known.add(socket)
}

function take<K>(index: Map<K, Set<ClientSocket>>, key: K, socket: ClientSocket): void {
  const known = index.get(key)
  known?.delete(socket)
  if (known?.size === 0) index.delete(key)
}
