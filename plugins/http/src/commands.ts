import type { CommandDeclaration } from '@plinth/kernel'
import type { keys } from './config.ts'
import { http, type RouteInfo } from './contract.ts'
import type { requires } from './requires.ts'

export const commands: readonly CommandDeclaration<typeof requires, typeof keys>[] = [
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
    async run({ own }, { output }) {
      const document = await own(http).openapi()
      output.result(document, JSON.stringify(document, undefined, 2))
    },
  },
]

function line({ method, path, plugin, access, summary }: RouteInfo): string {
  const rule = typeof access === 'string' ? access : access.permission
  return `${method.padEnd(6)} ${path.padEnd(60)} ${rule.padEnd(32)} ${plugin.padEnd(20)} ${summary}`
}
