import type { Page } from 'playwright-core'
import t from 'tap'
import { shortcuts } from '../web/admin/shell/shortcuts.ts'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, findHorizontalOverflow, saveScreenshot, skip } from './fixtures/browser.ts'

const office = skip === false ? await startBackOffice(t.testdir(), (work) => t.teardown(work)) : undefined
await office?.people.create(
  { username: 'anna-with-a-name-that-is-rather-long-for-a-telephone', password, roleIds: [] } as never,
  office.actor,
)

const opened = (
  teardown: (work: () => Promise<void>) => void,
  page: string,
  options: Parameters<typeof openSignedIn>[2] = {},
) => openSignedIn(teardown, `${office?.url}${page}`, options)

/** Returns cells and buttons of rows that are partly outside of the window. */
const outside = (page: Page) =>
  page.evaluate(`[...document.querySelectorAll('tbody :is(td, button, a)')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0)
    .map(({ outerHTML }) => outerHTML.slice(0, 120))`)

t.test('on a phone each row is a card, and nothing of it is cut off', { skip, timeout: 300_000 }, async (t) => {
  for (const [locale, colorScheme] of [
    ['en', 'light'],
    ['zh-CN', 'dark'],
  ] as const) {
    const viewport = { width: 390, height: 844 }
    const { page, complaints } = await opened(t.teardown, 'iam.users', { locale, colorScheme, viewport })
    const rows = page.getByRole('row').filter({ has: page.locator('td') })
    await rows.first().waitFor()
    t.equal(await findHorizontalOverflow(page), 0)
    t.strictSame(await outside(page), [])
    const card = rows.filter({ hasText: 'anna-with' })
    const title = locale === 'en' ? 'User name' : '用户名'
    t.equal(await card.getByRole('cell').first().getAttribute('data-title'), title)
    t.equal(
      await page.evaluate('getComputedStyle(document.querySelector("tbody td"), "::before").content'),
      `"${title}"`,
      'each member is titled where the heading is out of sight',
    )
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, `cards-${locale}-${colorScheme}`)
    // As on a wide screen, row actions, the sort order and paging are available.
    await card.getByRole('button', { name: locale === 'en' ? 'Actions' : '操作' }).click()
    await page.getByRole('menuitem').first().waitFor()
    await page.keyboard.press('Escape')
    await rows.first().focus()
    await page.keyboard.press('j')
    t.equal(await page.evaluate('document.activeElement.rowIndex'), 2)
    await page.getByRole('button', { name: title }).click()
    await page.waitForURL(/sort=/)
    t.strictSame(complaints, [])
  }
})

t.test('the first link of a page leads to its content, not to another page', { skip, timeout: 300_000 }, async (t) => {
  const { page } = await opened(t.teardown, 'iam.users', { locale: 'en' })
  await page.getByRole('row').nth(1).waitFor()
  await page.getByRole('link', { name: 'Skip to content' }).press('Enter')
  await page.locator('main:focus').waitFor()
  t.match(page.url(), /\/iam\.users$/)
})

t.test(
  'the list of shortcuts opens with its key, its button and the palette',
  { skip, timeout: 300_000 },
  async (t) => {
    for (const [locale, colorScheme, name] of [
      ['en', 'light', 'Keyboard shortcuts'],
      ['zh-CN', 'dark', '键盘快捷键'],
    ] as const) {
      const { page, complaints } = await opened(t.teardown, 'iam.users', { locale, colorScheme })
      const list = page.getByRole('dialog', { name })
      await page.getByRole('row').nth(1).waitFor()
      await page.keyboard.press('?')
      await list.waitFor()
      const keys = Object.values(shortcuts).flatMap((place) => Object.keys(place))
      t.equal(await list.locator('dt').count(), keys.length, 'each that somebody listens for')
      t.strictSame(await findAccessibilityProblems(page), [])
      await saveScreenshot(page, `shortcuts-${locale}-${colorScheme}`)
      await page.keyboard.press('Escape')
      await list.waitFor({ state: 'detached' })

      await page.getByRole('searchbox').press('?')
      t.equal(await page.getByRole('searchbox').inputValue(), '?', 'in a field it is a letter')
      t.equal(await list.count(), 0)

      await page.getByRole('button', { name }).click()
      await list.waitFor()
      await page.keyboard.press('Escape')
      await list.waitFor({ state: 'detached' })

      await page.keyboard.press('Control+K')
      await page.getByRole('dialog').getByRole('combobox').fill(name)
      await page.getByRole('option', { name }).waitFor()
      await page.keyboard.press('Enter')
      await list.waitFor()
      t.match(page.url(), /iam\.users/, 'nobody is led elsewhere')
      await page.setViewportSize({ width: 390, height: 844 })
      t.equal(await findHorizontalOverflow(page), 0)
      t.strictSame(complaints, [])
    }
  },
)
