import type { KeyDeclarations, LocalizedText, ValueOf } from '@plinth/config-schema'
import type { Logger } from 'pino'
import type { ContributionFrom, ReferenceIn } from './contracts/contributions.ts'
import type { CommandDeclaration, InstallTask, PermissionDeclaration, ScheduledTask } from './contracts/declarations.ts'
import type { ConfigAdmin, StartFailure } from './contracts/kernel.ts'
import type { BusinessErrorsDeclaration } from './errors/business-error.ts'
import { deepFreeze } from './read-only.ts'
import type {
  AnyReferenceType,
  ConsumingPlugin,
  ExtensionPoint,
  Optional,
  Requirements,
  ServiceRef,
  ServicesOf,
  TypeOf,
} from './refs.ts'
import type { Clock } from './time/clock.ts'
import type { Resolvers } from './wiring.ts'

/**
 * `web` serves requests, `worker` runs background work, `cli` runs one command. A process may be both `web` and
 * `worker`.
 */
export type Role = 'web' | 'worker' | 'cli'
export const roles: readonly Role[] = ['web', 'worker', 'cli']

/**
 * A type that no key matches. If a plugin declares no keys, the compiler prints this text for each key that the plugin
 * reads.
 */
type NotDeclared = `Declare this key in config of the plugin first: ${string}`
type GetKey<K extends KeyDeclarations> = [keyof K] extends [never]
  ? (key: NotDeclared) => unknown
  : { (key: NotDeclared): unknown; <N extends keyof K & string>(key: N): ValueOf<K[N]> }

/** The configuration values of one plugin, by full key. A plugin cannot read the keys of other plugins. */
export interface ConfigView<K extends KeyDeclarations> {
  readonly get: GetKey<K>
  /**
   * Returns a function that computes a result from configuration values and caches it until a live value of the product
   * changes. Use it for results that are read often.
   *
   * @param make computes the result; it must not throw and must have no side effects
   */
  derived<T>(make: () => T): () => T
  /**
   * Calls the listener when the value of a key with `reload: 'live'` changes. A listener rejects the value by throwing:
   * the old value then stays effective, and the operator sees the message. The subscription ends when the plugin stops.
   */
  onChange<N extends keyof K & string>(key: N, listener: (value: ValueOf<K[N]>) => void | Promise<void>): void
  /**
   * Verifies a new value before it is stored, for example that a server accepts a new password. The verifier throws to
   * reject the value. It must not change anything, and must cancel its work when the signal aborts. A key has at most
   * one verifier, which is removed when the plugin stops.
   *
   * @param verifier its argument `after` returns the value that another key of this plugin will have after the save,
   * even if that value waits for a restart
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
 * The properties of a declaration that determine what the code of the plugin may use. The compiler and the kernel both
 * check this.
 */
export interface Declared {
  readonly requires: Requirements
  readonly provides: readonly ServiceRef<AnyReferenceType>[]
  readonly extensionPoints: readonly ExtensionPoint<AnyReferenceType>[]
  readonly contributes: readonly (ExtensionPoint<AnyReferenceType> | Optional<ExtensionPoint<AnyReferenceType>>)[]
  readonly config: KeyDeclarations
}

type RequiredBy<D> = D extends { readonly requires: infer R extends Requirements } ? R : Record<never, never>
type ListedIn<D, Member extends keyof Declared> = D extends { readonly [M in Member]: readonly (infer Ref)[] }
  ? ReferenceIn<Ref>
  : never
/** A usable type. If nothing usable was declared, a sentence that the compiler prints instead. */
type OrSentence<Usable, Sentence extends string> = [Usable] extends [never] ? Sentence : Usable
type Provided<D> = OrSentence<ListedIn<D, 'provides'>, 'Add this service to `provides` of the plugin first.'>
type Owned<D> = OrSentence<ListedIn<D, 'extensionPoints'>, 'Add this point to `extensionPoints` of the plugin first.'>
type Contributed<D> = OrSentence<ListedIn<D, 'contributes'>, 'Add this point to `contributes` of the plugin first.'>

/** The keys of a declaration. */
export type KeysOf<D> = D extends { readonly config: infer K extends KeyDeclarations } ? K : Record<never, never>

/** Objects that the code of a plugin may use at any time. */
export interface PluginRuntime<D extends Partial<Declared> = Declared> {
  readonly plugin: ConsumingPlugin
  /** The services that the plugin declared in `requires`. */
  readonly services: ServicesOf<RequiredBy<D>>
  readonly config: ConfigView<KeysOf<D>>
  readonly log: Logger
  /**
   * Masks all secrets of all plugins in a text, including former values. Never throws.
   *
   * @param more additional secrets for this text only
   */
  redact(text: string, more?: Iterable<unknown>): string
  readonly clock: Clock
  /** Returns a service that this plugin provides. For its tasks and commands, which run after setup. */
  own<Ref extends Provided<D>>(ref: Ref): TypeOf<Ref>
  /** Roles of this process. */
  readonly roles: ReadonlySet<Role>
  /** Directory of the product file. Relative paths in the configuration start here. */
  readonly root: string
}

/**
 * The argument of `setup`. The hooks of all plugins run in this order: setup in dependency order; ready in reverse
 * order, so that a plugin accepts work only after the plugins that depend on it are ready; drain of all plugins at the
 * same time, started in dependency order; stop in reverse order of setup, and within one plugin in reverse order of
 * registration.
 */
export interface PluginContext<D extends Partial<Declared> = Declared> extends PluginRuntime<D> {
  /** Aborts when the setup takes longer than its deadline, or when the start is cancelled. */
  readonly signal: AbortSignal
  /**
   * Creates the parts of the plugin, such as its repositories, with awilix. Each part is created once, in dependency
   * order. The first call only specifies the type of all parts. The second call receives the parts that already exist,
   * such as services, and a resolver for each other part: `asClass` or `asFunction`. Classes and functions receive one
   * object with all parts. They may store it and read a part later, even if that part does not exist yet.
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
   * Provides a service like `provide`, but with a separate implementation for each plugin that requires it. This tells
   * the provider which plugin calls. The implementation is created before the setup of that plugin. For calls by the
   * code that started the product, the consumer is `kernel`.
   */
  provideEach<Ref extends Provided<D>>(ref: Ref, implementationFor: (consumer: ConsumingPlugin) => TypeOf<Ref>): void
  /**
   * Adds an implementation to an extension point that the plugin declared in `contributes`. The name must be unique in
   * the extension point.
   */
  contribute<Ref extends Contributed<D>>(point: Ref, name: string, implementation: TypeOf<Ref>): void
  /**
   * Returns the contributions to an extension point of this plugin, by name. They are complete during setup, because
   * contributing plugins are set up first. Contributions to a `live` point are complete only after the setup of all
   * plugins, and the returned map is updated until then.
   */
  contributions<Ref extends Owned<D>>(point: Ref): ReadonlyMap<string, TypeOf<Ref>>
  /**
   * Returns the id of the plugin that made a contribution to an extension point of this plugin. Returns `undefined` if
   * no contribution has this name.
   */
  contributor<Ref extends Owned<D>>(point: Ref, name: string): string | undefined
  /** Adds a hook that runs after the setup of all plugins. */
  onReady(hook: () => void | Promise<void>): void
  /**
   * Adds a hook that runs first when the product stops: it must accept no new work and finish running work. Other
   * plugins may still call this plugin until it stops. The signal aborts when the drain deadline passes, which all
   * plugins share. `deadlineMs` is that deadline in milliseconds, at least 1,000.
   */
  onDrain(hook: (signal: AbortSignal, deadlineMs: number) => void | Promise<void>): void
  /** Adds a hook that releases a resource. It also runs if this setup or a later one fails. */
  onStop(hook: () => void | Promise<void>): void
}

/** A change of the database schema, independent of the database product. `@plinth/migrations` defines its content. */
export interface ChangeSetDeclaration {
  /** Id that is unique in its plugin, for example `0001-create-user`. Change sets run in the order of their ids. */
  readonly id: string
}

/** Properties of a declaration that another plugin implements, for example a database plugin for `entities`. */
export const implementedMembers = [
  'entities',
  'migrations',
  'messages',
  'permissions',
  'installTasks',
  'scheduledTasks',
] as const
export type ImplementedMember = (typeof implementedMembers)[number]

/** Nested texts of one language. Texts may contain `{{placeholder}}`. */
export interface MessageTree {
  readonly [name: string]: string | MessageTree
}
/**
 * Texts of a plugin by language. If the Chinese texts are missing, Chinese users see the English ones, and the planner
 * warns.
 */
export interface MessageCatalogues {
  readonly en: MessageTree
  readonly 'zh-CN'?: MessageTree
}

/**
 * The properties of a declaration without type inference. Tasks and commands do not determine these types: the compiler
 * infers them from the other properties of the plugin.
 */
type Settled<D extends Declared> = { readonly [Member in keyof D]: NoInfer<D[Member]> }

/**
 * The declaration of a plugin. All properties except functions such as `setup` can be read without running its code.
 */
export interface PluginDeclaration<D extends Declared = Declared> {
  /**
   * Dotted lower-case id, for example `acme.sms`.
   *
   * @example id: 'acme.sms'
   */
  readonly id: string
  /**
   * Name of the plugin for users. Default: the title of the key group with the id of the plugin or with the first part
   * of its id, see `pluginTitle`.
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
   * Process roles in which the plugin loads. Default: all. Commands set up the plugins of all roles, with the role `cli`
   * in `context.roles`.
   *
   * @example roles: ['web', 'worker', 'cli']
   */
  readonly roles?: readonly Role[]
  /**
   * True for a plugin that supplies configuration values, for example from a database. It is set up before all other
   * plugins, together with its dependencies, because the setup of the others reads these values. Its dependencies
   * cannot get values from it.
   *
   * @example suppliesConfiguration: false
   */
  readonly suppliesConfiguration?: boolean
  /**
   * Services that the plugin uses, by the name that its code uses. Write `optional(service)` if the plugin also works
   * without the service.
   *
   * @example requires: { http, metrics: optional(metrics) }
   */
  readonly requires?: D['requires']
  /**
   * Services that the plugin provides. Its `setup` must provide each service once.
   *
   * @example provides: [smsBalance]
   */
  readonly provides?: D['provides']
  /**
   * Extension points that the plugin owns.
   *
   * @example extensionPoints: [smsGateway]
   */
  readonly extensionPoints?: D['extensionPoints']
  /**
   * Extension points to which the plugin contributes. Write `optional(point)` if the plugin is useful even without the
   * owner of the point, and `point.of(values)` for contributions that do not depend on the setup.
   *
   * @example contributes: [notificationChannel, optional(rateLimitStore), quickstartCleanup, healthCheck]
   */
  readonly contributes?: D['contributes']
  /**
   * Configuration keys of the plugin. Each starts with `platform.` and belongs to one plugin.
   *
   * @example config: {
   *   'platform.acme-sms.poll': key.duration({ title: 'Poll', default: '1m' }),
   *   'platform.acme-sms.settings-file': key.string({ title: 'Settings file', default: '.env', scope: 'process' }),
   *   'platform.acme-sms.task-name': key.string({ title: 'Name', default: 'acme-sms.poll-balance' }),
   * }
   */
  readonly config?: D['config']
  /**
   * Titles of key groups. The group of a key is its second segment, or the declared `group`. Several plugins may
   * declare the same title for one group, but not different titles. A group without a title has the title of
   * the plugin with the same id. Otherwise it is shown by its name.
   *
   * @example configGroups: { 'acme-sms': { en: 'ACME text messages', 'zh-CN': 'ACME 短信' } }
   */
  readonly configGroups?: Readonly<Record<string, LocalizedText>>
  /**
   * Business errors of the plugin. The API description lists their reasons and codes, so that a check before a release
   * finds changes.
   *
   * @example businessErrors: [businessError]
   */
  readonly businessErrors?: readonly BusinessErrorsDeclaration[]
  /**
   * Permissions that the routes of the plugin require. Each code belongs to one plugin.
   *
   * @example permissions: [viewBalance]
   */
  readonly permissions?: readonly PermissionDeclaration[]
  /**
   * Database changes of the plugin, which run in the order of their ids. A change set must not be edited after its
   * release.
   *
   * @example migrations: [{ id: '0001-create-sms' }]
   */
  readonly migrations?: readonly ChangeSetDeclaration[]
  /**
   * Tables whose rows belong to running processes, for example heartbeats and messages between instances. A move to
   * another database does not copy their rows. Do not list tables with leases: they expire by themselves.
   *
   * @example processTables: ['acme_presence']
   */
  readonly processTables?: readonly string[]
  /**
   * Entities for the database plugin. The kernel does not check them.
   *
   * @example entities: [SmsMessage]
   */
  readonly entities?: readonly object[]
  /**
   * Texts for users in both languages. If the Chinese texts are missing, Chinese users see the English ones.
   *
   * @example messages: { en: { sms: { sent: '{{count}} sent' } }, 'zh-CN': { sms: { sent: '已发送 {{count}} 条' } } }
   */
  readonly messages?: MessageCatalogues
  /**
   * Steps of the installation. `@plinth/install` runs them.
   *
   * @example installTasks: [checkAccount]
   */
  readonly installTasks?: readonly InstallTask<Settled<D>>[]
  /**
   * Repeated work. `@plinth/scheduler` runs it.
   *
   * @example scheduledTasks: [pollBalance]
   */
  readonly scheduledTasks?: readonly ScheduledTask<Settled<D>>[]
  /**
   * Hosts that the plugin contacts through `@plinth/outgoing-http`: a host name, `*.name` for all hosts below a name,
   * or `*` for all hosts, because an operator configures the addresses. Requests to other hosts are rejected. Default:
   * `*`. `plinth plugins diff` shows when a new version adds a host.
   *
   * @example outgoingHosts: ['api.acme.example']
   */
  readonly outgoingHosts?: readonly string[]
  /**
   * Commands that the plugin adds to the `plinth` program.
   *
   * @example commands: [showBalance]
   */
  readonly commands?: readonly CommandDeclaration<Settled<D>>[]
  /**
   * The properties of declarations that this plugin implements for all plugins. For example, a scheduler implements
   * `scheduledTasks`, and a database plugin implements `entities` and `migrations`. The planner warns about
   * declarations that no loaded plugin implements.
   *
   * @example implements: ['messages']
   */
  readonly implements?: readonly ImplementedMember[]
  /**
   * Maximum duration of `setup` in milliseconds. Default: the value of `platform.kernel.setup-deadline`.
   *
   * @example setupDeadlineMs: 20_000
   */
  readonly setupDeadlineMs?: number
  /**
   * Starts the plugin. Runs once in each process. Release everything that it opens in `onStop`.
   *
   * @example setup: ({ provide, contribute }) => {
   *   provide(smsBalance, { cents: () => 4711 })
   *   contribute(notificationChannel, 'acme-sms', smsChannel)
   * }
   */
  setup?(context: PluginContext<D>): void | Promise<void>
  /**
   * Key of this plugin whose value is the path of the settings file, relative to the directory of the product file. The
   * product then reads this file instead of `.env`. The product file, the environment and `--set` can set the key. Only
   * one plugin of a product can declare such a key.
   *
   * @example settingsFileKey: 'platform.acme-sms.settings-file'
   */
  readonly settingsFileKey?: string
  /**
   * Called if the start of a web process failed. May return values by key, in written form. The product then starts
   * again with these values, so that an operator can fix the problem in the browser. The product does not run during
   * this call, and the function must not change anything.
   *
   * @example fallbackStart: ({ code }) => (code === 'ACME_SMS_ACCOUNT' ? { 'platform.acme-sms.poll': '0s' } : undefined)
   */
  fallbackStart?(
    failed: FailedStart,
  ): Readonly<Record<string, string>> | undefined | Promise<Readonly<Record<string, string>> | undefined>
}

/** A failed start, as `fallbackStart` receives it. */
export interface FailedStart extends StartFailure {
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
  /** An error that was created where the plugin was declared. Its stack shows the file. */
  readonly [origin]?: Error
}

/**
 * Declares a plugin and freezes its data. Has no other effect. The planner checks the declarations of all plugins
 * together.
 */
export function definePlugin<
  const R extends Requirements = Record<never, never>,
  const P extends Declared['provides'] = readonly [],
  const E extends Declared['extensionPoints'] = readonly [],
  const C extends readonly ContributionFrom<ServicesOf<R>>[] = readonly [],
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

/** Returns the stack of the place that declared a plugin. The first frame is in `definePlugin`. */
export const originOf = (plugin: Plugin): string => plugin[origin]?.stack ?? ''

/** Returns true for a result of `definePlugin`, even if it comes from another copy of the kernel. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && pluginBrand in value && value[pluginBrand] === true
}
