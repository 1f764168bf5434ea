/** The wire format of the install endpoints, as far as the wizard uses it (document 3, "Install entry"). */

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
  readonly expiresAt: string
}

export type Outcome = 'passed' | 'warning' | 'failed'

export interface Check {
  readonly code: string
  readonly group: string
  /** Field of the form, for example `database.host`; empty for the environment. */
  readonly field: string
  readonly status: Outcome
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
  readonly target: '.env' | 'config' | 'runtime'
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
  readonly status: 'pending' | 'passed'
  readonly message: string
  readonly required: boolean
  readonly retryable: boolean
}

export interface ExecutionRecord {
  readonly id: number
  readonly sessionId: string
  readonly stepCode: string
  readonly status: Outcome
  readonly message: string
  readonly occurredAt: string
}

export interface ExecuteResult {
  readonly passed: boolean
  readonly restartRequired: boolean
  readonly administratorReady: boolean
  readonly locked: boolean
  readonly message: string
  readonly sessionId: string
  readonly records: readonly ExecutionRecord[]
}

export interface Condition {
  /** Path of the other field, for example `database.type`. */
  readonly field: string
  readonly values: readonly (string | boolean)[]
}

export interface FieldHints {
  readonly input: 'text' | 'password' | 'email' | 'tel' | 'url' | 'number' | 'switch' | 'select' | 'combobox'
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
  readonly type: 'string' | 'integer' | 'boolean'
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
