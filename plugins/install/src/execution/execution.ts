import { errorReason } from '@plinth/kernel'
import type { ExecuteView, RecordView } from '../contract.ts'
import { StepFailure } from '../declarations.ts'
import type { Caller } from '../entry/caller.ts'
import type { InstallForm } from '../form/fields.ts'
import { secretsOf } from '../form/form-values.ts'
import { auditActions, type InstallAuditTrail } from '../records/audit-trail.ts'
import type { StepRecordLog } from '../records/journal.ts'
import type { Session, Sessions } from '../records/sessions.ts'
import type { InstallServices } from '../requires.ts'
import type { InstallState } from '../state/install-state.ts'
import { sayIn, storedSentence, type Translate } from '../texts.ts'
import type { InstallEvents } from './announcements.ts'
import type { SingleInstallationLock } from './single-run.ts'
import type { Run } from './step.ts'
import type { StepResult, StepRunner } from './step-runner.ts'
import type { InstallSteps } from './steps.ts'

type ExecutionDependencies = Pick<InstallServices, 'log'> & {
  readonly steps: InstallSteps
  readonly runner: StepRunner
  readonly singleRun: SingleInstallationLock
  readonly journal: StepRecordLog
  readonly audit: InstallAuditTrail
  readonly sessions: Sessions
  readonly announcements: InstallEvents
  readonly state: InstallState
  readonly translate: Translate
}

export interface ExecutionRequest {
  readonly form: InstallForm
  readonly caller: Caller
  /** Id of the session that this run repeats, or empty. */
  readonly retriedSessionId: string
  readonly signal: AbortSignal
  /**
   * Returns whether the installer is still open. Called after the run has taken the lock, because another run may have
   * finished in the meantime.
   */
  readonly isOpen: () => Promise<boolean>
  readonly onRecord?: (record: RecordView) => void
}

/** Runs the steps of an installation, records their results, and stops at the first failed step. */
export class Execution {
  readonly #parts: ExecutionDependencies

  constructor(parts: ExecutionDependencies) {
    this.#parts = parts
  }

  /**
   * Runs the installation. The caller must have checked that the installer is open; this is checked again under the
   * lock.
   *
   * @returns `undefined` if the installer was closed in the meantime
   * @throws BusinessError "409", reason `install.running`
   */
  execute(request: ExecutionRequest): Promise<ExecuteView | undefined> {
    const { singleRun, sessions, runner } = this.#parts
    return singleRun.run(async (takeDatabase) => {
      const isHeld = await takeDatabase()
      if (!(await request.isOpen())) return undefined
      const session = sessions.begin(request.caller.clientIp, request.retriedSessionId)
      const own = async () => {
        await sessions.store(session)
        await sessions.closeAbandoned(session)
      }
      const takeMigrated = async () => {
        await takeDatabase()
        // While the tables did not exist, there was no shared lock. So another run may have installed the product.
        if (!(await request.isOpen())) throw new StepFailure('failure.closed')
        await own()
      }
      const run = runner.newRun({ ...request, session, takeDatabase: takeMigrated })
      if (isHeld) await own()
      return this.#runSteps(run, session, request.onRecord)
    })
  }

  /**
   * Completes a run whose process died after the product was marked as installed: publishes the end and closes the
   * session. Does nothing while another process runs the installation.
   */
  async finishInterrupted(): Promise<void> {
    const { singleRun, sessions, state, announcements, translate, log } = this.#parts
    // Without tables, no run was interrupted.
    if ((await sessions.running().catch(() => undefined)) === undefined) return
    await singleRun
      .run(async (takeDatabase) => {
        await takeDatabase()
        const session = await sessions.running()
        if (session === undefined || (await state.read()).name !== 'installed') return
        const message = translate('en', 'execute.passed')
        const logCount = (await this.#parts.journal.newest(500, 'en', session.id)).length
        await announcements.completed({ session, logCount, message, restartSuggested: false })
        await sessions.end(session, {
          status: 'passed',
          failedStep: '',
          message: storedSentence({ text: 'execute.passed' }),
        })
      })
      .catch((error: unknown) =>
        log.info({ reason: errorReason(error) }, 'the installation is being run by another process'),
      )
  }

  async #runSteps(run: Run, session: Session, onRecord: (record: RecordView) => void = () => {}): Promise<ExecuteView> {
    const { steps, runner } = this.#parts
    const records: RecordView[] = []
    let failed: StepResult | undefined
    for (const step of steps.all) {
      const result = await runner.run(step, run)
      records.push(result.record)
      onRecord(result.record)
      if (result.status === 'failed') failed = result
      if (failed !== undefined || result.restart) break
    }
    const message = await this.#conclude(run, session, records, failed)
    return {
      authorized: true,
      passed: failed === undefined,
      restartRequired: run.restartRequired,
      configWritten: run.configWritten,
      administratorReady: run.administrator !== undefined,
      locked: run.lockedAt !== undefined,
      message,
      failedField: failed?.field ?? '',
      sessionId: session.id,
      retriedSessionId: session.retriedSessionId,
      records,
    }
  }

  /**
   * Publishes the result of the run. Writes the row of the session last, so that an interrupted call can be repeated.
   */
  async #conclude(
    run: Run,
    session: Session,
    records: readonly RecordView[],
    failed: StepResult | undefined,
  ): Promise<string> {
    const { sessions, announcements, audit, translate } = this.#parts
    const { caller } = run
    const status = failed !== undefined ? 'failed' : run.restartRequired ? 'restart-required' : 'passed'
    const failedStep = failed?.record.stepCode ?? ''
    const sentence = { text: `execute.${status}`, params: { step: failedStep, reason: failed?.sentence ?? '' } }
    const message = sayIn(translate, caller.locale, sentence)
    const stored = storedSentence(sentence)
    await audit.note(caller, {
      action: auditActions.execute,
      status: failed === undefined ? 'passed' : 'failed',
      sessionId: session.id,
      summary: { outcome: status, failedStep, records: records.length, message: stored },
      secrets: secretsOf(run.form),
    })
    const summary = { session, logCount: records.length, message }
    if (failed !== undefined) await announcements.failed({ ...summary, step: failed.record })
    else if (run.lockedAt !== undefined)
      await announcements.completed({ ...summary, restartSuggested: run.fileChanged })
    await sessions.end(session, { status, failedStep, message: stored })
    return message
  }
}
