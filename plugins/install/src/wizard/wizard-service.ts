import type * as view from '../contract.ts'
import { recordRemarkCodes } from '../declarations.ts'
import type { Caller } from '../entry/caller.ts'
import type { EntryDecision, EntryPolicy } from '../entry/entry-policy.ts'
import type { Execution, ExecutionRequest } from '../execution/execution.ts'
import type { Run, Step } from '../execution/step.ts'
import type { StepOverview } from '../execution/step-overview.ts'
import type { StepRunner } from '../execution/step-runner.ts'
import type { InstallSteps } from '../execution/steps.ts'
import type { AdministratorForm, InstallForm } from '../form/fields.ts'
import { outcomeOfChecks } from '../form/form-checks.ts'
import { formDefaults, formSchema } from '../form/form-schema.ts'
import { type ReadConfiguredValue, secretsOf } from '../form/form-values.ts'
import { connectionFindingOf } from '../preflight/service-checks.ts'
import {
  type AuditAction,
  auditActions,
  type InstallAuditEntryDraft,
  type InstallAuditTrail,
} from '../records/audit-trail.ts'
import { clampRecordLimit, type StepRecordLog } from '../records/journal.ts'
import type { InstallServices } from '../requires.ts'
import { fieldOfFailure } from '../settings/connection-probes.ts'
import type { SettingsWriter } from '../settings/settings-writer.ts'
import { storedSentence, type Translate } from '../texts.ts'
import type { InstallStatus } from './install-status.ts'

type WizardServiceDependencies = Pick<InstallServices, 'kernel' | 'configAdmin' | 'signal'> & {
  readonly settings: SettingsWriter
  readonly steps: InstallSteps
  readonly runner: StepRunner
  readonly execution: Execution
  readonly entry: EntryPolicy
  readonly status: InstallStatus
  readonly journal: StepRecordLog
  readonly audit: InstallAuditTrail
  readonly stepOverview: StepOverview
  readonly running: ReadConfiguredValue
  readonly translate: Translate
}

type Form = InstallForm

/**
 * The operations of the installer. The route has checked access. Operations that write run one after another. Each
 * checks again whether the installer is open, and returns `undefined` if it is closed.
 */
export class WizardService {
  readonly #parts: WizardServiceDependencies
  #queue: Promise<unknown> = Promise.resolve()

  constructor(parts: WizardServiceDependencies) {
    this.#parts = parts
  }

  noteEntry(caller: Caller, { reason }: EntryDecision): Promise<void> {
    return this.#parts.audit.note(caller, { action: auditActions.entryCheck, status: 'passed', summary: { reason } })
  }

  defaults(caller: Caller): view.DefaultsView {
    const { running, kernel, settings, translate } = this.#parts
    const { code } = kernel.fallback ?? {}
    const fault =
      code === undefined
        ? { fault: '', faultField: '' }
        : {
            fault: translate(caller.locale, `preflight.database-connection.${connectionFindingOf(code)}`),
            faultField: fieldOfFailure(code),
          }
    return formDefaults(running, caller.isProven, caller, settings.proposedPolicy, fault)
  }

  schema({ locale }: Caller): view.SchemaView {
    const { translate, settings, configAdmin } = this.#parts
    return formSchema(locale, translate, {
      configAdmin,
      passwordPolicies: settings.passwordPolicies(locale),
      fixed: settings.fixedFields(),
    })
  }

  preflight(caller: Caller): Promise<view.CheckResult> {
    return this.#check(auditActions.preflight, this.#parts.steps.preflight, {}, caller)
  }

  validate(form: Form, caller: Caller): Promise<view.CheckResult> {
    return this.#check(auditActions.validate, this.#parts.steps.validation, form, caller)
  }

  async #check(action: AuditAction, step: Step, form: Form, caller: Caller): Promise<view.CheckResult> {
    const run = this.#newRun(form, caller)
    const { status } = await this.#parts.runner.run(step, run)
    const checks = [...run.checks]
    await this.#audit(run, { action, status, summary: { checks: checks.length } })
    return { authorized: true, passed: status !== 'failed', checks }
  }

  async plan(form: Form, caller: Caller): Promise<view.PlanResult> {
    const { settings } = this.#parts
    const plan = await settings.plan(form, caller.locale)
    const { passed, restartRequired, checks } = plan
    const audited = { action: auditActions.plan, status: outcomeOfChecks(checks), summary: { restartRequired } }
    await this.#audit(this.#newRun(form, caller), audited)
    const entries = settings.entries(form, plan, caller.locale)
    return { authorized: true, passed, checks: [...checks], entries, restartRequired }
  }

  async write(form: Form, caller: Caller): Promise<view.PlanResult | undefined> {
    const { settings, steps, runner } = this.#parts
    const run = this.#newRun(form, caller)
    // The preparation runs before the queued part, so that a server that does not respond cannot delay other
    // operations.
    const prepared = await runner.prepare(steps.write, run)
    return this.#oneByOne(async () => {
      const { status, message, field, sentence } = await runner.finish(steps.write, run, prepared)
      const { plan, checks } = run
      const restartRequired = plan?.restartRequired ?? false
      const passed = status !== 'failed'
      const outcome = passed ? outcomeOfChecks(checks) : status
      await this.#audit(run, {
        action: auditActions.write,
        status: outcome,
        summary: { restartRequired, message: storedSentence(sentence) },
      })
      const own: view.Check[] =
        passed || plan?.passed === false
          ? []
          : [{ code: steps.write.code, finding: 'failed', group: 'write', status, fix: '', field, message }]
      const entries = plan === undefined ? [] : settings.entries(form, plan, caller.locale)
      return { authorized: true, passed, checks: [...checks, ...own], entries, restartRequired }
    })
  }

  migrate(caller: Caller): Promise<view.MigrateView | undefined> {
    return this.#oneByOne(() => this.runMigration(caller, auditActions.migrate))
  }

  /**
   * Migrates the database. The routes for operators also call this method, so it does not require an open installer.
   */
  async runMigration(caller: Caller, action: AuditAction): Promise<view.MigrateView> {
    const run = this.#newRun({}, caller)
    const { status, message, sentence } = await this.#parts.runner.run(this.#parts.steps.migration, run)
    const { pendingBefore = 0, applied = 0 } = run.migrated ?? {}
    const migrated = run.migrated !== undefined
    const result = { migrated, pendingBefore, applied, upToDate: migrated && pendingBefore === 0 }
    await this.#audit(run, { action, status, summary: { ...result, message: storedSentence(sentence) } })
    return { authorized: true, ...result, message }
  }

  createAdministrator(administrator: AdministratorForm, caller: Caller): Promise<view.AdministratorView | undefined> {
    return this.#oneByOne(async () => {
      const run = this.#newRun({ administrator }, caller)
      const { status, message, sentence } = await this.#parts.runner.run(this.#parts.steps.administrator, run)
      const { created, userId, username } = run.administrator ?? { created: false, userId: null, username: '' }
      const summary = { created, username, message: storedSentence(sentence) }
      await this.#audit(run, { action: auditActions.administrator, status, summary })
      return { authorized: true, ready: run.administrator !== undefined, created, userId, username, message }
    })
  }

  writeLock(caller: Caller): Promise<view.LockView | undefined> {
    return this.#oneByOne(async () => {
      const run = this.#newRun({}, caller)
      const { status, message, sentence } = await this.#parts.runner.run(this.#parts.steps.lock, run)
      await this.#audit(run, { action: auditActions.lock, status, summary: { message: storedSentence(sentence) } })
      const snapshot = await this.#parts.status.snapshot(caller.prefix)
      const { lockedAt = '' } = run
      return { authorized: true, locked: run.lockedAt !== undefined, lockedAt, status: snapshot, message }
    })
  }

  execute(
    form: Form,
    caller: Caller,
    options: Partial<Pick<ExecutionRequest, 'retriedSessionId' | 'onRecord'>> = {},
  ): Promise<view.ExecuteView | undefined> {
    const { execution, signal, entry } = this.#parts
    const isOpen = () => entry.isOpen()
    return execution.execute({ form, caller, retriedSessionId: '', signal, isOpen, ...options })
  }

  /**
   * Runs the whole installation again with this form. Only adds a note to the old session.
   *
   * @returns `unknown` if the session does not exist
   */
  async retry(sessionId: string, form: Form, caller: Caller): Promise<view.ExecuteView | 'unknown' | undefined> {
    const { journal, translate } = this.#parts
    if ((await journal.newest(1, caller.locale, sessionId)).length === 0) return 'unknown'
    const sentence = { text: 'result.retry-requested' }
    const message = translate(caller.locale, sentence.text)
    const noted = { sessionId, stepCode: recordRemarkCodes.retryRequested, status: 'passed', message } as const
    await journal.append(noted, storedSentence(sentence))
    await this.#audit(this.#newRun(form, caller), { action: auditActions.retry, status: 'passed', sessionId })
    return this.execute(form, caller, { retriedSessionId: sessionId })
  }

  steps({ locale }: Caller): Promise<view.StepView[]> {
    return this.#parts.stepOverview.list(locale)
  }

  async records(limit: number | undefined, { locale }: Caller, sessionId?: string): Promise<view.RecordView[]> {
    return [...(await this.#parts.journal.newest(clampRecordLimit(limit), locale, sessionId))]
  }

  #newRun(form: Form, caller: Caller): Run {
    return this.#parts.runner.newRun({ form, caller, signal: this.#parts.signal })
  }

  #oneByOne<T>(work: () => Promise<T>): Promise<T | undefined> {
    const result = this.#queue.then(async () => ((await this.#parts.entry.isOpen()) ? work() : undefined))
    this.#queue = result.catch(() => undefined)
    return result
  }

  #audit({ caller, form }: Run, entry: InstallAuditEntryDraft): Promise<void> {
    return this.#parts.audit.note(caller, { ...entry, secrets: secretsOf(form) })
  }
}
