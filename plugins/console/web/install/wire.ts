/**
 * The wire format of the install endpoints, as used by the wizard (document 3, "Install entry"). Enums of the server
 * are texts here: a newer server may have more values, so every reader has a fallback.
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
  /** Action that gives access; empty or absent if there is none. */
  readonly hint?: string
  readonly expiresAt: string
}

export const outcomes = ['passed', 'warning', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

/** Returns an outcome. An unknown one is a warning and blocks nothing, because `passed` decides. */
export const outcomeOf = (status: string): Outcome => known(outcomes, status, 'warning')

export interface Check {
  readonly code: string
  readonly group: string
  /** Field of the form, for example `database.host`; empty for the environment. */
  readonly field: string
  readonly status: string
  readonly message: string
  /** Action that fixes it; may be empty. */
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
  /** Form field of a failed connection; absent on an older server. */
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
  /** Values that follow another field, for example the port of a database type. */
  readonly follows?: { readonly field: string; readonly values: Readonly<Record<string, number>> }
}

export interface FieldDefinition {
  /** Name within its group. */
  readonly name: string
  readonly label: string
  readonly description: string
  /** `string`, `integer` or `boolean`. */
  readonly type: string
  /** Only applies while the field is visible. */
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
/** By group and field. Other members of a group are facts about it. */
export type FormDefaults = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>

/** The configuration form as it is sent. */
export type InstallForm = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>
