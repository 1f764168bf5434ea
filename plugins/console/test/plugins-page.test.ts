import { assertMembers } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { kernel } from '@plinth/kernel'
import systemConfig from '@plinth/system-config'
import systemConfigAdmin from '@plinth/system-config/admin'
import type { Page } from 'playwright-core'
import t from 'tap'
import { dependentsOf, matchesPluginQuery, type PluginFacts } from '../web/admin/own/product-plugins/plugin-facts.ts'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, findHorizontalOverflow, saveScreenshot, skip } from './fixtures/browser.ts'
import { configuredPlugin } from './fixtures/configured.ts'

const office = await startBackOffice(t.testdir(), (work) => t.teardown(work), {
  plugins: [systemConfig, systemConfigAdmin, configuredPlugin],
})
const { running, people, actor } = office

async function callAs(username: string) {
  const server = running.service(http)
  const payload = { username, password }
  const { data } = (await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json()
  const headers = { authorization: `Bearer ${data.accessToken}` }
  return (url: string, language = 'en') =>
    server.inject({ url, headers: { ...headers, 'accept-language': language } }).then((response) => response.json())
}

const path = '/api/v1/admin/console/plugins'

t.test('the page lists the plugins with their requirements, contributions and declarations', async (t) => {
  const call = await callAs('root')
  const answer = await call(path)
  t.hasStrict(answer, { code: '200', data: { product: { name: 'back-office', state: 'ready' } } })
  const { plugins, timeline } = answer.data
  const loaded = running.service(kernel).plugins
  t.strictSame(
    plugins.map(({ id, version }: { id: string; version: string }) => [id, version]),
    loaded.map(({ id, version }) => [id, version]),
    'all of them, in the order of their set-up',
  )
  const named = (id: string) => plugins.find((plugin: { id: string }) => plugin.id === id)
  const iam = named('iam')
  assertMembers(t, iam, {
    state: 'ready',
    provides: ['iam.identity', 'iam.accounts', 'iam.credentials', 'iam.passwords', 'iam.personal-records'],
  })
  t.match(
    iam.requires.find(({ id }: { id: string }) => id === 'http'),
    { by: 'http', optional: false },
  )
  t.match(
    named('database').requires.find(({ id }: { id: string }) => id === 'kernel'),
    { by: 'kernel', optional: false },
    'what the kernel brings',
  )
  t.strictSame(
    iam.contributes.find(({ id }: { id: string }) => id === 'kernel.audit-trail'),
    { id: 'kernel.audit-trail', by: 'kernel', optional: false },
  )
  const absent = plugins.flatMap(({ requires }: { requires: { by: string | null; optional: boolean }[] }) =>
    requires.filter(({ by }) => by === null),
  )
  t.ok(absent.length > 0)
  t.ok(
    absent.every(({ optional }: { optional: boolean }) => optional),
    'only what is optional can be absent',
  )
  t.ok(named('demo').keys.includes('platform.demo.secret'))
  t.strictSame(iam.permissions[0], { code: 'iam:user:view', name: 'View users' })
  t.match(
    iam.routes.find(({ path, method }: { path: string; method: string }) => method === 'PUT' && /roles/.test(path)),
    { path: '/api/v1/admin/iam/roles/:id', access: 'permission', permission: 'iam:role:save' },
  )
  const routes = plugins.flatMap(({ routes }: { routes: unknown[] }) => routes)
  t.equal(routes.length, running.service(http).routes.length, 'each route has its plugin')
  t.ok(routes.some(({ limit }: { limit: object | null }) => limit !== null))
  t.ok(named('iam').tasks.length > 0)
  const setups = timeline.filter(({ phase }: { phase: string }) => phase === 'setup')
  t.strictSame(
    setups.map(({ plugin }: { plugin: string }) => plugin),
    loaded.map(({ id }) => id),
  )
  for (const { startedAtMs, durationMs, outcome } of timeline)
    t.ok(startedAtMs >= 0 && durationMs >= 0 && outcome === 'ok')
  const chinese = await call(path, 'zh-CN')
  const [first] = chinese.data.plugins.find(({ id }: { id: string }) => id === 'iam').permissions
  t.equal(first.name, '查看用户')
})

t.test('the response contains no secret and no path of the host, and requires the permission', async (t) => {
  const text = JSON.stringify(await (await callAs('root'))(path))
  for (const place of [
    process.cwd(),
    running.service(kernel).product.root,
    t.testdirName,
    process.env['HOME'] ?? '/root',
  ])
    t.notOk(text.includes(`${place}/`), place)
  t.notMatch(text, /file:|node_modules/)
  await people.create({ username: 'nobody', password }, actor)
  t.hasStrict(await (await callAs('nobody'))(path), { code: '403', data: { permission: 'console:plugin:view' } })
  t.hasStrict((await running.service(http).inject(path)).json(), { code: '401' })
})

t.test('a plugin is found by all words of its names, requirements and declarations', async (t) => {
  const plugin = {
    id: 'shop',
    provides: ['shop.orders'],
    extensionPoints: ['shop.prices'],
    keys: ['platform.shop.limit'],
    requires: [{ id: 'database', by: 'database', optional: true }],
    contributes: [{ id: 'kernel.audit-trail', by: 'kernel', optional: false }],
    permissions: [{ code: 'shop:edit', name: 'Change prices' }],
    routes: [{ method: 'PUT', path: '/api/v1/shop', summary: 'Close the shop' }],
    tasks: [{ name: 'shop.purge', title: 'Remove old orders' }],
  } as unknown as PluginFacts
  for (const query of [
    'SHOP',
    'shop.orders',
    'shop.prices',
    'platform.shop.limit',
    'database',
    'audit-trail',
    'shop:edit',
    'Change prices',
    'put /api/v1/shop',
    'close',
    'shop.purge',
    'remove orders',
    '',
  ])
    t.equal(matchesPluginQuery(plugin, query), true, query)
  t.equal(matchesPluginQuery(plugin, 'shop nothing'), false)
  const dependents = dependentsOf([plugin, { ...plugin, id: 'mall', contributes: [] }])
  t.strictSame(dependents.get('database'), [
    { id: 'database', plugin: 'shop', optional: true },
    { id: 'database', plugin: 'mall', optional: true },
  ])
  t.strictSame(dependents.get('kernel.audit-trail'), [{ id: 'kernel.audit-trail', plugin: 'shop', optional: false }])
})

const opened = async (
  teardown: (work: () => Promise<void>) => void,
  search = '',
  options: Parameters<typeof openSignedIn>[2] = {},
) => {
  const watched = await openSignedIn(teardown, `${office.url}console.plugins${search}`, options)
  await watched.page.locator('li[data-plugin], tbody tr').first().waitFor()
  return watched
}

const row = (page: Page, id: string) => page.locator(`li[data-plugin="${id}"]`)

t.test(
  'a plugin is found and opened, and links to its requirements and keys',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page, complaints, elsewhere } = await opened(t.teardown)
    t.equal(await page.locator('li[data-plugin]').count(), running.service(kernel).plugins.length)
    await page.getByRole('searchbox').fill('/iam/roles/:id')
    await page.getByText(/^1 of \d+ plugins$/).waitFor()
    await row(page, 'iam').getByRole('button').first().click()
    await page.waitForURL(/plugin=iam/)
    await row(page, 'iam').getByText('Configuration keys').waitFor()
    const text = (await row(page, 'iam').innerText()).replace(/\s+/g, ' ')
    t.match(text, /iam\.identity console\.admin/, 'who asks for it')
    t.match(text, /PUT \/api\/v1\/admin\/iam\/roles\/:id .*iam:role:save/)
    t.match(text, /Requires kernel provided by the kernel http ← http database ← database/)
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'plugins-open')
    await page.getByRole('searchbox').fill('')
    await row(page, 'iam').getByRole('link', { name: 'database', exact: true }).first().click()
    await page.waitForURL(/plugin=database$/)
    await row(page, 'database').getByText('Configuration keys').waitFor()
    t.equal(await row(page, 'iam').getByText('Configuration keys').count(), 0)
    await page.getByRole('searchbox').fill('platform.demo.limit')
    await row(page, 'demo').getByRole('button').first().click()
    await row(page, 'demo').getByRole('link', { name: 'platform.demo.limit', exact: true }).click()
    await page.waitForURL(/system-config\.centre\?q=%40plugin%3Ademo&key=platform\.demo\.limit/)
    await page.locator('li[data-key="platform.demo.limit"]').waitFor()
    t.strictSame(complaints, [])
    t.strictSame(elsewhere, [])
  },
)

t.test('the boot timeline has a bar and the milliseconds of each plugin', { skip, timeout: 600_000 }, async (t) => {
  const { page, complaints } = await opened(t.teardown)
  await page.getByText('Boot timeline').click()
  await page.waitForURL(/view=boot/)
  const plugins = running.service(kernel).plugins.length
  await page.locator('tbody tr').first().waitFor()
  t.equal(await page.locator('tbody tr').count(), plugins)
  t.ok((await page.locator('tbody rect').count()) >= plugins)
  t.match(await page.locator('tbody tr').first().innerText(), /[\d.,]+ ms/)
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'plugins-boot')
  await page.getByRole('searchbox').fill('no such plugin')
  await page.getByText('No entries match these filters.').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.locator('tbody tr').first().waitFor()
  t.strictSame(complaints, [])
})

t.test('plugins in both languages and colour schemes, also on a phone', { skip, timeout: 600_000 }, async (t) => {
  for (const [locale, colorScheme] of [
    ['en', 'dark'],
    ['zh-CN', 'light'],
  ] as const) {
    const { page, complaints } = await opened(t.teardown, '?plugin=iam', { locale, colorScheme })
    t.equal(await page.locator('h1').innerText(), locale === 'en' ? 'Plugins' : '插件')
    t.strictSame(await findAccessibilityProblems(page), [], `${locale} ${colorScheme}`)
    await saveScreenshot(page, `plugins-${locale}-${colorScheme}`)
    await page.setViewportSize({ width: 390, height: 844 })
    t.equal(await findHorizontalOverflow(page), 0)
    t.strictSame(await findAccessibilityProblems(page), [], `${locale} ${colorScheme} narrow`)
    await saveScreenshot(page, `plugins-${locale}-${colorScheme}-phone`)
    await page.getByText(locale === 'en' ? 'Boot timeline' : '启动时间线').click()
    await page.locator('tbody rect').first().waitFor()
    t.equal(await findHorizontalOverflow(page), 0)
    await saveScreenshot(page, `plugins-boot-${locale}-${colorScheme}-phone`)
    t.strictSame(complaints, [])
  }
})
