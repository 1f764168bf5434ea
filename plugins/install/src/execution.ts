import { type Logger, reasonOf } from '@plinth/kernel'
import type { Announcements } from './announcements.ts'
import { type AuditTrail, auditActions } from './audit.ts'
import type { Caller } from './caller.ts'
import type { ExecuteView, InstallForm, RecordView } from './contract.ts'
import type { ExecutionSteps, Run, Step, StepEnd } from './execution-steps.ts'
import { secretsOf } from './form.ts'
import type { Journal } from './journal.ts'
import type { RunLock } from './run-lock.ts'
import type { Sessions } from './sessions.ts'
import { StepFailure } from './step-failure.ts'
import type { Say } from './texts.ts'
import { toldReason } from './told-reason.ts'

export interface ExecutionParts {
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  readonly steps: ExecutionSteps
  readonly runLock: RunLock
  readonly journal: Journal
  readonly audit: AuditTrail
  readonly sessions: Sessions
  readonly announcements: Announcements
  readonly say: Say
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

/** The one-step installation: runs the steps, records each, stops at the first that fails. */
export class Execution {
  readonly #parts: ExecutionParts

  constructor(parts: ExecutionParts) {
    this.#parts = parts
  }

  get stepCount(): number {
    return this.#parts.steps.all.length
  }

  /**
   * Whoever calls has checked the entry; it is asked again under the lock.
   *
   * @returns `undefined` when the installation is closed by now
   * @throws BusinessError "409", reason `install.running`
   */
  execute(request: ExecutionRequest): Promise<ExecuteView | undefined> {
    const { runLock, sessions, redact } = this.#parts
    return runLock.run(async (takeDatabase) => {
      await takeDatabase()
      if (!(await request.isOpen())) return undefined
      const session = sessions.begin(request.caller.clientIp, request.retriedSessionId)
      const secrets = secretsOf(request.form)
      const run: Run = {
        ...{ form: request.form, caller: request.caller, signal: request.signal, session, takeDatabase },
        ...{ configWritten: false, fileChanged: false, administratorReady: false, locked: false },
        restartRequired: false,
        mask: (text) => redact(text, secrets),
      }
      await sessions.store(session)
      await sessions.closeAbandoned(session)
      return this.#runSteps(run, request.onRecord)
    })
  }

  /**
   * Brings a run to its end whose process died when the product was locked already: who waits for the news hears it,
   * and nothing seems to run. Does nothing while another process is at it.
   */
  async finishInterrupted(isInstalled: () => Promise<boolean>): Promise<void> {
    const { runLock, sessions, announcements, say, log } = this.#parts
    // Without tables nothing can have been interrupted.
    if ((await sessions.running().catch(() => undefined)) === undefined) return
    await runLock
      .run(async (takeDatabase) => {
        await takeDatabase()
        const session = await sessions.running()
        if (session === undefined || !(await isInstalled())) return
        const message = say('en', 'execute.passed')
        const logCount = (await this.#parts.journal.newest(500, session.id)).length
        await announcements.completed({ session, logCount, message, restartSuggested: false })
        await sessions.end(session, { status: 'passed', failedStep: '', message })
      })
      .catch((error: unknown) => log.info({ reason: reasonOf(error) }, 'an installation is left to whoever runs it'))
  }

  async #runSteps(run: Run, onRecord: (record: RecordView) => void = () => {}): Promise<ExecuteView> {
    const records: RecordView[] = []
    let failed: RecordView | undefined
    let failedField = ''
    for (const step of this.#parts.steps.all) {
      const end = await this.#attempt(step, run)
      const record = await this.#record(run, step.code, end)
      records.push(record)
      onRecord(record)
      if (end.status === 'failed') {
        failed = record
        failedField = end.field ?? ''
      }
      if (end.status === 'failed' || end.restart) break
    }
    const message = await this.#conclude(run, records, failed)
    return {
      authorized: true,
      passed: failed === undefined,
      restartRequired: run.restartRequired,
      configWritten: run.configWritten,
      administratorReady: run.administratorReady,
      locked: run.locked,
      message,
      failedField,
      sessionId: run.session.id,
      retriedSessionId: run.session.retriedSessionId,
      records,
    }
  }

  async #attempt(step: Step, run: Run): Promise<StepEnd> {
    const { log } = this.#parts
    const about = { session: run.session.id, step: step.code }
    try {
      log.info(about, 'install step begins')
      run.signal.throwIfAborted()
      const end = await step.run(run)
      log.info({ ...about, status: end.status }, 'install step ended')
      return end
    } catch (error) {
      const isTold = error instanceof StepFailure
      const reason = run.mask(reasonOf(error))
      const stack = isTold || !(error instanceof Error) ? '' : run.mask(error.stack ?? '')
      log[isTold ? 'warn' : 'error']({ ...about, reason, ...(stack === '' ? {} : { stack }) }, 'install step failed')
      if (isTold) return { status: 'failed', text: error.text, params: error.params, field: error.field }
      return { status: 'failed', text: 'failure.step', params: { reason: toldReason(error) } }
    }
  }

  #record(run: Run, stepCode: string, { status, text, params = {} }: StepEnd): Promise<RecordView> {
    const { journal, say } = this.#parts
    const name = text.includes('.') ? text : `result.${text}`
    const message = run.mask(say(run.caller.locale, name, params))
    return journal.append({ sessionId: run.session.id, stepCode, status, message })
  }

  /** Tells everybody how it ended. The row of the session comes last: until then the end can be made up for. */
  async #conclude(run: Run, records: readonly RecordView[], failed: RecordView | undefined): Promise<string> {
    const { sessions, announcements, audit, say } = this.#parts
    const { session, caller } = run
    const status = failed !== undefined ? 'failed' : run.restartRequired ? 'restart-required' : 'passed'
    const failedStep = failed?.stepCode ?? ''
    const message = say(caller.locale, `execute.${status}`, { step: failedStep, reason: failed?.message ?? '' })
    await audit.note(caller, {
      action: auditActions.execute,
      status: failed === undefined ? 'passed' : 'failed',
      sessionId: session.id,
      summary: { outcome: status, failedStep, records: records.length, message },
      secrets: secretsOf(run.form),
    })
    const about = { session, logCount: records.length, message }
    if (failed !== undefined) await announcements.failed({ ...about, step: failed })
    else if (run.locked) await announcements.completed({ ...about, restartSuggested: run.fileChanged })
    await sessions.end(session, { status, failedStep, message })
    return message
  }
}
