import { localize } from '@plinth/kernel'
import type { StepView } from '../contract.ts'
import { builtInStepCodes } from '../declarations.ts'
import type { StepRecordLog } from '../records/journal.ts'
import type { InstallServices } from '../requires.ts'
import type { InstallState } from '../state/install-state.ts'
import type { Translate } from '../texts.ts'
import type { Migration } from './step-work.ts'
import type { InstallSteps } from './steps.ts'

type StepOverviewDependencies = Pick<InstallServices, 'accounts'> & {
  readonly steps: InstallSteps
  readonly journal: StepRecordLog
  readonly migration: Migration
  readonly state: InstallState
  readonly translate: Translate
}

/** Number of recent records in which the last result of each step is searched. */
const maxRecords = 500

/** The steps with their progress. */
export class StepOverview {
  readonly #parts: StepOverviewDependencies

  constructor(parts: StepOverviewDependencies) {
    this.#parts = parts
  }

  async list(locale: string): Promise<StepView[]> {
    const { steps, journal, translate } = this.#parts
    const facts = await this.#facts()
    const newest = new Map((await journal.newest(maxRecords, locale)).map((record) => [record.stepCode, record]))
    return steps.all.map(({ code, displayName, required, retryable }, index) => {
      const record = newest.get(code)
      const isPassed = facts[code] ?? (record !== undefined && record.status !== 'failed')
      return {
        sequence: index + 1,
        code,
        name: displayName === undefined ? translate(locale, `step.${code}.name`) : localize(displayName, locale),
        description: translate(locale, `step.${code}.description`),
        status: isPassed ? 'passed' : 'pending',
        message: record?.message ?? '',
        required,
        retryable,
      }
    })
  }

  /** Facts that override the records of steps. A fact that cannot be determined is omitted. */
  async #facts(): Promise<Readonly<Record<string, boolean>>> {
    const { accounts, migration, state } = this.#parts
    const { name } = await state.read()
    const tried = async (question: Promise<boolean>) => question.catch(() => undefined)
    const isPending = await tried(migration.isPending())
    const hasUsers = await tried(accounts.hasUsers())
    return {
      [builtInStepCodes.entry]: true,
      [builtInStepCodes.lock]: name === 'installed',
      ...(isPending === undefined ? {} : { [builtInStepCodes.migration]: !isPending }),
      ...(hasUsers === undefined ? {} : { [builtInStepCodes.administrator]: hasUsers }),
    }
  }
}
