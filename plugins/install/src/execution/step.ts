import type { LocalizedText } from '@plinth/kernel'
import type { Outcome } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import type { InstallForm } from '../form/fields.ts'
import type { SentenceCheck } from '../form/form-checks.ts'
import type { Session } from '../records/sessions.ts'
import type { PlannedSetting } from '../settings/settings-plan.ts'
import type { SettingsPlan } from '../settings/settings-writer.ts'
import type { SentenceParams } from '../texts.ts'
import type { CreatedAdministrator } from './step-work.ts'

/**
 * The end of a step. If `restart` is true, the run ends successfully and the remaining steps run after a restart of the
 * product.
 */
export interface StepOutcome {
  readonly status: Outcome
  readonly text: string
  readonly params?: SentenceParams
  /** Form field to correct if the step failed, or empty. */
  readonly field?: string
  readonly restart?: boolean
}

export interface Step {
  readonly code: string
  /** Name of a task. The names of built-in steps are in the message files. */
  readonly displayName?: LocalizedText
  /** If true, a failure of this step stops the installation. */
  readonly required: boolean
  readonly retryable: boolean
  /** Does long work that changes nothing, such as connecting. Called before `run`. */
  prepare?(run: Run): Promise<void>
  run(run: Run): Promise<StepOutcome>
}

export const passedStep = (text: string, params: SentenceParams = {}): StepOutcome => ({
  status: 'passed',
  text,
  params,
})

export interface RunRequest {
  readonly form: InstallForm
  readonly caller: Caller
  readonly signal: AbortSignal
  /** Absent if a step runs alone. */
  readonly session?: Session
  /**
   * Takes the lock in the database. Called after the migration, because the lock table may not exist earlier.
   *
   * @throws StepFailure if the installer was closed in the meantime
   */
  readonly takeDatabase?: () => Promise<void>
}

/** A run with the results of its steps so far. */
export interface Run extends RunRequest {
  /** Masks configured secrets and secrets of the form. */
  readonly mask: (text: string) => string
  checks: readonly SentenceCheck[]
  plan?: SettingsPlan
  /** Settings of the plan, corrected with facts that the database server reported. */
  settings?: readonly PlannedSetting[]
  /** Settings that can only be stored after the migration. */
  unstored?: readonly PlannedSetting[]
  configWritten: boolean
  fileChanged: boolean
  restartRequired: boolean
  migrated?: { readonly pendingBefore: number; readonly applied: number }
  administrator?: CreatedAdministrator
  /** Time at which the product was marked as installed, ISO 8601. Absent before. */
  lockedAt?: string
}
