/** Tests every page of the quickstart's back office in a browser, with rows and in both languages. */

import { until } from '@plinth/dev/testing'
import { everyDialect } from '@plinth/dev/testing/database'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import {
  emulateColorScheme,
  findAccessibilityProblems,
  openPage,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'

/** Matches Chinese text, and names that are the same in every language. */
const translatedOrName = /\p{Script=Han}|^[a-z][\w.:-]*$/u

interface Entry {
  readonly id: string
  readonly title: string
  /** Id of the first page of the group that contains this page in the navigation. */
  readonly place: string
}

/**
 * Matches text keys that were not translated. Configuration keys and task names have the same form, so they match too.
 */
const keyShown = /\b[a-z]+(\.[a-z-]+){2,}\b/g

type Teardown = (work: () => Promise<void>) => void

/** Returns a teardown function. At the end of the test, the works that were passed to it run in reverse order. */
function endings(t: Test): (work: () => Promise<unknown>) => void {
  const works: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const work of works.reverse()) await work()
  })
  return (work) => works.push(work)
}

/** Opens a separate browser and signs in. */
async function signIn(t: Test, url: string, texts: ReadonlySet<string>) {
  const teardown: Teardown = (work) => t.teardown(work)
  const { page, complaints, elsewhere } = await openPage(teardown, url, { locale: 'en', colorScheme: 'light' })
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', password)
  await page.click('button[type=submit]')
  await page.locator('nav a').first().waitFor()

  let isDark = false
  /** Checks the displayed page. The colour scheme changes with each call. */
  const look = async (name: string, part: string) => {
    isDark = !isDark
    await emulateColorScheme(page, isDark ? 'dark' : 'light')
    t.strictSame(await findAccessibilityProblems(page, part), [], `${name} ${isDark ? 'dark' : 'light'}`)
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
  /** Opens a page through the navigation. */
  const open = async ({ id, title, place }: Entry) => {
    await page.locator(`aside a[href$="/${place}"]`).click()
    await page.locator(`main nav a[href$="/${place}"]`).waitFor()
    const link = page.locator(`main :is(nav, [role=menu]) a[href$="/${id}"]:visible`)
    // The menu contains the tabs that do not fit.
    if ((await link.count()) === 0) await page.locator('main nav button').click()
    await link.click()
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
    await settled(page)
    t.equal(await page.locator('main [role=alert]').count(), 0, `${id}: nothing went wrong`)
  }
  return { page, elsewhere, look, choose, headings, open }
}

type Root = Awaited<ReturnType<typeof startWithRows>>['root']

async function pagesOf(root: Root, language: string): Promise<readonly Entry[]> {
  const { groups } = await root('GET', 'admin/console/pages', undefined, language)
  return groups.flatMap(({ pages }: { readonly pages: readonly Omit<Entry, 'place'>[] }) =>
    pages.map(({ id, title }) => ({ id, title, place: pages[0]?.id ?? id })),
  )
}

t.test(
  'every page shows its content, in both languages and without accessibility violations',
  { skip, timeout: 600_000 },
  async (t) => {
    const { root, url, texts } = await startWithRows(endings(t))
    const [english, chinese] = [await pagesOf(root, 'en'), await pagesOf(root, 'zh-CN')]
    const inChinese = new Map(chinese.map(({ id, title }) => [id, title]))
    t.ok(english.length > 45)
    const { page, elsewhere, look, choose, headings, open } = await signIn(t, url, texts)

    await page.locator('main section[aria-busy=false]').first().waitFor()
    t.match(await page.locator('main section').first().innerText(), /1\s+Events that were not delivered/)
    await look('overview', 'body')

    const inEnglish = async ({ id, title }: Entry) => {
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      await settled(page)
      t.match(await page.title(), `${title} · `, id)
    }
    const lookAtThing = async (id: string) => {
      const link = page.locator('main tbody td a').first()
      if ((await link.count()) === 0) return false
      const name = await link.innerText()
      await link.click()
      await page.locator('main dl').first().waitFor()
      await settled(page)
      t.equal(await page.locator('main [role=alert]').count(), 0, `${id}: ${name}`)
      for (const heading of (await headings()).slice(1)) t.match(heading, translatedOrName, `${id} ${name}: ${heading}`)
      await look(`${id}: ${name}`, 'main')
      return true
    }
    // Each page is opened in one language and then switched to the other. The first language alternates, so that both
    // languages are used for opening and for switching.
    for (const [index, entry] of english.entries()) {
      const { id } = entry
      const translated = { ...entry, title: inChinese.get(id) ?? '' }
      const isEnglishFirst = index % 2 === 0
      await open(isEnglishFirst ? entry : translated)
      if (isEnglishFirst) {
        await inEnglish(entry)
        await choose('中文')
        await page.getByRole('heading', { level: 1, name: translated.title, exact: true }).waitFor()
        await settled(page)
      }
      for (const heading of await headings()) t.match(heading, translatedOrName, `${id}: ${heading}`)
      await look(id, 'main')
      const isLeft = await lookAtThing(id)
      if (isEnglishFirst) continue
      if (isLeft) await page.goBack()
      await page.getByRole('heading', { level: 1, name: translated.title, exact: true }).waitFor()
      await choose('EN')
      await inEnglish(entry)
    }
    await choose('EN')
    await tryChannel(t, { page, look, open })
    await readInbox(english, { page, look, open, root })
    t.strictSame(elsewhere, [])
  },
)

/** Checks a channel and sends a test message on a phone screen. Then opens a missing key in the config centre. */
async function tryChannel(
  t: Test,
  { page, look, open }: Pick<Awaited<ReturnType<typeof signIn>>, 'page' | 'look' | 'open'>,
) {
  const channels = { id: 'notification.channels', title: 'Channels and providers', place: 'notification.messages' }
  await open(channels)
  await page.locator('main tbody').getByRole('link', { name: 'Log', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Log', exact: true }).waitFor()
  await page.setViewportSize({ width: 390, height: 844 })
  await settled(page)
  await look('a channel on a telephone', 'main')
  const wide = '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.documentElement)'
  await until(async () => (await page.evaluate(wide)) === 0, 'nothing is wider than the telephone')

  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  await dialog.getByText('No message is sent.').waitFor()
  await dialog.getByRole('button', { name: 'Check', exact: true }).click()
  await dialog.getByText('Configuration', { exact: true }).waitFor()
  await look('the answer of a check', '[role=dialog]')
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await page.getByRole('button', { name: 'Send a test message' }).click()
  await dialog.getByRole('button', { name: 'Send a test message' }).click()
  await dialog.getByText('Accepted', { exact: true }).waitFor()
  await look('the answer of a test message', '[role=dialog]')
  await dialog.getByRole('link').first().click()
  await page.getByRole('heading', { level: 1, name: 'Test message from Tea House' }).waitFor()

  await page.setViewportSize({ width: 1280, height: 800 })
  await open(channels)
  await page
    .locator('main tbody')
    .getByRole('link', { name: /DingTalk/ })
    .first()
    .click()
  await page.locator('main dl').getByRole('link').first().click()
  await page.getByRole('heading', { level: 1, name: 'Config centre' }).waitFor()
  t.match(new URL(page.url()).searchParams.get('q'), /^platform\.notification\.channels\.webhook\.providers\.dingtalk/)
}

/** Checks that a message to the signed-in user is counted in the navigation immediately, until it is read. */
async function readInbox(
  pages: readonly Entry[],
  {
    page,
    look,
    open,
    root,
  }: Pick<Awaited<ReturnType<typeof signIn>>, 'page' | 'look' | 'open'> & { readonly root: Root },
) {
  const { items } = await root('GET', 'admin/iam/users?keyword=root')
  const message = { subject: 'Tea at four', content: 'In the kitchen.' }
  await root('POST', 'notifications/send', { channels: ['database'], recipientUserIds: [items[0].id], ...message })
  await page.locator('aside').getByRole('link', { name: 'root Unread messages 1', exact: true }).waitFor()
  await open(pages.find(({ id }) => id === 'notification.inbox') as Entry)
  await page.locator('main tbody').getByText('Tea at four').waitFor()
  await look('an unread message', 'body')
  await page.getByRole('button', { name: 'Mark all as read' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Mark all', exact: true }).click()
  await page.locator('aside').getByRole('link', { name: 'root', exact: true }).waitFor()
}

const mainPages = [
  'system-config.centre',
  'iam.users',
  'events.outbox',
  'notification.send-log',
  'member-points.accounts',
  'web3-settlement.reviews',
  'console.database',
]
const [, postgresql] = everyDialect

t.test(
  'the main pages on PostgreSQL, served by two instances',
  { skip: skip || (postgresql?.skip ?? false), timeout: 600_000 },
  async (t) => {
    const { root, urls, texts } = await startWithRows(endings(t), { dialect: 'postgresql', instances: 2 })
    const entries = (await pagesOf(root, 'en')).filter(({ id }) => mainPages.includes(id))
    t.equal(entries.length, mainPages.length)
    const offices = []
    for (const url of urls) offices.push(await signIn(t, url, texts))
    for (const [index, entry] of entries.entries()) {
      const office = offices[index % offices.length]
      await office?.open(entry)
      await office?.look(entry.id, 'main')
    }
    const [one, other] = offices
    const users = entries.find(({ id }) => id === 'iam.users')
    if (one === undefined || other === undefined || users === undefined) throw new Error('two instances were asked for')
    await one.open(users)
    await other.open(users)
    await root('POST', 'admin/iam/users', { username: 'emil', email: 'emil@example.com', password, roleIds: [] })
    for (const { page } of offices) await page.locator('main tbody').getByText('emil', { exact: true }).waitFor()
    for (const { elsewhere, look } of offices) {
      await look('users', 'main')
      t.strictSame(elsewhere, [])
    }
  },
)

interface Shown {
  readonly document: { querySelector(selector: string): { readonly innerText: string } | null }
}

/** Waits until no request is pending and the page shows rows, facts, fields or the text for an empty list. */
const settled = (page: Page) =>
  page.waitForFunction(() => {
    const { document } = globalThis as unknown as Shown
    return (
      document.querySelector('main [aria-busy=true], main [class*="Skeleton-root"]') === null &&
      document.querySelector('main :is(tbody td, dd, section p, input, [role=alert])') !== null
    )
  })
