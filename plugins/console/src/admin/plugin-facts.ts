import { createStaticLabelSource, type LabelSource } from '@plinth/admin'
import { type HttpServer, nullable, type RateLimited, type RouteInfo, rateLimitedAnnotation, Type } from '@plinth/http'
import {
  healthCheck,
  type Kernel,
  kernel,
  type LocalizedText,
  localize,
  type Plugin,
  quickstartCleanup,
} from '@plinth/kernel'
import { auditTrail, configAdmin, declaredTasks, unwrapOptional } from '@plinth/kernel/host'

/** Permission to view the plugins of the product. */
export const viewPlugins = 'console:plugin:view'

const count = nullable(Type.Integer())
const link = Type.Object({
  id: Type.String({ description: 'Id of the service or extension point.' }),
  by: nullable(Type.String({ description: 'Plugin that provides it. Null if no loaded plugin provides it.' })),
  optional: Type.Boolean(),
})

const pluginView = Type.Object({
  id: Type.String(),
  version: Type.String(),
  state: Type.Enum(['starting', 'ready', 'draining', 'stopped', 'failed']),
  requires: Type.Array(link),
  provides: Type.Array(Type.String()),
  extensionPoints: Type.Array(Type.String()),
  contributes: Type.Array(link),
  keys: Type.Array(Type.String()),
  permissions: Type.Array(Type.Object({ code: Type.String(), name: Type.String() })),
  routes: Type.Array(
    Type.Object({
      method: Type.String(),
      path: Type.String(),
      summary: Type.String(),
      access: Type.Enum(['public', 'user', 'signed', 'permission']),
      permission: nullable(Type.String()),
      limit: nullable(
        Type.Object(
          { maxAttempts: count, windowSeconds: count, keyStrategy: nullable(Type.String()), shadow: Type.Boolean() },
          {
            description:
              'Rate limit that the route declares. For a null member, the default of the rate limiter applies.',
          },
        ),
      ),
    }),
  ),
  tasks: Type.Array(
    Type.Object({
      kind: Type.Enum(['scheduled', 'install']),
      name: Type.String(),
      title: Type.String(),
      delayMs: nullable(
        Type.Number({ description: 'Milliseconds between two runs, if the declaration specifies them.' }),
      ),
      delayKey: nullable(Type.String({ description: 'Key whose value is the time between two runs.' })),
    }),
  ),
})

/** Result of `GET /api/v1/admin/console/plugins`. */
export const pluginFactsView = Type.Object({
  product: Type.Object({ name: Type.String(), version: Type.String(), state: Type.String() }),
  plugins: Type.Array(pluginView, { description: 'Plugins in the order of their setup.' }),
  timeline: Type.Array(
    Type.Object({
      plugin: Type.String(),
      phase: Type.Enum(['setup', 'ready']),
      startedAtMs: Type.Number({ description: 'Milliseconds since the start of the product.' }),
      durationMs: Type.Number(),
      outcome: Type.Enum(['ok', 'failed']),
    }),
  ),
})

/** Returns each id with `kernel` as its provider, because the kernel is not in the list of plugins. */
const byKernel = (refs: readonly { readonly id: string }[]) => refs.map(({ id }) => [id, 'kernel'] as const)
const kernelServices = byKernel([kernel, configAdmin, declaredTasks])
const kernelPoints = byKernel([auditTrail, healthCheck, quickstartCleanup])

/**
 * Returns the loaded plugins with their declarations and start times. The result contains no configuration values and
 * no data about the host.
 */
export function viewOfPlugins(kernel: Kernel, { routes }: Pick<HttpServer, 'routes'>, locale: string) {
  const { product, plugins, state, timeline } = kernel
  const bringers = new Map([
    ...kernelServices,
    ...plugins.flatMap(({ id, provides = [] }) => provides.map((ref) => [ref.id, id] as const)),
  ])
  const owners = new Map([
    ...kernelPoints,
    ...plugins.flatMap(({ id, extensionPoints = [] }) => extensionPoints.map((point) => [point.id, id] as const)),
  ])
  const translate = (text: LocalizedText) => localize(text, locale)
  const failed = new Set(timeline.filter(({ outcome }) => outcome === 'failed').map(({ plugin }) => plugin))
  const routesOf = Map.groupBy(routes, ({ plugin }) => plugin)
  const linked = (needs: Plugin['contributes'] | readonly Required[], found: ReadonlyMap<string, string>) =>
    (needs ?? []).map((need) => {
      const { id } = unwrapOptional(need as Required)
      return { id, by: found.get(id) ?? null, optional: need.kind === 'optional' }
    })
  return {
    product: { name: product.name, version: product.version, state },
    plugins: plugins.map((plugin) => ({
      id: plugin.id,
      version: plugin.version,
      state: failed.has(plugin.id) ? ('failed' as const) : state,
      requires: linked(Object.values(plugin.requires ?? {}), bringers),
      provides: (plugin.provides ?? []).map(({ id }) => id),
      extensionPoints: (plugin.extensionPoints ?? []).map(({ id }) => id),
      contributes: linked(plugin.contributes, owners),
      keys: Object.keys(plugin.config ?? {}),
      permissions: (plugin.permissions ?? []).map(({ code, displayName }) => ({ code, name: translate(displayName) })),
      routes: (routesOf.get(plugin.id) ?? []).map(routeView),
      tasks: tasksOf(plugin, translate),
    })),
    timeline: timeline.flatMap(({ phase, startedAtMs, durationMs, ...entry }) =>
      phase === 'setup' || phase === 'ready'
        ? [{ ...entry, phase, startedAtMs: rounded(startedAtMs), durationMs: rounded(durationMs) }]
        : [],
    ),
  }
}

type Required = NonNullable<Plugin['requires']>[string]

const rounded = (ms: number) => Math.round(ms * 100) / 100

function routeView({ method, path, summary, access, annotations }: RouteInfo) {
  const limit = annotations.find(({ id }) => id === rateLimitedAnnotation)?.value as RateLimited | undefined
  const { maxAttempts = null, windowSeconds = null, keyStrategy = null, shadow = false } = limit ?? {}
  return {
    method,
    path,
    summary,
    access: typeof access === 'string' ? access : ('permission' as const),
    permission: typeof access === 'string' ? null : access.permission,
    limit: limit === undefined ? null : { maxAttempts, windowSeconds, keyStrategy, shadow },
  }
}

function tasksOf({ scheduledTasks = [], installTasks = [] }: Plugin, translate: (text: LocalizedText) => string) {
  return [
    ...scheduledTasks.map(({ name, displayName, fixedDelay }) => ({
      kind: 'scheduled' as const,
      name,
      title: translate(displayName),
      delayMs: typeof fixedDelay === 'number' ? fixedDelay : null,
      delayKey: typeof fixedDelay === 'number' ? null : String(fixedDelay),
    })),
    ...installTasks.map(({ code, displayName }) => ({
      kind: 'install' as const,
      name: code,
      title: translate(displayName),
      delayMs: null,
      delayKey: null,
    })),
  ]
}

/** Labels of all configuration keys. */
export const keyLabels = ({ plugins }: Pick<Kernel, 'plugins'>): LabelSource =>
  createStaticLabelSource(
    (locale) =>
      plugins.flatMap(({ config = {} }) =>
        Object.entries(config).map(([id, { title }]) => ({ id, name: localize(title, locale) })),
      ),
    viewPlugins,
  )
