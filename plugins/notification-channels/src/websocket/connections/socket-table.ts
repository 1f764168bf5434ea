import type { Presence } from '../contract.ts'
import type { ClientSocket } from './client-socket.ts'

/** Whom something is for. */
export interface Targets {
  readonly userIds?: readonly number[]
  readonly sessionIds?: readonly string[]
  readonly groups?: readonly string[]
  readonly guests?: boolean
}

/** The open connections of this instance, found by user, session, group and as guests. */
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

  /** The connections of the targets, each once. */
  of({ userIds = [], sessionIds = [], groups = [], guests = false }: Targets): ReadonlySet<ClientSocket> {
    const found = new Set<ClientSocket>()
    const add = (sockets: Iterable<ClientSocket> = []) => {
      for (const socket of sockets) found.add(socket)
    }
    for (const userId of userIds) add(this.#byUser.get(userId))
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
