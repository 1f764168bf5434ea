import { errorReason } from '@plinth/kernel'
import type { BoundInstallTask } from '@plinth/kernel/host'
import type { Outcome } from '../contract.ts'
import { builtInStepCodes, StepFailure } from '../declarations.ts'
import { installerActorName } from '../entry/caller.ts'
import { type SentenceCheck, sentence } from '../form/form-checks.ts'
import type { Preflight } from '../preflight/preflight-run.ts'
import type { StepRecordLog } from '../records/journal.ts'
import type { InstallServices } from '../requires.ts'
import type { NewConnectionTrial } from '../settings/connection-probes.ts'
import type { PlannedSetting } from '../settings/settings-plan.ts'
import type { SettingsWriter } from '../settings/settings-writer.ts'
import type { InstallState } from '../state/install-state.ts'
import type { RestartRequestFile } from '../state/restart-note.ts'
import { publicReason, type Sentence } from '../texts.ts'
import { passedStep, type Run, type Step, type StepOutcome } from './step.ts'
import type { AdministratorCreation, Migration } from './step-work.ts'

type StepDependencies = Pick<InstallServices, 'kernel' | 'declaredTasks' | 'log'> & {
  readonly settings: SettingsWriter
  readonly preflight: Preflight
  readonly migration: Migration
  readonly administrator: AdministratorCreation
  readonly state: InstallState
  readonly journal: StepRecordLog
  readonly restartNote: RestartRequestFile
  readonly trial: NewConnectionTrial
}

/**
 * The steps of an installation (document 3 of the specification, "Behaviour by endpoint", points 4 and 5; decision
 * D23).
 */
export class InstallSteps {
  readonly #parts: StepDependencies
  readonly #entry = builtInStep(builtInStepCodes.entry, async () => passedStep('entry'))
  readonly preflight = builtInStep(builtInStepCodes.preflight, (run) => this.#checkEnvironment(run))
  readonly validation = builtInStep(builtInStepCodes.validation, (run) => this.#validate(run))
  readonly write: Step = {
    ...builtInStep(builtInStepCodes.write, (run) => this.#write(run)),
    prepare: (run) => this.#tryConnections(run),
  }
  readonly migration = this.#onDatabase(builtInStepCodes.migration, (run) => this.#migrate(run))
  readonly administrator = this.#onDatabase(builtInStepCodes.administrator, (run) => this.#createAdministrator(run))
  readonly lock = this.#onDatabase(builtInStepCodes.lock, (run) => this.#lock(run))
  /** All steps in order of execution. */
  readonly all: readonly Step[]

  constructor(parts: StepDependencies) {
    this.#parts = parts
    this.all = [
      this.#entry,
      this.preflight,
      this.validation,
      this.write,
      this.migration,
      ...parts.declaredTasks.installTasks.map((task): Step => {
        const { code, displayName, required, retryable } = task
        return { code, displayName, required, retryable, run: (run) => this.#runTask(task, run) }
      }),
      this.administrator,
      this.lock,
    ]
  }

  /**
   * Returns a step that fails on the fallback database, because that database is in memory and is lost when the process
   * ends.
   */
  #onDatabase(code: string, run: Step['run']): Step {
    return builtInStep(code, async (given) => {
      if (this.#parts.kernel.fallback !== undefined) throw new StepFailure('failure.fallback')
      return run(given)
    })
  }

  async #checkEnvironment(run: Run): Promise<StepOutcome> {
    run.checks = await this.#parts.preflight.run(run.caller, { mayWrite: true, signal: run.signal })
    return this.#judge('preflight', run)
  }

  async #validate(run: Run): Promise<StepOutcome> {
    run.plan = await this.#parts.settings.plan(run.form, run.caller.locale)
    run.checks = run.plan.checks
    return this.#judge('validation', run)
  }

  #judge(kind: 'preflight' | 'validation', { checks }: Run): StepOutcome {
    const reason = (expected: Outcome) => checks.filter(({ status }) => status === expected).map(sentenceOf)
    const [failed, warned] = [reason('failed'), reason('warning')]
    if (failed.length > 0) throw new StepFailure('failure.checks', { reason: failed })
    if (warned.length > 0) return { status: 'warning', text: `${kind}-warnings`, params: { reason: warned } }
    return passedStep(kind, { count: checks.length })
  }

  async #tryConnections(run: Run): Promise<void> {
    const { settings, trial } = this.#parts
    if (run.plan === undefined) await this.#validate(run)
    const plan = planOf(run)
    if (plan.restartRequired) await trial.assertNotReturned(plan.settings, run.caller)
    run.settings = await settings.probe(plan, run.caller)
  }

  async #write(run: Run): Promise<StepOutcome> {
    const { kernel, settings, restartNote, trial } = this.#parts
    const { restartRequired, allowed, settings: planned } = planOf(run)
    const probed = run.settings ?? planned
    const written = await settings.writeFile(probed, allowed)
    run.configWritten = true
    run.fileChanged = written.length > 0
    if (restartRequired) {
      if (written.length === 0 && !kernel.fallback && (await restartNote.wasRestarted())) {
        await restartNote.remove()
        throw new StepFailure('failure.restart-in-vain', { keys: changedKeys(planned) })
      }
      await restartNote.leave()
      run.restartRequired = true
      return { ...passedStep('written-for-restart', { count: written.length }), restart: true }
    }
    await trial.end()
    await restartNote.remove()
    await this.#storeOrPutOff(run, probed)
    return passedStep(run.unstored === undefined ? 'written' : 'written-in-part', { count: written.length })
  }

  /** Stores the settings, or keeps them until after the first migration, because the table does not exist before. */
  async #storeOrPutOff(run: Run, planned: readonly PlannedSetting[]): Promise<void> {
    const { migration, settings } = this.#parts
    if (await migration.isPending()) run.unstored = planned
    else await settings.store(planned, run.caller.traceId)
  }

  async #migrate(run: Run): Promise<StepOutcome> {
    const { migration, settings, journal } = this.#parts
    const { pendingBefore, applied } = await migration.run(run.signal)
    run.migrated = { pendingBefore, applied }
    await run.takeDatabase?.()
    await journal.storeWaiting()
    if (run.unstored !== undefined) await settings.store(run.unstored, run.caller.traceId)
    return pendingBefore === 0 ? passedStep('up-to-date') : passedStep('migrated', { count: applied })
  }

  async #runTask(task: BoundInstallTask, { signal, mask }: Run): Promise<StepOutcome> {
    const name = task.displayName
    const note = (text: string) => this.#parts.log.info({ step: task.code, note: mask(text) }, 'install task')
    try {
      if (await task.isCompleted(signal, note)) return passedStep('task-complete', { name })
      await task.run(signal, note)
      return passedStep('task-done', { name })
    } catch (error) {
      if (error instanceof StepFailure) throw error
      if (task.required) throw new StepFailure('failure.task', { name, reason: publicReason(error) }, error)
      this.#parts.log.warn({ reason: mask(errorReason(error)), step: task.code }, 'an optional install task failed')
      return { status: 'warning', text: 'task-skipped', params: { name, reason: publicReason(error) } }
    }
  }

  async #createAdministrator(run: Run): Promise<StepOutcome> {
    run.administrator = await this.#parts.administrator.create(run.form.administrator ?? {}, run.caller)
    const { created, username } = run.administrator
    return created ? passedStep('administrator-created', { username }) : passedStep('administrator-exists')
  }

  async #lock(run: Run): Promise<StepOutcome> {
    const { state, administrator } = this.#parts
    run.lockedAt = await state.lock({
      by: installerActorName,
      traceId: run.caller.traceId,
      sessionId: run.session?.id ?? '',
    })
    return passedStep((await administrator.exists().catch(() => true)) ? 'locked' : 'locked-empty')
  }
}

const builtInStep = (code: string, run: Step['run']): Step => ({ code, required: true, retryable: true, run })

function planOf({ plan }: Run) {
  if (plan === undefined) throw new Error('the configuration was not planned')
  return plan
}

const changedKeys = (settings: readonly PlannedSetting[]) =>
  settings.flatMap(({ key, connection, isChanged }) => (isChanged && connection !== undefined ? [key] : [])).join(', ')

/** Returns a problem. Adds the group of a form field, because several groups have fields with the same name. */
const sentenceOf = ({ field, group, [sentence]: message }: SentenceCheck): Sentence =>
  field === '' ? message : { text: 'result.of-group', params: { group: { text: `group.${group}.label` }, message } }
