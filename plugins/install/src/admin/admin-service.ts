import { maxReasonLength } from '@plinth/http'
import { fitTextToColumn } from '@plinth/kernel'
import type { Caller } from '../entry/caller.ts'
import type { EntryPolicy } from '../entry/entry-policy.ts'
import type { StepOverview } from '../execution/step-overview.ts'
import type { AdministratorCreation } from '../execution/step-work.ts'
import { hasPassed } from '../form/form-checks.ts'
import type { Preflight } from '../preflight/preflight-run.ts'
import { auditActions, type InstallAuditTrail } from '../records/audit-trail.ts'
import { clampRecordLimit, type StepRecordLog } from '../records/journal.ts'
import { type Sessions, sessionOrder } from '../records/sessions.ts'
import type { InstallServices } from '../requires.ts'
import type { InstallState, InstallStateReading } from '../state/install-state.ts'
import type { Translate } from '../texts.ts'
import type { InstallStatus } from '../wizard/install-status.ts'
import type { WizardService } from '../wizard/wizard-service.ts'

type AdminServiceDependencies = Pick<InstallServices, 'kernel' | 'config'> & {
  readonly state: InstallState
  readonly entry: EntryPolicy
  readonly status: InstallStatus
  readonly stepOverview: StepOverview
  readonly preflight: Preflight
  readonly sessions: Sessions
  readonly journal: StepRecordLog
  readonly audit: InstallAuditTrail
  readonly administrator: AdministratorCreation
  readonly wizard: WizardService
  readonly translate: Translate
}

/** Phrases that an operator must type to confirm an action. */
const confirmations = { reset: 'RESET-INSTALL', mark: 'MARK-INSTALLED' } as const

const recentSessions = 20

interface StateRequest {
  readonly confirmation?: string | undefined
  readonly reason?: string | undefined
}

interface ResetRequest extends StateRequest {
  /** If true, nothing is changed and the result describes what would happen. */
  readonly dryRun?: boolean | undefined
}

export class AdminService {
  readonly #parts: AdminServiceDependencies

  constructor(parts: AdminServiceDependencies) {
    this.#parts = parts
  }

  /** Returns facts for troubleshooting. Creates no files and tables, not even temporary ones. */
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
      executionLogs: [...(await journal.newest(clampRecordLimit(undefined), caller.locale))],
    }
  }

  /** Marks the product as not installed, so that the installer opens again. Every call is audited. */
  async reset(request: ResetRequest, caller: Caller) {
    const finding = await this.#tryReset(request, caller)
    const alreadyUninstalled = finding === 'already-uninstalled'
    const reset = finding === 'reset' || alreadyUninstalled
    const isDone = reset || finding === 'would-reset'
    const message = await this.#conclude(auditActions.reset, isDone, finding, request, caller)
    return { reset, alreadyUninstalled, message, ...(isDone ? { entry: this.#entryOnceOpen() } : {}) }
  }

  #entryOnceOpen() {
    const { config, entry } = this.#parts
    const isNetworkChecked = config.get('platform.install.cidr-check-enabled')
    return {
      installAllowed: entry.closedToAll({ name: 'not-installed', version: 0 }) === undefined,
      tokenRequired: entry.isTokenConfigured,
      networks: isNetworkChecked ? [...config.get('platform.install.allowed-cidrs')] : [],
      productClosed: config.get('platform.install.access-protection-enabled'),
    }
  }

  /**
   * Checks the confirmation phrase first, then the state, then whether reinstalling is allowed (decision B56). A dry
   * run needs no phrase.
   */
  async #tryReset(request: ResetRequest, caller: Caller) {
    const isDry = request.dryRun === true
    if (!isDry && !sameText(request.confirmation, confirmations.reset)) return 'not-confirmed'
    const seen = await this.#parts.state.read()
    if (seen.name === 'not-installed') return 'already-uninstalled'
    if (seen.name === 'unknown') return 'state-unknown'
    if (!this.#parts.config.get('platform.install.allow-reinstall')) return 'reinstall-forbidden'
    if (isDry) return 'would-reset'
    return (await this.#change(false, seen, request, caller)) ? 'reset' : 'changed-meanwhile'
  }

  /** Marks a product as installed that was not installed by the installer. Every call is audited. */
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
    // If the database contains no state although the product was installed (`lost`), the operator may mark the product
    // as installed. If the database cannot be read, nothing is changed.
    if (seen.doubt === 'unreadable') return 'state-unknown'
    if (!(await this.#change(true, seen, request, caller))) return 'changed-meanwhile'
    return (await this.#parts.administrator.exists()) ? 'marked' : 'marked-empty'
  }

  migrate(caller: Caller) {
    return this.#parts.wizard.runMigration(caller, auditActions.forcedMigration)
  }

  #change(installed: boolean, seen: InstallStateReading, request: StateRequest, caller: Caller) {
    const reason = storedReason(request.reason)
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
    await this.#parts.audit.note(caller, { action, status, summary: { finding, reason: storedReason(reason) } })
    return this.#parts.translate(caller.locale, `state.${finding}`)
  }
}

/** Compares texts without regard to case, surrounding blanks and the Unicode form of accents (decision D30). */
function sameText(given: string | undefined, phrase: string): boolean {
  const fold = (text: string) => text.normalize('NFC').trim().toLowerCase()
  return given !== undefined && fold(given) === fold(phrase)
}

const storedReason = (reason = '') => fitTextToColumn(reason.trim(), maxReasonLength)
