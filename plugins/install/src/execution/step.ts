import type { LocalizedText, TextParams } from '@plinth/kernel'
import type { Check, Outcome } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import type { InstallForm } from '../form/fields.ts'
import type { Session } from '../records/sessions.ts'
import type { PlannedSetting } from '../settings/settings-plan.ts'
import type { SettingsPlan } from '../settings/settings-writer.ts'
import type { CreatedAdministrator } from './step-work.ts'

/** How a step ended. `restart` ends the run with success: the rest is done after the product has started again. */
export interface StepEnd {
  readonly status: Outcome
  /** Name of the message. */
  readonly text: string
  readonly params?: TextParams
  /** For `failed`: the field of the form that is to be corrected; empty for none. */
  readonly field?: string
  readonly restart?: boolean
}

export interface Step {
  readonly code: string
  /** Name of a task; built-in steps have theirs in the messages. */
  readonly displayName?: LocalizedText
  /** Its failure stops the installation. */
  readonly required: boolean
  readonly retryable: boolean
  /** What may take long and changes nothing. Comes before `run`; other work may go on meanwhile. */
  prepare?(run: Run): Promise<void>
  run(run: Run): Promise<StepEnd>
}

export const passed = (text: string, params: TextParams = {}): StepEnd => ({ status: 'passed', text, params })

/** What a run of one step, or of all, is about. */
export interface RunRequest {
  readonly form: InstallForm
  readonly caller: Caller
  readonly signal: AbortSignal
  /** Absent for a step that runs alone. */
  readonly session?: Session
  /** Once the database is migrated. @throws StepFailure when the installation is closed by now */
  readonly takeDatabase?: () => Promise<void>
}

/** A run as its steps see it, with what they have found and done. */
export interface Run extends RunRequest {
  /** Masks the secrets of the configuration and of the form. */
  readonly mask: (text: string) => string
  checks: readonly Check[]
  plan?: SettingsPlan
  /** Settings of the plan, with what the server has told of itself. */
  settings?: readonly PlannedSetting[]
  /** Settings that wait for a migrated database. */
  unstored?: readonly PlannedSetting[]
  configWritten: boolean
  fileChanged: boolean
  restartRequired: boolean
  migrated?: { readonly pendingBefore: number; readonly applied: number }
  administrator?: CreatedAdministrator
  /** When the installation was locked, ISO 8601; absent before. */
  lockedAt?: string
}
