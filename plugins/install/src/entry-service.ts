import { reasonOf, redact } from '@plinth/kernel'
import type { AdministratorCreation } from './administrator.ts'
import type { Caller } from './caller.ts'
import { type Configuration, StepFailure } from './configuration.ts'
import type {
  AdministratorForm,
  AdministratorView,
  CheckResult,
  DefaultsView,
  ExecuteView,
  InstallForm,
  LockView,
  MigrateView,
  Outcome,
  PlanResult,
  RecordView,
  SchemaView,
  StepView,
} from './contract.ts'
import { formDefaults } from './defaults.ts'
import type { Execution } from './execution.ts'
import { type Running, secretsOf } from './form.ts'
import { hasPassed } from './form-checks.ts'
import { formSchema } from './form-schema.ts'
import type { Journal } from './journal.ts'
import type { InstallLock } from './lock.ts'
import type { Migration } from './migration.ts'
import type { Preflight } from './preflight-run.ts'
import type { InstallState } from './state.ts'
import type { Status } from './status.ts'
import type { StepOverview } from './step-overview.ts'
import { builtIn, remarks } from './steps.ts'
import type { Say } from './texts.ts'

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
  readonly steps: StepOverview
  readonly running: Running
  readonly redact: (text: string) => string
  readonly isOpen: () => Promise<boolean>
  readonly signal: AbortSignal
  readonly say: Say
}

const defaultLimit = 100
const largestLimit = 500

/** `limit` of a list of records (decision B59). */
export const limitOf = (limit: number | undefined) => Math.min(largestLimit, Math.max(1, limit ?? defaultLimit))

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

  defaults(caller: Caller, showsSecrets: boolean): DefaultsView {
    return formDefaults(this.#parts.running, showsSecrets, caller)
  }

  schema({ locale }: Caller): SchemaView {
    return formSchema(locale, this.#parts.say)
  }

  async preflight(caller: Caller): Promise<CheckResult> {
    const checks = [...(await this.#parts.preflight.run(caller, { mayWrite: true }))]
    const passed = hasPassed(checks)
    const warns = checks.some(({ status }) => status === 'warning')
    await this.#note(caller, builtIn.preflight, passed ? (warns ? 'warning' : 'passed') : 'failed', 'alone.checked')
    return { authorized: true, passed, checks }
  }

  async validate(form: InstallForm, caller: Caller): Promise<CheckResult> {
    const checks = [...this.#parts.configuration.check(form, caller.locale)]
    const passed = hasPassed(checks)
    await this.#note(caller, builtIn.validation, passed ? 'passed' : 'failed', 'alone.checked')
    return { authorized: true, passed, checks }
  }

  async plan(form: InstallForm, { locale }: Caller): Promise<PlanResult> {
    const { configuration } = this.#parts
    const plan = await configuration.plan(form, locale)
    const { passed, restartRequired } = plan
    const entries = configuration.entries(form, plan, locale)
    return { authorized: true, passed, checks: [...plan.checks], entries, restartRequired }
  }

  write(form: InstallForm, caller: Caller): Promise<PlanResult | undefined> {
    return this.#oneByOne(async () => {
      const { configuration, migration } = this.#parts
      const plan = await configuration.plan(form, caller.locale)
      const { passed, restartRequired } = plan
      const view = (own: PlanResult['checks']): PlanResult => ({
        authorized: true,
        passed: passed && own.length === 0,
        checks: [...plan.checks, ...own],
        entries: configuration.entries(form, plan, caller.locale),
        restartRequired,
      })
      if (!passed) return view([])
      try {
        const settings = await configuration.probe(plan)
        await configuration.writeFile(settings, plan.allowed)
        // With another connection the rest belongs into another database.
        if (!restartRequired && !(await migration.isPending())) {
          await configuration.store(settings, { name: 'install', traceId: caller.traceId })
        }
      } catch (error) {
        const message = this.#messageOf(error, caller, form)
        await this.#record(builtIn.write, 'failed', message)
        return view([this.#failedCheck(builtIn.write, message)])
      }
      await this.#note(caller, builtIn.write, 'passed', 'alone.written')
      return view([])
    })
  }

  migrate(caller: Caller): Promise<MigrateView | undefined> {
    return this.#oneByOne(() => this.forceMigration(caller))
  }

  /** Also for the administration, which needs no open installation. */
  async forceMigration(caller: Caller): Promise<MigrateView> {
    const { migration, say, signal } = this.#parts
    try {
      const { pendingBefore, applied } = await migration.run(signal)
      const upToDate = pendingBefore === 0
      const message = say(caller.locale, upToDate ? 'result.up-to-date' : 'result.migrated', { count: applied })
      await this.#record(builtIn.migration, 'passed', message)
      return { authorized: true, migrated: true, pendingBefore, applied, upToDate, message }
    } catch (error) {
      const message = this.#messageOf(error, caller)
      await this.#record(builtIn.migration, 'failed', message)
      return { authorized: true, migrated: false, pendingBefore: 0, applied: 0, upToDate: false, message }
    }
  }

  createAdministrator(form: AdministratorForm, caller: Caller): Promise<AdministratorView | undefined> {
    return this.#oneByOne(async () => {
      const { administrator, say } = this.#parts
      try {
        const { created, userId, username } = await administrator.create(form, caller)
        const text = created ? 'result.administrator-created' : 'result.administrator-exists'
        const message = say(caller.locale, text, { username })
        await this.#record(builtIn.administrator, 'passed', message)
        return { authorized: true, ready: true, created, userId, username, message }
      } catch (error) {
        const message = this.#messageOf(error, caller, { administrator: form })
        await this.#record(builtIn.administrator, 'failed', message)
        return { authorized: true, ready: false, created: false, userId: null, username: '', message }
      }
    })
  }

  writeLock(caller: Caller): Promise<LockView | undefined> {
    return this.#oneByOne(async () => {
      const { administrator, lock, state, status, say } = this.#parts
      try {
        const lockedAt = await lock.write(await state.read(), { caller, sessionId: '' })
        const message = say(caller.locale, (await administrator.exists()) ? 'result.locked' : 'result.locked-empty')
        await this.#record(builtIn.lock, 'passed', message)
        return { authorized: true, locked: true, lockedAt, status: await status.snapshot(caller.prefix), message }
      } catch (error) {
        const message = this.#messageOf(error, caller)
        await this.#record(builtIn.lock, 'failed', message)
        const snapshot = await status.snapshot(caller.prefix)
        return { authorized: true, locked: false, lockedAt: '', status: snapshot, message }
      }
    })
  }

  execute(form: InstallForm, caller: Caller, retriedSessionId = ''): Promise<ExecuteView | undefined> {
    const { execution, signal } = this.#parts
    return execution.execute({ form, caller, retriedSessionId, signal })
  }

  /**
   * Runs the whole installation again with this form; the source session gets nothing but a note.
   *
   * @returns `unknown` when there is no such session
   */
  async retry(sessionId: string, form: InstallForm, caller: Caller): Promise<ExecuteView | 'unknown' | undefined> {
    const { journal, say } = this.#parts
    if ((await journal.newest(1, sessionId)).length === 0) return 'unknown'
    const message = say(caller.locale, 'result.retry-requested')
    await journal.append({ sessionId, stepCode: remarks.retryRequested, status: 'passed', message })
    return this.execute(form, caller, sessionId)
  }

  stepList(caller: Caller): Promise<StepView[]> {
    return this.#parts.steps.list(caller.locale)
  }

  async records(limit: number | undefined, sessionId?: string): Promise<RecordView[]> {
    return [...(await this.#parts.journal.newest(limitOf(limit), sessionId))]
  }

  #oneByOne<T>(work: () => Promise<T>): Promise<T | undefined> {
    const result = this.#queue.then(async () => ((await this.#parts.isOpen()) ? work() : undefined))
    this.#queue = result.catch(() => undefined)
    return result
  }

  #messageOf(error: unknown, { locale }: Caller, form: InstallForm = {}): string {
    const { say } = this.#parts
    const text =
      error instanceof StepFailure
        ? say(locale, error.text, error.params)
        : say(locale, 'failure.step', { reason: reasonOf(error) })
    return redact(this.#parts.redact(text), secretsOf(form))
  }

  #failedCheck(code: string, message: string): CheckResult['checks'][number] {
    return { code, finding: 'failed', group: 'write', field: '', status: 'failed', message, fix: '' }
  }

  #note({ locale }: Caller, stepCode: string, status: Outcome, text: string): Promise<void> {
    return this.#record(stepCode, status, this.#parts.say(locale, `${text}.${status}`))
  }

  async #record(stepCode: string, status: Outcome, message: string): Promise<void> {
    await this.#parts.journal.append({ sessionId: '', stepCode, status, message })
  }
}
