/** Opens all pages of a back office in a browser: the pages of the navigation, their detail pages, and all dialogs. */
import type { Page } from 'playwright-core'
import { password } from './back-office-rows.ts'

/** A page of the navigation. */
export interface Entry {
  readonly id: string
  readonly title: string
  /** Ids of the detail pages that open from this page. */
  readonly details: readonly string[]
}

/** The current view: a page, or one of its dialogs. */
export interface View {
  readonly name: string
  /** Selector of the part of the document that is to be looked at. */
  readonly part: string
}

// biome-ignore lint/suspicious/noExplicitAny: data of many routes
type Call = (method: 'GET', path: string, payload?: undefined, language?: string) => Promise<any>

/** Returns the pages of the navigation, in its order. */
export async function entriesOf(call: Call, language: string): Promise<readonly Entry[]> {
  const { groups } = await call('GET', 'admin/console/pages', undefined, language)
  return groups.flatMap(({ pages }: { readonly pages: readonly Entry[] }) => pages)
}

/** Signs in as the administrator on the page that is open, and waits for the overview. */
export async function signIn(page: Page): Promise<void> {
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', password)
  await page.click('button[type=submit]')
  await page.locator('main section[aria-busy=false]').first().waitFor()
}

interface Shown {
  readonly document: { querySelector(selector: string): { readonly innerText: string } | null }
}

/** Waits until no request is pending and the page shows rows, facts, fields or the text for an empty list. */
export const settled = (page: Page) =>
  page.waitForFunction(() => {
    const { document } = globalThis as unknown as Shown
    return (
      document.querySelector('[aria-busy=true], main [class*="Skeleton-root"]') === null &&
      document.querySelector('main :is(tbody td, dd, section p, input, iframe, [role=alert])') !== null
    )
  })

/** Opens a page by its address, and waits for its content. */
export async function openAt(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('main :is(h1, [role=alert])').first().waitFor()
  await settled(page)
}

/**
 * Opens each page, the first object of each of its detail pages, and with `dialogs` all dialogs. Nothing is submitted.
 *
 * @param look is called for each view
 * @returns the ids of the opened pages
 */
export async function walkPages(
  page: Page,
  url: string,
  entries: readonly Entry[],
  look: (view: View) => Promise<void>,
  { dialogs = true }: { readonly dialogs?: boolean } = {},
): Promise<ReadonlySet<string>> {
  const opened = new Set<string>()
  for (const { id, details } of entries) {
    await openAt(page, `${url}${id}`)
    opened.add(id)
    await look({ name: id, part: 'main' })
    if (dialogs) await walkDialogs(page, id, look)
    for (const detail of details) {
      const inRow = page.locator(`main tbody a[href*="/${detail}/"]`)
      const toList = page.locator(`main a[href$="/${detail}"]`)
      // Rows appear a moment after their list.
      await inRow
        .or(toList)
        .first()
        .waitFor({ timeout: 2_000 })
        .catch(() => undefined)
      const link = ((await inRow.count()) > 0 ? inRow : toList).first()
      // A page that shows the first rows of a list has a link to the list only if there are more.
      const address = (await link.count()) > 0 ? await link.getAttribute('href') : detail
      await openAt(page, new URL(address ?? '', page.url()).href)
      if ((await page.locator('main [role=alert]').count()) > 0) {
        // The page needs an object, and there is none.
        await openAt(page, `${url}${id}`)
        continue
      }
      opened.add(detail)
      await look({ name: detail, part: 'main' })
      if (dialogs) await walkDialogs(page, detail, look)
      await openAt(page, `${url}${id}`)
    }
  }
  return opened
}

/** Opens each dialog of the page: those of its buttons, and those of the menu of its first row. */
async function walkDialogs(page: Page, name: string, look: (view: View) => Promise<void>): Promise<void> {
  const dialog = page.getByRole('dialog')
  const lookAtDialog = async (part: string) => {
    await dialog.waitFor()
    await settled(page)
    await look({ name: `${name}: ${part}`, part: '[role=dialog]' })
    await dialog.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }
  const buttons = page.locator('main button[aria-haspopup=dialog]:not([disabled])')
  for (let at = 0; at < (await buttons.count()); at++) {
    const text = await buttons.nth(at).innerText()
    await buttons.nth(at).click()
    await lookAtDialog(text)
  }
  const menu = page.locator('main tbody button[aria-haspopup=menu]').first()
  if ((await menu.count()) === 0) return
  await menu.click()
  const items = page.locator('[role=menuitem][aria-haspopup=dialog]:not([data-disabled])')
  await items.first().or(page.locator('[role=menu]')).first().waitFor()
  const texts = await items.allInnerTexts()
  await page.keyboard.press('Escape')
  for (const [at, text] of texts.entries()) {
    await menu.click()
    await items.nth(at).click()
    await lookAtDialog(text)
  }
}
