import { adminPages, type DetailPageDeclaration, type ListPageDeclaration, labelSources } from '@plinth/admin'
import { database } from '@plinth/database'
import type { EventRef, Events, Handler } from '@plinth/events'
import { http, type Route, type RouteBuilders, routesWith } from '@plinth/http'
import { identity } from '@plinth/iam'
import {
  auditTexts,
  definePlugin,
  type KeyDeclarations,
  kernel,
  type MessageCatalogues,
  type MessageTree,
  optional,
  type Plugin,
  type PluginContext,
  type PluginDeclaration,
  personalData,
  type Requirements,
  type ServicesOf,
} from '@plinth/kernel'
import type { ChangeSet } from '@plinth/migrations'
import type { TableDescription } from '@plinth/table'
import type { AnyShape, Resource, ResourceDeclarations, ResourceOptions, ResourceServices } from './options.ts'
import { resource } from './resource.ts'

export interface EventHandler<in P> {
  readonly event: EventRef
  readonly name: string
  readonly handle: (payload: never, parts: P, delivery: Parameters<Handler<never>>[0]) => unknown
}

export interface Builders<P> extends RouteBuilders<P> {
  resource<S extends AnyShape, const B = Record<never, never>, const E extends string = never>(
    shape: S,
    options: ResourceOptions<S, P, B, E>,
  ): Resource<S, P, E>
  /** Handles an event in the transaction that also records the delivery. The plugin requires `events`. */
  on<T>(
    event: EventRef<T>,
    name: string,
    handle: (payload: T, parts: P, delivery: Parameters<Handler<T>>[0]) => unknown,
  ): EventHandler<P>
}

/**
 * Returns the functions that declare parts of a plugin. `P` is the type of the services that hooks and handlers receive,
 * as for `routesWith`.
 *
 * @example
 * const { resource } = pluginWith<{ readonly events: Events }>()
 */
export const pluginWith = <P = unknown>(): Builders<P> => ({
  ...routesWith<P>(),
  resource,
  on: (event, name, handle) => ({ event: event as EventRef, name, handle: handle as EventHandler<P>['handle'] }),
})

const base = { database, http, identity, kernel }
type Base = typeof base

/** The members of `definePlugin`, and those that follow from the resources. */
export type ResourcePlugin<R extends Requirements, K extends KeyDeclarations, P> = Omit<
  PluginDeclaration,
  | 'requires'
  | 'config'
  | 'setup'
  | 'provides'
  | 'extensionPoints'
  | 'contributes'
  | 'scheduledTasks'
  | 'installTasks'
  | 'commands'
  | 'entities'
  | 'migrations'
> & {
  /** Services in addition to `database`, `http`, `identity` and `kernel`. */
  readonly requires?: R
  readonly config?: K
  readonly migrations: readonly ChangeSet[]
  readonly resources: readonly ResourceDeclarations<P>[]
  /** Tables without operations. */
  readonly tables?: readonly TableDescription[]
  readonly routes?: readonly Route<P>[]
  readonly pages?: readonly (ListPageDeclaration | DetailPageDeclaration)[]
  readonly handlers?: readonly EventHandler<P>[]
} & ([ServicesOf<R> & ResourceServices] extends [P]
    ? {
        /** Returns what hooks and handlers receive. Default: the services of the plugin. */
        readonly setup?: (context: SetupOf<R, K>) => P
      }
    : { readonly setup: (context: SetupOf<R, K>) => P })

/** The members that `definePlugin` receives, changed or as they are. */
type Own<R extends Requirements, K extends KeyDeclarations, P> = Pick<
  PluginDeclaration,
  Exclude<keyof PluginDeclaration, 'setup' | 'requires' | 'config'>
> & { readonly requires?: R; readonly config?: K; readonly setup?: (context: SetupOf<R, K>) => P }

type SetupOf<R extends Requirements, K extends KeyDeclarations> = PluginContext<{
  readonly requires: R & Base
  readonly provides: readonly []
  readonly extensionPoints: readonly []
  readonly contributes: readonly []
  readonly config: K
}>

/** Merges the parts of the resources into the declaration and calls `definePlugin`. */
export function defineResourcePlugin<
  const R extends Requirements = Record<never, never>,
  const K extends KeyDeclarations = Record<never, never>,
  P = ServicesOf<R> & ResourceServices,
>(declaration: ResourcePlugin<R, K, P>): Plugin {
  const { resources, tables: others = [], routes = [], pages = [], handlers = [], ...own } = declaration
  const { setup, requires, config, messages, permissions = [], businessErrors = [], ...rest } = own as Own<R, K, P>
  const tables = distinct([...resources.map(({ shape }) => shape.of), ...others], ({ name }) => name)
  return definePlugin({
    ...rest,
    requires: { ...requires, ...base } as Base,
    contributes: [personalData, auditTexts, optional(adminPages), optional(labelSources)],
    config: Object.assign({}, ...resources.map((one) => one.config), config) as KeyDeclarations,
    permissions: distinct([...resources.flatMap((one) => one.permissions), ...permissions], ({ code }) => code),
    businessErrors: [...resources.map((one) => one.businessErrors), ...businessErrors],
    entities: tables.map(({ entity }) => entity),
    messages: merged([...resources.map((one) => one.messages), ...(messages ? [messages] : [])]),
    scheduledTasks: resources.flatMap((one) => one.tasks) as never,
    setup(context) {
      const { plugin, contribute } = context
      const services = context.services as unknown as ResourceServices & { readonly events?: Events }
      const parts = (setup?.(context as never) ?? services) as P
      for (const { routes } of resources) services.http.addRoutes(routes, { parts, services })
      services.http.addRoutes(routes, parts as never)
      for (const page of [...resources.flatMap((one) => one.pages), ...pages]) contribute(adminPages, page.id, page)
      const audited = Object.assign({}, ...resources.map((one) => one.audited)) as (typeof resources)[number]['audited']
      for (const [kind, texts] of Object.entries(audited)) contribute(auditTexts, kind, texts)
      for (const { labels } of resources)
        for (const [kind, source] of Object.entries(labels(services))) contribute(labelSources, kind, source)
      const personal = tables.flatMap((table) => table.personalTables(services.database))
      if (personal.length > 0) contribute(personalData, plugin.id, personal)
      for (const { event, name, handle } of handlers) {
        const run: Handler<unknown> = async (delivery) =>
          void (await handle(delivery.payload as never, parts, delivery as never))
        services.events?.on(event, `${plugin.id}.${name}`, run, { transaction: true })
      }
    },
  })
}

const distinct = <T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] => {
  const byKey = new Map<string, T>()
  for (const item of items) if (!byKey.has(keyOf(item))) byKey.set(keyOf(item), item)
  return [...byKey.values()]
}

/** Merges catalogues. Later texts have priority. */
function merged(catalogues: readonly MessageCatalogues[]): MessageCatalogues {
  const trees = (locale: keyof MessageCatalogues) => catalogues.map((one) => one[locale] ?? {}).reduce(mergedTree, {})
  return { en: trees('en'), 'zh-CN': trees('zh-CN') }
}

function mergedTree(one: MessageTree, other: MessageTree): MessageTree {
  const both = Object.entries(other).map(([name, value]) => {
    const before = one[name]
    const isTree = typeof value === 'object' && typeof before === 'object'
    return [name, isTree ? mergedTree(before, value) : value] as const
  })
  return { ...one, ...Object.fromEntries(both) }
}
