/** What holds for notifications in the product as a whole. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { http } from '@plinth/http'
import { startForTest } from '@plinth/kernel/testing'
import { notification } from '@plinth/notification'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'

const root = join(import.meta.dirname, '..')

t.test('N-003 the quickstart has the eight channels of the document', async (t) => {
  const set = { 'platform.database.sqlite.file': ':memory:', 'platform.http.port': '0' }
  const running = await startForTest(product, { roles: ['cli'], set })
  t.teardown(() => running.stop('test ended'))
  const codes = running
    .service(notification)
    .channels()
    .map(({ code }) => code)
  t.same(codes, ['database', 'log', 'mail', 'memory', 'sms', 'social', 'webhook', 'websocket'])
  const paths = running
    .service(http)
    .routes.filter(({ plugin }) => plugin.startsWith('notification'))
    .map(({ path }) => path)
  t.ok(paths.length > 30)
  t.same(
    paths.filter((path) => !path.startsWith('/api/v1/')),
    [],
    'N-175 all of them are under /api/v1/',
  )
})

t.test('N-002 no plugin imports a channel: whoever sends knows the facade alone', async (t) => {
  const sources = globSync('{kernel,plugins/*,examples/*}/**/*.ts', {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist|test)$/.test(path),
  }).filter((file) => !file.includes('notification-channels/') && !/\.test\.ts$|plinth\.config\.ts$/.test(file))
  t.ok(sources.length > 300)
  // The contract of webhook providers lies with their channel.
  const imported = /from '@plinth\/notification-channels\/(?!webhook')/
  t.same(
    sources.filter((file) => imported.test(readFileSync(join(root, file), 'utf8'))),
    [],
  )
})
