import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpServer } from '@plinth/http'
import { type CommandDeclaration, type CommandOutput, errorReason, service } from '@plinth/kernel'
import { openApiError } from './errors.ts'

/** By name, because a product may run without the package. */
const http = service<HttpServer>('http')

/** `plinth openapi` of the plugin `http`, with the options for development. */
export const openApiCommand: CommandDeclaration = {
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
    // Loaded here, because a product may have no HTTP server.
    const [{ breakingChanges, clientModule, operationTypes }, { publishedApi }] = await Promise.all([
      import('./index.ts'),
      import('@plinth/http'),
    ])
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
}

function writeClient(folder: string, text: string, output: CommandOutput): void {
  const file = join(folder, 'index.ts')
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, text)
  } catch (error) {
    throw openApiError('PLINTH_HTTP_CLIENT_UNWRITABLE', { file, reason: errorReason(error) }, error)
  }
  output.result({ file }, `Wrote ${file}. It needs the package openapi-fetch: npm install openapi-fetch`)
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
  openApiError('PLINTH_HTTP_OPENAPI_UNREADABLE', { file, reason }, cause)
