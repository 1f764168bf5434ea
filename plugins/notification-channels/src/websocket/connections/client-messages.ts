import { type Clock, errorReason, type Logger, omitUndefined, withinDeadline } from '@plinth/kernel'
import type { WebsocketGroupGuard } from '../contract.ts'
import type { ClientSocket, SocketTable } from './socket-table.ts'

const guardDeadlineMs = 5_000
/** Maximum number of pending subscriptions of a connection. */
const maxJoining = 8

const groupName = /^[A-Za-z0-9._:/-]{1,100}$/

interface ClientMessageDependencies {
  readonly table: SocketTable
  readonly guards: ReadonlyMap<string, WebsocketGroupGuard>
  readonly publicGroups: () => readonly string[]
  readonly maxGroups: () => number
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Clients send `{"type":"subscribe","group":"news"}`, `{"type":"unsubscribe","group":"news"}` and `{"type":"ping"}`.
 * Each gets one reply. An invalid message has no effect, and its reply is `{"type":"error","code":...}`.
 */
export class ClientMessages {
  readonly #parts: ClientMessageDependencies

  constructor(parts: ClientMessageDependencies) {
    this.#parts = parts
  }

  /** Handles a message of a client. Never throws. */
  async receive(socket: ClientSocket, text: string): Promise<void> {
    const message = parsed(text)
    const { type, group } = message ?? {}
    if (type === 'ping') return response(socket, { type: 'pong' })
    if (type !== 'subscribe' && type !== 'unsubscribe') return reject(socket, 'message-invalid')
    if (typeof group !== 'string' || !groupName.test(group)) return reject(socket, 'group-invalid')
    if (type === 'unsubscribe') {
      this.#parts.table.leave(socket, group)
      return response(socket, { type: 'unsubscribed', group })
    }
    if (!socket.groups.has(group)) {
      if (socket.groups.size + socket.joining >= this.#parts.maxGroups())
        return reject(socket, 'too-many-groups', group)
      if (socket.joining >= maxJoining) return reject(socket, 'busy', group)
      socket.joining += 1
      const isAllowed = await this.#mayJoin(socket, group)
      socket.joining -= 1
      if (!isAllowed) return reject(socket, 'group-forbidden', group)
      this.#parts.table.join(socket, group)
    }
    response(socket, { type: 'subscribed', group })
  }

  async #mayJoin({ caller, recheck }: ClientSocket, group: string): Promise<boolean> {
    const { guards, publicGroups, clock, log } = this.#parts
    if (publicGroups().includes(group)) return true
    // The token of an embedded inbox is only valid for this inbox.
    if (recheck !== undefined) return false
    for (const [name, guard] of guards) {
      const late = () => new Error(`No response within ${guardDeadlineMs} ms`)
      try {
        if (await withinDeadline(clock, guardDeadlineMs, () => guard.mayJoin(group, caller), late)) return true
      } catch (error) {
        log.warn({ guard: name, reason: errorReason(error) }, 'the guard of a group failed')
      }
    }
    return false
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function response(socket: ClientSocket, message: object): void {
  socket.send(JSON.stringify(message))
}

const reject = (socket: ClientSocket, code: string, group?: string) =>
  response(socket, omitUndefined({ type: 'error', code, group }))
