import { readFileSync } from 'node:fs'
import { type CommandDeclaration, reasonOf } from '@plinth/kernel'
import { http } from './contract.ts'
import { httpError } from './errors.ts'
import { breakingChanges } from './openapi/openapi-changes.ts'
import type { requires } from './requires.ts'
import type { RouteInfo } from './routes/declaration.ts'

export const commands: readonly CommandDeclaration<{ requires: typeof requires; provides: readonly [typeof http] }>[] =
  [
    {
      name: 'routes',
      summary: 'every route with its plugin and access rule',
      options: [{ flags: '--all', description: 'also pages, assets and probes' }],
      run({ own }, { options, output }) {
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
        output.result(listed, routes.map(line).join('\n'))
      },
    },
    {
      name: 'openapi',
      summary: 'the OpenAPI 3.1 document of all routes, as JSON',
      options: [
        { flags: '--previous <file>', description: 'list what breaks callers of this earlier document, and fail then' },
      ],
      async run({ own }, { options, output }) {
        const document = await own(http).openapi()
        const { previous } = options as { readonly previous?: string }
        if (previous === undefined) return void output.result(document, JSON.stringify(document, undefined, 2))
        const changes = breakingChanges(readDocument(previous), document)
        output.result({ breaking: changes }, changes.join('\n'))
        return changes.length === 0 ? 0 : 1
      },
    },
  ]

function readDocument(file: string): object {
  try {
    const document: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof document === 'object' && document !== null && 'paths' in document) return document
  } catch (error) {
    throw unreadable(file, reasonOf(error), error)
  }
  throw unreadable(file, 'it has no paths')
}

const unreadable = (file: string, reason: string, cause?: unknown) =>
  httpError('PLINTH_HTTP_OPENAPI_UNREADABLE', { file, reason }, cause)

function line({ method, path, plugin, access, summary }: RouteInfo): string {
  const rule = typeof access === 'string' ? access : access.permission
  return `${method.padEnd(6)} ${path.padEnd(60)} ${rule.padEnd(32)} ${plugin.padEnd(20)} ${summary}`
}
