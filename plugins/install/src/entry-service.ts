import { BusinessError } from '@plinth/kernel'
import type { AdministratorCreation } from './administrator.ts'
import { type AuditAction, type AuditTrail, auditActions, type OwnEntry } from './audit.ts'
import type { Caller } from './caller.ts'
import type { Configuration, ConfigurationPlan } from './configuration.ts'
import type * as view from './contract.ts'
import { formDefaults } from './defaults.ts'
import type { Verdict } from './entry-check.ts'
import type { Execution, ExecutionRequest } from './execution.ts'
import { type Running, secretsOf } from './form.ts'
import { hasPassed } from './form-checks.ts'
import { formSchema } from './form-schema.ts'
import { type Journal, limitOf } from './journal.ts'
import type { InstallLock } from './lock.ts'
import type { Migration } from './migration.ts'
import type { Preflight } from './preflight-run.ts'
import type { PlannedSetting } from './settings.ts'
import type { InstallState } from './state.ts'
import type { Status } from './status.ts'
import { StepFailure } from './step-failure.ts'
import type { StepOverview } from './step-overview.ts'
import { builtIn, remarks } from './steps.ts'
import type { Params, Say } from './texts.ts'
import { toldReason } from './told-reason.ts'

export interface EntryServiceParts {
  readonly configuration: Configuration
  readonly preflight: Preflight
  readonly migration: Migration
  readonly administrator: AdministratorCreation
  readonly lock: InstallLock
  readonly execution: Execution
  readonly state: InstallState
  readonly status: Status
  readonly journal: Journal
  readonly audit: AuditTrail
  readonly stepOverview: StepOverview
  readonly running: Running
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  readonly isOpen: () => Promise<boolean>
  readonly signal: AbortSignal
  readonly say: Say
}

type Form = view.InstallForm

/**
 * The operations of the install entry. Whoever calls has passed the entry check. What writes does so one after another
 * and looks again whether the installation is still open; `undefined` says that it is not.
 */
export class EntryService {
  readonly #parts: EntryServiceParts
  #queue: Promise<unknown> = Promise.resolve()

  constructor(parts: EntryServiceParts) {
    this.#parts = parts
  }

  noteEntry(caller: Caller, { reason }: Verdict): Promise<void> {
    return this.#audit(caller, { action: auditActions.entryCheck, status: 'passed', summary: { reason } })
  }

  defaults(caller: Caller): view.DefaultsView {
    return formDefaults(this.#parts.running, caller.isProven, caller)
  }

  schema({ locale }: Caller): view.SchemaView {
    return formSchema(locale, this.#parts.say, this.#parts.configuration.passwordRules(locale))
  }

  async preflight(caller: Caller): Promise<view.CheckResult> {
    const checks = [...(await this.#parts.preflight.run(caller, { mayWrite: true }))]
    await this.#noteChecks(caller, auditActions.preflight, builtIn.preflight, checks)
    return { authorized: true, passed: hasPassed(checks), checks }
  }

  async validate(form: Form, caller: Caller): Promise<view.CheckResult> {
    const checks = [...this.#parts.configuration.check(form, caller.locale)]
    await this.#noteChecks(caller, auditActions.validate, builtIn.validation, checks)
    return { authorized: true, passed: hasPassed(checks), checks }
  }

  async plan(form: Form, caller: Caller): Promise<view.PlanResult> {
    const { configuration } = this.#parts
    const plan = await configuration.plan(form, caller.locale)
    const { passed, restartRequired, checks } = plan
    const entries = configuration.entries(form, plan, caller.locale)
    await this.#audit(caller, { action: auditActions.plan, status: outcomeOf(checks), summary: { restartRequired } })
    return { authorized: true, passed, checks: [...checks], entries, restartRequired }
  }

  async write(form: Form, caller: Caller): Promise<view.PlanResult | undefined> {
    const { configuration } = this.#parts
    const plan = await configuration.plan(form, caller.locale)
    const { passed, restartRequired, checks } = plan
    // Before the turn of this call: a server that keeps silent must not hold up what others write.
    const probed = passed ? await this.#tryToProbe(plan, form, caller) : undefined
    return this.#oneByOne(async () => {
      const failure =
        probed === undefined || !('settings' in probed)
          ? probed
          : await this.#tryToWrite(plan, probed.settings, form, caller)
      const status = failure === undefined ? outcomeOf(checks) : 'failed'
      const message =
        failure?.message ?? this.#say(caller, `alone.written.${status === 'failed' ? 'failed' : 'passed'}`)
      await this.#record(builtIn.write, status, message)
      const summary = { restartRequired, message }
      await this.#audit(caller, { action: auditActions.write, status, summary, secrets: secretsOf(form) })
      const own = failure === undefined ? [] : [failedCheck(builtIn.write, failure)]
      return {
        authorized: true,
        passed: status !== 'failed',
        checks: [...checks, ...own],
        entries: configuration.entries(form, plan, caller.locale),
        restartRequired,
      }
    })
  }

  /** @throws BusinessError "429" when too many connections are being tried */
  async #tryToProbe(plan: ConfigurationPlan, form: Form, caller: Caller) {
    try {
      return { settings: await this.#parts.configuration.probe(plan, caller) }
    } catch (error) {
      if (error instanceof BusinessError) throw error
      return this.#failureOf(error, form, caller)
    }
  }

  async #tryToWrite(plan: ConfigurationPlan, settings: readonly PlannedSetting[], form: Form, caller: Caller) {
    const { configuration, migration } = this.#parts
    try {
      await configuration.writeFile(settings, plan.allowed)
      // With another connection the rest belongs into another database.
      if (plan.restartRequired || (await migration.isPending())) return undefined
      await configuration.store(settings, { name: caller.operator, traceId: caller.traceId })
      return undefined
    } catch (error) {
      return this.#failureOf(error, form, caller)
    }
  }

  #failureOf(error: unknown, form: Form, caller: Caller) {
    const field = error instanceof StepFailure ? error.field : ''
    return { field, message: this.#messageOf(error, caller, form) }
  }

  migrate(caller: Caller): Promise<view.MigrateView | undefined> {
    return this.#oneByOne(() => this.runMigration(caller, auditActions.migrate))
  }

  /** Also for the administration, which needs no open installation. */
  async runMigration(caller: Caller, action: AuditAction): Promise<view.MigrateView> {
    const { migration, signal } = this.#parts
    const none = { migrated: false, pendingBefore: 0, applied: 0, upToDate: false }
    let result = none
    let message: string
    try {
      const { pendingBefore, applied } = await migration.run(signal)
      result = { migrated: true, pendingBefore, applied, upToDate: pendingBefore === 0 }
      message = this.#say(caller, result.upToDate ? 'result.up-to-date' : 'result.migrated', { count: applied })
    } catch (error) {
      message = this.#messageOf(error, caller)
    }
    const status = result.migrated ? 'passed' : 'failed'
    await this.#record(builtIn.migration, status, message)
    await this.#audit(caller, { action, status, summary: { ...result, message } })
    return { authorized: true, ...result, message }
  }

  createAdministrator(form: view.AdministratorForm, caller: Caller): Promise<view.AdministratorView | undefined> {
    return this.#oneByOne(async () => {
      const secrets = secretsOf({ administrator: form })
      const none = { ready: false, created: false, userId: null as number | null, username: '' }
      let result = none
      let message: string
      try {
        result = { ready: true, ...(await this.#parts.administrator.create(form, caller)) }
        const text = result.created ? 'result.administrator-created' : 'result.administrator-exists'
        message = this.#say(caller, text, { username: result.username })
      } catch (error) {
        message = this.#messageOf(error, caller, { administrator: form })
      }
      const status = result.ready ? 'passed' : 'failed'
      await this.#record(builtIn.administrator, status, message)
      const summary = { created: result.created, username: result.username, message }
      await this.#audit(caller, { action: auditActions.administrator, status, summary, secrets })
      return { authorized: true, ...result, message }
    })
  }

  writeLock(caller: Caller): Promise<view.LockView | undefined> {
    return this.#oneByOne(async () => {
      const { administrator, lock, state, status } = this.#parts
      let lockedAt = ''
      let locked = false
      let message: string
      try {
        lockedAt = await lock.write(await state.read(), { caller, sessionId: '' })
        locked = true
        const hasUsers = await administrator.exists().catch(() => true)
        message = this.#say(caller, hasUsers ? 'result.locked' : 'result.locked-empty')
      } catch (error) {
        message = this.#messageOf(error, caller)
      }
      await this.#record(builtIn.lock, locked ? 'passed' : 'failed', message)
      const entry = { action: auditActions.lock, status: locked ? 'passed' : 'failed', summary: { message } } as const
      await this.#audit(caller, entry)
      return { authorized: true, locked, lockedAt, status: await status.snapshot(caller.prefix), message }
    })
  }

  execute(
    form: Form,
    caller: Caller,
    options: Partial<Pick<ExecutionRequest, 'retriedSessionId' | 'onRecord'>> = {},
  ): Promise<view.ExecuteView | undefined> {
    const { execution, signal, isOpen } = this.#parts
    return execution.execute({ form, caller, retriedSessionId: '', signal, isOpen, ...options })
  }

  /**
   * Runs the whole installation again with this form; the source session gets nothing but a note.
   *
   * @returns `unknown` when there is no such session
   */
  async retry(sessionId: string, form: Form, caller: Caller): Promise<view.ExecuteView | 'unknown' | undefined> {
    if ((await this.#parts.journal.newest(1, sessionId)).length === 0) return 'unknown'
    const message = this.#say(caller, 'result.retry-requested')
    await this.#record(remarks.retryRequested, 'passed', message, sessionId)
    await this.#audit(caller, { action: auditActions.retry, status: 'passed', sessionId })
    return this.execute(form, caller, { retriedSessionId: sessionId })
  }

  steps({ locale }: Caller): Promise<view.StepView[]> {
    return this.#parts.stepOverview.list(locale)
  }

  async records(limit: number | undefined, sessionId?: string): Promise<view.RecordView[]> {
    return [...(await this.#parts.journal.newest(limitOf(limit), sessionId))]
  }

  #oneByOne<T>(work: () => Promise<T>): Promise<T | undefined> {
    const result = this.#queue.then(async () => ((await this.#parts.isOpen()) ? work() : undefined))
    this.#queue = result.catch(() => undefined)
    return result
  }

  #say({ locale }: Caller, text: string, params: Params = {}): string {
    return this.#parts.say(locale, text, params)
  }

  #messageOf(error: unknown, caller: Caller, form: Form = {}): string {
    const text =
      error instanceof StepFailure
        ? this.#say(caller, error.text, error.params)
        : this.#say(caller, 'failure.step', { reason: toldReason(error) })
    return this.#parts.redact(text, secretsOf(form))
  }

  async #noteChecks(caller: Caller, action: AuditAction, stepCode: string, checks: readonly view.Check[]) {
    const status = outcomeOf(checks)
    await this.#record(stepCode, status, this.#say(caller, `alone.checked.${status}`))
    await this.#audit(caller, { action, status, summary: { checks: checks.length } })
  }

  async #record(stepCode: string, status: view.Outcome, message: string, sessionId = ''): Promise<void> {
    await this.#parts.journal.append({ sessionId, stepCode, status, message })
  }

  #audit(caller: Caller, entry: OwnEntry): Promise<void> {
    return this.#parts.audit.note(caller, entry)
  }
}

function outcomeOf(checks: readonly view.Check[]): view.Outcome {
  if (!hasPassed(checks)) return 'failed'
  return checks.some(({ status }) => status === 'warning') ? 'warning' : 'passed'
}

const failedCheck = (code: string, failure: { readonly field: string; readonly message: string }): view.Check => ({
  ...{ code, finding: 'failed', group: 'write', status: 'failed', fix: '', ...failure },
})
