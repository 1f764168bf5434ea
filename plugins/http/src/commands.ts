import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { i18n } from '@plinth/i18n'
import {
  type CommandDeclaration,
  type CommandOutput,
  errorReason,
  kernel,
  type ManifestEntries,
  optional,
  type UpgradeStep,
} from '@plinth/kernel'
import { site } from '@plinth/site'
import { type HttpServer, http } from './contract.ts'
import { httpError } from './errors.ts'
import { databaseWaitMetrics } from './metrics.ts'
import { clientModule } from './openapi/client-types.ts'
import { breakingChanges } from './openapi/openapi-changes.ts'
import { operationTypes } from './openapi/operation-types.ts'
import { publishedApi } from './openapi/published.ts'
import type { RouteInfo } from './routes/declaration.ts'

export const requires = {
  kernel,
  i18n: optional(i18n),
  site: optional(site),
  database: optional(databaseWaitMetrics),
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
      options: [
        {
          flags: '--previous <file>',
          description: 'list breaking changes since this earlier document, and fail if there are any',
        },
        {
          flags: '--types <plugin>',
          description: 'print TypeScript types of the operations of a plugin, for its pages',
        },
        { flags: '--client <folder>', description: 'write a typed client for the API, for openapi-fetch' },
      ],
      async run({ own }, { options, output }) {
        const inline = await own(http).openapi()
        const { previous, types, client } = options as { previous?: string; types?: string; client?: string }
        if (types !== undefined) {
          const text = operationTypes(inline, (plugin) => plugin === types)
          return void output.result({ types: text }, text)
        }
        const document = publishedApi(inline)
        if (client !== undefined) return void writeClient(client, clientModule(document), output)
        if (previous === undefined) return void output.result(document, JSON.stringify(document, undefined, 2))
        const changes = breakingChanges(readDocument(previous), document)
        output.result({ breaking: changes }, changes.join('\n'))
        return changes.length === 0 ? 0 : 1
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

function writeClient(folder: string, text: string, output: CommandOutput): void {
  const file = join(folder, 'index.ts')
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, text)
  } catch (error) {
    throw httpError('PLINTH_HTTP_CLIENT_UNWRITABLE', { file, reason: errorReason(error) }, error)
  }
  output.result({ file }, `Wrote ${file}. It needs the package openapi-fetch: npm install openapi-fetch`)
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

function readDocument(file: string): object {
  try {
    const document: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof document === 'object' && document !== null && 'paths' in document) return document
  } catch (error) {
    throw unreadable(file, errorReason(error), error)
  }
  throw unreadable(file, 'it has no paths')
}

const unreadable = (file: string, reason: string, cause?: unknown) =>
  httpError('PLINTH_HTTP_OPENAPI_UNREADABLE', { file, reason }, cause)

const accessText = ({ access }: RouteInfo) => (typeof access === 'string' ? access : access.permission)

const cells = (route: RouteInfo): readonly string[] => [
  route.method,
  route.path,
  accessText(route),
  route.plugin,
  route.summary,
]
