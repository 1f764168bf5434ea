import { Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static } from 'typebox'

/**
 * Phrase that confirms the removal of the demo data of all modules (document 3 of the specification, "Demo-data
 * cleanup").
 */
export const allModulesPhrase = '一键清理演示数据'

/** Returns the phrase that confirms the removal of the demo data of one module. */
export const modulePhrase = (moduleCode: string) => `CLEAN-${moduleCode.toUpperCase()}`

/**
 * State of the demo data of a module. `ready`: the data can be removed. `blocked`: real data depends on it. `clean`: no
 * demo data remains. `unknown`: the data cannot be read.
 */
export const moduleStates = ['ready', 'blocked', 'clean', 'unknown'] as const
export type ModuleState = (typeof moduleStates)[number]

/** Result of a run for one module: `cleaned` or `failed` after a removal, otherwise the state of the module. */
export const outcomes = ['cleaned', 'failed', 'blocked', 'clean'] as const
export type Outcome = (typeof outcomes)[number]

/** Stable codes for the reason of a failure. */
export const errorKeys = [
  'foreign-key',
  'data-source',
  'conflict',
  'removal-failed',
  'residual-data',
  'timed-out',
  'preview-failed',
] as const
export type ErrorKey = (typeof errorKeys)[number]

const count = Type.Integer({ minimum: 0 })
const targetView = Type.Object({ type: Type.String(), name: Type.String(), count })
const blockerView = Type.Object({ code: Type.String(), message: Type.String(), count })

const moduleMembers = {
  moduleCode: Type.String(),
  moduleName: Type.String(),
  dataType: Type.String({ description: 'Type of the demo data.' }),
  state: Type.Enum([...moduleStates], {
    description:
      'ready: can be removed. blocked: cannot be removed now. clean: no demo data. unknown: the state cannot be read.',
  }),
  executable: Type.Boolean({ description: 'True if there is demo data and nothing blocks its removal.' }),
  targets: Type.Array(targetView, { description: 'Data that would be removed.' }),
  targetCount: count,
  blockers: Type.Array(blockerView, { description: 'Reasons that block the removal.' }),
  blockerCount: count,
  confirmation: Type.Object(
    { moduleCode: Type.String(), dataType: Type.String(), confirmation: Type.String() },
    { description: 'Request body that removes the demo data of this module.' },
  ),
}

export const moduleView = Type.Object(moduleMembers)
export type ModuleView = Static<typeof moduleView>

export const overviewView = Type.Object({
  confirmation: Type.String({ description: 'Phrase that confirms the removal for all modules that can be cleaned.' }),
  executableCount: count,
  modules: Type.Array(moduleView),
})
export type OverviewView = Static<typeof overviewView>

export const resultView = Type.Object({
  ...moduleMembers,
  outcome: Type.Enum([...outcomes]),
  executed: Type.Boolean({ description: 'True if the cleanup of the module was executed.' }),
  removed: Type.Array(Type.Object({ type: Type.String(), count })),
  errorKey: Type.String({ description: `Code of the error: ${errorKeys.join(', ')}. Empty if there was none.` }),
  message: Type.String(),
})
export type ResultView = Static<typeof resultView>

export const runView = Type.Object({
  passed: Type.Boolean({ description: 'True if no module failed.' }),
  cleanedCount: count,
  failedCount: count,
  skippedCount: count,
  modules: Type.Array(resultView),
})
export type RunView = Static<typeof runView>

const text = Type.String({ maxLength: 200 })
export const moduleParams = Type.Object({ moduleCode: Type.String({ minLength: 1, maxLength: 64 }) })
/** A confirmation is optional in the schema, because a missing value is handled and audited like a wrong value. */
const confirmed = Type.Optional(text)
export const runBody = Type.Object({ confirmation: confirmed })
export const moduleRunBody = Type.Object({ moduleCode: confirmed, dataType: confirmed, confirmation: confirmed })

/** One removal, as stored in the audit. */
export interface CleanupRecord {
  readonly action: 'quickstart-cleanup'
  readonly status: 'passed' | 'warning' | 'failed'
  /** User name, or the name of an actor that is not a user, such as `cli`. */
  readonly operator: string
  readonly clientIp: string
  readonly userAgent: string
  readonly traceId: string
  /** Details of the removal, without passwords, keys, tokens and confirmation phrases. */
  readonly summary: Readonly<Record<string, string | number | boolean>>
}

export interface CleanupAudit {
  /** Writes a record. Uses the current transaction if there is one. */
  record(entry: CleanupRecord): Promise<void>
}

/** The part of the installation audit that this plugin uses. */
export const cleanupAudit = service<CleanupAudit>('install.audit', { from: '@plinth/install' })
