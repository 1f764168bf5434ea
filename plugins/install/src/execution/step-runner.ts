import { errorReason, isBusinessError } from '@plinth/kernel'
import type { RecordView } from '../contract.ts'
import { StepFailure } from '../declarations.ts'
import { secretsOf } from '../form/form-values.ts'
import type { StepRecordLog } from '../records/journal.ts'
import type { InstallServices } from '../requires.ts'
import { publicReason, type Sentence, sayIn, storedSentence, type Translate } from '../texts.ts'
import type { Run, RunRequest, Step, StepOutcome } from './step.ts'

type StepRunnerDependencies = Pick<InstallServices, 'redact' | 'log'> & {
  readonly journal: StepRecordLog
  readonly translate: Translate
}

export interface StepResult extends Pick<RecordView, 'status' | 'message'> {
  readonly record: RecordView
  readonly sentence: Sentence
  /** Form field to correct, or empty. */
  readonly field: string
  readonly restart: boolean
}

/** Runs one step, alone or as part of an installation, and writes its record. An exception makes the step fail. */
export class StepRunner {
  readonly #parts: StepRunnerDependencies

  constructor(parts: StepRunnerDependencies) {
    this.#parts = parts
  }

  newRun(request: RunRequest): Run {
    const secrets = secretsOf(request.form)
    const mask = (text: string) => this.#parts.redact(text, secrets)
    return { ...request, mask, checks: [], configWritten: false, fileChanged: false, restartRequired: false }
  }

  async run(step: Step, run: Run): Promise<StepResult> {
    return this.finish(step, run, await this.prepare(step, run))
  }

  /**
   * Does the long work of a step that changes nothing.
   *
   * @returns the end of the step if this work has already ended it, for example by an error
   * @throws BusinessError for a step that runs alone, if the caller should try again later
   */
  async prepare(step: Step, run: Run): Promise<StepOutcome | undefined> {
    try {
      this.#parts.log.info(aboutOf(step, run), 'install step begins')
      run.signal.throwIfAborted()
      await step.prepare?.(run)
      return undefined
    } catch (error) {
      if (run.session === undefined && isBusinessError(error)) throw error
      return this.#failed(step, run, error)
    }
  }

  /** @param prepared result of `prepare` */
  async finish(step: Step, run: Run, prepared: StepOutcome | undefined): Promise<StepResult> {
    const end = prepared ?? (await this.#end(step, run))
    const { status, field = '', restart = false } = end
    const { text, params } = end
    // The stored sentence contains no secrets either.
    const sentence: Sentence = JSON.parse(
      JSON.stringify({ text: text.includes('.') ? text : `result.${text}`, params }, (_, value) =>
        typeof value === 'string' ? run.mask(value) : value,
      ),
    )
    const { journal, translate } = this.#parts
    const message = run.mask(sayIn(translate, run.caller.locale, sentence))
    const noted = { sessionId: run.session?.id ?? '', stepCode: step.code, status, message }
    const record = await journal.append(noted, storedSentence(sentence))
    return { status, message, record, sentence, field, restart }
  }

  async #end(step: Step, run: Run): Promise<StepOutcome> {
    try {
      const end = await step.run(run)
      this.#parts.log.info({ ...aboutOf(step, run), status: end.status }, 'install step ended')
      return end
    } catch (error) {
      return this.#failed(step, run, error)
    }
  }

  #failed(step: Step, run: Run, error: unknown): StepOutcome {
    const isExpected = error instanceof StepFailure
    const reason = run.mask(errorReason(error))
    const stack = isExpected || !(error instanceof Error) ? '' : run.mask(error.stack ?? '')
    const about = { ...aboutOf(step, run), reason, ...(stack === '' ? {} : { stack }) }
    this.#parts.log[isExpected ? 'warn' : 'error'](about, 'install step failed')
    if (isExpected) return { status: 'failed', text: error.text, params: error.params, field: error.field }
    return { status: 'failed', text: 'failure.step', params: { reason: publicReason(error) } }
  }
}

const aboutOf = ({ code }: Step, { session }: Run) => ({ session: session?.id ?? '', step: code })
