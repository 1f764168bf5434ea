/**
 * Tests that a product without some plugins starts without a warning: each plugin must work with only the plugins that
 * it requires.
 */
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, type Plugin } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import checkout from '../examples/checkout/plugin.ts'
import lite from '../examples/lite/plinth.config.ts'
import notes from '../examples/notes/plugin.ts'
import quickstart from '../examples/quickstart/plinth.config.ts'

const listed: readonly Plugin[] = [...quickstart.plugins, checkout, notes]
const named = (...ids: string[]) => listed.filter(({ id }) => ids.includes(id))

/**
 * Plugins that every product of this test contains: the back office, which checks all pages, and plugins that implement
 * declarations of other plugins. Without the latter, the start would log warnings about these declarations.
 */
const base = named('console.admin', 'i18n', 'scheduler', 'rate-limit')

/**
 * Plugins that must be in the product together with the plugin in the key, because they contribute the parts without
 * which it cannot work.
 */
const companions: Readonly<Record<string, readonly Plugin[]>> = {
  'rate-limit': named('rate-limit-stores.memory'),
  notification: named('notification-channels.log'),
  'iam.verification': named('notification', 'notification-channels.mail', 'notification-channels.sms'),
}

/** Returns the plugins with their required plugins. */
function withRequired(plugins: readonly Plugin[]): readonly Plugin[] {
  const found = new Set(plugins)
  for (const { id, requires = {}, contributes = [] } of found) {
    const services = Object.values(requires).flatMap((need) => (need.kind === 'service' ? [need.id] : []))
    const points = contributes.flatMap((point) => (point.kind === 'extension-point' ? [point.id] : []))
    const needed = listed.filter(
      ({ provides = [], extensionPoints = [] }) =>
        provides.some((service) => services.includes(service.id)) ||
        extensionPoints.some((point) => points.includes(point.id)),
    )
    for (const plugin of [...needed, ...(companions[id] ?? [])]) found.add(plugin)
  }
  return [...found]
}

/** Starts a product and collects its log entries with the level warning or above. */
async function start(t: Test, plugins: readonly Plugin[]) {
  const warnings: unknown[] = []
  const stream = new Writable({
    write(line, _encoding, done) {
      warnings.push(JSON.parse(String(line)))
      done()
    },
  })
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const settings = {
    database: db.config,
    http: { 'platform.http.port': 0 },
    iam: { 'platform.iam.password.hash.memory': '1MiB', 'platform.iam.password.hash.passes': 1 },
    'rate-limit': { 'platform.rate-limit.default-store': 'memory' },
    storage: { 'platform.storage.root': join(db.directory, 'storage') },
  }
  const config = Object.entries(settings).flatMap(([id, values]) =>
    plugins.some((plugin) => plugin.id === id) ? Object.entries(values) : [],
  )
  const product = defineProduct({ name: 'left-out', plugins: [...plugins], config: Object.fromEntries(config) })
  const running = await startMigrated({ ...product, root: db.directory }, { logger: pino({ level: 'warn' }, stream) })
  const stop = () => running.stop('test ended')
  t.teardown(stop)
  return { running, warnings, stop }
}

async function warningsOf(t: Test, plugins: readonly Plugin[]): Promise<readonly unknown[]> {
  const { warnings, stop } = await start(t, plugins)
  await stop()
  return warnings
}

/**
 * Plugins that differ only in their contribution to one extension point, such as webhook providers, are started
 * together.
 */
const kinds = Map.groupBy(listed, ({ id, requires = {}, contributes = [], provides = [], entities = [] }) =>
  Object.keys(requires).length + provides.length + entities.length === 0 && contributes.length === 1
    ? JSON.stringify(contributes)
    : id,
)

t.test('each reference names the module whose default export provides it', async (t) => {
  // The report about a missing plugin tells its reader to add the plugin of this module.
  for (const { id, provides = [], extensionPoints = [] } of listed) {
    for (const { id: reference, from } of [...provides, ...extensionPoints]) {
      const { default: plugin }: { readonly default?: Plugin } = await import(from ?? '')
      t.equal(plugin?.id, id, `${reference} is from ${from}`)
    }
  }
})

t.test('each plugin starts with only its required plugins and the back office, without a warning', async (t) => {
  t.ok(kinds.size > 40)
  for (const plugins of kinds.values()) {
    t.same(await warningsOf(t, withRequired([...base, ...plugins])), [], plugins.map(({ id }) => id).join(', '))
  }
})

t.test('the example products start without a warning', async (t) => {
  t.same(await warningsOf(t, quickstart.plugins), [], 'quickstart')
  t.same(await warningsOf(t, lite.plugins), [], 'lite')
  t.same(await warningsOf(t, withRequired([...base, checkout, ...named('web3-settlement')])), [], 'checkout')
})

t.test('a page appears without the lists of absent plugins', async (t) => {
  for (const [others, lists] of [
    [[], ['notification.send-log']],
    [named('notification.inbox'), ['notification.send-log', 'notification.receipts', 'notification.attachments']],
  ] as const) {
    const { running } = await start(t, withRequired([...base, ...named('notification'), ...others]))
    const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
    const user = { username: 'root', password: 'Correct-horse-7' }
    await running.service(accounts).createAdministrator(user, origin)
    const server = running.service(http)
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: user })
    const page = await server.inject({
      url: '/api/v1/admin/console/pages/notification.message',
      headers: { authorization: `Bearer ${login.json().data.accessToken}` },
    })
    const related: readonly { readonly page: string }[] = page.json().data.related
    t.same(
      related.map((list) => list.page),
      lists,
    )
  }
})
