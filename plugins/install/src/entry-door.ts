import { BusinessError, type Clock } from '@plinth/kernel'
import { type AuditTrail, auditActions } from './audit.ts'
import { type Caller, callerOf } from './caller.ts'
import { type EntryReason, tokenHeader } from './contract.ts'
import { type Closed, type EntryCheck, isOfCaller, type Verdict } from './entry-check.ts'
import type { HttpReply, HttpRequest } from './http-types.ts'

export interface EntryDoorParts {
  readonly entry: EntryCheck
  readonly audit: AuditTrail
  readonly clock: Pick<Clock, 'monotonic'>
}

/** A caller with what was decided about it. */
export interface Entered {
  readonly caller: Caller
  readonly verdict: Verdict
}

/** Refusals a minute that are audited: strangers must not be able to fill the database. */
const mostRefusals = 60
const windowMs = 60_000

/** Asks the entry check for requests, and audits whom it turned away. */
export class EntryDoor {
  readonly #parts: EntryDoorParts
  #window = { startedAt: Number.NEGATIVE_INFINITY, refusals: 0 }

  constructor(parts: EntryDoorParts) {
    this.#parts = parts
  }

  /** The token of the header alone counts, not one in the body or in the query (decision D26). */
  enter(request: Parameters<typeof callerOf>[0], reply: HttpReply): Promise<Entered> {
    const given = request.headers[tokenHeader]
    return this.check(request, reply, typeof given === 'string' ? given : undefined)
  }

  /** @throws BusinessError "429" with the header `Retry-After` */
  async check(
    request: Pick<HttpRequest, 'headers'> & Parameters<typeof callerOf>[0],
    reply: HttpReply,
    token: string | undefined,
  ): Promise<Entered> {
    reply.header('cache-control', 'no-store')
    const caller = callerOf(request)
    try {
      const verdict = await this.#parts.entry.check(caller, token)
      if (!verdict.authorized) await this.#auditRefusal(caller, verdict)
      const isProven = caller.isProven || verdict.reason === 'install.token.valid'
      return { caller: { ...caller, isProven }, verdict }
    } catch (error) {
      const seconds = error instanceof BusinessError ? error.data?.['retryAfterSeconds'] : undefined
      if (typeof seconds === 'number') reply.header('retry-after', seconds)
      throw error
    }
  }

  async #auditRefusal(caller: Caller, { reason, closed }: Verdict): Promise<void> {
    const now = this.#parts.clock.monotonic()
    if (now - this.#window.startedAt >= windowMs) this.#window = { startedAt: now, refusals: 0 }
    this.#window.refusals++
    if (this.#window.refusals > mostRefusals) return
    const summary = { reason, ...(closed === undefined ? {} : { closed }) }
    await this.#parts.audit.note(caller, { action: auditActions.entryCheck, status: 'failed', summary })
  }
}

export const entryRefused = (reason: EntryReason, closed?: Closed) =>
  new BusinessError('403', 'The installation is closed to you.', {
    reason,
    messageKey:
      closed !== undefined && isOfCaller(closed)
        ? `messages.install.entry.closed.${closed}`
        : 'messages.install.entry.refused',
  })
