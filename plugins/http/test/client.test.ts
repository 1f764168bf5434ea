/**
 * Tests the properties that generated clients need: response types that depend on `code`, error reasons of each
 * operation, and the command that generates the client.
 */

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pluginCommands } from '@plinth/dev/commands'
import { rejectsWith } from '@plinth/dev/testing'
import { type CommandOutput, defineBusinessErrors } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { type HttpServer, publishedApi, Type } from '../src/index.ts'
import { startHttp } from './start-http.ts'

const texts = { 'item-unknown': 'There is no such item.', 'item-sold': 'The item is sold.' }
const failures = defineBusinessErrors('shop', texts, { 'item-unknown': '404', 'item-sold': '409' })

function addItems(http: HttpServer): void {
  const shared = { summary: 'An item', access: 'public', response: Type.Object({ name: Type.String() }) } as const
  const handler = () => ({ name: 'cup' })
  http.guard({ name: 'shop.open', stage: 'gate', reasons: ['shop.item-sold'], forRoute: () => () => undefined })
  http.route({ ...shared, method: 'GET', path: '/api/v1/shop/items/cup', reasons: ['shop.item-unknown'], handler })
  http.route({ ...shared, method: 'GET', path: '/api/v1/shop/items/any', handler })
  http.route({ ...shared, method: 'GET', path: '/api/v1/shop/items/far', reasons: ['*', 'elsewhere.x'], handler })
}

const start = (t: Test) => startHttp(t, addItems, { roles: ['cli'], businessErrors: [failures] })

t.test('an operation lists the reasons of its handler, its guards and its input', async (t) => {
  const { server } = await start(t)
  const { paths } = await server.openapi()
  const reasonsOf = (name: string) => paths[`/api/v1/shop/items/${name}`]?.['get']?.['x-reasons']
  const both = { 'http.invalid-input': '400', 'shop.item-sold': '409', 'shop.item-unknown': '404' }
  t.same(reasonsOf('cup'), both)
  t.same(reasonsOf('any'), both, 'by default those that the plugin declares')
  t.same(reasonsOf('far'), { 'http.invalid-input': '400', 'shop.item-sold': '409' }, 'only reasons of the product')
})

const program = `
import { createApiClient } from './index.ts'
const client = createApiClient({ baseUrl: 'http://localhost' })
createApiClient({ baseUrl: 'http://localhost', token: 'plinthpat_example' })
// @ts-expect-error a token is a text
createApiClient({ token: 1 })
const { data, error } = await client.GET('/api/v1/shop/items/cup')
if (data?.code === '200') {
  const name: string = data.data.name
  console.log(name)
} else if (data?.code === '404') {
  const reason: 'http.invalid-input' | 'shop.item-sold' | 'shop.item-unknown' | undefined = data.data?.reason
  console.log(reason, data.message)
}
// @ts-expect-error the operation has no such code
if (data?.code === '418') console.log(error?.message)
// @ts-expect-error a failure has no payload
if (data?.code === '409') console.log(data.data.name)
`

const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')

t.test('plinth openapi --client writes a client whose types depend on the code', { timeout: 120_000 }, async (t) => {
  const directory = t.testdir({ file: '', 'use.ts': '' })
  const { running } = await start(t)
  const generate = async (client: string) => {
    const output: CommandOutput = { json: true, progress: () => {}, table: () => {}, result: () => {} }
    const command = pluginCommands['http']?.find(({ name }) => name === 'openapi')
    const { signal } = new AbortController()
    const invocation = { args: [], options: { client }, output, signal, examine: async () => [] }
    return command?.run(running.runtimeOf('http') as never, invocation)
  }
  await generate(directory)
  t.match(readFileSync(join(directory, 'index.ts'), 'utf8'), 'getShopItemsCup')
  writeFileSync(join(directory, 'use.ts'), program)
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--ignoreConfig']
  const compiler = ['-u', 'NODE_OPTIONS', process.execPath, tsc]
  const target = ['--module', 'nodenext', '--target', 'esnext', '--types', 'node']
  const words = [...compiler, ...options, ...target, 'use.ts']
  // The compiler runs without the hook that tap adds to Node.js processes, because tsc cannot start with it.
  const problems = await promisify(execFile)('env', words, { cwd: directory }).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  )
  t.equal(problems, '')
  await rejectsWith(t, generate(join(directory, 'file', 'below')), { code: 'PLINTH_HTTP_CLIENT_UNWRITABLE' })
})

t.test('the published description has an example and a description of each parameter and operation', async (t) => {
  const { server } = await start(t)
  const { paths } = publishedApi(await server.openapi())
  t.hasStrict(paths['/api/v1/shop/items/cup']?.['get'], {
    description: 'An item. Requires no sign-in.',
    responses: { 200: { content: { 'application/json': { example: { code: '200', data: { name: 'example' } } } } } },
  })
})
