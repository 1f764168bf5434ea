import { adminPages } from '@plinth/admin'
import { database } from '@plinth/database'
import type { EventRef, Events, Handler } from '@plinth/events'
import { http, type Route, type RouteBuilders, routesWith } from '@plinth/http'
import { identity } from '@plinth/iam'
import {
  type AuditTexts,
  auditTexts,
  definePlugin,
  type KeyDeclarations,
  kernel,
  type MessageTree,
  optional,
  type Plugin,
  type PluginDeclaration,
  personalData,
  type Requirements,
  type ServicesOf,
} from '@plinth/kernel'
import type { ChangeSet } from '@plinth/migrations'
import type { AnyShape, Resource, ResourceDeclarations, ResourceOptions, ResourceServices } from './options.ts'
import { resource } from './resource.ts'

export interface EventHandler<in P> {
  readonly event: EventRef
  readonly name: string
  readonly handle: (payload: never, parts: P, delivery: Parameters<Handler<never>>[0]) => unknown
}

export interface Builders<P> extends RouteBuilders<P> {
  resource<S extends AnyShape, const B = Record<never, never>>(
    shape: S,
    options: ResourceOptions<S, P, B>,
  ): Resource<S, P>
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
export interface ResourcePlugin<R extends Requirements, P>
  extends Pick<
    PluginDeclaration,
    'id' | 'version' | 'kernel' | 'title' | 'roles' | 'configGroups' | 'messages' | 'permissions' | 'businessErrors'
  > {
  /** Services in addition to `database`, `http`, `identity` and `kernel`. */
  readonly requires?: R
  readonly migrations: readonly ChangeSet[]
  readonly resources: readonly ResourceDeclarations<P>[]
  readonly routes?: readonly Route<P>[]
  readonly handlers?: readonly EventHandler<P>[]
}

/** Merges the parts of the resources into the declaration and calls `definePlugin`. */
export function defineResourcePlugin<const R extends Requirements = Record<never, never>>(
  declaration: ResourcePlugin<R, ServicesOf<R> & ResourceServices>,
): Plugin {
  const { resources, routes = [], handlers = [], requires, messages, ...own } = declaration
  const { permissions = [], businessErrors = [], ...rest } = own
  const tables = distinct(
    resources.map(({ shape }) => shape.of),
    ({ name }) => name,
  )
  const textsIn = (locale: 'en' | 'zh-CN') =>
    merged([...resources.map((one) => one.messages), ...(messages ? [messages] : [])].map((one) => one[locale] ?? {}))
  return definePlugin({
    ...rest,
    requires: { ...requires, ...base } as Base,
    contributes: [personalData, auditTexts, optional(adminPages)],
    config: Object.assign({}, ...resources.map((one) => one.config)) as KeyDeclarations,
    permissions: distinct([...resources.flatMap((one) => one.permissions), ...permissions], ({ code }) => code),
    businessErrors: [...resources.map((one) => one.businessErrors), ...businessErrors],
    entities: tables.map(({ entity }) => entity),
    messages: { en: textsIn('en'), 'zh-CN': textsIn('zh-CN') },
    scheduledTasks: resources.flatMap((one) => one.tasks) as never,
    setup({ plugin, contribute, ...context }) {
      const services = context.services as unknown as ServicesOf<R> & ResourceServices
      const { http, database } = services as ResourceServices
      // Two resources of one table declare the same audited kind.
      const audited: Readonly<Record<string, AuditTexts>> = Object.assign({}, ...resources.map((one) => one.audited))
      const { events } = services as { readonly events?: Events }
      for (const { routes } of resources) http.addRoutes(routes, { parts: services, services })
      http.addRoutes(routes, services as never)
      for (const page of resources.flatMap((one) => one.pages)) contribute(adminPages, page.id, page)
      for (const [kind, texts] of Object.entries(audited)) contribute(auditTexts, kind, texts)
      const personal = tables.flatMap((table) => table.personalTables(database))
      if (personal.length > 0) contribute(personalData, plugin.id, personal)
      for (const { event, name, handle } of handlers) {
        const run: Handler<unknown> = async (delivery) =>
          void (await handle(delivery.payload as never, services, delivery as never))
        events?.on(event, `${plugin.id}.${name}`, run, { transaction: true })
      }
    },
  })
}

const distinct = <T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] => {
  const byKey = new Map<string, T>()
  for (const item of items) if (!byKey.has(keyOf(item))) byKey.set(keyOf(item), item)
  return [...byKey.values()]
}

/** Merges the texts of each area. Later texts have priority. */
function merged(trees: readonly MessageTree[]): MessageTree {
  const areas: Record<string, MessageTree> = {}
  for (const [area, texts] of trees.flatMap((tree) => Object.entries(tree)))
    areas[area] = { ...areas[area], ...Object(texts) }
  return areas
}
