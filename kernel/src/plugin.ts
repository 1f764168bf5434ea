import type { KeyDeclarations, LocalizedText, ValueOf } from '@plinth/config-schema'
import type { Logger } from 'pino'
import type { CommandDeclaration, InstallTask, PermissionDeclaration, ScheduledTask } from './contracts/declarations.ts'
import type { ConfigAdmin, StartFailure } from './contracts/kernel.ts'
import type { BusinessErrorsDeclaration } from './errors/business-error.ts'
import { deepFreeze } from './read-only.ts'
import type {
  Consumer,
  ExtensionPoint,
  Optional,
  Requirements,
  ServiceRef,
  ServicesOf,
  TypeOf,
  Unchecked,
} from './refs.ts'
import type { Clock } from './time/clock.ts'
import type { Resolvers } from './wiring.ts'

/** `web` serves requests, `worker` runs background work, `cli` runs one command. One process may be web and worker. */
export type Role = 'web' | 'worker' | 'cli'
export const roles: readonly Role[] = ['web', 'worker', 'cli']

/** The plugin's own configuration values, read by full key. Another plugin's keys are out of reach. */
export interface ConfigView<K extends KeyDeclarations> {
  get<N extends keyof K & string>(key: N): ValueOf<K[N]>
  /**
   * What is made of values, for who asks often: kept until a live value of the product changes.
   *
   * @param make reads values and makes something of them; it must not throw and has no other effect
   */
  derived<T>(make: () => T): () => T
  /**
   * Calls the listener when a key with `reload: 'live'` changes. A listener that throws refuses the value: the old one
   * stays in force and the refusal is shown to the operator. Ends when the plugin stops.
   */
  onChange<N extends keyof K & string>(key: N, listener: (value: ValueOf<K[N]>) => void | Promise<void>): void
  /**
   * Proves a new value before it is stored, for example that a service accepts the secret; throws to refuse it. One
   * verifier per key. It changes nothing, and gives up when the signal aborts. Ends when the plugin stops.
   *
   * @param verifier `after` returns the value that another key of this plugin will have: one that is saved together with
   *   this value, or waits for a restart
   */
  onVerify<N extends keyof K & string>(
    key: N,
    verifier: (
      value: ValueOf<K[N]>,
      signal: AbortSignal,
      after: <M extends keyof K & string>(key: M) => ValueOf<K[M]>,
    ) => void | Promise<void>,
  ): void
}

/** The members of a declaration that decide what the code of the plugin may use: its types and the kernel hold to them. */
export interface Declared {
  readonly requires: Requirements
  readonly provides: readonly ServiceRef<Unchecked>[]
  readonly extensionPoints: readonly ExtensionPoint<Unchecked>[]
  readonly contributes: readonly (ExtensionPoint<Unchecked> | Optional<ExtensionPoint<Unchecked>>)[]
  readonly config: KeyDeclarations
}

type RequiredBy<D> = D extends { readonly requires: infer R extends Requirements } ? R : Record<never, never>
type ListedIn<D, Member extends keyof Declared> = D extends { readonly [M in Member]: readonly (infer Ref)[] }
  ? Ref extends Optional<infer Reference>
    ? Reference
    : Ref
  : never
/** The keys of a declaration. */
export type KeysOf<D> = D extends { readonly config: infer K extends KeyDeclarations } ? K : Record<never, never>

/** What a plugin's code may use at any time. */
export interface PluginRuntime<D extends Partial<Declared> = Declared> {
  readonly plugin: Consumer
  /** Exactly the services that the plugin declared in `requires`. */
  readonly services: ServicesOf<RequiredBy<D>>
  readonly config: ConfigView<KeysOf<D>>
  readonly log: Logger
  /**
   * Masks by value every secret that the product's configuration has held, of whatever plugin. Never throws.
   *
   * @param more values that are secret in this text only
   */
  redact(text: string, more?: Iterable<unknown>): string
  readonly clock: Clock
  /** A service that the plugin provides itself; for its tasks and commands, which run after set-up. */
  own<Ref extends ListedIn<D, 'provides'>>(ref: Ref): TypeOf<Ref>
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
export interface PluginContext<D extends Partial<Declared> = Declared> extends PluginRuntime<D> {
  /** Aborts when the set-up deadline passes or the start is given up. */
  readonly signal: AbortSignal
  /**
   * Creates the parts of the plugin with awilix: each once, in the order in which they need each other. The first call names
   * their types. The second has two arguments: parts that exist already, such as services, and a resolver for each other
   * part: `asClass` or `asFunction`. Classes and functions receive the cradle, an object with all parts. A class may keep
   * it: a part that only a method reads may be created later.
   *
   * @example
   * interface Parts {
   *   readonly clock: Clock
   *   readonly till: Till // constructor({ clock, prices }: Pick<Parts, 'clock' | 'prices'>)
   *   readonly prices: Prices
   * }
   * const parts = wire<Parts>()({ clock }, { till: asClass(Till), prices: asFunction(() => new Prices('EUR')) })
   */
  wire<Parts extends object>(): <Given extends Partial<Parts>>(
    given: Given,
    resolvers: Resolvers<Parts, NoInfer<Given>>,
  ) => Parts
  /** Hands out a service that the plugin declared in `provides`. */
  provide<Ref extends ListedIn<D, 'provides'>>(ref: Ref, implementation: TypeOf<Ref>): void
  /**
   * Like `provide`, with an implementation of its own for each plugin that requires the service, so that the provider knows
   * who calls. It is made once per consumer, before that one's set-up; whoever started the product appears as `kernel`.
   */
  provideEach<Ref extends ListedIn<D, 'provides'>>(
    ref: Ref,
    implementationFor: (consumer: Consumer) => TypeOf<Ref>,
  ): void
  /** Contributes an implementation to a point that the plugin declared in `contributes`. Names are unique per point. */
  contribute<Ref extends ListedIn<D, 'contributes'>>(point: Ref, name: string, implementation: TypeOf<Ref>): void
  /**
   * Contributions by name to a point that the plugin owns: complete at set-up, because contributors are set up first. Of a
   * `live` point it is a view that is complete when all plugins are set up.
   */
  contributions<Ref extends ListedIn<D, 'extensionPoints'>>(point: Ref): ReadonlyMap<string, TypeOf<Ref>>
  /** Id of the plugin that contributed under a name to a point that this plugin owns; `undefined` when nobody did. */
  contributor<Ref extends ListedIn<D, 'extensionPoints'>>(point: Ref, name: string): string | undefined
  /** Runs after the last set-up. */
  onReady(hook: () => void | Promise<void>): void
  /**
   * Runs first on stop: take no new work, finish what runs. What others still have under way may ask for something until
   * the plugin stops. The signal aborts at the drain deadline, which all plugins share; `deadlineMs` is that deadline in
   * milliseconds, 1,000 or more.
   */
  onDrain(hook: (signal: AbortSignal, deadlineMs: number) => void | Promise<void>): void
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

/** What is declared elsewhere in the same declaration: no source for its types. */
type Settled<D extends Declared> = { readonly [Member in keyof D]: NoInfer<D[Member]> }

/** A plugin as its author writes it. Everything but `setup` is readable without running any of its code. */
export interface PluginDeclaration<D extends Declared = Declared> {
  /**
   * Dotted lower-case id, for example `acme.sms`.
   *
   * @example id: 'acme.sms'
   */
  readonly id: string
  /**
   * What people read in place of the id. When absent, the title of the group of keys that is named like the plugin, or like the
   * first part of its id: see `pluginTitle`.
   *
   * @example title: { en: 'ACME text messages', 'zh-CN': 'ACME 短信' }
   */
  readonly title?: LocalizedText
  /**
   * Semantic version.
   *
   * @example version: '1.2.0'
   */
  readonly version: string
  /**
   * Range of kernel versions that it works with, for example `^1.0.0`.
   *
   * @example kernel: '^1.0.0'
   */
  readonly kernel: string
  /**
   * Process roles in which it loads; all when absent.
   *
   * @example roles: ['web', 'worker', 'cli']
   */
  readonly roles?: readonly Role[]
  /**
   * True for the plugin that supplies configuration values, such as those kept in a database. It is set up, with everything
   * that it needs, before all others, because their set-up reads these values without knowing from where they come. What it
   * needs cannot take its own values from it.
   *
   * @example suppliesConfiguration: false
   */
  readonly suppliesConfiguration?: boolean
  /**
   * Services that it uses, under the names that its code gives them; `optional(service)` when it can do without.
   *
   * @example requires: { http, metrics: optional(metrics) }
   */
  readonly requires?: D['requires']
  /**
   * Services that it hands out; each is provided once, in `setup`.
   *
   * @example provides: [smsBalance]
   */
  readonly provides?: D['provides']
  /**
   * Points that it owns.
   *
   * @example extensionPoints: [smsGateway]
   */
  readonly extensionPoints?: D['extensionPoints']
  /**
   * Points that it contributes to; `optional(point)` when the plugin makes sense without their owner.
   *
   * @example contributes: [notificationChannel, optional(rateLimitStore), quickstartCleanup, healthCheck]
   */
  readonly contributes?: D['contributes']
  /**
   * Its keys; each starts with `platform.` and belongs to one plugin.
   *
   * @example config: {
   *   'platform.acme-sms.poll': key.duration({ title: 'Poll', default: '1m' }),
   *   'platform.acme-sms.task-name': key.string({ title: 'Name', default: 'acme-sms.poll-balance' }),
   * }
   */
  readonly config?: D['config']
  /**
   * What people read as the heading of its keys, by group: the second segment of a key, or the `group` that it declares.
   * Several plugins may have the same title for one group, not different ones; without any the group itself is shown.
   *
   * @example configGroups: { 'acme-sms': { en: 'ACME text messages', 'zh-CN': 'ACME 短信' } }
   */
  readonly configGroups?: Readonly<Record<string, LocalizedText>>
  /**
   * Its business errors. The API description lists their reasons and codes, so that a release check notices a changed one.
   *
   * @example businessErrors: [refusal]
   */
  readonly businessErrors?: readonly BusinessErrorsDeclaration[]
  /**
   * Permissions that its routes ask for; each code belongs to one plugin.
   *
   * @example permissions: [viewBalance]
   */
  readonly permissions?: readonly PermissionDeclaration[]
  /**
   * Changes of the database that it needs, in the order of their ids. A published one never changes.
   *
   * @example migrations: [{ id: '0001-create-sms' }]
   */
  readonly migrations?: readonly ChangeSetDeclaration[]
  /**
   * Entities for the database plugin; opaque to the kernel.
   *
   * @example entities: [SmsMessage]
   */
  readonly entities?: readonly object[]
  /**
   * Texts for people, in both languages.
   *
   * @example messages: { en: { sms: { sent: '{{count}} sent' } }, 'zh-CN': { sms: { sent: '已发送 {{count}} 条' } } }
   */
  readonly messages?: MessageCatalogues
  /**
   * Steps of the installation, which `@plinth/install` runs.
   *
   * @example installTasks: [checkAccount]
   */
  readonly installTasks?: readonly InstallTask<Settled<D>>[]
  /**
   * Work that repeats, which `@plinth/scheduler` runs.
   *
   * @example scheduledTasks: [pollBalance]
   */
  readonly scheduledTasks?: readonly ScheduledTask<Settled<D>>[]
  /**
   * Commands of the `plinth` program.
   *
   * @example commands: [showBalance]
   */
  readonly commands?: readonly CommandDeclaration<Settled<D>>[]
  /**
   * What it carries out of the declarations of all plugins: a scheduler `scheduledTasks`, a database `entities` and
   * `migrations`. The planner warns of declarations that no loaded plugin carries out.
   *
   * @example carriesOut: ['messages']
   */
  readonly carriesOut?: readonly CarriedOut[]
  /**
   * Milliseconds that set-up may take; `platform.kernel.setup-deadline` when absent.
   *
   * @example setupDeadlineMs: 20_000
   */
  readonly setupDeadlineMs?: number
  /**
   * Connects what was declared. Runs once in each process; what it opens is released in `onStop`.
   *
   * @example setup: ({ provide, contribute }) => {
   *   provide(smsBalance, { cents: () => 4711 })
   *   contribute(notificationChannel, 'acme-sms', smsChannel)
   * }
   */
  setup?(context: PluginContext<D>): void | Promise<void>
  /**
   * Asked when the start of a web process failed: values by key, in written form, under which the product starts once more
   * so that somebody can mend it in the browser. Nothing of the product runs meanwhile, and nothing must be changed.
   *
   * @example fallbackStart: ({ code }) => (code === 'ACME_SMS_ACCOUNT' ? { 'platform.acme-sms.poll': '0s' } : undefined)
   */
  fallbackStart?(
    failed: FailedStart,
  ): Readonly<Record<string, string>> | undefined | Promise<Readonly<Record<string, string>> | undefined>
}

/** A start that failed, for a plugin that can help to mend it. */
export interface FailedStart extends StartFailure {
  /** Directory of the product. */
  readonly root: string
  readonly explain: ConfigAdmin['explain']
  /** A value of a key of the plugin. */
  readonly get: (key: string) => unknown
}

const pluginBrand: unique symbol = Symbol.for('plinth.plugin') as never
const origin: unique symbol = Symbol.for('plinth.plugin.origin') as never

/** A plugin of whatever declaration, as the planner sees it. */
export interface Plugin extends PluginDeclaration {
  readonly [pluginBrand]: true
  /** Made where the plugin was declared. */
  readonly [origin]?: Error
}

/** Declares a plugin; its data are frozen. Has no side effect; problems are found by the planner, which reports all of all plugins at once. */
export function definePlugin<
  const R extends Requirements = Record<never, never>,
  const P extends Declared['provides'] = readonly [],
  const E extends Declared['extensionPoints'] = readonly [],
  const C extends Declared['contributes'] = readonly [],
  const K extends KeyDeclarations = Record<never, never>,
>(
  declaration: PluginDeclaration<{
    readonly requires: R
    readonly provides: P
    readonly extensionPoints: E
    readonly contributes: C
    readonly config: K
  }>,
): Plugin {
  return deepFreeze({ ...declaration, [pluginBrand]: true as const, [origin]: new Error('declared here') })
}

/** Stack of the place that declared a plugin: the frame of `definePlugin` comes first. */
export const originOf = (plugin: Plugin): string => plugin[origin]?.stack ?? ''

/** True for what `definePlugin` made, also by another copy of the kernel. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && (value as { [pluginBrand]?: unknown })[pluginBrand] === true
}
