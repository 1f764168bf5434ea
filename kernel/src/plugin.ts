import type { KeyDeclarations, ValueOf } from '@plinth/config-schema'
import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { CommandDeclaration } from './contracts/command.ts'
import type { InstallTask } from './contracts/install-task.ts'
import type { PermissionDeclaration } from './contracts/permission.ts'
import type { ScheduledTask } from './contracts/scheduled-task.ts'
import { deepFreeze } from './read-only.ts'
import type { ExtensionPoint, Requirements, ServiceRef, ServicesOf } from './refs.ts'

/** `web` serves requests, `worker` runs background work, `cli` runs one command. One process may be web and worker. */
export type Role = 'web' | 'worker' | 'cli'
export const roles: readonly Role[] = ['web', 'worker', 'cli']

/** The plugin's own configuration values, read by full key. Another plugin's keys are out of reach. */
export interface ConfigView<K extends KeyDeclarations> {
  get<N extends keyof K & string>(key: N): ValueOf<K[N]>
  /**
   * Calls the listener when a key with `reload: 'live'` changes. A listener that throws refuses the value: the old one
   * stays in force and the refusal is shown to the operator. Ends when the plugin stops.
   */
  onChange<N extends keyof K & string>(key: N, listener: (value: ValueOf<K[N]>) => void | Promise<void>): void
  /**
   * Proves a new value before it is stored, for example that a service accepts the secret; throws to refuse it. One
   * verifier per key. It changes nothing, and gives up when the signal aborts. Ends when the plugin stops.
   */
  onVerify<N extends keyof K & string>(
    key: N,
    verifier: (value: ValueOf<K[N]>, signal: AbortSignal) => void | Promise<void>,
  ): void
}

/** What a plugin's code may use at any time. */
export interface PluginRuntime<R extends Requirements = Requirements, K extends KeyDeclarations = KeyDeclarations> {
  readonly plugin: { readonly id: string; readonly version: string }
  /** Exactly the services that the plugin declared in `requires`. */
  readonly services: ServicesOf<R>
  readonly config: ConfigView<K>
  readonly log: Logger
  /**
   * Masks by value every secret that the product's configuration has held, of whatever plugin. Never throws.
   *
   * @param more values that are secret in this text only
   */
  redact(text: string, more?: Iterable<unknown>): string
  readonly clock: Clock
  /** A service that the plugin provides itself; for its tasks and commands, which run after set-up. */
  own<T>(ref: ServiceRef<T>): T
  /** Roles of this process. */
  readonly roles: ReadonlySet<Role>
  /** Directory of the product file: relative paths in configuration start here. */
  readonly root: string
}

/**
 * What `setup` receives. Order of the hooks over all plugins: set-up in dependency order; ready in reverse (a plugin
 * opens its doors when everybody who builds on it is ready); drain begins everywhere at once, in dependency order, and goes
 * on side by side; stop in exact reverse of set-up, and within a plugin in reverse order of registration.
 */
export interface PluginContext<R extends Requirements = Requirements, K extends KeyDeclarations = KeyDeclarations>
  extends PluginRuntime<R, K> {
  /** Aborts when the set-up deadline passes or the start is given up. */
  readonly signal: AbortSignal
  /** Hands out a service that the plugin declared in `provides`. */
  provide<T>(ref: ServiceRef<T>, implementation: T): void
  /** Hangs an implementation on a point that the plugin declared in `contributes`. Names are unique per point. */
  contribute<T>(point: ExtensionPoint<T>, name: string, implementation: T): void
  /** Contributions by name to a point that the plugin owns: complete at set-up, because contributors are set up first. */
  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T>
  /** Runs after the last set-up. */
  onReady(hook: () => void | Promise<void>): void
  /**
   * Runs first on stop: take no new work, finish what runs. What others still have under way may ask for something until
   * the plugin stops. The signal aborts at the drain deadline, which all plugins share.
   */
  onDrain(hook: (signal: AbortSignal) => void | Promise<void>): void
  /** Releases a resource. Also runs when this or a later set-up fails. */
  onStop(hook: () => void | Promise<void>): void
}

/** A neutral database change; `@plinth/migrations` defines what it does. */
export interface ChangeSetDeclaration {
  /** Unique in its plugin, ordered by name, for example `0001-create-user`. */
  readonly id: string
}

/** Members of declarations that another plugin carries out. */
export const carriedOut = [
  'entities',
  'migrations',
  'messages',
  'permissions',
  'installTasks',
  'scheduledTasks',
] as const
export type CarriedOut = (typeof carriedOut)[number]

/** Nested texts by locale; leaves may hold `{{placeholder}}`. */
export interface MessageTree {
  readonly [name: string]: string | MessageTree
}
export interface MessageCatalogues {
  readonly en: MessageTree
  readonly 'zh-CN': MessageTree
}

/** A plugin as its author writes it. Everything but `setup` is readable without running any of its code. */
export interface PluginDeclaration<R extends Requirements = Requirements, K extends KeyDeclarations = KeyDeclarations> {
  /** Dotted lower-case id, for example `acme.sms`. */
  readonly id: string
  /** Semantic version. */
  readonly version: string
  /** Range of kernel versions that it works with, for example `^1.0.0`. */
  readonly kernel: string
  /** Process roles in which it loads; all when absent. */
  readonly roles?: readonly Role[]
  /**
   * Set up, with everything that it needs, before all others: it supplies configuration values that their set-up reads.
   * What it needs cannot take its own values from it.
   */
  readonly early?: boolean
  readonly requires?: R
  readonly provides?: readonly ServiceRef<unknown>[]
  /** Points that it owns. */
  readonly extensionPoints?: readonly ExtensionPoint<unknown>[]
  /** Points that it contributes to. */
  readonly contributes?: readonly ExtensionPoint<unknown>[]
  /** Its keys; each starts with `platform.` and belongs to one plugin. */
  readonly config?: K
  readonly permissions?: readonly PermissionDeclaration[]
  readonly migrations?: readonly ChangeSetDeclaration[]
  /** Entities for the database plugin; opaque to the kernel. */
  readonly entities?: readonly object[]
  readonly messages?: MessageCatalogues
  readonly installTasks?: readonly InstallTask<NoInfer<R>, NoInfer<K>>[]
  readonly scheduledTasks?: readonly ScheduledTask<NoInfer<R>, NoInfer<K>>[]
  readonly commands?: readonly CommandDeclaration<NoInfer<R>, NoInfer<K>>[]
  /**
   * What it carries out of the declarations of all plugins: a scheduler `scheduledTasks`, a database `entities` and
   * `migrations`. The planner warns of declarations that no loaded plugin carries out.
   */
  readonly carriesOut?: readonly CarriedOut[]
  /** Milliseconds that set-up may take; `platform.kernel.setup-deadline` when absent. */
  readonly setupDeadlineMs?: number
  setup?(context: PluginContext<R, K>): void | Promise<void>
}

const pluginBrand: unique symbol = Symbol.for('plinth.plugin') as never
const origin: unique symbol = Symbol.for('plinth.plugin.origin') as never

/** Requirements or keys that only the author's declaration knows; the types are checked there. */
// biome-ignore lint/suspicious/noExplicitAny: plugins of all kinds meet in one list, and both uses vary in opposite ways
export type Unchecked = any

/** A plugin of whatever requirements and keys, as the planner sees it. */
export interface Plugin extends PluginDeclaration<Unchecked, Unchecked> {
  readonly [pluginBrand]: true
  /** Made where the plugin was declared. */
  readonly [origin]?: Error
}

/** Declares a plugin; its data are frozen. Has no side effect; problems are found by the planner, which reports all of all plugins at once. */
export function definePlugin<
  const R extends Requirements = Record<never, never>,
  const K extends KeyDeclarations = Record<never, never>,
>(declaration: PluginDeclaration<R, K>): Plugin {
  return deepFreeze({ ...declaration, [pluginBrand]: true as const, [origin]: new Error('declared here') })
}

/** Stack of the place that declared a plugin: the frame of `definePlugin` comes first. */
export const originOf = (plugin: Plugin): string => plugin[origin]?.stack ?? ''

/** True for what `definePlugin` made, also by another copy of the kernel. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && (value as { [pluginBrand]?: unknown })[pluginBrand] === true
}
