/** Tests the embedded inbox in a browser: the pages of the example, on another origin than the product. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import { createSite, tokensOf } from '@plinth-example/inbox-embed'
import type { BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWebsocket } from '../../plugins/notification-channels/test/fixtures/websocket-product.ts'

/** Items of each user at the beginning: two pages. */
const seeded = 25

async function start() {
  const at = await createDatabase('sqlite')
  let apiUrl = ''
  const users = new Map<string, ReturnType<typeof tokensOf>>()
  let current = ''
  let issued = 0
  const site = await createSite({
    apiUrl: () => apiUrl,
    createToken: () => {
      issued++
      return users.get(current)?.() ?? Promise.reject(new Error('signed out'))
    },
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  const siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const config = {
    'platform.notification.inbox.embed.origins': [siteUrl],
    'platform.notification.channels.websocket.heartbeat': '10m',
  }
  const product = await startWebsocket(t, at, { config })
  apiUrl = product.url
  t.teardown(async () => {
    site.closeAllConnections()
    site.close()
    await product.running.stop('test ended').catch(() => {})
    await at.drop()
  })
  let number = 0
  const add = async (userId: number, subject: string, module = 'forum') => {
    const attachments = [
      { name: `notes-${number}.pdf`, contentType: 'application/pdf', size: 10, url: 'https://files.example/notes.pdf' },
    ]
    const attributes = { module, targetRoute: `/forum/topics/${number}`, attachments }
    const content = 'Ada wrote: the tea is ready.'
    await product.inbox.add({ messageId: `m${number++}`, subject, content, userIds: [userId], attributes })
    await product.settled()
  }
  /** Creates a user with notifications and signs this user in to the site. */
  const signIn = async (username: string) => {
    const { id } = await product.running
      .service(accounts)
      .create({ username, password }, { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' })
    users.set(username, tokensOf(apiUrl, username, password))
    current = username
    for (let i = 1; i <= seeded; i++) await add(id, `Reply ${i}`, i % 5 === 0 ? 'approval' : 'forum')
    return { id, add: (subject: string, module?: string) => add(id, subject, module) }
  }
  return { ...product, siteUrl, signIn, signOut: () => users.clear(), issued: () => issued }
}

const product = skip === false ? await start() : undefined
const started = () => {
  if (product === undefined) throw new Error('no browser')
  return product
}

const screenshots = process.env['PLINTH_SCREENSHOTS']
const shoot = async (page: Page, name: string) => {
  if (screenshots !== undefined) await page.screenshot({ path: join(screenshots, `inbox-${name}.png`) })
}

/** Opens a page of the site, and returns what the user can reach in it. */
async function openSite(
  teardown: (work: () => Promise<void>) => void,
  path: string,
  options: BrowserContextOptions = {},
) {
  const opened = await openPage(teardown, `${started().siteUrl}/${path}`, options)
  const { page } = opened
  const badge = page.locator('plinth-inbox .badge')
  const shows = (count: number) =>
    until(async () => (await badge.textContent()) === String(count), `the badge shows ${count}`, 50, 60_000)
  return {
    ...opened,
    badge,
    shows,
    items: page.locator('plinth-inbox .item'),
    bell: page.getByRole('button', { name: /^Notifications/ }),
  }
}

for (const name of ['plain', 'react', 'vue']) {
  t.test(`the page ${name} shows the inbox under a strict policy`, { skip, timeout: 600_000 }, async (t) => {
    const user = await started().signIn(`user-${name}`)
    const { page, complaints, shows, items, bell } = await openSite(t.teardown, name)
    await shows(seeded)
    t.strictSame(await findAccessibilityProblems(page), [])
    await bell.click()
    await page.getByRole('dialog', { name: 'Notifications' }).waitFor()
    await items.nth(19).waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    await items.last().scrollIntoViewIfNeeded()
    await until(async () => (await items.count()) === seeded, 'the second page is loaded by scrolling')

    await user.add('A live reply')
    await shows(seeded + 1)
    await page.getByText('A live reply', { exact: true }).waitFor()
    t.equal(await page.getByText('A live reply', { exact: true }).count(), 1)
    t.equal(await items.count(), seeded + 1)

    t.equal(await items.first().getByRole('link').getAttribute('href'), 'https://files.example/notes.pdf')
    await items.first().locator('.open').click()
    t.match(await page.locator('#route').innerText(), /^\/forum\/topics\/\d+$/)
    await shows(seeded)
    await page.getByRole('dialog').waitFor({ state: 'hidden' })

    await bell.click()
    await page.getByRole('tab', { name: 'To do' }).click()
    await until(async () => (await items.count()) === seeded / 5, 'the items of the category')
    await page.getByLabel('Unread only').check()
    await items
      .first()
      .getByRole('button', { name: /^Mark as read/ })
      .click()
    await shows(seeded - 1)
    await page.getByRole('button', { name: 'Mark all as read' }).click()
    await page.locator('plinth-inbox .badge').waitFor({ state: 'hidden' })

    await page.getByRole('button', { name: 'Preferences' }).click()
    const mall = page.getByRole('group', { name: 'Mall' }).getByRole('switch', { name: 'E-mail' })
    await mall.waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    const saved = page.waitForResponse((response) => response.request().method() === 'PUT')
    await mall.uncheck()
    const { data } = await (await saved).json()
    t.hasStrict(
      data.find(({ cell }: { cell: string }) => cell === 'mail/mall'),
      { enabled: false },
    )
    t.ok(await page.getByRole('group', { name: 'Security' }).getByRole('switch').first().isDisabled(), 'required')
    t.strictSame(complaints, [])
  })
}

t.test('the keyboard reaches everything, and a deleted item can be restored', { skip, timeout: 600_000 }, async (t) => {
  await started().signIn('keyboard')
  const { page, complaints, shows, items } = await openSite(t.teardown, 'plain')
  await shows(seeded)
  const focused = () =>
    page.evaluate<string>(`(() => {
      const element = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement
      return element.getAttribute('aria-label') ?? element.textContent.trim().slice(0, 40)
    })()`)
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key)
    return focused()
  }
  t.equal(await press('Tab'), 'Notifications, 25 unread')
  t.equal(await press('Enter'), 'Notifications', 'the heading of the panel')
  await items.nth(19).waitFor()
  t.equal(await press('Tab'), 'Mark all as read')
  t.equal(await press('Tab', 'Tab', 'Tab'), 'All')
  t.equal(await press('ArrowRight', 'ArrowRight', 'ArrowRight'), 'To do')
  await until(async () => (await items.count()) === seeded / 5, 'the items of the category')
  t.equal(await press('Home'), 'All')
  await items.nth(19).waitFor()
  await press('Tab', 'Tab')
  t.match(await focused(), /^Unread: Reply 25/)
  t.equal(await press('Tab'), 'Mark as read: Reply 25')
  t.equal(await press('Tab'), 'Delete: Reply 25')
  t.equal(await press('Enter'), 'Undo', 'in the place of the item')
  await shows(seeded - 1)
  t.match(await press('Enter'), /^Unread: Reply 25/, 'the focus returns to the item')
  await shows(seeded)
  const removed = page.waitForResponse((response) => response.request().method() === 'DELETE')
  await items
    .first()
    .getByRole('button', { name: /^Delete/ })
    .focus()
  await press('Enter')
  t.hasStrict(await (await removed).json(), { code: '200', data: { affected: 1 } })
  await until(async () => (await focused()).startsWith('Unread: Reply 24'), 'the focus moves to the next item')
  t.equal(await press('Escape'), 'Notifications, 24 unread', 'the panel is closed, and the bell has the focus')
  t.equal(await page.getByRole('dialog').count(), 0)
  t.strictSame(complaints, [])
})

t.test('an expired token is renewed once, and no item is lost or doubled', { skip, timeout: 600_000 }, async (t) => {
  const { signIn, signOut, clock, issued, presence } = started()
  const user = await signIn('renewal')
  const before = issued()
  const { page, shows, items, bell } = await openSite(t.teardown, 'plain')
  const expire = async () => {
    await clock.advance(15 * 60_000 + 1_000)
    // The server checks open connections every five seconds.
    const hasEnded = async () => {
      await clock.advance(5_000)
      return presence.ofUser(user.id) === 0
    }
    await until(hasEnded, 'the connection ends with its token', 50)
  }
  await shows(seeded)
  await bell.click()
  await items.nth(19).waitFor()
  t.equal(issued() - before, 1)
  t.equal(presence.ofUser(user.id), 1)
  await expire()
  await user.add('Between two connections')
  await shows(seeded + 1)
  await until(() => presence.ofUser(user.id) === 1, 'it connects again')
  t.equal(issued() - before, 2)
  await user.add('After the renewal')
  await shows(seeded + 2)

  await page.context().setOffline(true)
  await page.getByText('You are offline', { exact: false }).first().waitFor()
  for (const subject of ['Offline 1', 'Offline 2', 'Offline 3']) await user.add(subject)
  await page.context().setOffline(false)
  await shows(seeded + 5)
  const subjects = await page.locator('plinth-inbox .subject').allInnerTexts()
  t.same(subjects.slice(0, 6), [
    'Offline 3',
    'Offline 2',
    'Offline 1',
    'After the renewal',
    'Between two connections',
    'Reply 25',
  ])
  t.equal(new Set(subjects).size, subjects.length)

  signOut()
  await expire()
  await page.getByRole('alert').filter({ hasText: 'could not be loaded' }).waitFor({ state: 'attached' })
  t.strictSame(await findAccessibilityProblems(page), [])
})

t.test(
  'without a realtime connection it polls, but not while the page is hidden',
  { skip, timeout: 600_000 },
  async (t) => {
    const user = await started().signIn('polling')
    const { page, complaints, shows } = await openSite(t.teardown, 'plain')
    await shows(seeded)
    await page.clock.install()
    await page.evaluate(`document.querySelector('plinth-inbox').realtime = 'off'`)
    let requests = 0
    page.on('request', (request) => {
      if (request.url().includes('/notifications')) requests++
    })
    await user.add('Polled')
    await page.clock.runFor(30_000)
    await shows(seeded + 1)
    const hide = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await hide(true)
    await user.add('While hidden')
    await page.clock.runFor(30_000)
    const atHidden = requests
    await page.clock.runFor(600_000)
    t.equal(requests, atHidden, 'no request while the page is hidden')
    await hide(false)
    await shows(seeded + 2)
    t.strictSame(complaints, [])
  },
)

t.test('properties that were set before the definition apply, also as texts', { skip, timeout: 600_000 }, async (t) => {
  await started().signIn('early')
  const browser = await openPage(t.teardown, `${started().siteUrl}/plain`)
  const { page } = browser
  await page.addInitScript(`new MutationObserver((_, observer) => {
    const inbox = document.querySelector('plinth-inbox')
    if (inbox === null) return
    observer.disconnect()
    Object.assign(inbox, { locale: 'zh_CN', pageSize: '7', tabs: ['forum', 'todo'], mode: 'inline', texts: '{"title":"我的通知"}' })
  }).observe(document, { childList: true, subtree: true })`)
  const first = page.waitForRequest((request) => request.url().includes('size=7') && request.method() === 'GET')
  await page.reload()
  t.equal((await first).headers()['accept-language'], 'zh-CN')
  await page.getByRole('region', { name: '我的通知' }).waitFor()
  t.same(await page.getByRole('tab').allInnerTexts(), ['全部', '论坛', '待办'])
  const seen = await page.evaluate(`(async () => {
    await import('/plain.js?second')
    const inbox = document.querySelector('plinth-inbox')
    const { locale, pageSize, tabs, mode, open, theme } = inbox
    inbox.open = 'false'
    return { locale, pageSize, tabs, mode, open, theme, isOpen: inbox.open, own: Object.keys(inbox) }
  })()`)
  t.same(seen, {
    locale: 'zh_CN',
    pageSize: 7,
    tabs: ['forum', 'todo'],
    mode: 'inline',
    open: false,
    theme: '',
    isOpen: false,
    own: [],
  })
  t.strictSame(browser.complaints, [], 'a second copy of the script does not define the element again')
})

for (const lang of ['en', 'zh-CN', 'ar']) {
  for (const colorScheme of ['light', 'dark'] as const) {
    t.test(`the inbox is accessible: ${lang}, ${colorScheme}`, { skip, timeout: 600_000 }, async (t) => {
      await started().signIn(`looks-${lang}-${colorScheme}`)
      for (const [index, width] of [390, 1440].entries()) {
        const { page, complaints, shows, items } = await openSite(t.teardown, 'plain', {
          colorScheme,
          viewport: { width, height: 900 },
        })
        // One item was read at the former width.
        await shows(seeded - index)
        await page.evaluate(
          `Object.assign(document.documentElement, { lang: '${lang}', dir: '${lang === 'ar' ? 'rtl' : 'ltr'}' })`,
        )
        await page.evaluate(`Object.assign(document.querySelector('plinth-inbox'), { open: true })`)
        await items.nth(19).waitFor()
        await items.nth(2).locator('.toggle').click()
        t.strictSame(await findAccessibilityProblems(page), [], `${width}`)
        t.equal(await findHorizontalOverflow(page), 0)
        await shoot(page, `${lang}-${colorScheme}-${width}`)
        await page.locator('plinth-inbox .preferences').click()
        await page.getByRole('switch').first().waitFor()
        t.strictSame(await findAccessibilityProblems(page), [])
        await shoot(page, `${lang}-${colorScheme}-${width}-preferences`)
        t.strictSame(complaints, [])
      }
    })
  }
}
