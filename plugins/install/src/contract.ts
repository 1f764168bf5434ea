import { type BrowserPage, Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static } from 'typebox'

export const tokenHeader = 'x-install-token'

export const installPath = '/install/'

export const installModes = ['auto', 'forced', 'disabled'] as const

/** Reason codes of the access check (document 3 of the specification, "Authentication"). */
export const entryReasons = [
  'install.token.not-required',
  'install.token.valid',
  'install.token.invalid',
  'install.token.not-allowed',
] as const
export type EntryReason = (typeof entryReasons)[number]

/** Names of pages that a product may have. The name is the first segment of the path. */
export const entryNames = ['admin', 'app', 'pc', 'chat', 'docs'] as const
export type EntryName = (typeof entryNames)[number]

const outcomes = ['passed', 'warning', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

const moment = Type.String({ description: 'Time in ISO 8601. Empty if there is none.' })

export const statusView = Type.Object({
  enabled: Type.Boolean(),
  mode: Type.Enum([...installModes]),
  installed: Type.Boolean(),
  installAllowed: Type.Boolean({ description: 'True if the installer can be used.' }),
  allowReinstall: Type.Boolean(),
  locked: Type.Boolean(),
  installPath: Type.String(),
  productPath: Type.String({ description: 'Path of the product, with the context path of the request.' }),
  rootRouteMode: Type.Enum(['forward', 'redirect']),
  rootRouteTarget: Type.String(),
  snapshotAt: Type.String({ format: 'date-time' }),
})
export type StatusView = Static<typeof statusView>

/** Pages of the product that the installer links to at the end of an installation. */
export const entriesView = Type.Object({
  entries: Type.Array(Type.Enum([...entryNames]), {
    description: 'Pages of the installed product, for example `admin` for `/admin/`.',
  }),
})

export const tokenBody = Type.Object({ token: Type.Optional(Type.String({ maxLength: 1024 })) })

export const verifyView = Type.Object({
  valid: Type.Boolean(),
  tokenConfigured: Type.Boolean(),
  installed: Type.Boolean(),
  installAllowed: Type.Boolean(),
  reason: Type.Enum([...entryReasons]),
  hint: Type.String({ description: 'How this caller can unlock the installer. Empty if there is no hint.' }),
  expiresAt: moment,
})

export const checkView = Type.Object({
  code: Type.String({ description: 'Stable code of the checked item.' }),
  finding: Type.String({
    description: 'Stable code of the result, for example `required`. `passed`: no problem.',
  }),
  group: Type.String(),
  field: Type.String({
    description: 'Affected field of the form, for example `database.host`. Empty for checks of the environment.',
  }),
  status: Type.Enum([...outcomes]),
  message: Type.String(),
  fix: Type.String({ description: 'Action that fixes the problem. Empty if the message contains it.' }),
})
export type Check = Static<typeof checkView>

const checkMembers = {
  authorized: Type.Boolean({ description: 'True if the caller may use the installer.' }),
  passed: Type.Boolean({ description: 'True if no check failed. Warnings are allowed.' }),
  checks: Type.Array(checkView),
}
export const checkResult = Type.Object(checkMembers)
export type CheckResult = Static<typeof checkResult>

export const entryView = Type.Object({
  propertyKey: Type.String(),
  environmentKey: Type.String({ description: 'Environment variable. Empty if the value is not stored in a variable.' }),
  maskedValue: Type.String(),
  sensitive: Type.Boolean(),
  target: Type.Enum(['.env', 'config', 'runtime']),
  note: Type.String(),
})
export type PlanEntry = Static<typeof entryView>

export const planResult = Type.Object({
  ...checkMembers,
  entries: Type.Array(entryView),
  restartRequired: Type.Boolean({ description: 'True if the connection to the database or to Redis changes.' }),
})
export type PlanResult = Static<typeof planResult>

export const migrateView = Type.Object({
  authorized: Type.Boolean(),
  migrated: Type.Boolean(),
  pendingBefore: Type.Integer({ minimum: 0 }),
  applied: Type.Integer({ minimum: 0, description: 'Number of change sets that this call applied.' }),
  upToDate: Type.Boolean(),
  message: Type.String(),
})
export type MigrateView = Static<typeof migrateView>

export const recordView = Type.Object({
  id: Type.Integer(),
  sessionId: Type.String({ description: 'Id of the installation run. Empty if the step was run alone.' }),
  stepCode: Type.String(),
  status: Type.Enum([...outcomes]),
  message: Type.String(),
  occurredAt: Type.String({ format: 'date-time' }),
})
export type RecordView = Static<typeof recordView>

export const executeView = Type.Object({
  authorized: Type.Boolean(),
  passed: Type.Boolean(),
  restartRequired: Type.Boolean({
    description: 'True if the product is restarting. Repeat the call when it responds again.',
  }),
  configWritten: Type.Boolean(),
  administratorReady: Type.Boolean(),
  locked: Type.Boolean(),
  message: Type.String(),
  failedField: Type.String({
    description:
      'Field of the form that caused the failed connection, for example `database.host`. Empty if there is none.',
  }),
  sessionId: Type.String(),
  retriedSessionId: Type.String(),
  records: Type.Array(recordView),
})
export type ExecuteView = Static<typeof executeView>

export const administratorView = Type.Object({
  authorized: Type.Boolean(),
  ready: Type.Boolean({ description: 'True if an administrator exists.' }),
  created: Type.Boolean({ description: 'True if this call created the administrator.' }),
  userId: Type.Union([Type.Integer(), Type.Null()]),
  username: Type.String(),
  message: Type.String(),
})
export type AdministratorView = Static<typeof administratorView>

export const lockView = Type.Object({
  authorized: Type.Boolean(),
  locked: Type.Boolean(),
  lockedAt: moment,
  status: statusView,
  message: Type.String(),
})
export type LockView = Static<typeof lockView>

export const stepView = Type.Object({
  sequence: Type.Integer({ minimum: 1 }),
  code: Type.String(),
  name: Type.String(),
  description: Type.String(),
  status: Type.Enum(['pending', 'passed']),
  message: Type.String(),
  required: Type.Boolean({ description: 'True if a failure of this step stops the installation.' }),
  retryable: Type.Boolean({ description: 'True if the step can be repeated.' }),
})
export type StepView = Static<typeof stepView>
export const stepsView = Type.Object({ steps: Type.Array(stepView) })

export const limitQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ description: 'Maximum number of records: 100 by default, at most 500.' })),
})
export const logsView = Type.Object({ authorized: Type.Boolean(), records: Type.Array(recordView) })
export const sessionParams = Type.Object({ sessionId: Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }) })
export const sessionLogsView = Type.Object({
  authorized: Type.Boolean(),
  sessionId: Type.String(),
  records: Type.Array(recordView),
})

/** Form values from the running configuration. */
export const defaultsView = Type.Object({
  site: Type.Object({
    name: Type.String(),
    title: Type.String(),
    url: Type.String(),
    defaultLocale: Type.String(),
    timeZone: Type.String(),
  }),
  administrator: Type.Object({ passwordPolicy: Type.String() }),
  database: Type.Object({
    type: Type.String(),
    url: Type.String({ description: 'Connection URL without the password.' }),
    host: Type.String(),
    port: Type.Union([Type.Integer(), Type.Null()]),
    database: Type.String(),
    username: Type.String(),
    password: Type.String({ description: 'Empty unless the caller may see the password. Clients must not store it.' }),
    passwordSet: Type.Boolean(),
    fault: Type.String({ description: 'Reason why the configured database is not used. Empty if it is used.' }),
    faultField: Type.String({ description: 'Field of the form that caused the problem, for example `database.host`.' }),
  }),
  cache: Type.Object({
    enabled: Type.Boolean(),
    host: Type.String(),
    port: Type.Integer(),
    database: Type.Integer(),
    password: Type.String({ description: 'Empty unless the caller may see the password. Clients must not store it.' }),
    passwordSet: Type.Boolean(),
  }),
  storage: Type.Object({ publicDisk: Type.String(), localDisk: Type.String() }),
})
export type DefaultsView = Static<typeof defaultsView>

const condition = Type.Object({ field: Type.String(), values: Type.Array(Type.Union([Type.String(), Type.Boolean()])) })
const fixedField = Type.Object(
  {
    place: Type.String({ description: 'Source of the value, for example an environment variable.' }),
    condition: Type.Optional(condition),
  },
  { description: 'Present if another source sets the value, so that the installer cannot change it.' },
)
export type FixedField = Static<typeof fixedField>
export const fieldView = Type.Object({
  name: Type.String({ description: 'Name of the field within its group.' }),
  label: Type.String(),
  description: Type.String(),
  type: Type.Enum(['string', 'integer', 'boolean']),
  required: Type.Boolean({ description: 'True if the field is required while it is visible.' }),
  fixed: Type.Optional(fixedField),
  candidates: Type.Array(Type.Object({ value: Type.String(), label: Type.String() })),
  hints: Type.Object({
    input: Type.Enum(['text', 'password', 'email', 'tel', 'url', 'number', 'switch', 'select', 'combobox']),
    autocomplete: Type.Optional(Type.String()),
    placeholder: Type.Optional(Type.String()),
    minimum: Type.Optional(Type.Integer()),
    maximum: Type.Optional(Type.Integer()),
    maxLength: Type.Optional(Type.Integer()),
    visibleWhen: Type.Optional(condition),
    /** Default value for each value of another field, for example the port for each database type. */
    follows: Type.Optional(Type.Object({ field: Type.String(), values: Type.Record(Type.String(), Type.Integer()) })),
  }),
})
export type FieldView = Static<typeof fieldView>
export const schemaView = Type.Object({
  groups: Type.Array(
    Type.Object({
      code: Type.Enum(['site', 'administrator', 'database', 'cache', 'storage']),
      label: Type.String(),
      description: Type.String(),
      fields: Type.Array(fieldView),
    }),
  ),
})
export type SchemaView = Static<typeof schemaView>

/**
 * The page at `/install/`. The plugin that implements the page provides this service. The page calls the API at the
 * relative path `../api/v1/install`. Without the service or without a built page, a fallback page links to the status
 * and to the documentation.
 */
export const installPage = service<BrowserPage>('install.page', { from: '@plinth/console' })

/** Audit record of an operation on the installation or its data. */
export interface InstallAuditEntry {
  /** Name of the operation, for example `execute`, `state-reset` or `quickstart-cleanup`. */
  readonly action: string
  readonly status: 'passed' | 'warning' | 'failed'
  /** Installation session, if the operation belongs to a session. */
  readonly sessionId?: string
  /** User name, or the name of an actor that is not a user, such as `cli`. */
  readonly operator: string
  readonly clientIp: string
  readonly userAgent: string
  readonly traceId: string
  /** Details of the operation, without passwords, keys, tokens and confirmation phrases. */
  readonly summary: Readonly<Record<string, string | number | boolean>>
}

export interface InstallAudit {
  /** Writes a record. Uses the current transaction if there is one. */
  record(entry: InstallAuditEntry): Promise<void>
}

/**
 * The audit of the installation. A plugin that also works without this plugin can require the service by its id, as
 * `quickstart-cleanup` does.
 */
export const installAudit = service<InstallAudit>('install.audit', { from: '@plinth/install' })

export { InstallCompletedEvent, InstallExecutionFailedEvent } from '@plinth/events'
