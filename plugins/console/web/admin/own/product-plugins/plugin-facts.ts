/* Response of `GET /api/v1/admin/console/plugins`. */

/** A service or extension point, and the plugin that provides it. */
export interface PluginLink {
  readonly id: string
  readonly by: string | null
  readonly optional: boolean
}

export interface RouteFacts {
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly access: string
  readonly permission: string | null
  readonly limit: {
    readonly maxAttempts: number | null
    readonly windowSeconds: number | null
    readonly keyStrategy: string | null
    readonly shadow: boolean
  } | null
}

export interface PluginFacts {
  readonly id: string
  readonly version: string
  readonly state: string
  readonly requires: readonly PluginLink[]
  readonly provides: readonly string[]
  readonly extensionPoints: readonly string[]
  readonly contributes: readonly PluginLink[]
  readonly keys: readonly string[]
  readonly permissions: readonly { readonly code: string; readonly name: string }[]
  readonly routes: readonly RouteFacts[]
  readonly tasks: readonly {
    readonly kind: string
    readonly name: string
    readonly title: string
    readonly delayMs: number | null
    readonly delayKey: string | null
  }[]
}

export interface BootStep {
  readonly plugin: string
  readonly phase: string
  readonly startedAtMs: number
  readonly durationMs: number
  readonly outcome: string
}

export interface ProductFacts {
  readonly product: { readonly name: string; readonly version: string; readonly state: string }
  readonly plugins: readonly PluginFacts[]
  readonly timeline: readonly BootStep[]
}

/** Id of the operation: see `src/admin/own-pages.ts`. */
export const pluginsOperation = 'getAdminConsolePlugins'

/** A plugin that requires a service or an extension point. */
export interface Asker {
  readonly plugin: string
  readonly optional: boolean
}

/** Returns the plugins that require each service, and those that contribute to each extension point. */
export function askersOf(plugins: readonly PluginFacts[]): ReadonlyMap<string, readonly Asker[]> {
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

/** True if every word occurs in a name, requirement or declaration of the plugin. */
export const fits = (plugin: PluginFacts, query: string): boolean =>
  query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => textOf(plugin).includes(word))
