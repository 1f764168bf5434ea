import type { LocalizedText } from '@plinth/config-schema'
import { shape } from '@plinth/config-schema/shapes'
import type { Logger } from 'pino'
import type { ConfigValues } from '../configuration/config-values.ts'
import type { Plugin } from '../plugin.ts'
import { type ExtensionPoint, extensionPoint, service } from '../refs.ts'
import type { InstallTask, ScheduledTask } from './declarations.ts'
import { personalData } from './personal-data.ts'
import { quickstartCleanup } from './quickstart-cleanup.ts'

/** Result of a health check that succeeded with warnings. */
export interface HealthReport {
  /**
   * One sentence for each warning, with its fix. `plinth doctor` and the back office show them, and each change is
   * logged once. Do not include counts or times: a different text is logged as a new warning.
   */
  readonly warnings: readonly string[]
}

/**
 * Checks that the product can work. Throws the reason if it cannot; the reason is logged and shown only to operators.
 * Returns a report if there are warnings. Must end when the signal aborts.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most checks return nothing
export type HealthCheck = (signal: AbortSignal) => void | HealthReport | Promise<void | HealthReport>

/**
 * Health checks by the name of the checked part. The kernel owns this extension point, so any plugin may contribute.
 */
export const healthCheck = extensionPoint<HealthCheck>('kernel.health-check', {
  live: true,
  names: shape.dotted,
  shape: shape.function,
})

export interface DataCheckOptions {
  readonly signal: AbortSignal
  /** Shows the progress to the operator. */
  progress(text: string): void
}

/**
 * Checks all stored data of a plugin, for example that the balances of a ledger agree with its entries. It only reads,
 * and it may take as long as it needs. Throws the reason if data are wrong. Returns a report if there are warnings.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most checks return nothing
export type DataCheck = (options: DataCheckOptions) => void | HealthReport | Promise<void | HealthReport>

/** Data checks by the name of the checked data. `plinth doctor --data` runs them, and each move of a database. */
export const dataCheck = extensionPoint<DataCheck>('kernel.data-check', {
  live: true,
  names: shape.dotted,
  shape: shape.function,
})

/**
 * Returns the absolute path of a file outside the database without which stored data cannot be read, for example an
 * encryption key. Returns undefined if there is no such file. The file may be missing.
 */
export type StateFile = () => string | undefined

/** Files that a backup contains in addition to the database and the disks, by the name of their content. */
export const stateFile = extensionPoint<StateFile>('kernel.state-file', {
  live: true,
  names: shape.dotted,
  shape: shape.function,
})

/**
 * Returns the warnings in the result of a health check. Accepts any value, because a check may be written in
 * JavaScript.
 */
export function readHealthWarnings(report: unknown): readonly string[] {
  const warnings: unknown = Object(report).warnings
  return Array.isArray(warnings) ? warnings.map(String) : []
}

/** A line that `plinth start` and `plinth dev` print after the start. */
export interface StartSummaryLine {
  /** Label of at most 16 characters, for example `Back office`. */
  readonly label: string
  /** A URL, or another place such as the path of a database file. Never a secret. */
  readonly place: string
  /**
   * Set if the place is a page for a browser. `next` is the page to open now, for example an installer. If there is
   * none, the last `usual` page in start order is suggested.
   */
  readonly page?: 'usual' | 'next'
}

/**
 * Functions that return what a plugin serves or uses after the start, for the summary on the terminal. The kernel owns
 * this extension point, so any plugin may contribute.
 */
export const startSummary = extensionPoint<() => readonly StartSummaryLine[] | Promise<readonly StartSummaryLine[]>>(
  'kernel.start-summary',
  { live: true, names: shape.dotted, shape: shape.function },
)

/** Entries of one kind, such as routes or tables, by the id of their plugin. */
export type ManifestEntries = ReadonlyMap<string, readonly string[]>

/**
 * Functions that return entries for `plinth.lock.json` that only a running product knows, by kind: `routes`, `tables`.
 * `plinth plugins lock` records them, and `plinth plugins diff` compares them. Each entry is one line of text. The
 * kernel owns this extension point, so any plugin may contribute.
 */
export const manifestEntries = extensionPoint<() => ManifestEntries>('kernel.manifest-entries', {
  live: true,
  names: shape.kebab,
  shape: shape.function,
})

/** One line that `plinth upgrade --dry-run` prints. */
export interface UpgradeStep {
  /** Kind of the change in one word, such as `pending`, `removed` or `deprecated`. */
  readonly change: string
  readonly plugin: string
  readonly entry: string
  /** True if an operator or a developer must act before the upgrade. */
  readonly isBlocking?: boolean
}

/**
 * Functions that return the steps of an upgrade for one kind of manifest entries, such as `change-sets` or `routes`.
 * They receive the entries of this kind in `plinth.lock.json`, and must not change anything. The kernel owns this
 * extension point, so any plugin may contribute.
 */
export const upgradeSteps = extensionPoint<
  (recorded: ManifestEntries) => readonly UpgradeStep[] | Promise<readonly UpgradeStep[]>
>('kernel.upgrade-steps', { live: true, names: shape.kebab, shape: shape.function })

/** Data in the database that belongs to a plugin. */
export interface PluginDataItem {
  /** Kind of the data, for example `table` or `permission`. */
  readonly kind: string
  readonly name: string
  /** Number of rows. */
  readonly rows: number
  /** True if the data stays after the plugin is removed, for example audit entries. */
  readonly isKept?: boolean
}

/** A part of the product that stores data of other plugins. Finds and deletes this data. */
export interface PluginDataStore {
  /** Returns a list of the data of a plugin. Changes nothing. */
  find(plugin: Plugin): Promise<readonly PluginDataItem[]>
  /**
   * Deletes the data of a plugin, except data with `isKept`. If the call is interrupted, a second call deletes the
   * rest.
   */
  remove(plugin: Plugin): Promise<void>
  /**
   * Returns the reason why no data can be deleted now, for example a running instance. Returns `undefined` if data can
   * be deleted.
   */
  obstacle?(): Promise<string | undefined>
}

/**
 * Returns the id of the plugin that owns a name such as `money.payments.paid`, because the name begins with this id. If
 * several ids match, the longest applies. Undefined if none matches.
 */
export const ownerOfName = (name: string, plugins: readonly Pick<Plugin, 'id'>[]): string | undefined =>
  plugins
    .map(({ id }) => id)
    .filter((id) => name === id || name.startsWith(`${id}.`))
    .reduce<string | undefined>((longest, id) => (id.length > (longest ?? '').length ? id : longest), undefined)

/**
 * The parts of the product that store data of plugins. `plinth plugins remove` calls them in reverse setup order. The
 * kernel owns this extension point, so any plugin may contribute.
 */
export const pluginData = extensionPoint<PluginDataStore>('kernel.plugin-data', {
  live: true,
  names: shape.kebab,
  shape: shape.object<PluginDataStore>({ find: shape.function, remove: shape.function }, { obstacle: shape.function }),
})

/** Facts about an audited action: names, codes, counts, switches. Never secrets. */
export type AuditSummary = Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>

/** Masks all secrets in a summary. */
export function maskedSummary<Summary extends AuditSummary>(
  summary: Summary,
  redact: (text: string) => string,
): Summary {
  const mask = <T>(value: T) => (typeof value === 'string' ? redact(value) : value)
  const entries = Object.entries(summary).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(mask) : mask(value),
  ])
  return Object.fromEntries(entries)
}

/** An audited action: actor, action and subject. */
export interface AuditEntry {
  /** The user, or the name of a program, such as `cli`. */
  readonly actor: { readonly userId: number } | { readonly name: string }
  /** Type of the subject and a verb in kebab-case, for example `outbox-event.replay`; at most 64 characters. */
  readonly action: string
  /** Id of the subject, or its name with at most 200 characters. Absent if the action has no single subject. */
  readonly subject?: number | string
  readonly summary?: AuditSummary
  /** Reason that the actor entered, at most 200 characters. Secrets in it are masked before it is stored. */
  readonly reason?: string
  readonly clientIp?: string
  readonly traceId?: string
}

export interface AuditTrail {
  /**
   * Stores the entry. If a transaction is open, the entry is part of it, so that the action and its entry succeed or
   * fail together.
   */
  record(entry: AuditEntry): Promise<void>
}

/**
 * Audit trails that store administrative actions. The kernel owns this extension point. Otherwise the plugin that
 * stores the trail and the plugins whose actions it stores would depend on each other.
 */
export const auditTrail = extensionPoint<AuditTrail>('kernel.audit-trail', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<AuditTrail>({ record: shape.function }),
})

/** Shows a property of an audit summary to users. */
export interface AuditedPropertyText {
  readonly title: LocalizedText
  /** Texts for the values, if the property contains a code. */
  readonly values?: Readonly<Record<string, LocalizedText>>
  /** Kind of objects whose ids the property contains, see `labelSources`. */
  readonly labels?: string
  /** Detail page of the objects whose ids the property contains. */
  readonly page?: string
  /** For an amount in minor units: the property of the summary that contains its asset or currency. */
  readonly unitFrom?: string
  /** True for a property that only other properties need, such as a currency. It is not shown. */
  readonly hidden?: boolean
}

/** Texts for one kind of audited objects, for its actions and for the properties of their summaries. */
export interface AuditTexts {
  readonly title: LocalizedText
  /** Names of the actions by verb, for example `replay` of `outbox-event.replay`. */
  readonly actions?: Readonly<Record<string, LocalizedText>>
  /** Detail page that the id or the name of an object opens. */
  readonly page?: string
  /** Kind of labels that contain the names of the objects, if the objects have an id. */
  readonly labels?: string
  /** Property of the summary that contains the name of the object. It has priority over `labels`. */
  readonly nameFrom?: string
  /** Kind of labels and detail page of further properties whose names are ids, for example configuration keys. */
  readonly subjects?: { readonly labels: string; readonly page?: string }
  /** Properties of the summaries. The property `<name>Before` contains the value before a change. */
  readonly facts?: Readonly<Record<string, AuditedPropertyText>>
}

/** Audited kinds of objects, each contributed under the first word of its actions. */
export const auditTexts = extensionPoint<AuditTexts>('kernel.audited-kind', {
  from: '@plinth/iam',
  live: true,
  names: shape.kebab,
  shape: shape.object<AuditTexts>(
    { title: shape.localized },
    {
      actions: shape.map(shape.localized),
      page: shape.dotted,
      labels: shape.dotted,
      nameFrom: shape.text,
      subjects: shape.record<NonNullable<AuditTexts['subjects']>>({ labels: shape.dotted }, { page: shape.dotted }),
      facts: shape.map(
        shape.record<AuditedPropertyText>(
          { title: shape.localized },
          {
            values: shape.map(shape.localized),
            labels: shape.dotted,
            page: shape.dotted,
            unitFrom: shape.text,
            hidden: shape.flag,
          },
        ),
      ),
    },
  ),
})

/** Stores an action in all audit trails. If this throws, the caller must not perform the action. */
export async function writeAuditEntry(kernel: Pick<Kernel, 'contributions'>, entry: AuditEntry): Promise<void> {
  for (const trail of kernel.contributions(auditTrail).values()) await trail.record(entry)
}

/** The part of a request that identifies its caller. An identity plugin sets the principal. */
export interface AuditedRequest {
  readonly principal?: { readonly userId: number } | undefined
  readonly clientIp: string
  readonly traceId: string
  readonly reason?: string
}

/** Returns the caller of a request as the fields of an audit entry. */
export const auditFieldsOfCaller = ({ principal, clientIp, traceId, reason }: AuditedRequest) => ({
  actor: principal === undefined ? { name: 'anonymous' } : { userId: principal.userId },
  clientIp,
  traceId,
  ...(reason === undefined ? {} : { reason }),
})

/** Each product passes through these states in this order: `starting`, `ready`, `draining`, `stopped`. */
export type ProductState = 'starting' | 'ready' | 'draining' | 'stopped'

/** One step of a plugin during start or stop, with its duration. */
export interface TimelineEntry {
  readonly plugin: string
  readonly phase: 'setup' | 'ready' | 'drain' | 'stop'
  /** Milliseconds since the start of the product. */
  readonly startedAtMs: number
  readonly durationMs: number
  readonly outcome: 'ok' | 'failed'
}

/** An install task with the plugin that declared it. `run` and `isCompleted` need no context. */
export interface BoundInstallTask extends Omit<InstallTask, 'run' | 'isCompleted'> {
  readonly plugin: string
  isCompleted(signal: AbortSignal, note?: (text: string) => void): Promise<boolean>
  run(signal: AbortSignal, note?: (text: string) => void): Promise<void>
}
export interface BoundScheduledTask {
  readonly plugin: string
  readonly name: string
  readonly displayName: ScheduledTask['displayName']
  readonly fixedDelayMs: () => number
  readonly autoStartup: () => boolean
  /** See `ScheduledTask.irreversible`. */
  readonly irreversible: boolean
  run(signal: AbortSignal): Promise<void>
}

/** Information about the product for all plugins. The object is read-only at run time too. */
export interface Kernel {
  readonly product: { readonly name: string; readonly version: string; readonly root: string }
  /** Loaded plugins in setup order. */
  readonly plugins: readonly Plugin[]
  readonly state: ProductState
  readonly timeline: readonly TimelineEntry[]
  /**
   * Returns the contributions to an extension point of the kernel, by name. The map also shows later contributions.
   *
   * @throws PlinthError `PLINTH_CONTRIBUTION_UNDECLARED` for an extension point of a plugin, because only that plugin
   * may read its contributions
   */
  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T>
  /**
   * Who restarts the product after `requestRestart`: the `plinth` program, or an external program such as systemd or a
   * container platform.
   */
  readonly supervised: 'plinth' | 'external'
  /** True if `plinth dev` runs the product. */
  readonly isDev: boolean
  /** Reason why the product runs with values from `fallbackStart`. Undefined if it runs with its configuration. */
  readonly fallback: StartFailure | undefined
  /** Absolute path of the settings file, which may be missing. Undefined if the product reads no settings file. */
  readonly settingsFile: string | undefined
  /**
   * Program and arguments that run a command of this product with the same product file and options, for example after
   * `migrate` is appended. Undefined if the product was not started by the `plinth` program, or reads a value from
   * standard input.
   */
  readonly commandLine: readonly string[] | undefined
  /**
   * Stops the product in order. The process then ends with exit code 75, and its supervisor starts it again with the
   * new configuration. Has no effect in the role `cli` or if the product is already stopping.
   */
  requestRestart(reason: string): void

  /**
   * Describes stored values that may have caused a failure of plugins, with the command that removes them. Prefers the
   * values whose keys the reason mentions, then those of the first plugin, then those of the other plugins. Returns an
   * empty text if there are none.
   */
  storedValuesBehind(plugins: readonly string[], reason: string): string

  /** Returns the logger of a plugin, for a plugin that runs functions of others and logs their errors. */
  logOf(plugin: string): Logger
}

/** The error of a failed start: its code, which may be empty, and its message with masked secrets. */
export interface StartFailure {
  readonly code: string
  readonly reason: string
}

/** The service with information about the product. */
export const kernel = service<Kernel>('kernel')

/** Properties of the configuration that the service `configAdmin` provides. */
export const adminMembers = [
  'catalogue',
  'list',
  'explain',
  'preview',
  'destinations',
  'verify',
  'apply',
  'orphaned',
  'insecure',
  'overridden',
  'storedProblems',
] as const

/**
 * The configuration of all plugins, for plugins that store values or show them to operators. All results contain
 * secrets only in masked form. A plugin that requires this service can change the values of other plugins. `plinth
 * plugins why kernel.config-admin` lists these plugins.
 */
export type ConfigAdmin = Pick<ConfigValues, (typeof adminMembers)[number]>
export const configAdmin = service<ConfigAdmin>('kernel.config-admin')

/** Tasks of all plugins that are ready to run. The installer and the scheduler use them. */
export interface DeclaredTasks {
  /** Install tasks in the order in which they run. */
  readonly installTasks: readonly BoundInstallTask[]
  readonly scheduledTasks: readonly BoundScheduledTask[]
}
export const declaredTasks = service<DeclaredTasks>('kernel.declared-tasks')

/** The extension points that the kernel owns. */
export const kernelExtensionPoints = [
  auditTexts,
  auditTrail,
  dataCheck,
  healthCheck,
  manifestEntries,
  personalData,
  pluginData,
  quickstartCleanup,
  startSummary,
  stateFile,
  upgradeSteps,
] as const

/** Properties of a running product that the service `kernel` provides, besides `contributions`. */
export const kernelMembers = [
  'product',
  'plugins',
  'state',
  'timeline',
  'supervised',
  'isDev',
  'fallback',
  'settingsFile',
  'commandLine',
  'requestRestart',
  'storedValuesBehind',
  'logOf',
] as const
