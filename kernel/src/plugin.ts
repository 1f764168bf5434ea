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

/** No key has this form. The compiler prints it as the reason for a key of a plugin that declares no keys. */
type NotDeclared = `Declare this key in config of the plugin first: ${string}`
type GetKey<K extends KeyDeclarations> = [keyof K] extends [never]
  ? (key: NotDeclared) => unknown
  : { (key: NotDeclared): unknown; <N extends keyof K & string>(key: N): ValueOf<K[N]> }

/** The configuration values of the plugin, by full key. Keys of other plugins are not accessible. */
export interface ConfigView<K extends KeyDeclarations> {
  readonly get: GetKey<K>
  /**
   * Caches a result computed from values until a live value of the product changes. For frequent reads.
   *
   * @param make computes the result from values; it must not throw and must have no other effect
   */
  derived<T>(make: () => T): () => T
  /**
   * Calls the listener when a key with `reload: 'live'` changes. A listener that throws rejects the value: the old
   * value stays effective, and the operator sees the reason. Ends when the plugin stops.
   */
  onChange<N extends keyof K & string>(key: N, listener: (value: ValueOf<K[N]>) => void | Promise<void>): void
  /**
   * Verifies a new value before it is stored, for example that a service accepts the secret; throws to reject it. One
   * verifier per key. It must change nothing, and must cancel its work when the signal aborts. Ends when the plugin
   * stops.
   *
   * @param verifier `after` returns the next value of another key of this plugin, which may be part of the same save or
   *   wait for a restart
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

/**
 * The properties of a declaration that determine what the code of the plugin may use. Its types and the kernel enforce
 * them.
 */
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
/** What may be used, or a sentence for the compiler to print where nothing was declared. */
type OrSentence<Usable, Sentence extends string> = [Usable] extends [never] ? Sentence : Usable
type Provided<D> = OrSentence<ListedIn<D, 'provides'>, 'Add this service to `provides` of the plugin first.'>
type Owned<D> = OrSentence<ListedIn<D, 'extensionPoints'>, 'Add this point to `extensionPoints` of the plugin first.'>
type Contributed<D> = OrSentence<ListedIn<D, 'contributes'>, 'Add this point to `contributes` of the plugin first.'>

/** The keys of a declaration. */
export type KeysOf<D> = D extends { readonly config: infer K extends KeyDeclarations } ? K : Record<never, never>

/** The objects that the code of a plugin may use at any time. */
export interface PluginRuntime<D extends Partial<Declared> = Declared> {
  readonly plugin: Consumer
  /** Exactly the services that the plugin declared in `requires`. */
  readonly services: ServicesOf<RequiredBy<D>>
  readonly config: ConfigView<KeysOf<D>>
  readonly log: Logger
  /**
   * Masks by value every secret of any plugin that the configuration has contained. Never throws.
   *
   * @param more values that are secret in this text only
   */
  redact(text: string, more?: Iterable<unknown>): string
  readonly clock: Clock
  /** Returns a service that the plugin provides itself, for its tasks and commands, which run after setup. */
  own<Ref extends Provided<D>>(ref: Ref): TypeOf<Ref>
  /** Roles of this process. */
  readonly roles: ReadonlySet<Role>
  /** Directory of the product file, the base of relative paths in the configuration. */
  readonly root: string
}

/**
 * The argument of `setup`. Order of the hooks over all plugins: setup in dependency order; ready in reverse, so that a
 * plugin accepts work only after its dependents are ready; drain starts in dependency order and runs concurrently; stop
 * in reverse order of setup, and within a plugin in reverse order of registration.
 */
export interface PluginContext<D extends Partial<Declared> = Declared> extends PluginRuntime<D> {
  /** Aborts when the setup deadline passes or the start is cancelled. */
  readonly signal: AbortSignal
  /**
   * Creates the parts of the plugin with awilix, each once, in dependency order. The first call specifies their types.
   * The second has two arguments: existing parts, such as services, and a resolver for each other part: `asClass` or
   * `asFunction`. Classes and functions receive the cradle, an object with all parts. A class may store the cradle: a
   * part that only a method reads may be created later.
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
  /** Provides a service that the plugin declared in `provides`. */
  provide<Ref extends Provided<D>>(ref: Ref, implementation: TypeOf<Ref>): void
  /**
   * Like `provide`, with a separate implementation for each plugin that requires the service, so that the provider
   * knows the caller. It is created once per consumer, before the setup of the consumer. Code that started the product
   * is the consumer `kernel`.
   */
  provideEach<Ref extends Provided<D>>(ref: Ref, implementationFor: (consumer: Consumer) => TypeOf<Ref>): void
  /**
   * Contributes an implementation to an extension point that the plugin declared in `contributes`. Names are unique per
   * point.
   */
  contribute<Ref extends Contributed<D>>(point: Ref, name: string, implementation: TypeOf<Ref>): void
  /**
   * Returns the contributions to an extension point of the plugin, by name. They are complete at setup, because
   * contributors are set up first. For a `live` point it is a view that is complete when all plugins are set up.
   */
  contributions<Ref extends Owned<D>>(point: Ref): ReadonlyMap<string, TypeOf<Ref>>
  /**
   * Returns the id of the plugin that contributed under a name to an extension point of this plugin; `undefined` if
   * there is no such contribution.
   */
  contributor<Ref extends Owned<D>>(point: Ref, name: string): string | undefined
  /** Runs after the last setup. */
  onReady(hook: () => void | Promise<void>): void
  /**
   * Runs first on stop: accept no new work and finish running work. Other plugins may still call this one until it
   * stops. The signal aborts at the drain deadline, which all plugins share; `deadlineMs` is that deadline in
   * milliseconds, 1,000 or more.
   */
  onDrain(hook: (signal: AbortSignal, deadlineMs: number) => void | Promise<void>): void
  /** Releases a resource. Also runs if this or a later setup fails. */
  onStop(hook: () => void | Promise<void>): void
}

/** A change of the database for any dialect; `@plinth/migrations` defines its content. */
export interface ChangeSetDeclaration {
  /** Unique in its plugin, ordered by name, for example `0001-create-user`. */
  readonly id: string
}

/** Properties of declarations that another plugin implements. */
export const implementedMembers = [
  'entities',
  'migrations',
  'messages',
  'permissions',
  'installTasks',
  'scheduledTasks',
] as const
export type ImplementedMember = (typeof implementedMembers)[number]

/** Nested texts by locale; leaves may contain `{{placeholder}}`. */
export interface MessageTree {
  readonly [name: string]: string | MessageTree
}
/** Without Chinese texts Chinese users see the English ones, and the planner warns. */
export interface MessageCatalogues {
  readonly en: MessageTree
  readonly 'zh-CN'?: MessageTree
}

/** Properties declared elsewhere in the same declaration: types are not inferred from here. */
type Settled<D extends Declared> = { readonly [Member in keyof D]: NoInfer<D[Member]> }

/** The declaration of a plugin. Everything except `setup` can be read without running its code. */
export interface PluginDeclaration<D extends Declared = Declared> {
  /**
   * Dotted lower-case id, for example `acme.sms`.
   *
   * @example id: 'acme.sms'
   */
  readonly id: string
  /**
   * Name of the plugin for users. When absent, the title of the key group with the id of the plugin, or with the first
   * part of its id: see `pluginTitle`.
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
   * Range of supported kernel versions, for example `^1.0.0`.
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
   * True for the plugin that supplies configuration values, for example from a database. It is set up with its
   * dependencies before all others, because their setup reads these values. Its dependencies cannot receive their own
   * values from it.
   *
   * @example suppliesConfiguration: false
   */
  readonly suppliesConfiguration?: boolean
  /**
   * Services that it uses, under the names in its code; `optional(service)` for a service that it can run without.
   *
   * @example requires: { http, metrics: optional(metrics) }
   */
  readonly requires?: D['requires']
  /**
   * Services that it provides, each once, in `setup`.
   *
   * @example provides: [smsBalance]
   */
  readonly provides?: D['provides']
  /**
   * Extension points that it owns.
   *
   * @example extensionPoints: [smsGateway]
   */
  readonly extensionPoints?: D['extensionPoints']
  /**
   * Extension points that it contributes to; `optional(point)` if the plugin is useful without their owner.
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
   * Headings above its keys, by group: the second segment of a key, or the `group` that it declares. Several plugins
   * may declare the same title for one group, but not different ones. Without a title the group itself is shown.
   *
   * @example configGroups: { 'acme-sms': { en: 'ACME text messages', 'zh-CN': 'ACME 短信' } }
   */
  readonly configGroups?: Readonly<Record<string, LocalizedText>>
  /**
   * Its business errors. The API description lists their reasons and codes, so that a release check notices a changed one.
   *
   * @example businessErrors: [businessError]
   */
  readonly businessErrors?: readonly BusinessErrorsDeclaration[]
  /**
   * Permissions that its routes require; each code belongs to one plugin.
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
   * Entities for the database plugin; the kernel does not inspect them.
   *
   * @example entities: [SmsMessage]
   */
  readonly entities?: readonly object[]
  /**
   * Texts for users, in both languages. English alone is enough: Chinese users then see the English texts.
   *
   * @example messages: { en: { sms: { sent: '{{count}} sent' } }, 'zh-CN': { sms: { sent: '已发送 {{count}} 条' } } }
   */
  readonly messages?: MessageCatalogues
  /**
   * Steps of the installation, which `@plinth/install` executes.
   *
   * @example installTasks: [checkAccount]
   */
  readonly installTasks?: readonly InstallTask<Settled<D>>[]
  /**
   * Repeated work, which `@plinth/scheduler` executes.
   *
   * @example scheduledTasks: [pollBalance]
   */
  readonly scheduledTasks?: readonly ScheduledTask<Settled<D>>[]
  /**
   * Hosts that it contacts through `@plinth/outgoing-http`: a name, `*.name` for all names below it, or `*` for
   * addresses that the operator configures. Requests to other hosts are rejected. `*` when absent. `plinth plugins diff`
   * shows an upgrade that adds a host.
   *
   * @example outgoingHosts: ['api.acme.example']
   */
  readonly outgoingHosts?: readonly string[]
  /**
   * Commands of the `plinth` program.
   *
   * @example commands: [showBalance]
   */
  readonly commands?: readonly CommandDeclaration<Settled<D>>[]
  /**
   * The declarations that this plugin implements for all plugins: for a scheduler `scheduledTasks`, for a database
   * `entities` and `migrations`. The planner warns about declarations that no loaded plugin implements.
   *
   * @example implements: ['messages']
   */
  readonly implements?: readonly ImplementedMember[]
  /**
   * Maximum duration of setup in milliseconds; `platform.kernel.setup-deadline` when absent.
   *
   * @example setupDeadlineMs: 20_000
   */
  readonly setupDeadlineMs?: number
  /**
   * Implements the declarations. Runs once in each process; release in `onStop` everything that it opens.
   *
   * @example setup: ({ provide, contribute }) => {
   *   provide(smsBalance, { cents: () => 4711 })
   *   contribute(notificationChannel, 'acme-sms', smsChannel)
   * }
   */
  setup?(context: PluginContext<D>): void | Promise<void>
  /**
   * Called if the start of a web process failed. Returns values by key, in written form, with which the product starts
   * again, so that an operator can fix it in the browser. No part of the product runs during the call, and it must not
   * change anything.
   *
   * @example fallbackStart: ({ code }) => (code === 'ACME_SMS_ACCOUNT' ? { 'platform.acme-sms.poll': '0s' } : undefined)
   */
  fallbackStart?(
    failed: FailedStart,
  ): Readonly<Record<string, string>> | undefined | Promise<Readonly<Record<string, string>> | undefined>
}

/** A failed start, for a plugin that can help to fix it. */
export interface FailedStart extends StartFailure {
  /** Directory of the product. */
  readonly root: string
  readonly explain: ConfigAdmin['explain']
  /** Returns the value of a key of the plugin. */
  readonly get: (key: string) => unknown
}

const pluginBrand: unique symbol = Symbol.for('plinth.plugin')
const origin: unique symbol = Symbol.for('plinth.plugin.origin')

/** A plugin with any declaration, as the planner uses it. */
export interface Plugin extends PluginDeclaration {
  readonly [pluginBrand]: true
  /** Created where the plugin was declared. */
  readonly [origin]?: Error
}

/**
 * Declares a plugin and freezes its data. Has no side effect. The planner reports the problems of all plugins together.
 */
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

/** Returns the stack of the place that declared a plugin; the first frame is that of `definePlugin`. */
export const originOf = (plugin: Plugin): string => plugin[origin]?.stack ?? ''

/** True for a result of `definePlugin`, also of another copy of the kernel. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && pluginBrand in value && value[pluginBrand] === true
}
