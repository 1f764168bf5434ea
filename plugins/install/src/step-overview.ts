import type { Accounts } from '@plinth/iam'
import type { DeclaredTasks } from '@plinth/kernel'
import type { StepView } from './contract.ts'
import type { Journal } from './journal.ts'
import type { Migration } from './migration.ts'
import type { InstallState } from './state.ts'
import { builtIn, stepPlan, stepViews } from './steps.ts'
import type { Say } from './texts.ts'

export interface StepOverviewParts {
  readonly declared: Pick<DeclaredTasks, 'installTasks'>
  readonly accounts: Accounts
  readonly journal: Journal
  readonly migration: Migration
  readonly state: InstallState
  readonly say: Say
}

/** Records that are looked through for how each step went last. */
const looked = 500

/** The step plan with how far the installation has come. */
export class StepOverview {
  readonly #parts: StepOverviewParts

  constructor(parts: StepOverviewParts) {
    this.#parts = parts
  }

  async list(locale: string): Promise<StepView[]> {
    const { declared, journal, say } = this.#parts
    return stepViews(stepPlan(declared.installTasks), await journal.newest(looked), await this.#facts(), locale, say)
  }

  /** What can be seen without the records; what cannot be told is left out. */
  async #facts(): Promise<Readonly<Record<string, boolean>>> {
    const { accounts, migration, state } = this.#parts
    const { name } = await state.read()
    const told = async (question: Promise<boolean>) => question.catch(() => undefined)
    const isPending = await told(migration.isPending())
    const hasUsers = await told(accounts.hasUsers())
    return {
      [builtIn.entry]: true,
      [builtIn.lock]: name === 'installed',
      ...(isPending === undefined ? {} : { [builtIn.migration]: !isPending }),
      ...(hasUsers === undefined ? {} : { [builtIn.administrator]: hasUsers }),
    }
  }
}
