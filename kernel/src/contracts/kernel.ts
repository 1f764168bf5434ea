import type { ConfigValues } from '../configuration/config-values.ts'
import type { Plugin } from '../plugin.ts'
import { type ExtensionPoint, service } from '../refs.ts'
import type { InstallTask } from './install-task.ts'
import type { ScheduledTask } from './scheduled-task.ts'

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
