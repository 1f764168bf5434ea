import { type BoundInstallTask, type DeclaredTasks, type Logger, localize, reasonOf } from '@plinth/kernel'
import type { AdministratorCreation } from './administrator.ts'
import type { Caller } from './caller.ts'
import type { Configuration, ConfigurationPlan } from './configuration.ts'
import type { ConnectionTrial } from './connection-trial.ts'
import type { Check, InstallForm, Outcome } from './contract.ts'
import type { Journal } from './journal.ts'
import type { InstallLock } from './lock.ts'
import type { Migration } from './migration.ts'
import type { Preflight } from './preflight-run.ts'
import type { RestartNote } from './restart-note.ts'
import type { Session, Sessions } from './sessions.ts'
import type { PlannedSetting } from './settings.ts'
import type { InstallState } from './state.ts'
import { StepFailure } from './step-failure.ts'
import { builtIn } from './steps.ts'
import type { Params, Say } from './texts.ts'
import { toldReason } from './told-reason.ts'

export interface StepParts {
  readonly declared: Pick<DeclaredTasks, 'installTasks'>
  readonly configuration: Configuration
  readonly preflight: Preflight
  readonly migration: Migration
  readonly administrator: AdministratorCreation
  readonly lock: InstallLock
  readonly state: InstallState
  readonly journal: Journal
  readonly sessions: Sessions
  readonly restartNote: RestartNote
  readonly trial: ConnectionTrial
  readonly say: Say
  readonly log: Logger
}

/** How a step ended. `restart` ends the run with success: the rest is done after the product has started again. */
export interface StepEnd {
  readonly status: Outcome
  readonly text: string
  readonly params?: Params
  /** For `failed`: the field of the form that is to be corrected; empty for none. */
  readonly field?: string
  readonly restart?: boolean
}

/** One run of the whole installation, as its steps see and change it. */
export interface Run {
  readonly form: InstallForm
  readonly caller: Caller
  readonly signal: AbortSignal
  readonly session: Session
  /** Masks the secrets of the configuration and of the form. */
  readonly mask: (text: string) => string
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

export interface Step {
  readonly code: string
  run(run: Run): Promise<StepEnd>
}

const passed = (text: string, params: Params = {}): StepEnd => ({ status: 'passed', text, params })

/** The steps in their order (document 3, "Behaviour by endpoint", points 4 and 5; decision D23). */
export class ExecutionSteps {
  readonly all: readonly Step[]
  readonly #parts: StepParts

  constructor(parts: StepParts) {
    this.#parts = parts
    this.all = [
      { code: builtIn.entry, run: async () => passed('entry') },
      { code: builtIn.preflight, run: (run) => this.#preflight(run) },
      { code: builtIn.validation, run: (run) => this.#validate(run) },
      { code: builtIn.write, run: (run) => this.#write(run) },
      { code: builtIn.migration, run: (run) => this.#migrate(run) },
      ...parts.declared.installTasks.map((task): Step => ({ code: task.code, run: (run) => this.#task(task, run) })),
      { code: builtIn.administrator, run: (run) => this.#createAdministrator(run) },
      { code: builtIn.lock, run: (run) => this.#lock(run) },
    ]
  }

  async #preflight({ caller, signal }: Run): Promise<StepEnd> {
    return this.#judge('preflight', await this.#parts.preflight.run(caller, { mayWrite: true, signal }), caller)
  }

  async #validate(run: Run): Promise<StepEnd> {
    run.plan = await this.#parts.configuration.plan(run.form, run.caller.locale)
    return this.#judge('validation', run.plan.checks, run.caller)
  }

  #judge(kind: 'preflight' | 'validation', checks: readonly Check[], { locale }: Caller): StepEnd {
    const reason = (wanted: Outcome) =>
      joined(
        checks.filter(({ status }) => status === wanted),
        locale,
        this.#parts.say,
      )
    const [failed, warned] = [reason('failed'), reason('warning')]
    if (failed !== '') throw new StepFailure('failure.checks', { reason: failed })
    if (warned !== '') return { status: 'warning', text: `result.${kind}-warnings`, params: { reason: warned } }
    return passed(kind, { count: checks.length })
  }

  async #write(run: Run): Promise<StepEnd> {
    const { configuration, restartNote, trial } = this.#parts
    const plan = planOf(run)
    if (plan.restartRequired) await trial.assertNotReturned(plan.settings, run.caller)
    const settings = await configuration.probe(plan, run.caller)
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
    await trial.end()
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

  async #task(task: BoundInstallTask, { signal, caller, mask }: Run): Promise<StepEnd> {
    const name = localize(task.displayName, caller.locale)
    const note = (text: string) => this.#parts.log.info({ step: task.code, note: mask(text) }, 'install task')
    try {
      if (await task.isCompleted(signal, note)) return passed('task-complete', { name })
      await task.run(signal, note)
      return passed('task-done', { name })
    } catch (error) {
      if (error instanceof StepFailure) throw error
      if (task.required) throw new StepFailure('failure.task', { name, reason: toldReason(error) }, error)
      this.#parts.log.warn({ reason: mask(reasonOf(error)), step: task.code }, 'an optional install task failed')
      return { status: 'warning', text: 'result.task-skipped', params: { name, reason: toldReason(error) } }
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

/** Findings in a row. Those of the form name their group, because fields of several groups have one name. */
const joined = (checks: readonly Check[], locale: string, say: Say) =>
  checks
    .map(({ field, group, message }) =>
      field === '' ? message : say(locale, 'result.of-group', { group: say(locale, `group.${group}.label`), message }),
    )
    .join(say(locale, 'result.between'))
