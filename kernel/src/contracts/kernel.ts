import type { ConfigValues } from '../configuration/config-values.ts'
import type { Plugin } from '../plugin.ts'
import { type ExtensionPoint, extensionPoint, service } from '../refs.ts'
import { shape } from '../shapes/shape.ts'
import type { InstallTask, ScheduledTask } from './declarations.ts'

/** Result of a health check that passed with something to report. */
export interface HealthReport {
  /**
   * Problems that do not stop the product, one sentence with its fix each. `plinth doctor` and the back office show them,
   * and the log contains them once per change. Use the same text while the state is the same: no counts, no times.
   */
  readonly warnings: readonly string[]
}

/**
 * Checks that the product can do its work. Throws with a reason when it cannot. The reason is logged, and only operators
 * see it. Returns a report when it has warnings. Must end when the signal aborts.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most checks return nothing
export type HealthCheck = (signal: AbortSignal) => void | HealthReport | Promise<void | HealthReport>

/** Readiness checks, contributed under the name of what they check. Owned by the kernel, so any plugin may contribute. */
export const healthCheck = extensionPoint<HealthCheck>('kernel.health-check', {
  live: true,
  names: shape.dotted,
  shape: shape.function,
})

/** The warnings in the result of a health check. A check written in plain JavaScript may return anything. */
export function warningsOf(report: unknown): readonly string[] {
  const warnings = (report as Partial<HealthReport> | null | undefined)?.warnings
  return Array.isArray(warnings) ? warnings.map(String) : []
}

/** Facts about what was done: names, codes, counts, switches. Never secrets. */
export type AuditSummary = Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>

/** A summary in which whatever the product knows as a secret is masked. */
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

/** Who did what to what. */
export interface AuditEntry {
  /** A user, or the name of what acts by itself, such as `cli`. */
  readonly actor: { readonly userId: number } | { readonly name: string }
  /** `<type of the subject>.<verb>` in kebab-case, for example `outbox-event.replay`; at most 64 characters. */
  readonly action: string
  /** Id or name of the subject; names have at most 200 characters. Absent when the action has no single subject. */
  readonly subject?: number | string
  readonly summary?: AuditSummary
  /** Why, as the one who did it said; at most 200 characters. The trail masks secrets in it. */
  readonly reason?: string
  readonly clientIp?: string
  readonly traceId?: string
}

export interface AuditTrail {
  /** Writes the record, in the transaction around it when there is one, so that both happen or neither. */
  record(entry: AuditEntry): Promise<void>
}

/**
 * Where administrative actions are recorded. Owned by the kernel, because whoever keeps the trail usually builds on the
 * plugins whose actions it records.
 */
export const auditTrail = extensionPoint<AuditTrail>('kernel.audit-trail', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<AuditTrail>({ record: shape.function }),
})

/** Records an action wherever a plugin keeps a trail. Fails when it cannot be recorded: what leaves no trace must not happen. */
export async function audit(kernel: Pick<Kernel, 'contributions'>, entry: AuditEntry): Promise<void> {
  for (const trail of kernel.contributions(auditTrail).values()) await trail.record(entry)
}

/** What a request says of its caller; the access guard of an identity plugin leaves the principal there. */
export interface AuditedRequest {
  readonly principal?: { readonly userId: number } | undefined
  readonly clientIp: string
  readonly traceId: string
  readonly reason?: string
}

/** The caller of a request as an audit entry names it. */
export const auditCaller = ({ principal, clientIp, traceId, reason }: AuditedRequest) => ({
  actor: principal === undefined ? { name: 'anonymous' } : { userId: principal.userId },
  clientIp,
  traceId,
  ...(reason === undefined ? {} : { reason }),
})

/** `starting` -> `ready` -> `draining` -> `stopped`. */
export type ProductState = 'starting' | 'ready' | 'draining' | 'stopped'

/** One line of the boot timeline. */
export interface TimelineEntry {
  readonly plugin: string
  readonly phase: 'setup' | 'ready' | 'drain' | 'stop'
  /** Milliseconds since the start of the product. */
  readonly startedAtMs: number
  readonly durationMs: number
  readonly outcome: 'ok' | 'failed'
}

/** A task together with the plugin that declared it; `run` and `isCompleted` already have their context. */
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

/** What every plugin may know about the product that it is part of. Read-only, also at run time. */
export interface Kernel {
  readonly product: { readonly name: string; readonly version: string; readonly root: string }
  /** Loaded plugins in set-up order. */
  readonly plugins: readonly Plugin[]
  readonly state: ProductState
  readonly timeline: readonly TimelineEntry[]
  /**
   * Live view of what was contributed to a point of the kernel, by name. Throws `PLINTH_CONTRIBUTION_UNDECLARED` for a
   * point that a plugin owns: that plugin alone sees its contributions.
   */
  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T>
  /**
   * Who starts the product again after `requestRestart`: the `plinth` program, or whatever runs this process (systemd, a
   * container platform, an embedding program), of which the kernel knows nothing.
   */
  readonly supervised: 'plinth' | 'external'
  /** Why the product runs on the values of a `fallbackStart`; `undefined` when it runs as it is configured. */
  readonly fallback: StartFailure | undefined
  /**
   * Drains and stops the product in order; then its process ends with exit code 75 and is started again with the
   * configuration of that time. Does nothing when the product stops already, nor in a command (role `cli`).
   */
  requestRestart(reason: string): void

  /**
   * The stored values that may be why something of these plugins failed, with the command that removes them: those that the
   * reason mentions, else those of the first plugin, else those of the others. Empty for none.
   */
  storedValuesBehind(plugins: readonly string[], reason: string): string
}

/** What a start ended with: the code of the error, empty for none, and what it says, with secrets masked. */
export interface StartFailure {
  readonly code: string
  readonly reason: string
}

/** The kernel itself. */
export const kernel = service<Kernel>('kernel')

/**
 * Configuration of all plugins, for whoever keeps values in a database or shows them to an operator. Values of sensitive
 * keys are masked in all answers. A plugin that requires it can change what others read: `plinth plugins why
 * kernel.config-admin` lists who does.
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
  | 'insecure'
  | 'overridden'
>
export const configAdmin = service<ConfigAdmin>('kernel.config-admin')

/** Tasks of all plugins, ready to run, for whoever installs the product or schedules its work. */
export interface DeclaredTasks {
  /** In the order in which they run: by base order, dependencies first. */
  readonly installTasks: readonly BoundInstallTask[]
  readonly scheduledTasks: readonly BoundScheduledTask[]
}
export const declaredTasks = service<DeclaredTasks>('kernel.declared-tasks')
