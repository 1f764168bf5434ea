/** Tests the effect of each configuration key of the installation and of the root page. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assertKeyEffect, assertMembers, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { skipRedis } from '@plinth/dev/testing/shared-store'
import { SettingsTrial } from '@plinth/kernel/host'
import sharedStorePlugin from '@plinth/shared-store'
import t from 'tap'
import { pagePlugin } from './fixtures/page-plugin.ts'
import { startInstall } from './fixtures/product.ts'

async function start(config: KeyValues) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startInstall(t, db, { config, plugins: [sharedStorePlugin, pagePlugin()] })
}
type Started = Awaited<ReturnType<typeof start>>

const products = new Map<string, Promise<Started>>()

/** Observes a product without changing it, so observations with the same configuration share one product. */
const seen =
  <T>(look: (product: Started) => Promise<T>, others: KeyValues = {}) =>
  async (values: KeyValues) => {
    const config = { ...others, ...values }
    const name = JSON.stringify(config)
    const product = products.get(name) ?? start(config)
    products.set(name, product)
    return look(await product)
  }

/** Returns the status of a page and its redirect target. */
const page =
  (url: string) =>
  async ({ server }: Started) => {
    const { statusCode, headers } = await server.inject(url)
    return `${statusCode} ${headers.location ?? ''}`.trim()
  }

const token = 'correct-horse-battery-staple-4711'
/** Checks a token from an address in another network. Returns the reason, and how long the page may store the token. */
const check = async ({ install, clock }: Started) => {
  const { data } = await install('token/verify', { body: { token }, remoteAddress: '192.0.2.7' })
  return data.expiresAt === '' ? data.reason : `${data.reason} ${Date.parse(data.expiresAt) - clock.now()}`
}
const isOpen = 'install.token.not-required'
const isClosed = 'install.token.not-allowed'
const isInstalled = { 'platform.install.installed': true }

t.test('the root path leads to the installation as configured', async (t) => {
  const observe = seen(page('/'))
  const switches = await assertKeyEffect(t, 'platform.install.{enabled,root-route.enabled}', {
    changed: false,
    observe,
  })
  for (const { before, after } of switches) t.same([before, after], ['302 /install/', '200'])
  const [mode] = await assertKeyEffect(t, 'platform.install.mode', { changed: 'disabled', observe })
  t.equal(mode?.after, '200')
  const [forward] = await assertKeyEffect(t, 'platform.install.root-route.mode', { changed: 'forward', observe })
  t.equal(forward?.after, '200')
  const [target] = await assertKeyEffect(t, 'platform.install.root-route.target', { changed: '/welcome/', observe })
  t.equal(target?.after, '302 /welcome/')
  const [root] = await assertKeyEffect(t, 'platform.view.root.enabled', { changed: false, observe })
  t.equal(root?.after, '404')
})

t.test('pages are served before the installation as configured', async (t) => {
  const [own] = await assertKeyEffect(t, 'platform.install.page.enabled', {
    changed: false,
    observe: seen(page('/install/')),
  })
  t.match(own, { before: '200', after: '503' })
  const [others] = await assertKeyEffect(t, 'platform.install.access-protection-enabled', {
    changed: true,
    observe: seen(page('/admin/')),
  })
  t.match(others, { before: '404', after: '302 /install/' })
})

t.test('an installed product is closed and redirects as configured', async (t) => {
  const [installed] = await assertKeyEffect(t, 'platform.install.installed', {
    changed: true,
    observe: seen(page('/admin/'), { 'platform.install.access-protection-enabled': true }),
  })
  t.match(installed, { before: '302 /install/', after: '404' })
  const [again] = await assertKeyEffect(t, 'platform.install.allow-reinstall', {
    changed: true,
    observe: seen(page('/install/'), isInstalled),
  })
  t.match(again, { before: '302 /', after: '200' })
  const [target] = await assertKeyEffect(t, 'platform.view.root.target', {
    changed: '/shop/',
    observe: seen(page('/'), isInstalled),
  })
  t.match(target, { before: '200', after: '302 /shop/' })
  const [entries] = await assertKeyEffect(t, 'platform.view.entries', {
    changed: ['pc', 'app'],
    observe: seen(async ({ look }) => (await look('entries')).data.entries, isInstalled),
  })
  assertMembers(t, entries, { before: ['docs'], after: ['app', 'pc', 'docs'] })
})

t.test('a caller may install as configured', async (t) => {
  const withToken = { 'platform.install.token': token }
  const [required] = await assertKeyEffect(t, 'platform.install.token', {
    changed: `other-${token}`,
    observe: seen(check),
  })
  t.match(required, { before: isOpen, after: 'install.token.invalid' })
  const [validity] = await assertKeyEffect(t, 'platform.install.token-ttl', {
    changed: '90s',
    observe: seen(check, withToken),
  })
  t.match(validity, { before: 'install.token.valid 1800000', after: 'install.token.valid 90000' })
  const closed = await assertKeyEffect(t, 'platform.install.{cidr-check-enabled,require-https}', {
    changed: true,
    observe: seen(check),
  })
  for (const { before, after } of closed) t.same([before, after], [isOpen, isClosed])
  const [networks] = await assertKeyEffect(t, 'platform.install.allowed-cidrs', {
    changed: ['192.0.2.0/24'],
    observe: seen(check, { 'platform.install.cidr-check-enabled': true }),
  })
  t.match(networks, { before: isClosed, after: isOpen })
})

t.test('the embedded database can be forbidden', async (t) => {
  const [findings] = await assertKeyEffect(t, 'platform.install.allow-lite', {
    changed: false,
    observe: seen(async ({ install, form }) => {
      const { checks } = (await install('config/validate', { body: form })).data
      return checks.find(({ field }: { field: string }) => field === 'database.type')?.finding
    }),
  })
  t.equal(findings?.after, 'lite-not-allowed')
})

t.test('the installation writes the configured files', async (t) => {
  const files = ['.env', 'shop.env', 'data/storage/install/execution.log', 'data/own/run.log']
  const observe = async (config: KeyValues) => {
    const { install, form, root } = await start(config)
    const body = { ...form, site: { ...form.site, defaultLocale: 'zh-CN' } }
    t.match((await install('execute', { body })).data, { passed: true })
    return files.filter((name) => existsSync(join(root, name)))
  }
  const [settings, own, log, ownLog] = files
  const [config] = await assertKeyEffect(t, 'platform.install.config-file', { changed: 'shop.env', observe })
  assertMembers(t, config, { before: [settings, log], after: [own, log] })
  const [logs] = await assertKeyEffect(t, 'platform.install.execution-log-file', {
    changed: 'data/own/run.log',
    observe,
  })
  assertMembers(t, logs, { before: [settings, log], after: [settings, ownLog] })
})

t.test('the next start tries a new connection as long as configured', { skip: skipRedis }, async (t) => {
  const [patience] = await assertKeyEffect(t, 'platform.install.connection-trial', {
    changed: '30s',
    observe: async (config) => {
      const { install, form, root } = await start(config)
      const cache = { enabled: true, host: '127.0.0.1', port: 6379, database: 0, password: '' }
      const { data } = await install('execute', { body: { ...form, cache } })
      t.match(data, { restartRequired: true }, data.message)
      return new SettingsTrial(join(root, '.env')).patienceMs()
    },
  })
  t.match(patience, { before: 120_000, after: 30_000 })
})
