/** Tests the navigation in a browser: groups of plugins, tabs that do not fit, and times of the shell. */
import { adminPages, type ListPageDeclaration } from '@plinth/admin'
import { http, routesWith, Type } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openSignedIn, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, findHorizontalOverflow, saveScreenshot, skip } from './fixtures/browser.ts'

const title = (en: string, zh: string) => ({ en, 'zh-CN': zh })
const support = { id: 'help', title: title('Support', '客服'), icon: 'lifebuoy', order: 50 } as const
const names = ['Tickets', 'Answers', 'Customers', 'Contracts', 'Working hours', 'Escalations', 'Reports', 'Surveys']
const pages = names.map(
  (name, order): ListPageDeclaration => ({
    kind: 'list',
    id: `help.${name.toLowerCase().replace(' ', '-')}`,
    title: title(name, `${name} 页`),
    source: 'getHelpItems',
    key: 'id',
    place: { group: support, order },
    columns: [{ field: 'id', as: 'text' }],
  }),
)
const access = { permission: 'help:view', scope: 'none' } as const
const help = definePlugin({
  id: 'help',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  contributes: [adminPages],
  permissions: [{ code: access.permission, displayName: 'View the help desk' }],
  setup({ services, contribute }) {
    const { route } = routesWith()
    const response = Type.Array(Type.Object({ id: Type.Integer({ title: 'Item' }) }))
    const shared = { summary: 'Items', access, response, handler: () => [{ id: 1 }] }
    services.http.addRoutes([
      route({ method: 'GET', path: '/api/v1/admin/help/items', operationId: 'getHelpItems', ...shared }),
    ])
    for (const page of pages) contribute(adminPages, page.id, page)
  },
})

const office =
  skip === false
    ? await startBackOffice(t.testdir(), (work) => t.teardown(work), {
        plugins: [help],
        set: { 'platform.site.time-zone': 'Asia/Shanghai' },
      })
    : undefined
const opened = (
  teardown: (work: () => Promise<void>) => void,
  page: string,
  options: Parameters<typeof openSignedIn>[2] = {},
) => openSignedIn(teardown, `${office?.url}${page}`, options)

/** Returns the titles of the tabs that the user sees completely, and those in the menu next to them. */
async function tabsOf(page: Page) {
  const nav = page.getByRole('navigation', { name: 'Support' })
  await nav.getByRole('link').first().waitFor()
  const frame = await nav.boundingBox()
  const shown: string[] = []
  for (const link of await nav.getByRole('link').all()) {
    const box = await link.boundingBox()
    if (box === null || frame === null) continue
    if (box.x >= frame.x && box.x + box.width <= frame.x + frame.width) shown.push(await link.innerText())
  }
  const more = nav.getByRole('button')
  await more.click()
  await page.getByRole('menuitem').first().waitFor()
  const hidden = await page.getByRole('menuitem').allInnerTexts()
  await page.keyboard.press('Escape')
  return { shown, hidden, more }
}

/** Returns the titles of the visible tabs and of the menu next to them that are cut. */
const cutTabsOf = (page: Page) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('nav[aria-label="Support"] :is(li:not([class]) a, button span)')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ innerText }) => innerText)`,
  )

t.test('a group of a plugin is a place of the navigation with its own icon', { skip, timeout: 300_000 }, async (t) => {
  const { page } = await opened(t.teardown, '')
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
  await links.nth(1).waitFor()
  t.equal((await links.nth(1).innerText()).trim(), 'Support', 'before the groups of the product')
  t.equal(await links.nth(1).locator('svg.tabler-icon-lifebuoy').count(), 1)
})

t.test(
  'each page of a place is a visible tab or in the menu next to the tabs',
  { skip, timeout: 300_000 },
  async (t) => {
    for (const width of [1280, 390]) {
      const { page, complaints } = await opened(t.teardown, 'help.tickets', { viewport: { width, height: 844 } })
      const { shown, hidden, more } = await tabsOf(page)
      t.strictSame([...shown, ...hidden], names, `${width} pixels`)
      t.ok(shown.length >= 1 && shown.length <= 6, `${shown.length} tabs`)
      t.equal((await more.innerText()).trim(), `${hidden.length} more`)
      t.equal(await findHorizontalOverflow(page), 0)
      await saveScreenshot(page, `tabs-${width}`)
      // With the keyboard only.
      await more.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('menuitem', { name: 'Surveys' }).waitFor()
      t.strictSame(await findAccessibilityProblems(page), [])
      await page.keyboard.press('End')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Surveys' }).waitFor()
      t.equal((await more.innerText()).trim(), 'Surveys', 'the current page is named')
      await page.goto(`${office?.url}help.working-hours`)
      await page.getByRole('heading', { name: 'Working hours' }).waitFor()
      t.strictSame(await cutTabsOf(page), [], 'each tab shows its whole title')
      await saveScreenshot(page, `tabs-more-${width}`)
      t.strictSame(complaints, [])
    }
  },
)

t.test('the current page is a visible tab or named next to the tabs', { skip, timeout: 300_000 }, async (t) => {
  const { page } = await opened(t.teardown, 'help.tickets', { viewport: { width: 390, height: 844 } })
  for (const name of names.slice(1, 5)) {
    await page.goto(`${office?.url}help.${name.toLowerCase().replace(' ', '-')}`)
    await page.getByRole('heading', { name }).waitFor()
    const nav = page.getByRole('navigation', { name: 'Support' })
    const tab = nav.getByRole('link', { name }).or(nav.getByRole('button', { name }))
    await tab.waitFor()
    const [frame, box] = [await nav.boundingBox(), await tab.boundingBox()]
    t.ok(box && frame && box.x + box.width <= frame.x + frame.width && box.y < frame.y + frame.height, name)
  }
})

t.test('paper is light and shows no navigation and no buttons', { skip, timeout: 300_000 }, async (t) => {
  const { page } = await opened(t.teardown, 'help.tickets', { colorScheme: 'dark' })
  const heading = page.getByRole('heading', { name: 'Tickets' })
  await heading.waitFor()
  await page.getByRole('cell', { name: '1' }).waitFor()
  await page.emulateMedia({ media: 'print' })
  const colorOf = (name: string) => page.evaluate(`getComputedStyle(document.querySelector('main h1')).${name}`)
  t.equal(await colorOf('color'), 'rgb(0, 0, 0)')
  t.ok(await page.getByRole('cell', { name: '1' }).isVisible())
  t.equal(await page.getByRole('navigation').filter({ visible: true }).count(), 0)
  t.equal(await page.locator('main button:visible').count(), 0)
})

t.test('times of the shell are in the time zone of the site', { skip, timeout: 300_000 }, async (t) => {
  const { page } = await opened(t.teardown, 'help.tickets', { timezoneId: 'America/New_York', locale: 'zh-CN' })
  await page.context().setOffline(true)
  const line = page.getByRole('status').filter({ hasText: /\d:\d/ })
  await line.waitFor()
  const hourOf = (ago: number) =>
    new Date(Date.now() - ago).toLocaleTimeString('zh-CN', { timeZone: 'Asia/Shanghai', hour12: false }).slice(0, 2)
  const [hour = ''] = /\d\d(?=:)/.exec(await line.innerText()) ?? []
  t.ok([hourOf(0), hourOf(120_000)].includes(hour), `${hour} in the zone of the site`)
})
