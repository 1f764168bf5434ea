/**
 * Types of the requests and responses of the install operations. Enums of the server are plain texts here. A newer
 * server may send more values, so every reader has a fallback.
 */
import { knownValueOr } from '../app/answer.ts'

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
  /** What the user must do to get access; empty or missing if there is nothing to do. */
  readonly hint?: string
  readonly expiresAt: string
}

export const outcomes = ['passed', 'warning', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

/**
 * Returns an outcome. An unknown outcome is treated as a warning. It blocks nothing, because the member `passed`
 * decides.
 */
export const outcomeOf = (status: string): Outcome => knownValueOr(outcomes, status, 'warning')

export interface Check {
  readonly code: string
  readonly group: string
  /** Form field, for example `database.host`; empty for a check of the environment. */
  readonly field: string
  readonly status: string
  readonly message: string
  /** What the user must do to fix the problem; may be empty. */
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
  /** Where the value is stored: `.env`, `config` or `runtime`. */
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
  /** Form field of a connection that failed; missing in responses of older servers. */
  readonly failedField?: string
  readonly sessionId: string
  readonly records: readonly ExecutionRecord[]
}

export interface Condition {
  /** Path of the field on which the visibility of this field depends, for example `database.type`. */
  readonly field: string
  readonly values: readonly (string | boolean)[]
}

/** Source of a value that the installer cannot change. */
export interface FixedField {
  readonly place: string
  /** The field is only fixed while this condition is true. */
  readonly condition?: Condition
}

export interface FieldHints {
  readonly input: string
  readonly autocomplete?: string
  readonly placeholder?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly visibleWhen?: Condition
  /** Values that depend on another field, for example the port for each database type. */
  readonly follows?: { readonly field: string; readonly values: Readonly<Record<string, number>> }
}

export interface FieldDefinition {
  /** Name of the field within its group. */
  readonly name: string
  readonly label: string
  readonly description: string
  /** Type of the value: `string`, `integer` or `boolean`. */
  readonly type: string
  /** True if a value is required. This applies only while the field is visible. */
  readonly required: boolean
  /** Present if the installer cannot change the value. */
  readonly fixed?: FixedField
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
/** Current values by group and field. Other members of a group contain additional data about the group. */
export type FormDefaults = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>

/** The configuration form as it is sent to the server. */
export type InstallForm = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>
