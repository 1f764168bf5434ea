import type { Database } from '@plinth/database'
import { type BoundInstallTask, type Clock, type Kernel, type Logger, localize, reasonOf, redact } from '@plinth/kernel'
import type { AdministratorCreation } from './administrator.ts'
import type { Announcements } from './announcements.ts'
import { type AuditTrail, auditActions } from './audit.ts'
import type { Caller } from './caller.ts'
import { type Configuration, type ConfigurationPlan, StepFailure } from './configuration.ts'
import type { ExecuteView, InstallForm, Outcome, RecordView } from './contract.ts'
import { secretsOf } from './form.ts'
import type { Journal } from './journal.ts'
import type { InstallLock } from './lock.ts'
import type { Migration } from './migration.ts'
import type { Preflight } from './preflight-run.ts'
import type { RestartNote } from './restart-note.ts'
import type { RunLock } from './run-lock.ts'
import type { Session, Sessions } from './sessions.ts'
import type { PlannedSetting } from './settings.ts'
import type { InstallState } from './state.ts'
import { builtIn } from './steps.ts'
import type { Params, Say } from './texts.ts'

export interface ExecutionParts {
  readonly kernel: Kernel
  readonly database: Database
  readonly configuration: Configuration
  readonly preflight: Preflight
  readonly migration: Migration
  readonly administrator: AdministratorCreation
  readonly lock: InstallLock
  readonly runLock: RunLock
  readonly state: InstallState
  readonly journal: Journal
  readonly audit: AuditTrail
  readonly sessions: Sessions
  readonly announcements: Announcements
  readonly restartNote: RestartNote
  readonly say: Say
  readonly clock: Clock
  readonly log: Logger
}

export interface ExecutionRequest {
  readonly form: InstallForm
  readonly caller: Caller
  /** Session that this one repeats; empty for none. */
  readonly retriedSessionId: string
  readonly signal: AbortSignal
  /** Asked when the run has the lock: another one may have been faster. */
  readonly isOpen: () => Promise<boolean>
  /** Told of each record as it is written. */
  readonly onRecord?: (record: RecordView) => void
}

/** How a step ended. `restart` ends the run with success: the rest is done after the product has started again. */
interface StepEnd {
  readonly status: Outcome
  readonly text: string
  readonly params?: Params
  readonly restart?: boolean
}

/** One run of the whole installation. */
interface Run extends ExecutionRequest {
  readonly session: Session
  readonly takeDatabase: () => Promise<void>
  plan?: ConfigurationPlan
  /** Settings that wait for a migrated database. */
  unstored?: readonly PlannedSetting[]
  configWritten: boolean
  fileChanged: boolean
  administratorReady: boolean
  locked: boolean
  restartRequired: boolean
}

interface Step {
  readonly code: string
  run(run: Run): Promise<StepEnd>
}

const passed = (text: string, params: Params = {}): StepEnd => ({ status: 'passed', text, params })

/** The one-step installation (document 3, "Behaviour by endpoint", points 4 and 5; decision D23). */
export class Execution {
  readonly #parts: ExecutionParts
  readonly #steps: readonly Step[]

  constructor(parts: ExecutionParts) {
    this.#parts = parts
    this.#steps = [
      { code: builtIn.entry, run: async () => passed('entry') },
      { code: builtIn.preflight, run: (run) => this.#preflight(run) },
      { code: builtIn.validation, run: (run) => this.#validate(run) },
      { code: builtIn.write, run: (run) => this.#write(run) },
      { code: builtIn.migration, run: (run) => this.#migrate(run) },
      ...parts.kernel.installTasks.map((task): Step => ({ code: task.code, run: (run) => this.#task(task, run) })),
      { code: builtIn.administrator, run: (run) => this.#createAdministrator(run) },
      { code: builtIn.lock, run: (run) => this.#lock(run) },
    ]
  }

  get stepCount(): number {
    return this.#steps.length
  }

  /**
   * Runs all steps and stops at the first that fails. Whoever calls has checked the entry; it is closed again if
   * another run was faster.
   *
   * @returns `undefined` when the installation is closed by now
   * @throws BusinessError "409", reason `install.running`
   */
  execute(request: ExecutionRequest): Promise<ExecuteView | undefined> {
    const { runLock, sessions } = this.#parts
    return runLock.run(async (takeDatabase) => {
      await takeDatabase()
      if (!(await request.isOpen())) return undefined
      const session = sessions.begin(request.caller.clientIp, request.retriedSessionId)
      const run: Run = {
        ...{ ...request, session, takeDatabase },
        ...{ configWritten: false, fileChanged: false, administratorReady: false, locked: false },
        restartRequired: false,
      }
      await sessions.store(session)
      await sessions.closeAbandoned(session)
      return this.#runSteps(run)
    })
  }

  async #runSteps(run: Run): Promise<ExecuteView> {
    const { sessions, announcements, audit, log, say } = this.#parts
    const { locale } = run.caller
    const records: RecordView[] = []
    let failed: RecordView | undefined
    for (const step of this.#steps) {
      log.info({ session: run.session.id, step: step.code }, 'install step begins')
      const end = await this.#attempt(step, run)
      const record = await this.#record(run, step.code, end)
      records.push(record)
      run.onRecord?.(record)
      log.info({ session: run.session.id, step: step.code, status: end.status }, 'install step ended')
      if (end.status === 'failed') failed = record
      if (end.status === 'failed' || end.restart) break
    }
    const outcome = failed !== undefined ? 'failed' : run.restartRequired ? 'restart-required' : 'passed'
    const message = say(locale, `execute.${outcome}`, { step: failed?.stepCode ?? '', reason: failed?.message ?? '' })
    await sessions.end(run.session, { status: outcome, failedStep: failed?.stepCode ?? '', message })
    await audit.note(run.caller, {
      action: auditActions.execute,
      status: failed === undefined ? 'passed' : 'failed',
      sessionId: run.session.id,
      summary: { outcome, failedStep: failed?.stepCode ?? '', records: records.length, message },
      secrets: secretsOf(run.form),
    })
    const about = { session: run.session, logCount: records.length, message }
    if (failed !== undefined) await announcements.failed({ ...about, step: failed })
    else if (run.locked) await announcements.completed({ ...about, restartSuggested: run.fileChanged })
    return {
      authorized: true,
      passed: failed === undefined,
      restartRequired: run.restartRequired,
      configWritten: run.configWritten,
      administratorReady: run.administratorReady,
      locked: run.locked,
      message,
      sessionId: run.session.id,
      retriedSessionId: run.retriedSessionId,
      records,
    }
  }

  async #attempt(step: Step, run: Run): Promise<StepEnd> {
    try {
      run.signal.throwIfAborted()
      return await step.run(run)
    } catch (error) {
      if (error instanceof StepFailure) return { status: 'failed', text: error.text, params: error.params }
      this.#parts.log.error({ err: error, step: step.code }, 'an install step failed')
      return { status: 'failed', text: 'failure.step', params: { reason: reasonOf(error) } }
    }
  }

  #record(run: Run, stepCode: string, { status, text, params = {} }: StepEnd): Promise<RecordView> {
    const { journal, kernel, say } = this.#parts
    const name = text.includes('.') ? text : `result.${text}`
    const message = say(run.caller.locale, name, params)
    const masked = redact(kernel.config.redact(message), secretsOf(run.form))
    return journal.append({ sessionId: run.session.id, stepCode, status, message: masked })
  }

  async #preflight({ caller, signal }: Run): Promise<StepEnd> {
    const checks = await this.#parts.preflight.run(caller, { mayWrite: true, signal })
    const failed = checks.filter(({ status }) => status === 'failed')
    if (failed.length > 0) throw new StepFailure('failure.checks', { reason: joined(failed) })
    const warnings = checks.filter(({ status }) => status === 'warning')
    return warnings.length === 0
      ? passed('preflight', { count: checks.length })
      : { status: 'warning', text: 'result.preflight-warnings', params: { reason: joined(warnings) } }
  }

  async #validate(run: Run): Promise<StepEnd> {
    run.plan = await this.#parts.configuration.plan(run.form, run.caller.locale)
    const { checks } = run.plan
    const failed = checks.filter(({ status }) => status === 'failed')
    if (failed.length > 0) throw new StepFailure('failure.checks', { reason: joined(failed) })
    const warnings = checks.filter(({ status }) => status === 'warning')
    return warnings.length === 0
      ? passed('validation', { count: checks.length })
      : { status: 'warning', text: 'result.validation-warnings', params: { reason: joined(warnings) } }
  }

  async #write(run: Run): Promise<StepEnd> {
    const { configuration, restartNote } = this.#parts
    const plan = planOf(run)
    const settings = await configuration.probe(plan)
    const written = await configuration.writeFile(settings, plan.allowed)
    run.configWritten = true
    run.fileChanged = written.length > 0
    if (plan.restartRequired) {
      if (written.length === 0 && (await restartNote.wasRestarted())) {
        await restartNote.remove()
        throw new StepFailure('failure.restart-in-vain', { keys: changedKeys(plan.settings) })
      }
      await restartNote.leave()
      run.restartRequired = true
      return { ...passed('written-for-restart', { count: written.length }), restart: true }
    }
    await restartNote.remove()
    await this.#storeOrPutOff(run, settings)
    return passed(run.unstored === undefined ? 'written' : 'written-in-part', { count: written.length })
  }

  /** Before the first migration there is nowhere to store anything. */
  async #storeOrPutOff(run: Run, settings: readonly PlannedSetting[]): Promise<void> {
    const { migration, configuration } = this.#parts
    if (await migration.isPending()) run.unstored = settings
    else await configuration.store(settings, actorOf(run))
  }

  async #migrate(run: Run): Promise<StepEnd> {
    const { migration, configuration, sessions, journal } = this.#parts
    const { pendingBefore, applied } = await migration.run(run.signal)
    await run.takeDatabase()
    await sessions.store(run.session)
    await journal.storeWaiting()
    if (run.unstored !== undefined) await configuration.store(run.unstored, actorOf(run))
    return pendingBefore === 0 ? passed('up-to-date') : passed('migrated', { count: applied })
  }

  async #task(task: BoundInstallTask, { signal, caller }: Run): Promise<StepEnd> {
    const name = localize(task.displayName, caller.locale)
    const note = (text: string) => this.#parts.log.info({ step: task.code, note: text }, 'install task')
    try {
      if (await task.isCompleted(signal, note)) return passed('task-complete', { name })
      await task.run(signal, note)
      return passed('task-done', { name })
    } catch (error) {
      if (error instanceof StepFailure) throw error
      if (task.required) throw new StepFailure('failure.task', { name, reason: reasonOf(error) }, error)
      this.#parts.log.warn({ err: error, step: task.code }, 'an optional install task failed')
      return { status: 'warning', text: 'result.task-skipped', params: { name, reason: reasonOf(error) } }
    }
  }

  async #createAdministrator(run: Run): Promise<StepEnd> {
    const { created, username } = await this.#parts.administrator.create(run.form.administrator ?? {}, run.caller)
    run.administratorReady = true
    return created ? passed('administrator-created', { username }) : passed('administrator-exists')
  }

  async #lock(run: Run): Promise<StepEnd> {
    const { state, lock } = this.#parts
    await lock.write(await state.read(), { caller: run.caller, sessionId: run.session.id })
    run.locked = true
    return passed('locked')
  }
}

const actorOf = ({ caller }: Run) => ({ name: 'install', traceId: caller.traceId })

function planOf({ plan }: Run): ConfigurationPlan {
  if (plan === undefined) throw new Error('the configuration was not planned')
  return plan
}

const changedKeys = (settings: readonly PlannedSetting[]) =>
  settings.flatMap(({ key, connection, isChanged }) => (isChanged && connection !== undefined ? [key] : [])).join(', ')

const joined = (checks: readonly { readonly message: string }[]) => checks.map(({ message }) => message).join('; ')
