import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Identity } from '@plinth/iam'
import { type Clock, errorReason, isBusinessError, type Logger } from '@plinth/kernel'
import { closeCodes } from '../contract.ts'
import type { ClientSocket, SocketTable } from './socket-table.ts'

/** Number of connections that are processed in one tick of the event loop. */
const step = 250

interface UpkeepDependencies {
  readonly table: SocketTable
  readonly identity: Pick<Identity, 'standingSessions'>
  /** Milliseconds. */
  readonly heartbeatMs: () => number
  /** Milliseconds. */
  readonly sessionCheckMs: () => number
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Pings connections, terminates those that do not reply, and closes those without a valid session. Does nothing while
 * there are no connections.
 */
export class ConnectionUpkeep {
  readonly #parts: UpkeepDependencies
  readonly #stop = new AbortController()
  readonly #running = new Set<string>()
  #couldCheck = true

  constructor(parts: UpkeepDependencies) {
    this.#parts = parts
  }

  /** Call it when a connection is added. */
  wake(): void {
    const { heartbeatMs, sessionCheckMs } = this.#parts
    void this.#repeat('heartbeat', heartbeatMs, (sockets) => this.#beat(sockets))
    void this.#repeat('sessions', sessionCheckMs, (sockets) => this.#checkSessions(sockets))
  }

  stop(): void {
    this.#stop.abort()
  }

  async #repeat(
    name: string,
    intervalMs: () => number,
    work: (sockets: readonly ClientSocket[]) => Promise<void>,
  ): Promise<void> {
    const { table, clock } = this.#parts
    const { signal } = this.#stop
    if (this.#running.has(name)) return
    this.#running.add(name)
    while (table.sockets > 0 && !signal.aborted) {
      await clock.sleep(intervalMs(), signal)
      if (!signal.aborted) await work(table.all())
    }
    this.#running.delete(name)
  }

  async #beat(sockets: readonly ClientSocket[]): Promise<void> {
    for (const [index, socket] of sockets.entries()) {
      if (index > 0 && index % step === 0) await nextTurn()
      socket.beat()
    }
  }

  /** Valid tokens are cached, so a check usually needs no query. */
  async #recheckTokens(sockets: readonly ClientSocket[]): Promise<void> {
    for (const [index, socket] of sockets.entries()) {
      if (index > 0 && index % step === 0) await nextTurn()
      try {
        await socket.recheck?.()
      } catch (error) {
        if (!isBusinessError(error)) return this.#checkFailed(error)
        socket.close(closeCodes.sessionEnded, 'session-ended')
      }
    }
  }

  #checkFailed(error: unknown): void {
    const { log } = this.#parts
    if (this.#couldCheck) log.warn({ reason: errorReason(error) }, 'sessions of open connections cannot be checked')
    this.#couldCheck = false
  }

  /**
   * Closes connections without a valid session. If sessions cannot be checked, connections stay open until the next
   * check, because clients cannot change data through them.
   */
  async #checkSessions(sockets: readonly ClientSocket[]): Promise<void> {
    const { identity } = this.#parts
    const known = sockets.filter(({ caller, recheck }) => caller.userId !== undefined && recheck === undefined)
    for (let from = 0; from < known.length; from += step) {
      const some = known.slice(from, from + step)
      try {
        const standing = await identity.standingSessions(some.map(({ caller }) => Number(caller.sessionId)))
        for (const socket of some) {
          if (!standing.has(Number(socket.caller.sessionId))) socket.close(closeCodes.sessionEnded, 'session-ended')
        }
        this.#couldCheck = true
      } catch (error) {
        this.#checkFailed(error)
        return
      }
    }
    await this.#recheckTokens(sockets)
  }
}
