import type { DataOf } from '@plinth/client'

/** Response of `GET /api/v1/admin/console/plugins`. */
export type ProductFacts = DataOf<typeof pluginsOperation>
export type PluginFacts = ProductFacts['plugins'][number]
/** A service or extension point, and the plugin that provides it. */
export type PluginLink = PluginFacts['requires'][number]
export type RouteFacts = PluginFacts['routes'][number]
export type BootStep = ProductFacts['timeline'][number]

/** Id of the operation that `src/admin/own-pages.ts` lists. */
export const pluginsOperation = 'getAdminConsolePlugins'

/** A plugin that requires a service or contributes to an extension point. */
export interface DependentPlugin {
  readonly plugin: string
  readonly optional: boolean
}

/** Returns the plugins that require each service or contribute to each extension point. */
export function dependentsOf(plugins: readonly PluginFacts[]): ReadonlyMap<string, readonly DependentPlugin[]> {
  const requested = plugins.flatMap(({ id: plugin, requires, contributes }) =>
    [...requires, ...contributes].map(({ id, optional }) => ({ id, plugin, optional })),
  )
  return Map.groupBy(requested, ({ id }) => id)
}

/** Search text of each plugin, computed once. */
const texts = new WeakMap<PluginFacts, string>()

function textOf(plugin: PluginFacts): string {
  const known = texts.get(plugin)
  if (known !== undefined) return known
  const { id, requires, provides, extensionPoints, contributes, keys, permissions, routes, tasks } = plugin
  const text = [
    id,
    ...provides,
    ...extensionPoints,
    ...keys,
    ...[...requires, ...contributes].map((link) => link.id),
    ...permissions.flatMap(({ code, name }) => [code, name]),
    ...routes.flatMap(({ method, path, summary }) => [`${method} ${path}`, summary]),
    ...tasks.flatMap(({ name, title }) => [name, title]),
  ]
    .join('\n')
    .toLowerCase()
  texts.set(plugin, text)
  return text
}

/** True if every word of the query occurs in a name, requirement or declaration of the plugin. */
export const matchesPluginQuery = (plugin: PluginFacts, query: string): boolean =>
  query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => textOf(plugin).includes(word))
