import { i18n } from '@plinth/i18n'
import {
  type CommandDeclaration,
  type CommandOutput,
  kernel,
  type ManifestEntries,
  optional,
  tracing,
  type UpgradeStep,
} from '@plinth/kernel'
import { site } from '@plinth/site'
import { type HttpServer, http } from './contract.ts'
import { httpError } from './errors.ts'
import { databaseWaitMetrics } from './metrics.ts'
import { publishedApi } from './openapi/published.ts'
import type { RouteInfo } from './routes/declaration.ts'

export const requires = {
  kernel,
  i18n: optional(i18n),
  site: optional(site),
  database: optional(databaseWaitMetrics),
  tracing: optional(tracing),
} as const

export const commands: readonly CommandDeclaration<{ requires: typeof requires; provides: readonly [typeof http] }>[] =
  [
    {
      name: 'routes',
      summary: 'list all routes with plugin and access rule, or show the guards of one route',
      arguments: [
        { name: '[method]', description: 'with a path: the route to show' },
        { name: '[path]', description: 'pattern of the route, or a path that matches it' },
      ],
      options: [{ flags: '--all', description: 'also list pages, assets and probes' }],
      run({ own }, { args: [method, path], options, output }) {
        if (method !== undefined) return printSteps(own(http), method, path ?? '', output)
        const routes = own(http)
          .routes.filter(({ hidden }) => options['all'] === true || !hidden)
          .toSorted((a, b) => (`${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1))
        const listed = routes.map(({ method, path, plugin, summary, access }) => ({
          method,
          path,
          access,
          plugin,
          summary,
        }))
        output.table(listed, [['METHOD', 'PATH', 'ACCESS', 'PLUGIN', 'SUMMARY'], ...routes.map(cells)])
      },
    },
    {
      name: 'openapi',
      summary: 'print the OpenAPI 3.1 document of all routes as JSON',
      async run({ own }, { output }) {
        const document = publishedApi(await own(http).openapi())
        output.result(document, JSON.stringify(document, undefined, 2))
      },
    },
  ]

/** Returns one line per route, grouped by plugin: method, path and access rule. */
export function routeEntries(routes: readonly RouteInfo[]): ManifestEntries {
  const entry = (route: RouteInfo) => `${route.method} ${route.path} ${accessText(route)}`
  return new Map([...Map.groupBy(routes, ({ plugin }) => plugin)].map(([plugin, own]) => [plugin, own.map(entry)]))
}

/** Returns recorded operations that no plugin has any more, and operations that are deprecated. */
export function operationSteps(routes: readonly RouteInfo[], recorded: ManifestEntries): readonly UpgradeStep[] {
  const nameOf = ({ method, path }: Pick<RouteInfo, 'method' | 'path'>) => `${method} ${path}`
  const names = new Set(routes.map(nameOf))
  const removed = [...recorded].flatMap(([plugin, entries]) =>
    entries
      .map((entry) => entry.split(' ', 2).join(' '))
      .filter((name) => !names.has(name))
      .map((entry) => ({ change: 'removed', plugin, entry, isBlocking: true })),
  )
  const deprecated = routes.flatMap(({ deprecated, ...route }) => {
    if (deprecated === undefined) return []
    const { since, replacement, migration = '' } = deprecated
    const entry = `${nameOf(route)} is deprecated since ${since}; use ${replacement}. ${migration}`.trimEnd()
    return [{ change: 'deprecated', plugin: route.plugin, entry }]
  })
  return [...removed, ...deprecated]
}

function printSteps(server: HttpServer, method: string, path: string, output: CommandOutput): void {
  const route = server.routes.find((one) => one.method === method.toUpperCase() && matches(one.path, path))
  if (route === undefined) throw httpError('PLINTH_HTTP_ROUTE_UNKNOWN', { method, path })
  const { access, plugin, summary } = route
  const steps = server.stepsOf(route)
  const lines = steps.map(({ stage, name }) => `  ${stage.padEnd(10)} ${name}`)
  output.result(
    { method: route.method, path: route.path, access, plugin, summary, steps },
    [cells(route).join('  '), ...lines, `  ${'handler'.padEnd(10)} ${plugin}`].join('\n'),
  )
}

/** Returns true if `path` equals the pattern or matches it. */
function matches(pattern: string, path: string): boolean {
  const given = path.split('/')
  const parts = pattern.split('/')
  const isOpen = parts.at(-1) === '*'
  const fits = parts.every(
    (part, index) => part === '*' || part === given[index] || (part.startsWith(':') && given[index]),
  )
  return fits && (isOpen ? given.length >= parts.length : given.length === parts.length)
}

const accessText = ({ access }: RouteInfo) => (typeof access === 'string' ? access : access.permission)

const cells = (route: RouteInfo): readonly string[] => [
  route.method,
  route.path,
  accessText(route),
  route.plugin,
  route.summary,
]
