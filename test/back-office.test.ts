/** Every page of the back office of the quickstart in a browser, with rows, in both languages. */
import AxeBuilder from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openPage, skip } from '../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'

/** Chinese, or the name of something, which is the same in every language. */
const translatedOrName = /\p{Script=Han}|^[a-z][\w.:-]*$/u

interface Entry {
  readonly id: string
  readonly title: string
}

/** What no reader should see: the key of a text that nobody has translated. Configuration keys and names of tasks look alike. */
const keyShown = /\b[a-z]+(\.[a-z-]+){2,}\b/g

t.test(
  'every page shows what it has, in both languages and without a barrier',
  { skip, timeout: 300_000 },
  async (t) => {
    const works: (() => Promise<unknown>)[] = []
    t.teardown(async () => {
      for (const work of works.reverse()) await work()
    })
    const { root, url, texts } = await startWithRows((work) => works.push(work))
    const titles = async (language: string) => {
      const { groups } = await root('GET', 'admin/console/pages', undefined, language)
      return groups.flatMap(({ pages }: { readonly pages: readonly Entry[] }) => pages) as readonly Entry[]
    }
    const [english, chinese] = [await titles('en'), await titles('zh-CN')]
    const inChinese = new Map(chinese.map(({ id, title }) => [id, title]))
    t.ok(english.length > 45)

    const { page, complaints, elsewhere } = await openPage(t.teardown, url, { locale: 'en', colorScheme: 'light' })
    await page.fill('input[autocomplete=username]', 'root')
    await page.fill('input[autocomplete=current-password]', password)
    await page.click('button[type=submit]')
    await page.locator('nav a').first().waitFor()
    page.setDefaultTimeout(120_000)

    let isDark = false
    /** Looks at the page that is shown, in the other colours than the last one. */
    const look = async (name: string, part: string) => {
      isDark = !isDark
      await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' })
      const { violations } = await new AxeBuilder({ page })
        .setLegacyMode()
        .include(part)
        .options({ resultTypes: ['violations'] })
        .analyze()
      const found = violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`)
      t.strictSame(found, [], `${name} ${isDark ? 'dark' : 'light'}`)
      const keys = (await page.locator('body').innerText()).match(keyShown) ?? []
      t.strictSame(
        keys.filter((key) => texts.has(key)),
        [],
        `${name}: keys of texts`,
      )
      t.strictSame(complaints.splice(0), [], name)
    }
    const choose = (language: 'EN' | '中文') => page.locator('aside').getByText(language, { exact: true }).click()
    const headings = () => page.locator('main :is(h1, h2)').allInnerTexts()

    await page.locator('main section[aria-busy=false]').first().waitFor()
    t.match(await page.locator('main section').first().innerText(), /1\s+Events that were not delivered/)
    await look('overview', 'body')

    for (const { id, title } of english) {
      await choose('EN')
      await page.locator(`nav a[href$="/${id}"]`).click()
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      await settled(page)
      t.match(await page.title(), `${title} · `, id)
      t.equal(await page.locator('main [role=alert]').count(), 0, `${id}: nothing went wrong`)
      await choose('中文')
      const translated = inChinese.get(id) ?? ''
      await page.getByRole('heading', { level: 1, name: translated, exact: true }).waitFor()
      await settled(page)
      for (const heading of await headings()) t.match(heading, translatedOrName, `${id}: ${heading}`)
      await look(id, 'main')

      const link = page.locator('main tbody td a').first()
      if ((await link.count()) === 0) continue
      const name = await link.innerText()
      await link.click()
      await page.locator('main dl').first().waitFor()
      await settled(page)
      t.equal(await page.locator('main [role=alert]').count(), 0, `${id}: ${name}`)
      for (const heading of (await headings()).slice(1)) t.match(heading, translatedOrName, `${id} ${name}: ${heading}`)
      await look(`${id}: ${name}`, 'main')
    }
    t.strictSame(elsewhere, [])
  },
)

interface Shown {
  readonly document: { querySelector(selector: string): { readonly innerText: string } | null }
}

/** Nothing is asked for any more, and there are rows or facts, fields, or the text that there is nothing. */
const settled = (page: Page) =>
  page.waitForFunction(() => {
    const { document } = globalThis as unknown as Shown
    return (
      document.querySelector('main [aria-busy=true], main [class*="Skeleton-root"]') === null &&
      document.querySelector('main :is(tbody td, dd, section p, input, [role=alert])') !== null
    )
  })
