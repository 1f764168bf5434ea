/** Tests decisions that the requirements leave open, and rules for all code. The rules are checked in the sources. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { businessError, messages } from '../src/declarations.ts'
import { messageRoutes } from '../src/delivery/message-routes.ts'
import { sendRoutes } from '../src/facade/send-routes.ts'
import notification from '../src/plugin.ts'
import { largestBatch } from '../src/send-log/retries.ts'
import { sendLogRoutes } from '../src/send-log/routes.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const routes = [...sendRoutes, ...sendLogRoutes, ...messageRoutes].map(({ declaration }) => declaration)
const named = (path: string) => routes.find((route) => route.path.endsWith(path))

/** Returns the source files of all plugins and examples, with their paths. */
function sources(): readonly { readonly path: string; readonly text: string }[] {
  return ['plugins', 'examples'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !/node_modules|dist|[/]test[/]|[.]test[.]ts$/.test(path))
      .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(`${root}${folder}/${path}`, 'utf8') })),
  )
}

t.test('N-002 business code imports the notification service, never a channel', async (t) => {
  const all = sources()
  t.ok(all.length > 500, 'that was a look at the source')
  const importers = all.filter(({ text }) => /from '@plinth[/]notification-channels/.test(text)).map(({ path }) => path)
  t.ok(importers.length > 0)
  // Files that may import channels. A preset is a list of plugins for product files.
  const mayImport =
    /^plugins[/](?:notification-channels|webhook-providers|presets)[/]|[/]plinth[.]config[.]ts$|^examples[/]acme-/
  for (const path of importers) t.match(path, mayImport)
})

t.test(
  'N-014 message streams are not part of this plugin: it has no table, route or key of a conversation',
  async (t) => {
    const { config = {}, entities = [] } = notification
    for (const name of [...Object.keys(config), ...routes.map(({ path }) => path)])
      t.notMatch(name, /conversation|stream/)
    for (const { tableName } of entities as readonly { tableName?: string }[])
      t.notMatch(tableName ?? '', /conversation/)
  },
)

t.test('N-161 N-175 every route is under /api/v1/ and needs a permission that the plugin declares', async (t) => {
  const declared = notification.permissions?.map(({ code }) => code) ?? []
  t.same(declared.toSorted(), [
    'notification:message:send',
    'notification:message:view',
    'notification:send-log:retry',
    'notification:send-log:view',
  ])
  for (const { path, access } of routes) {
    t.match(path, /^[/]api[/]v1[/]/)
    t.ok(typeof access === 'object' && 'permission' in access && declared.includes(access.permission), path)
  }
})

t.test('N-173 every error has a stable reason and a text in both languages', async (t) => {
  for (const [reason, code] of Object.entries({
    'attribute-refused': '400',
    'channel-unknown': '400',
    'message-empty': '400',
    'message-not-found': '404',
    'no-queue': '400',
    'not-before-too-far': '400',
    'not-durable': '400',
    'send-log-not-failed': '409',
    'send-log-not-found': '404',
    'send-log-not-restorable': '409',
  } as const)) {
    const name = reason as Parameters<typeof businessError>[0]
    t.match(businessError(name), { code, reason: `notification.${reason}` })
    for (const texts of Object.values(messages)) t.ok(name in texts.notification, reason)
  }
})

t.test('N-174 sends and batches have a quota', async (t) => {
  t.match(JSON.stringify(named('/send')?.annotations), /"maxAttempts":30,"windowSeconds":60/)
  t.ok(named('/retry-batch')?.annotations?.length)
  t.equal(largestBatch, 50)
  t.match(JSON.stringify(named('/send')?.request?.body), /"maxItems":10000/)
})
