import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
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
  type Plugin,
  type PluginDeclaration,
  personalData,
  type Requirements,
  type ScheduledTask,
  type ServicesOf,
} from '@plinth/kernel'
import type { ChangeSet } from '@plinth/migrations'
import type { TableDescription } from '@plinth/table'
import type { AnyShape, Query, Resource, ResourceDeclarations, ResourceOptions } from './options.ts'
import { resource } from './resource.ts'

export interface EventHandler<in P> {
  readonly event: EventRef
  readonly name: string
  readonly handle: (payload: never, parts: P, delivery: Parameters<Handler<never>>[0]) => unknown
}

export interface Builders<P> extends RouteBuilders<P> {
  resource<S extends AnyShape, const B = Record<never, never>, Q extends Query = Record<never, never>>(
    shape: S,
    options: ResourceOptions<S, P, B, Q>,
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
export interface ResourcePlugin<R extends Requirements, P, C extends KeyDeclarations>
  extends Pick<
    PluginDeclaration,
    'id' | 'version' | 'kernel' | 'title' | 'roles' | 'configGroups' | 'messages' | 'permissions' | 'businessErrors'
  > {
  /** Services in addition to `database`, `http`, `identity` and `kernel`. */
  readonly requires?: R
  readonly config?: C
  readonly scheduledTasks?: readonly ScheduledTask<{ readonly requires: R & Base; readonly config: C }>[]
  readonly migrations: readonly ChangeSet[]
  readonly resources: readonly ResourceDeclarations<P>[]
  /** Tables without a resource, for example those that only handlers write. */
  readonly tables?: readonly TableDescription[]
  readonly routes?: readonly Route<P>[]
  readonly handlers?: readonly EventHandler<P>[]
}

/**
 * Merges the parts of the resources into the declaration and calls `definePlugin`.
 *
 * @throws TypeError for `handlers` without `events` in `requires`
 */
export function defineResourcePlugin<
  const R extends Requirements = Record<never, never>,
  const C extends KeyDeclarations = Record<never, never>,
>(declaration: ResourcePlugin<R, ServicesOf<R> & ServicesOf<Base>, C>): Plugin {
  const { resources, tables: others = [], routes = [], handlers = [], requires, ...own } = declaration
  if (handlers.length > 0 && requires?.['events'] === undefined)
    throw new TypeError(`${own.id}: handlers need the service "events" in requires.`)
  const tables = [...new Set([...resources.map(({ shape }) => shape.of), ...others])]
  // Two resources of one table declare the same audited kind.
  const audited: Readonly<Record<string, AuditTexts>> = Object.assign({}, ...resources.map((one) => one.audited))
  const declared = [...(own.permissions ?? []), ...resources.flatMap((one) => one.permissions)]
  const textsIn = (locale: 'en' | 'zh-CN') =>
    merged([...resources, own].map(({ messages: texts }) => texts?.[locale] ?? {}))
  return definePlugin({
    ...own,
    requires: { ...requires, ...base } as typeof base,
    contributes: [
      personalData.of(({ database }: WithDatabase) => {
        const personal = tables.flatMap((table) => table.personalTables(database))
        return personal.length === 0 ? undefined : { [own.id]: personal }
      }),
      auditTexts.of(audited),
      ...backOffice({ pages: resources.flatMap((one) => one.pages) }),
    ],
    config: Object.assign({}, ...resources.map((one) => one.config), own.config) as KeyDeclarations,
    permissions: [...new Map(declared.map((one) => [one.code, one])).values()],
    businessErrors: [...resources.map((one) => one.businessErrors), ...(own.businessErrors ?? [])],
    entities: tables.map(({ entity }) => entity),
    messages: { en: textsIn('en'), 'zh-CN': textsIn('zh-CN') },
    scheduledTasks: [...resources.flatMap((one) => one.tasks), ...(own.scheduledTasks ?? [])] as never,
    setup({ plugin, ...context }) {
      const services = context.services as unknown as ServicesOf<R> & ServicesOf<Base>
      const { http, events } = services as ServicesOf<Base> & { readonly events?: Events }
      for (const { routes } of resources) http.addRoutes(routes, { parts: services, services })
      http.addRoutes(routes, services as never)
      for (const { event, name, handle } of handlers) {
        const run: Handler<unknown> = async (delivery) =>
          void (await handle(delivery.payload as never, services, delivery as never))
        events?.on(event, `${plugin.id}.${name}`, run, { transaction: true })
      }
    },
  })
}

/** Merges the texts of each area. Later texts have priority. */
function merged(trees: readonly MessageTree[]): MessageTree {
  const areas: Record<string, MessageTree> = {}
  for (const [area, texts] of trees.flatMap((tree) => Object.entries(tree)))
    areas[area] = { ...areas[area], ...Object(texts) }
  return areas
}
