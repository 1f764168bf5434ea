/**
 * The wire format of the install endpoints, as far as the wizard uses it (document 3, "Install entry"). What the server
 * takes from a list is text here: a newer server may have more, so every reader has a fallback.
 */
import { known } from '../app/answer.ts'

export interface InstallStatus {
  readonly installed: boolean
  readonly installAllowed: boolean
  readonly productPath: string
}

export interface EntryCheck {
  readonly valid: boolean
  readonly tokenConfigured: boolean
  readonly installed: boolean
  readonly installAllowed: boolean
  readonly reason: string
  /** What to do to be let in; empty or absent where the server has nothing to say. */
  readonly hint?: string
  readonly expiresAt: string
}

export const outcomes = ['passed', 'warning', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

/** How something ended. An outcome that is not known is worth a look, and stops nobody: whether it does, `passed` says. */
export const outcomeOf = (status: string): Outcome => known(outcomes, status, 'warning')

export interface Check {
  readonly code: string
  readonly group: string
  /** Field of the form, for example `database.host`; empty for the environment. */
  readonly field: string
  readonly status: string
  readonly message: string
  /** What to do about it; may be empty. */
  readonly fix: string
}

export interface CheckResult {
  readonly passed: boolean
  readonly checks: readonly Check[]
}

export interface PlanEntry {
  readonly propertyKey: string
  readonly environmentKey: string
  readonly maskedValue: string
  readonly sensitive: boolean
  /** `.env`, `config` or `runtime`. */
  readonly target: string
  readonly note: string
}

export interface PlanResult extends CheckResult {
  readonly entries: readonly PlanEntry[]
  readonly restartRequired: boolean
}

export interface Step {
  readonly sequence: number
  readonly code: string
  readonly name: string
  readonly description: string
  readonly status: string
  readonly message: string
  readonly required: boolean
  readonly retryable: boolean
}

export interface ExecutionRecord {
  readonly id: number
  readonly sessionId: string
  readonly stepCode: string
  readonly status: string
  readonly message: string
  readonly occurredAt: string
}

export interface ExecuteResult {
  readonly passed: boolean
  readonly restartRequired: boolean
  readonly administratorReady: boolean
  readonly locked: boolean
  readonly message: string
  /** Field of the form that a failed connection points to; absent on an older server. */
  readonly failedField?: string
  readonly sessionId: string
  readonly records: readonly ExecutionRecord[]
}

export interface Condition {
  /** Path of the other field, for example `database.type`. */
  readonly field: string
  readonly values: readonly (string | boolean)[]
}

export interface FieldHints {
  readonly input: string
  readonly autocomplete?: string
  readonly placeholder?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly visibleWhen?: Condition
  /** Values that go with a value of another field, for example the port of a type of database. */
  readonly follows?: { readonly field: string; readonly values: Readonly<Record<string, number>> }
}

export interface FieldDefinition {
  /** Within its group. */
  readonly name: string
  readonly label: string
  readonly description: string
  /** `string`, `integer` or `boolean`. */
  readonly type: string
  /** Where it is visible. */
  readonly required: boolean
  readonly candidates: readonly { readonly value: string; readonly label: string }[]
  readonly hints: FieldHints
}

export interface FormSchema {
  readonly groups: readonly {
    readonly code: string
    readonly label: string
    readonly description: string
    readonly fields: readonly FieldDefinition[]
  }[]
}

type DefaultValue = string | number | boolean | null
/** By group and field; other members of a group are facts about it. */
export type FormDefaults = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>

/** The configuration form as it is sent. */
export type InstallForm = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>
