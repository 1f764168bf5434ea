import type { PageWindow } from '@plinth/database'
import type { Kernel } from '@plinth/kernel'
import type { AdministratorCreation } from './administrator.ts'
import { type AuditFilter, type AuditTrail, auditActions } from './audit.ts'
import type { Caller } from './caller.ts'
import type { InstallConfig } from './config.ts'
import type { StatusView } from './contract.ts'
import type { EntryService } from './entry-service.ts'
import { hasPassed } from './form-checks.ts'
import { type Journal, limitOf } from './journal.ts'
import type { Preflight } from './preflight-run.ts'
import { type SessionFilter, type Sessions, sessionOrder } from './sessions.ts'
import type { InstallState, Reading } from './state.ts'
import type { Status } from './status.ts'
import type { StepOverview } from './step-overview.ts'
import type { Say } from './texts.ts'

export interface AdminServiceParts {
  readonly kernel: Pick<Kernel, 'product'>
  readonly config: InstallConfig
  readonly state: InstallState
  readonly status: Status
  readonly stepOverview: StepOverview
  readonly preflight: Preflight
  readonly sessions: Sessions
  readonly journal: Journal
  readonly audit: AuditTrail
  readonly administrator: AdministratorCreation
  readonly entryService: EntryService
  readonly say: Say
}

/** What an operator has to type. */
export const confirmations = { reset: 'RESET-INSTALL', mark: 'MARK-INSTALLED' } as const

/** Code points of a reason that are kept. */
const longestReason = 200
const recentSessions = 20

export interface StateRequest {
  readonly confirmation?: string | undefined
  readonly reason?: string | undefined
}

/** Operations on the installation for operators who are logged in. */
export class AdminService {
  readonly #parts: AdminServiceParts

  constructor(parts: AdminServiceParts) {
    this.#parts = parts
  }

  status({ prefix }: Caller): Promise<StatusView> {
    return this.#parts.status.snapshot(prefix)
  }

  /** Everything that helps to find a fault. Changes nothing, not even for a moment. */
  async diagnostics(caller: Caller) {
    const { kernel, status, stepOverview, preflight, sessions, journal } = this.#parts
    const checks = [...(await preflight.run(caller, { mayWrite: false }))]
    const newest = { orderBy: sessionOrder, size: recentSessions, offset: 0, count: 'none' } as const
    const { items } = await sessions.list({}, newest)
    return {
      product: { name: kernel.product.name, version: kernel.product.version, node: process.version },
      status: await status.snapshot(caller.prefix),
      steps: await stepOverview.list(caller.locale),
      preflight: { passed: hasPassed(checks), checks },
      sessions: items,
      executionLogs: [...(await journal.newest(limitOf(undefined)))],
    }
  }

  steps({ locale }: Caller) {
    return this.#parts.stepOverview.list(locale)
  }

  sessions(filter: SessionFilter, window: PageWindow) {
    return this.#parts.sessions.list(filter, window)
  }

  /** `undefined` when there is no such session. */
  async session(id: string, limit: number | undefined) {
    const { sessions, journal } = this.#parts
    const session = await sessions.find(id)
    return session && { session, records: [...(await journal.newest(limitOf(limit), id))] }
  }

  async records(limit: number | undefined) {
    return [...(await this.#parts.journal.newest(limitOf(limit)))]
  }

  auditLogs(filter: AuditFilter, window: PageWindow) {
    return this.#parts.audit.list(filter, window)
  }

  /** Opens the installation again. Audited in every case. */
  async reset(request: StateRequest, caller: Caller) {
    const finding = await this.#tryReset(request, caller)
    const alreadyUninstalled = finding === 'already-uninstalled'
    const reset = finding === 'reset' || alreadyUninstalled
    const message = await this.#conclude(auditActions.reset, reset, finding, request, caller)
    return { reset, alreadyUninstalled, message }
  }

  /** Order of the conditions: phrase, state, leave to install again (decision B56). */
  async #tryReset(request: StateRequest, caller: Caller) {
    if (!sameText(request.confirmation, confirmations.reset)) return 'not-confirmed'
    const seen = await this.#parts.state.read()
    if (seen.name === 'not-installed') return 'already-uninstalled'
    if (seen.name === 'unknown') return 'state-unknown'
    if (!this.#parts.config.get('platform.install.allow-reinstall')) return 'reinstall-forbidden'
    return (await this.#change(false, seen, request, caller)) ? 'reset' : 'changed-meanwhile'
  }

  /** Locks a product that was installed in another way. Audited in every case. */
  async mark(request: StateRequest, caller: Caller) {
    const finding = await this.#tryMark(request, caller)
    const alreadyInstalled = finding === 'already-installed'
    const marked = finding === 'marked' || finding === 'marked-empty' || alreadyInstalled
    const message = await this.#conclude(auditActions.mark, marked, finding, request, caller)
    return { marked, alreadyInstalled, message }
  }

  async #tryMark(request: StateRequest, caller: Caller) {
    if (!sameText(request.confirmation, confirmations.mark)) return 'not-confirmed'
    const seen = await this.#parts.state.read()
    if (seen.name === 'installed') return 'already-installed'
    // Whoever manages installations knows better than a database that has lost it.
    if (seen.doubt === 'unreadable') return 'state-unknown'
    if (!(await this.#change(true, seen, request, caller))) return 'changed-meanwhile'
    return (await this.#parts.administrator.exists()) ? 'marked' : 'marked-empty'
  }

  migrate(caller: Caller) {
    return this.#parts.entryService.runMigration(caller, auditActions.forcedMigration)
  }

  #change(installed: boolean, seen: Reading, request: StateRequest, caller: Caller) {
    const reason = kept(request.reason)
    const change = { by: caller.operator, traceId: caller.traceId }
    return this.#parts.state.change(installed, seen, reason === '' ? change : { ...change, reason })
  }

  async #conclude(
    action: 'state-reset' | 'state-mark-installed',
    isDone: boolean,
    finding: string,
    { reason }: StateRequest,
    caller: Caller,
  ): Promise<string> {
    const status = isDone ? 'passed' : 'failed'
    await this.#parts.audit.note(caller, { action, status, summary: { finding, reason: kept(reason) } })
    return this.#parts.say(caller.locale, `state.${finding}`)
  }
}

/** Beyond case, surrounding blanks and the way that accents are written (decision D30). */
function sameText(given: string | undefined, phrase: string): boolean {
  const fold = (text: string) => text.normalize('NFC').trim().toLowerCase()
  return given !== undefined && fold(given) === fold(phrase)
}

const kept = (reason = '') => [...reason.trim()].slice(0, longestReason).join('')
