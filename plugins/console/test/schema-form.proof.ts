/**
 * Tests the form of a declared page: editors by schema, rules while typing, sections, conditions, dates and drafts.
 */
import { adminPages, type PageDeclaration } from '@plinth/admin'
import { until } from '@plinth/dev/testing'
import { http, instant, Type } from '@plinth/http'
import { BusinessError, definePlugin } from '@plinth/kernel'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openSignedIn, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, skip } from './fixtures/browser.ts'

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })
const path = '/api/v1/admin/offers'
const access = { permission: 'offers:view', scope: 'none' } as const
const offer = Type.Object({
  code: Type.String({ title: 'Code', pattern: '^[a-z][a-z0-9-]*$', maxLength: 8, description: 'For programmers.' }),
  kind: Type.Enum(['gift', 'sale'], { title: 'Kind' }),
  percent: Type.Optional(Type.Integer({ title: 'Percent', minimum: 1, maximum: 90 })),
  startsAt: Type.Optional(Type.String({ format: 'date-time', title: 'Starts' })),
  currency: Type.Optional(Type.String({ title: 'Currency', maxLength: 3 })),
  steps: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String({ title: 'Name', minLength: 3 }),
        amount: Type.Optional(Type.Integer({ title: 'Amount', minimum: 1 })),
        shops: Type.Optional(
          Type.Array(Type.Object({ city: Type.String({ title: 'City', minLength: 2 }) }), { title: 'Shops' }),
        ),
      }),
      { title: 'Steps', maxItems: 3 },
    ),
  ),
  names: Type.Optional(Type.Record(Type.String(), Type.String(), { title: 'Names' })),
})

const sent: unknown[] = []
const page: PageDeclaration = {
  kind: 'list',
  id: 'offers.all',
  title: text('Offers'),
  place: { group: 'product', order: 1 },
  source: 'getOffers',
  key: 'at',
  columns: [{ field: 'at', as: 'time' }],
  create: {
    operation: 'postOffer',
    title: text('New offer'),
    fields: ['code', 'kind', 'percent', 'startsAt', 'currency', 'steps', 'names'],
    sections: [{ title: text('Details'), fields: ['steps', 'percent'] }],
    showWhen: { percent: { kind: ['sale'] } },
    options: { currency: { labels: 'console.currency', more: { PTS: text('Points') } } },
  },
}

const offers = definePlugin({
  id: 'offers',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  contributes: [adminPages],
  permissions: [{ code: 'offers:view', displayName: text('View offers') }],
  messages: {
    en: { offers: { helps: { code: 'Short name of the offer.' } } },
    'zh-CN': { offers: { helps: { code: '优惠的简称。' } } },
  },
  setup({ services, contribute }) {
    services.http.route({
      method: 'GET',
      path,
      operationId: 'getOffers',
      summary: 'All offers',
      access,
      response: Type.Array(Type.Object({ at: instant })),
      handler: () => [],
    })
    services.http.route({
      method: 'POST',
      path,
      operationId: 'postOffer',
      summary: 'Create one',
      access,
      request: { body: offer },
      response: Type.Null(),
      handler({ body }) {
        const sold = body.steps?.findIndex(({ name }) => name === 'Sold out') ?? -1
        if (sold >= 0) throw new BusinessError('409', 'No longer sold.', { data: { field: `steps/${sold}/name` } })
        sent.push(body)
        return null
      },
    })
    contribute(adminPages, page.id, page)
  },
})

const office =
  skip === false
    ? await startBackOffice(t.testdir(), (work) => t.teardown(work), {
        plugins: [offers],
        set: { 'platform.site.time-zone': 'Asia/Shanghai' },
      })
    : undefined

async function opened(teardown: (work: () => Promise<void>) => void, options: Parameters<typeof openSignedIn>[2] = {}) {
  const { page, complaints } = await openSignedIn(teardown, `${office?.url}offers.all`, options)
  return { page, complaints, dialog: await formOf(page) }
}

async function formOf(page: Page) {
  await page
    .getByRole('button', { name: /^New offer/ })
    .first()
    .click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Code').waitFor()
  return dialog
}

const save = (dialog: ReturnType<Page['getByRole']>) => dialog.getByRole('button', { name: 'Save' }).click()

t.test(
  'a form has an editor for each schema, and sends values of the schema',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, complaints, dialog } = await opened(t.teardown)
    t.equal(await dialog.getByLabel('Percent').count(), 0, 'it belongs to another kind')
    await dialog.getByLabel('Code').fill('tea')
    await dialog.getByLabel('Kind').selectOption('sale')
    await dialog.getByRole('group', { name: 'Details' }).getByLabel('Percent').fill('20')
    await dialog.getByRole('combobox', { name: 'Currency' }).click()
    await dialog.getByRole('option', { name: 'Points', exact: true }).click()
    await dialog.getByRole('button', { name: 'Add to Steps' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('First')
    await dialog.getByLabel('Amount').fill('5')
    await dialog.getByLabel('Starts').click()
    const calendar = page.getByRole('dialog', { name: 'Starts' })
    t.strictSame(await findAccessibilityProblems(page), [], 'the calendar without a date')
    await calendar.getByRole('button', { name: /^15 / }).click()
    await calendar.locator('input').first().fill('09')
    await calendar.locator('input').nth(1).fill('30')
    t.strictSame(await findAccessibilityProblems(page), [], 'the open calendar')
    await calendar.getByRole('button', { name: 'Apply' }).click()
    t.match(await dialog.getByRole('button', { name: /^Starts/ }).innerText(), /^\d{4}-\d\d-15 09:30$/)
    t.strictSame(await findAccessibilityProblems(page), [])
    await save(dialog)
    await dialog.waitFor({ state: 'detached' })
    const { startsAt, ...body } = sent.pop() as { readonly startsAt: string }
    t.match(startsAt, /-15T01:30:00\.000Z$/, 'the clock of the site is eight hours ahead')
    t.strictSame(body, {
      code: 'tea',
      kind: 'sale',
      percent: 20,
      currency: 'PTS',
      steps: [{ name: 'First', amount: 5 }],
    })
    t.strictSame(complaints, [])
  },
)

t.test('a list in a list has fields with their own rules and server errors', { skip, timeout: 300_000 }, async (t) => {
  const { page, dialog } = await opened(t.teardown)
  await dialog.getByLabel('Code').fill('tea')
  await dialog.getByLabel('Kind').selectOption('gift')
  await dialog.getByRole('button', { name: 'Add to Steps' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('Sold out')
  const add = dialog.getByRole('button', { name: 'Add to Shops' })
  await add.click()
  await add.click()
  const cities = dialog.getByLabel('City', { exact: true })
  await cities.first().fill('Oslo')
  await cities.nth(1).fill('X')
  await dialog.getByText('At least 2 characters.').waitFor()
  await cities.nth(1).fill('Bergen')
  await save(dialog)
  await dialog.getByText('No longer sold.').waitFor()
  t.equal(await dialog.getByRole('group', { name: 'Steps' }).getByText('No longer sold.').count(), 1, 'at its list')
  t.strictSame(await findAccessibilityProblems(page), [])
  await dialog.getByLabel('Name', { exact: true }).fill('First')
  await save(dialog)
  await dialog.waitFor({ state: 'detached' })
  const steps = [{ name: 'First', shops: [{ city: 'Oslo' }, { city: 'Bergen' }] }]
  t.strictSame(sent.pop(), { code: 'tea', kind: 'gift', steps })
})

t.test('an entry keeps its value while another entry has the same name', { skip, timeout: 300_000 }, async (t) => {
  const { page, dialog } = await opened(t.teardown)
  await dialog.getByLabel('Code').fill('tea')
  await dialog.getByLabel('Kind').selectOption('gift')
  const add = dialog.getByRole('button', { name: 'Add to Names' })
  await add.click()
  await page.keyboard.type('tea')
  await dialog.getByLabel('tea', { exact: true }).fill('black')
  await add.click()
  await page.keyboard.type('tea')
  await dialog.getByText('Another item has this name.').waitFor()
  await page.keyboard.type('pot')
  await dialog.getByText('Another item has this name.').waitFor({ state: 'detached' })
  await dialog.getByLabel('teapot', { exact: true }).fill('blue')
  t.strictSame(await findAccessibilityProblems(page), [])
  await save(dialog)
  await dialog.waitFor({ state: 'detached' })
  t.strictSame(sent.pop(), { code: 'tea', kind: 'gift', names: { tea: 'black', teapot: 'blue' } })
})

t.test('leaving a picker chooses the object that the text identifies', { skip, timeout: 300_000 }, async (t) => {
  const { page, dialog } = await opened(t.teardown)
  await dialog.getByLabel('Code').fill('tea')
  await dialog.getByLabel('Kind').selectOption('gift')
  const currency = dialog.getByRole('combobox', { name: 'Currency' })
  const leave = async (text: string, option: RegExp) => {
    await currency.click()
    await currency.fill(text)
    await dialog.getByRole('option', { name: option }).first().waitFor()
    await dialog.getByLabel('Code').focus()
    return currency.inputValue()
  }
  t.equal(await leave('', /\(.+\)/), '', 'no text')
  t.equal(await leave('Dollar', /Australian Dollar/), '', 'several currencies')
  await leave('Swiss', /Swiss Franc/)
  // The field shows the code until the name has been read.
  await until(async () => (await currency.inputValue()) === 'Swiss Franc (CHF)', 'the only one is chosen')
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  await page.route(/[?&]search=Norwegian(?:&|$)/, async (route) => {
    ask()
    await held
    await route.continue()
  })
  await currency.fill('Norwegian')
  await asked
  await dialog.getByLabel('Code').focus()
  release()
  await until(async () => (await currency.inputValue()) === 'Norwegian Krone (NOK)', 'it is chosen when it is known')
  await currency.fill('Swiss')
  await dialog.getByRole('option', { name: /Swiss Franc/ }).waitFor()
  await dialog.getByLabel('Code').focus()
  await until(async () => (await currency.inputValue()) === 'Swiss Franc (CHF)', 'another one replaces it')
  await save(dialog)
  await dialog.waitFor({ state: 'detached' })
  t.strictSame(sent.pop(), { code: 'tea', kind: 'gift', currency: 'CHF' })
})

t.test(
  'rules are checked while the user types, and all errors are listed by title',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, dialog } = await opened(t.teardown)
    await dialog.getByLabel('Code').fill('Tea leaf')
    t.equal(await dialog.getByText('Use lower-case letters, digits and hyphens.').count(), 0, 'not before it is left')
    await dialog.getByLabel('Kind').focus()
    await dialog.getByText('Use lower-case letters, digits and hyphens.').waitFor()
    await dialog.getByRole('button', { name: 'Add to Steps' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('ab')
    await dialog.getByText('At least 3 characters.').waitFor()
    await save(dialog)
    const list = dialog.getByRole('listitem')
    await dialog.getByText('3 fields need attention').waitFor()
    t.strictSame(
      (await list.allInnerTexts()).map((line) => line.replace(/\s+/g, ' ')),
      [
        'Code Use lower-case letters, digits and hyphens.',
        'Kind This field is required.',
        'Steps At least 3 characters.',
      ],
    )
    t.equal(await page.evaluate('document.activeElement.id.endsWith("-code")'), true, 'the first one has the focus')
    await list.nth(1).getByRole('button').click()
    t.equal(await page.evaluate('document.activeElement.id.endsWith("-kind")'), true)
    t.strictSame(await findAccessibilityProblems(page), [])
    t.equal(sent.length, 0)
  },
)

t.test('input survives Back and a reload, and can be discarded', { skip, timeout: 300_000 }, async (t) => {
  const { page, dialog } = await opened(t.teardown)
  await dialog.getByLabel('Code').fill('mint')
  await page.goBack()
  await page.goto(`${office?.url}offers.all`)
  let again = await formOf(page)
  await again.getByText('Your unsaved entries were restored.').waitFor()
  t.equal(await again.getByLabel('Code').inputValue(), 'mint')
  await page.reload()
  again = await formOf(page)
  t.equal(await again.getByLabel('Code').inputValue(), 'mint')
  await again.getByRole('button', { name: 'Discard and start again' }).click()
  t.equal(await again.getByLabel('Code').inputValue(), '')
  await page.keyboard.press('Escape')
  await again.waitFor({ state: 'detached' })
  again = await formOf(page)
  t.equal(await again.getByText('Your unsaved entries were restored.').count(), 0)
})

t.test('a changed form asks in a dialog of the page before it closes', { skip, timeout: 300_000 }, async (t) => {
  const { page, dialog } = await opened(t.teardown)
  page.on('dialog', (shown) => {
    t.fail(shown.message())
    void shown.dismiss()
  })
  const code = dialog.getByLabel('Code')
  await code.fill('mint')
  const question = page.getByRole('dialog', { name: 'Your changes are not saved. Leave anyway?' })
  await page.keyboard.press('Escape')
  await question.locator('button:focus').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  for (let press = 0; press < 3; press++) await page.keyboard.press('Tab')
  t.equal(await question.locator('button:focus').count(), 1, 'Tab stays in the question')
  await page.keyboard.press('Escape')
  await question.waitFor({ state: 'detached' })
  await code.and(page.locator(':focus')).waitFor()
  t.equal(await code.inputValue(), 'mint', 'Escape closes the question only')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await question.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page
    .getByRole('button', { name: /^New offer/ })
    .and(page.locator(':focus'))
    .waitFor()

  const other = await openSignedIn(t.teardown, `${office?.url}offers.all`, { locale: 'zh-CN' })
  await (await formOf(other.page)).getByLabel('Code').fill('mint')
  await other.page.keyboard.press('Escape')
  await other.page.getByRole('button', { name: '继续编辑' }).waitFor()
})

t.test(
  'help texts are in the language of the page, and the buttons stay visible',
  { skip, timeout: 300_000 },
  async (t) => {
    const { dialog } = await opened(t.teardown, { viewport: { width: 390, height: 420 } })
    await dialog.getByText('Short name of the offer.').waitFor()
    t.equal(await dialog.getByText('For programmers.').count(), 0)
    const box = await dialog.getByRole('button', { name: 'Save' }).boundingBox()
    t.ok(box !== null && box.y > 0 && box.y + box.height <= 420, 'the button is in the window')
    const other = await openSignedIn(t.teardown, `${office?.url}offers.all`, { locale: 'zh-CN' })
    await other.page
      .getByRole('button', { name: /^New offer/ })
      .first()
      .click()
    await other.page.getByText('优惠的简称。').waitFor()
  },
)
