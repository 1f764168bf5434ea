import { type HttpReply, type HttpRequest, pageOrigin, type RouteGuard } from '@plinth/http'
import type { BusinessError } from '@plinth/kernel'
import { type EntryReason, tokenHeader } from '../contract.ts'
import { auditActions, type InstallAuditTrail } from '../records/audit-trail.ts'
import type { InstallServices } from '../requires.ts'
import { businessError } from '../texts.ts'
import { type Caller, callerOf } from './caller.ts'
import { type ClosedReason, concernsOnlyCaller, type EntryDecision, type EntryPolicy } from './entry-policy.ts'

/**
 * Rejects requests that a page of another site sends through a browser. Most installer operations need no body, so
 * without a token nothing else would stop such requests. Programs other than browsers do not send the headers that this
 * guard checks, and are not affected.
 */
export function crossSiteGuard(plugin: string): RouteGuard {
  return {
    name: 'install.cross-site',
    stage: 'gate',
    reasons: ['install.cross-site'],
    forRoute(route) {
      if (route.plugin !== plugin || route.method === 'GET') return undefined
      return (request) => {
        if (pageOrigin(request) === 'foreign') throw businessError('cross-site', { text: 'entry.cross-site' })
      }
    },
  }
}

type EntryGateDependencies = Pick<InstallServices, 'clock'> & {
  readonly entry: EntryPolicy
  readonly audit: InstallAuditTrail
}

export interface EntryAttempt {
  readonly caller: Caller
  readonly verdict: EntryDecision
}

/** Maximum number of audited rejections per minute, so that strangers cannot fill the database. */
const maxRejections = 60
const windowMs = 60_000

/** Checks whether a request may use the installer, and audits rejections. */
export class EntryGate {
  readonly #parts: EntryGateDependencies
  #window = { startedAt: Number.NEGATIVE_INFINITY, rejections: 0 }

  constructor(parts: EntryGateDependencies) {
    this.#parts = parts
  }

  /** Reads the token from the header only, not from the body or the query (decision D26). */
  enter(request: Parameters<typeof callerOf>[0], reply: HttpReply): Promise<EntryAttempt> {
    const given = request.headers[tokenHeader]
    return this.check(request, reply, typeof given === 'string' ? given : undefined)
  }

  /** @throws BusinessError "429" with the seconds to wait in `data.retryAfter` */
  async check(
    request: Pick<HttpRequest, 'headers'> & Parameters<typeof callerOf>[0],
    reply: HttpReply,
    token: string | undefined,
  ): Promise<EntryAttempt> {
    reply.header('cache-control', 'no-store')
    const caller = callerOf(request)
    const verdict = await this.#parts.entry.check(caller, token)
    if (!verdict.authorized) await this.#auditRejection(caller, verdict)
    const isProven = caller.isProven || verdict.reason === 'install.token.valid'
    return { caller: { ...caller, isProven }, verdict }
  }

  async #auditRejection(caller: Caller, { reason, closed }: EntryDecision): Promise<void> {
    const now = this.#parts.clock.monotonic()
    if (now - this.#window.startedAt >= windowMs) this.#window = { startedAt: now, rejections: 0 }
    this.#window.rejections++
    if (this.#window.rejections > maxRejections) return
    const summary = { reason, ...(closed === undefined ? {} : { closed }) }
    await this.#parts.audit.note(caller, { action: auditActions.entryCheck, status: 'failed', summary })
  }
}

export function entryRejectedError(reason: EntryReason, closed?: ClosedReason): BusinessError {
  const text =
    closed !== undefined && concernsOnlyCaller(closed) ? (`entry.closed.${closed}` as const) : 'entry.refused'
  return businessError(reason === 'install.token.invalid' ? 'token.invalid' : 'token.not-allowed', { text })
}
