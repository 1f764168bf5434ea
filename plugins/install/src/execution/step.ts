import type { LocalizedText, TextParams } from '@plinth/kernel'
import type { Check, Outcome } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import type { InstallForm } from '../form/fields.ts'
import type { Session } from '../records/sessions.ts'
import type { PlannedSetting } from '../settings/settings-plan.ts'
import type { SettingsPlan } from '../settings/settings-writer.ts'
import type { CreatedAdministrator } from './step-work.ts'

/** The end of a step. `restart` ends the run with success; the remaining steps run after a restart of the product. */
export interface StepEnd {
  readonly status: Outcome
  /** Name of the message. */
  readonly text: string
  readonly params?: TextParams
  /** For `failed`: the field of the form to correct, or empty. */
  readonly field?: string
  readonly restart?: boolean
}

export interface Step {
  readonly code: string
  /** Name of a task. The names of built-in steps are in the messages. */
  readonly displayName?: LocalizedText
  /** If it fails, the installation stops. */
  readonly required: boolean
  readonly retryable: boolean
  /** Long work that changes nothing. Called before `run`; other work may happen between the two. */
  prepare?(run: Run): Promise<void>
  run(run: Run): Promise<StepEnd>
}

export const passed = (text: string, params: TextParams = {}): StepEnd => ({ status: 'passed', text, params })

/** Input of a run of one step or of all steps. */
export interface RunRequest {
  readonly form: InstallForm
  readonly caller: Caller
  readonly signal: AbortSignal
  /** Absent for a step that runs alone. */
  readonly session?: Session
  /** Called when the database is migrated. @throws StepFailure if the installation is closed in the meantime */
  readonly takeDatabase?: () => Promise<void>
}

/** A run with the results of its steps. */
export interface Run extends RunRequest {
  /** Masks the secrets of the configuration and of the form. */
  readonly mask: (text: string) => string
  checks: readonly Check[]
  plan?: SettingsPlan
  /** Settings of the plan, completed with facts that the server has reported. */
  settings?: readonly PlannedSetting[]
  /** Settings that are stored after the migration. */
  unstored?: readonly PlannedSetting[]
  configWritten: boolean
  fileChanged: boolean
  restartRequired: boolean
  migrated?: { readonly pendingBefore: number; readonly applied: number }
  administrator?: CreatedAdministrator
  /** ISO 8601 time of the lock; absent before. */
  lockedAt?: string
}
