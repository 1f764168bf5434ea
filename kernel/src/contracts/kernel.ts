import type { ConfigValues } from '../configuration/config-values.ts'
import type { Plugin } from '../plugin.ts'
import { type ExtensionPoint, extensionPoint, service } from '../refs.ts'
import { shape } from '../shapes/shape.ts'
import type { InstallTask, ScheduledTask } from './declarations.ts'
import { personalData } from './personal-data.ts'
import { quickstartCleanup } from './quickstart-cleanup.ts'

/** Result of a health check that passed with warnings. */
export interface HealthReport {
  /**
   * Problems that do not stop the product, one sentence with its fix each. `plinth doctor` and the back office show
   * them, and the log contains them once per change. Use the same text while the state is the same: no counts, no
   * times.
   */
  readonly warnings: readonly string[]
}

/**
 * Checks that the product can work. Throws with a reason if it cannot. The reason is logged, and only operators see it.
 * Returns a report if it has warnings. Must end when the signal aborts.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most checks return nothing
export type HealthCheck = (signal: AbortSignal) => void | HealthReport | Promise<void | HealthReport>

/** Readiness checks, by the name of the checked part. Owned by the kernel, so any plugin may contribute. */
export const healthCheck = extensionPoint<HealthCheck>('kernel.health-check', {
  live: true,
  names: shape.dotted,
  shape: shape.function,
})

/** Returns the warnings in the result of a health check. A check written in plain JavaScript may return anything. */
export function warningsOf(report: unknown): readonly string[] {
  const warnings: unknown = Object(report).warnings
  return Array.isArray(warnings) ? warnings.map(String) : []
}

/** A line of the summary that `plinth start` and `plinth dev` show on a terminal. */
export interface StartSummaryLine {
  /** For example `Back office`; at most 16 characters. */
  readonly label: string
  /** URL, or place such as the file of a database. Never a secret. */
  readonly place: string
  /**
   * The place is a page for a browser. `next` is the page to open now, for example an installer; without one it is the
   * last `usual` page in the start order.
   */
  readonly page?: 'usual' | 'next'
}

/**
 * Returns what a plugin serves or uses, and where, after the start. Owned by the kernel, so any plugin may contribute.
 */
export const startSummary = extensionPoint<() => readonly StartSummaryLine[] | Promise<readonly StartSummaryLine[]>>(
  'kernel.start-summary',
  { live: true, names: shape.dotted, shape: shape.function },
)

/** Entries of one kind, such as routes or tables, by the id of the plugin that they belong to. */
export type ManifestEntries = ReadonlyMap<string, readonly string[]>

/**
 * Entries of the manifests of all plugins that only a set-up product knows, by kind: `routes`, `tables`. `plinth plugins
 * lock` records them, and `plinth plugins diff` compares them. An entry is one line of text; equal texts are equal
 * entries. Owned by the kernel, so any plugin may contribute.
 */
export const manifestEntries = extensionPoint<() => ManifestEntries>('kernel.manifest-entries', {
  live: true,
  names: shape.kebab,
  shape: shape.function,
})

/** One line of `plinth upgrade --dry-run`. */
export interface UpgradeStep {
  /** A word such as `pending`, `removed` or `deprecated`. */
  readonly change: string
  readonly plugin: string
  readonly entry: string
  /** True if somebody has to act before the upgrade. */
  readonly isBlocking?: boolean
}

/**
 * The steps of an upgrade that only a part of the product knows, by kind of manifest entries: `change-sets`, `routes`.
 * Called with the recorded entries of this kind. Changes nothing. Owned by the kernel, so any plugin may contribute.
 */
export const upgradeSteps = extensionPoint<
  (recorded: ManifestEntries) => readonly UpgradeStep[] | Promise<readonly UpgradeStep[]>
>('kernel.upgrade-steps', { live: true, names: shape.kebab, shape: shape.function })

/** Data that a part of the product stores for a plugin. */
export interface StoredData {
  /** For example `table`, `permission`. */
  readonly kind: string
  readonly name: string
  /** Number of rows. */
  readonly rows: number
  /** True if it stays after the removal of the plugin, such as entries of an audit. */
  readonly isKept?: boolean
}

/** Finds and deletes the data that one part of the product stores for other plugins. */
export interface PluginData {
  /** Returns the data of a plugin. Changes nothing. */
  find(plugin: Plugin): Promise<readonly StoredData[]>
  /** Deletes the data of a plugin, except what is kept. A second call after a crash deletes the rest. */
  remove(plugin: Plugin): Promise<void>
  /** Returns why no data can be deleted now, for example a running instance; `undefined` if nothing prevents it. */
  obstacle?(): Promise<string | undefined>
}

/**
 * The parts that `plinth plugins remove` asks. The last one that was set up deletes first. Owned by the kernel, so any
 * plugin may contribute.
 */
export const pluginData = extensionPoint<PluginData>('kernel.plugin-data', {
  live: true,
  names: shape.kebab,
  shape: shape.object<PluginData>({ find: shape.function, remove: shape.function }, { obstacle: shape.function }),
})

/** Facts about an action: names, codes, counts, switches. Never secrets. */
export type AuditSummary = Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>

/** Returns a summary in which all known secrets are masked. */
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
  /** A user, or the name of a program, such as `cli`. */
  readonly actor: { readonly userId: number } | { readonly name: string }
  /** `<type of the subject>.<verb>` in kebab-case, for example `outbox-event.replay`; at most 64 characters. */
  readonly action: string
  /** Id or name of the subject; names have at most 200 characters. Absent when the action has no single subject. */
  readonly subject?: number | string
  readonly summary?: AuditSummary
  /** Reason from the actor; at most 200 characters. The trail masks secrets in it. */
  readonly reason?: string
  readonly clientIp?: string
  readonly traceId?: string
}

export interface AuditTrail {
  /**
   * Writes the record, in the current transaction if there is one, so that action and record succeed or fail together.
   */
  record(entry: AuditEntry): Promise<void>
}

/**
 * Records administrative actions. Owned by the kernel, because the plugin that stores the trail usually requires the
 * plugins whose actions it records.
 */
export const auditTrail = extensionPoint<AuditTrail>('kernel.audit-trail', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<AuditTrail>({ record: shape.function }),
})

/**
 * Records an action in every contributed trail. Throws if the action cannot be recorded, because it must then not
 * happen.
 */
export async function audit(kernel: Pick<Kernel, 'contributions'>, entry: AuditEntry): Promise<void> {
  for (const trail of kernel.contributions(auditTrail).values()) await trail.record(entry)
}

/** The caller of a request; the access guard of an identity plugin sets the principal. */
export interface AuditedRequest {
  readonly principal?: { readonly userId: number } | undefined
  readonly clientIp: string
  readonly traceId: string
  readonly reason?: string
}

/** Returns the caller of a request as the fields of an audit entry. */
export const auditCaller = ({ principal, clientIp, traceId, reason }: AuditedRequest) => ({
  actor: principal === undefined ? { name: 'anonymous' } : { userId: principal.userId },
  clientIp,
  traceId,
  ...(reason === undefined ? {} : { reason }),
})

/** `starting` -> `ready` -> `draining` -> `stopped`. */
export type ProductState = 'starting' | 'ready' | 'draining' | 'stopped'

/** One entry of the timeline of start and stop. */
export interface TimelineEntry {
  readonly plugin: string
  readonly phase: 'setup' | 'ready' | 'drain' | 'stop'
  /** Milliseconds since the start of the product. */
  readonly startedAtMs: number
  readonly durationMs: number
  readonly outcome: 'ok' | 'failed'
}

/** A task with the plugin that declared it; `run` and `isCompleted` already have their context. */
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

/** Information for every plugin about its product. Read-only, also at run time. */
export interface Kernel {
  readonly product: { readonly name: string; readonly version: string; readonly root: string }
  /** Loaded plugins in setup order. */
  readonly plugins: readonly Plugin[]
  readonly state: ProductState
  readonly timeline: readonly TimelineEntry[]
  /**
   * Returns a live view of the contributions to an extension point of the kernel, by name.
   *
   * @throws PlinthError `PLINTH_CONTRIBUTION_UNDECLARED` for a point of a plugin, because only that plugin may read its
   *   contributions
   */
  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T>
  /**
   * The program that restarts the product after `requestRestart`: the `plinth` program, or an external one (systemd, a
   * container platform, an embedding program).
   */
  readonly supervised: 'plinth' | 'external'
  /** Reason why the product runs with the values of a `fallbackStart`; `undefined` if it runs as configured. */
  readonly fallback: StartFailure | undefined
  /**
   * Drains and stops the product in order. Then its process ends with exit code 75 and is started again with the
   * configuration of that time. Has no effect if the product is stopping, or in a command (role `cli`).
   */
  requestRestart(reason: string): void

  /**
   * Returns the stored values that may have caused a failure of these plugins, with the command that removes them.
   * These are the values that the reason mentions, otherwise those of the first plugin, otherwise those of the others.
   * Empty if there are none.
   */
  storedValuesBehind(plugins: readonly string[], reason: string): string
}

/** The error of a failed start: its code, empty if it has none, and its message with secrets masked. */
export interface StartFailure {
  readonly code: string
  readonly reason: string
}

/** The kernel itself. */
export const kernel = service<Kernel>('kernel')

/**
 * Configuration of all plugins, for plugins that store values in a database or show them to an operator. Values of
 * sensitive keys are masked in all results. A plugin that requires it can change the values of others: `plinth plugins
 * why kernel.config-admin` lists these plugins.
 */
export type ConfigAdmin = Pick<
  ConfigValues,
  | 'catalogue'
  | 'list'
  | 'explain'
  | 'preview'
  | 'destinations'
  | 'verify'
  | 'apply'
  | 'orphaned'
  | 'storedProblems'
  | 'insecure'
  | 'overridden'
>
export const configAdmin = service<ConfigAdmin>('kernel.config-admin')

/** Tasks of all plugins, ready to run, for the plugins that install the product or schedule its work. */
export interface DeclaredTasks {
  /** In the order of execution: by base order, dependencies first. */
  readonly installTasks: readonly BoundInstallTask[]
  readonly scheduledTasks: readonly BoundScheduledTask[]
}
export const declaredTasks = service<DeclaredTasks>('kernel.declared-tasks')

/** The extension points that the kernel owns. */
export const kernelPoints = [
  auditTrail,
  healthCheck,
  manifestEntries,
  personalData,
  pluginData,
  quickstartCleanup,
  startSummary,
  upgradeSteps,
] as const
