import type { Schema } from '../../../field/schema-rules.ts'

/* Responses of the config centre operations. */

interface SourcedValue {
  readonly source: string
  /** File and line, variable, stored value, or argument. */
  readonly place: string
  readonly value?: unknown
  readonly active: boolean
  /** For an unused secret: the keys of its destination that it was not entered for. */
  readonly withheld?: readonly string[]
}

/** All facts about one key. Secrets are masked. */
export interface ConfigItem {
  readonly key: string
  readonly orphaned: boolean
  readonly plugin?: string
  readonly group: string
  readonly displayTitle: string
  readonly displayDescription?: string
  /** Completes "must ...": the requirement of the schema pattern. */
  readonly displayRule?: string
  readonly schema?: Schema
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  /** For a secret: the keys that decide where it is sent. */
  readonly destination?: readonly string[]
  readonly required: boolean
  readonly sensitive: boolean
  readonly reload?: 'live' | 'restart'
  readonly editable: boolean
  readonly locked?: string
  readonly env?: string
  readonly deprecated?: { readonly since: string; readonly replacement?: string; readonly reason?: string }
  readonly value?: unknown
  readonly isSet: boolean
  readonly source?: string
  readonly sources: readonly SourcedValue[]
  /** Version of the stored value; 0 if there is none. */
  readonly version: number
  readonly stored?: { readonly value?: unknown; readonly updatedAt: string; readonly updatedBy: string | null }
  readonly shadowed: boolean
  readonly pendingRestart: boolean
  readonly refused?: string
  readonly problem?: string
}

interface KeyGroup {
  readonly group: string
  /** The group code if it has no title. */
  readonly displayTitle: string
  readonly items: readonly ConfigItem[]
}

/** Titles by group. */
export type GroupTitles = ReadonlyMap<string, string>

export interface KeyList {
  readonly version: number
  readonly groups: readonly KeyGroup[]
}

export interface Effect {
  readonly key: string
  readonly outcome: string
  readonly reason?: string
  readonly before?: unknown
  readonly after?: unknown
}

/** A rule that the value of a key breaks. */
export interface KeyProblem {
  readonly field: string
  readonly rule: string
  readonly message: string
}

/** Effects of a save or of its preview. */
export interface Outcome {
  readonly version: number
  readonly effects: readonly Effect[]
  readonly errors: readonly KeyProblem[]
}

export interface Instance {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: number
  readonly upToDate: boolean
  readonly pendingRestart: readonly string[]
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
}

export interface Instances {
  readonly version: number
  readonly items: readonly Instance[]
}

/** Ids of the operations: see `src/admin/own-pages.ts`. */
export const operationIds = {
  keys: 'getAdminSystemConfigKeys',
  preview: 'postAdminSystemConfigChangesPreview',
  save: 'postAdminSystemConfigChanges',
  verify: 'postAdminSystemConfigVerifications',
  instances: 'getAdminSystemConfigInstances',
  exported: 'getAdminSystemConfigExport',
  imported: 'postAdminSystemConfigImport',
} as const

/** Page of the changes, if the product has it. */
export const historyPage = 'system-config.history'

/** Group of stored values without a declaration. */
export const orphanedGroup = 'orphaned'
