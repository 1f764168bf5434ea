/** Tests that the pages mark a deprecated key and a deprecated operation, with the replacement and the version. */
import { http, Type } from '@plinth/http'
import { definePlugin, key } from '@plinth/kernel'
import systemConfig from '@plinth/system-config'
import systemConfigAdmin from '@plinth/system-config/admin'
import t from 'tap'
import { openSignedIn, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, findHorizontalOverflow, skip } from './fixtures/browser.ts'

const acme = definePlugin({
  id: 'acme',
  version: '1.4.0',
  kernel: '^1.0.0',
  requires: { http },
  config: {
    'platform.acme.length': key.integer({ title: { en: 'Length', 'zh-CN': '长度' }, default: 1 }),
    'platform.acme.size': key.integer({
      title: { en: 'Size', 'zh-CN': '尺寸' },
      default: 1,
      deprecated: {
        since: '1.4.0',
        replacement: 'platform.acme.length',
        reason: { en: 'It was renamed.', 'zh-CN': '已改名。' },
      },
    }),
  },
  setup({ services }) {
    const item = { method: 'GET', access: 'public', response: Type.Object({}), handler: () => ({}) } as const
    services.http.route({
      ...item,
      path: '/api/v1/acme/items',
      operationId: 'listOldItems',
      summary: 'List items by page',
      deprecated: { since: '1.4.0', replacement: 'GET /api/v2/acme/items', migration: 'Pages begin at 1.' },
    })
    services.http.route({
      ...item,
      path: '/api/v2/acme/items',
      operationId: 'listItems',
      summary: 'List items by cursor',
    })
  },
})

t.test('C-036 the pages mark deprecated keys and operations', { skip, timeout: 600_000 }, async (t) => {
  const teardown = (work: () => Promise<void>) => t.teardown(work)
  const office = await startBackOffice(t.testdir(), teardown, { plugins: [systemConfig, systemConfigAdmin, acme] })
  const { page, complaints } = await openSignedIn(teardown, `${office.url}system-config.centre?group=acme`)
  const row = (name: string) => page.locator(`li[data-key="platform.acme.${name}"]`)

  await row('size').waitFor()
  t.match(
    await row('size').innerText(),
    /Deprecated\n[\s\S]*Deprecated since 1\.4\.0\. .*platform\.acme\.length.* It was renamed\./,
  )
  t.notMatch(await row('length').innerText(), /Deprecated/)
  await page.getByRole('searchbox').fill('@deprecated')
  await row('length').waitFor({ state: 'detached' })
  t.ok(await row('size').isVisible(), 'the filter finds the key')
  t.strictSame(await findAccessibilityProblems(page), [])

  const docs = new URL('/docs/', office.url)
  await page.goto(`${docs}?lang=en`)
  const listed = (summary: string) => page.locator('summary', { hasText: summary })
  t.match(await listed('List items by page').innerText(), /GET \/api\/v1\/acme\/items List items by page Deprecated$/)
  t.notMatch(await listed('List items by cursor').innerText(), /Deprecated/)
  await listed('List items by page').click()
  await page.getByText('Deprecated since 1.4.0; use GET /api/v2/acme/items.').waitFor()
  await page.getByText('Pages begin at 1.').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await page.setViewportSize({ width: 390, height: 844 })
  t.equal(await findHorizontalOverflow(page), 0)
  await page.goto(`${docs}?lang=zh-CN`)
  t.match(await listed('List items by page').innerText(), /已弃用$/)
  t.strictSame(complaints, [])
})
