import { randomUUID } from 'node:crypto'
import { type Database, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { errorReason } from '@plinth/kernel'
import type { InstallServices } from '../requires.ts'
import { SessionRow, type SessionStatus } from './entities.ts'

export interface Session {
  readonly id: string
  readonly retriedSessionId: string
  readonly clientIp: string
  readonly startedAt: Date
}

interface SessionEnd {
  readonly status: Exclude<SessionStatus, 'running'>
  readonly failedStep: string
  /** A stored sentence. Must not contain secrets. */
  readonly message: string
}

interface SessionFilter {
  readonly status?: SessionStatus
  readonly keyword?: string
}

type SessionDependencies = Pick<InstallServices, 'database' | 'clock' | 'log'>

const searched = ['id', 'message', 'failedStep', 'clientIp']

/** Newest first. Session ids do not sort by time. */
export const sessionOrder: PageWindow['orderBy'] = [{ property: 'startedAt', direction: 'desc' }]

/** The sessions of the installation. They are stored once the database is available. */
export class Sessions {
  readonly #parts: SessionDependencies

  constructor(parts: SessionDependencies) {
    this.#parts = parts
  }

  begin(clientIp: string, retriedSessionId: string): Session {
    return { id: randomUUID(), retriedSessionId, clientIp, startedAt: new Date(this.#parts.clock.now()) }
  }

  /** Stores a running session, unless it is stored already or the database is not available. */
  async store(session: Session): Promise<void> {
    await this.#quietly(async (em) => {
      if ((await em.count(SessionRow, { id: session.id })) > 0) return
      em.create(SessionRow, { ...session, status: 'running', endedAt: null, failedStep: '', message: '' })
    })
  }

  async end(session: Session, end: SessionEnd): Promise<void> {
    await this.#quietly(async (em) => {
      const row = await em.findOne(SessionRow, { id: session.id })
      const ended = { ...end, endedAt: new Date(this.#parts.clock.now()) }
      if (row === null) em.create(SessionRow, { ...session, ...ended })
      else em.assign(row, ended)
    })
  }

  /** Ends sessions whose process died. The caller must hold the lock of the installation. */
  async closeAbandoned(current: Session): Promise<void> {
    await this.#quietly(async (em) => {
      const ended = { status: 'interrupted', endedAt: new Date(this.#parts.clock.now()) } as const
      await em.nativeUpdate(SessionRow, { status: 'running', id: { $ne: current.id } }, ended)
    })
  }

  /** Returns the newest session that is running or whose process died. */
  async running(): Promise<SessionRow | undefined> {
    const options = { orderBy: { startedAt: 'desc' }, limit: 1 } as const
    const [row] = await this.#parts.database.fork().find(SessionRow, { status: 'running' }, options)
    return row
  }

  async find(id: string): Promise<SessionRow | undefined> {
    return (await this.#parts.database.fork().findOne(SessionRow, { id })) ?? undefined
  }

  list({ status, keyword = '' }: SessionFilter, window: PageWindow): Promise<FoundPage<SessionRow>> {
    const search = { text: keyword, properties: searched }
    return findPage(this.#parts.database.fork(), SessionRow, status === undefined ? {} : { status }, window, { search })
  }

  async #quietly(work: Parameters<Database['transactional']>[0]): Promise<void> {
    try {
      await this.#parts.database.transactional(work)
    } catch (error) {
      this.#parts.log.debug({ reason: errorReason(error) }, 'the session of the installation could not be stored')
    }
  }
}
