/** Tests that the back office shows names and sentences, and that each text to be copied has a copy button. */
import { until } from '@plinth/dev/testing'
import acme from '@plinth-example/acme-admin-pages'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openPage, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { startWithRows } from './back-office-rows.ts'
import { entriesOf, openAt, signIn, walkPages } from './every-page.ts'
import { type Looked, textsOf, unreadable } from './shown-words.ts'

/** Texts that people copy, each with a page that shows an example. */
const copied: readonly (readonly [what: string, page: string, text: RegExp])[] = [
  ['an order number', 'mall.orders', /^M\w{10,}$/],
  ['an order number that is a link', 'money.payment-orders', /^TEA-2026-0001$/],
  ['the address of a token', 'money.payment-order/TEA-2026-0001', /^0x(?:a1){20}$/],
  ['a configuration key', 'system-config.centre', /^platform\.[a-z.-]+$/],
  ['the code of a permission', 'iam.role-matrix', /^iam:user:view$/],
  ['the code of a template', 'template.templates', /^order-shipped$/],
]

/** Returns the titles of facts of the page that have no value, and of boxes that contain only their title. */
const blanksOf = (page: Page) =>
  page.evaluate<string[]>(
    `[
      ...[...document.querySelectorAll('main dd')].filter(({ innerText }) => ['', '–'].includes(innerText.trim()))
        .filter((fact) => fact.querySelector('iframe, img, input, button') === null)
        .map((fact) => fact.previousElementSibling?.textContent ?? ''),
      ...[...document.querySelectorAll('main section > h2:only-child')].map(({ innerText }) => innerText),
    ]`,
  )

t.test('every page and dialog shows words in both languages', { skip, timeout: 1_800_000 }, async (t) => {
  const { root, url, typed } = await startWithRows((work) => t.teardown(work), { plugins: [acme] })
  await root('POST', 'admin/acme/depots', { name: 'North', city: 'Oslo' })
  // The second change waits for another operator.
  for (const [key, value] of [
    ['platform.system-config.approval.keys', ['platform.site.title']],
    ['platform.site.title', 'Tea Rooms'],
  ] as const)
    await root('POST', 'admin/system-config/changes', {
      changes: [{ key, action: 'set', value }],
      reason: 'Two people decide',
    })
  for (const language of ['en', 'zh-CN'] as const) {
    await t.test(language, async (t) => {
      const options = { locale: language, timezoneId: 'Europe/Berlin' }
      const { page, complaints } = await openPage((work) => t.teardown(work), url, options)
      await signIn(page)
      const entries = await entriesOf(root, language)
      const looked: Looked[] = []
      const blanks: string[] = []
      const opened = await walkPages(page, url, entries, async ({ name, part }) => {
        looked.push({ view: name, language, texts: await textsOf(page, part) })
        // Lists inside a page appear a moment after it.
        const isFilled = async () => (await blanksOf(page)).length === 0
        await until(isFilled, 'each box has content', 50, 2_000).catch(() => undefined)
        blanks.push(...(await blanksOf(page)).map((title) => `${name}: ${title}`))
      })
      const missed = entries.flatMap(({ id, details }) => [id, ...details]).filter((id) => !opened.has(id))
      t.strictSame(missed, [], 'every page was opened')
      t.ok(looked.length > 150, `${looked.length} views`)
      t.strictSame([...new Set(looked.flatMap((view) => unreadable(view, typed)))], [])
      t.strictSame(blanks, [], 'no facts without a value, and no boxes without content')
      t.strictSame(complaints, [])
      if (language !== 'en') return
      for (const [what, at, text] of copied) {
        await openAt(page, `${url}${at}`)
        const texts = await page.evaluate<string[]>(
          `[...document.querySelectorAll('main [data-copied]:has(button)')].map(({ dataset }) => dataset.copied)`,
        )
        t.ok(
          texts.some((one) => text.test(one)),
          `${what} has a button that copies it`,
        )
      }
    })
  }
})
