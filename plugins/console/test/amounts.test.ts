import { adminPages, amountUnits, type PageDeclaration } from '@plinth/admin'
import { rejectsWith, throwsWith } from '@plinth/dev/testing'
import { http, routesWith, Type } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import fc from 'fast-check'
import t from 'tap'
import { assertAmountUnits } from '../src/admin/amount-units.ts'
import { chartData } from '../web/admin/charts/chart-data.ts'
import { amountText, decimalOf, parseMinorUnits, unitOf, unitOfColumn, unitTyped } from '../web/admin/pages/amounts.ts'
import { openSignedIn, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, findHorizontalOverflow, saveScreenshot, skip } from './fixtures/browser.ts'

t.test('minor units and decimal text are the same amount, with any size and scale', async (t) => {
  fc.assert(
    fc.property(fc.bigInt(), fc.integer({ min: 0, max: 18 }), (minor, scale) => {
      const text = decimalOf(String(minor), scale)
      return text !== undefined && parseMinorUnits(text, scale) === String(minor)
    }),
  )
  t.equal(decimalOf('-5', 2), '-0.05')
  t.equal(decimalOf('1234567890123456789012345678', 18), '1234567890.123456789012345678')
  t.equal(decimalOf('1.5', 2), undefined)
  t.same(
    ['12.34', '12', '12.', '1,234.5', '1,234,567.8', ' -0.10 ', '12.340'].map((text) => parseMinorUnits(text, 2)),
    ['1234', '1200', '1200', '123450', '123456780', '-10', '1234'],
  )
  for (const wrong of ['', '12.345', '1,23', '1e3', '0x1', '12.3.4', '--1', '∞'])
    t.equal(parseMinorUnits(wrong, 2), undefined, wrong)
})

t.test('an amount is formatted for the language without losing a digit', async (t) => {
  const units = {
    points: { displayName: 'Points', scale: 0 },
    coin: { displayName: 'Coin', scale: 18, symbol: 'COIN' },
  }
  const written = (code: string, minor: string, language = 'en') =>
    amountText(minor, unitOf(units, code), language).replaceAll(/\s/g, ' ')
  t.equal(written('points', '1234567'), '1,234,567 Points')
  t.equal(written('coin', '1234567890123456789012345678'), '1,234,567,890.123456789012345678 COIN')
  t.equal(written('coin', '1500000000000000000'), '1.50 COIN')
  t.equal(written('CNY', '123456'), 'CN¥1,234.56')
  t.equal(written('CNY', '-123456', 'zh-CN'), '-¥1,234.56')
  t.equal(written('cny', '29700'), 'CN¥297.00', 'assets of the ledger are in lower case')
  t.equal(written('JPY', '123456'), '¥123,456')
  t.equal(written('unheard-of', '9007199254740993'), '9,007,199,254,740,993', 'as it is')
  t.equal(written('CNY', '1.5'), '1.5', 'is not a number of minor units')
  for (const unknown of ['toString', 'abc', '', null]) t.equal(unitOf(units, unknown), undefined, String(unknown))
})

t.test('the unit of a typed amount comes from the form, from another field, or else from the row', async (t) => {
  const units = { points: { displayName: 'Points', scale: 0 }, gold: { displayName: 'Gold', scale: 3 } }
  const scaleOf = (amount: Parameters<typeof unitTyped>[0], values = {}) =>
    unitTyped(amount, units, values, { asset: 'gold' })?.scale
  t.equal(scaleOf({ unit: 'points' }), 0)
  t.equal(scaleOf({ field: 'asset' }, { asset: 'points' }), 0)
  t.equal(scaleOf({ field: 'asset' }), 3)
  t.equal(scaleOf({ field: 'other' }), undefined)
  t.equal(scaleOf(undefined), undefined)
})

t.test('the unit of a column comes from the row, from the declaration, or from decimals in the row', async (t) => {
  const units = { points: { displayName: 'Points', scale: 0 } }
  const shown = (column: object, row: object) => {
    const { unit } = unitOfColumn({ field: 'sum', as: 'amount', title: '', ...column }, units, { sum: '1', ...row })
    return amountText('120000000', unit, 'en').replaceAll(/\s/g, ' ')
  }
  t.equal(shown({ currency: 'asset' }, { asset: 'cny' }), 'CN¥1,200,000.00')
  t.equal(shown({ asset: 'points' }, {}), '120,000,000 Points')
  t.equal(shown({ decimals: 'scale', symbol: 'token' }, { scale: 6, token: 'USDT' }), '120.00 USDT')
  t.equal(shown({ decimals: 'scale', symbol: 'token' }, { scale: null, token: 'USDT' }), '120,000,000', 'not known')
  t.equal(shown({ symbol: 'token', asset: 'points' }, { token: 'cny' }), 'CN¥1,200,000.00', 'the unit of the row')
})

t.test('a chart of amounts is in their unit, and amounts of different assets are never added up', async (t) => {
  const chart = {
    id: 'a',
    title: 'A',
    as: 'line' as const,
    method: 'GET',
    path: '/',
    at: 'day',
    currency: 'asset',
    labels: {},
    ranges: [],
    lines: [{ field: 'sum', title: 'Sum' }],
  }
  const rows = [
    { day: '2026-01-01', asset: 'cny', sum: 29_700 },
    { day: '2026-01-01', asset: 'cny', sum: 300 },
    { day: '2026-01-01', asset: 'points', sum: 7 },
  ]
  const { lines } = chartData(chart, rows, { points: { displayName: 'Points', scale: 0 } })
  t.strictSame(
    lines.map(({ title, values }) => ({ title, values })),
    [
      { title: 'Sum · CNY', values: [300] },
      { title: 'Sum · Points', values: [7] },
    ],
  )
})

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })
const sum = Type.Integer({ title: 'Sum' })
const tillView = Type.Object({
  id: Type.Integer({ title: 'Till' }),
  asset: Type.String({ title: 'Asset' }),
  sum,
  lots: Type.Array(Type.Object({ asset: Type.String({ title: 'Asset' }), left: Type.Integer({ title: 'Left' }) }), {
    title: 'Lots',
  }),
})
const tills = [
  { id: 1, asset: 'gold', sum: 123_456, lots: [{ asset: 'gold', left: -7 }] },
  { id: 2, asset: 'CNY', sum: 500, lots: [] },
  { id: 3, asset: 'shells', sum: 4_000, lots: [] },
]
const access = { permission: 'iam:user:view', scope: 'none' } as const
const { route } = routesWith<{ readonly moved: unknown[] }>()
const body = Type.Object({ asset: Type.String({ title: 'Asset' }), sum: Type.Integer({ title: 'Change' }) })
const routes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/tills',
    operationId: 'getTills',
    summary: 'Tills',
    access,
    response: Type.Array(tillView),
    handler: () => tills,
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/tills/preview',
    operationId: 'postTillPreview',
    summary: 'Try',
    access,
    request: { body },
    response: Type.Object({
      asset: Type.String({ title: 'Asset' }),
      before: Type.Integer({ title: 'Before' }),
      after: Type.Integer({ title: 'After' }),
      possible: Type.Boolean({ title: 'Possible' }),
    }),
    handler: ({ body: { asset, sum } }) => ({ asset, before: 123_456, after: 123_456 + sum, possible: sum > -123_456 }),
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/tills',
    operationId: 'postTill',
    summary: 'Change a till',
    access,
    request: { body },
    response: Type.Null(),
    handler({ body }, { moved }) {
      moved.push(body)
      return null
    },
  }),
]
const shownPage: PageDeclaration = {
  kind: 'list',
  id: 'tills.all',
  title: text('Tills'),
  source: 'getTills',
  key: 'id',
  place: { group: 'ledger', order: 1 },
  columns: [
    { field: 'id', as: 'text' },
    { field: 'sum', as: 'amount', currency: 'asset' },
    { field: 'lots', as: 'rows', columns: [{ field: 'left', as: 'amount', currency: 'asset' }] },
  ],
  actions: [
    {
      operation: 'postTill',
      label: text('Empty'),
      params: {},
      confirm: text('{{sum}} of {{id}} is taken out.'),
      body: { asset: { field: 'asset' }, sum: { field: 'sum' } },
    },
    {
      operation: 'postTill',
      label: text('Put in'),
      params: {},
      body: { asset: { field: 'asset' } },
      ask: ['sum'],
      amounts: { sum: { field: 'asset' } },
    },
  ],
  create: {
    operation: 'postTill',
    title: text('Adjust'),
    fields: ['asset', 'sum'],
    amounts: { sum: { field: 'asset' } },
    preview: {
      operation: 'postTillPreview',
      takes: ['asset', 'sum'],
      possible: 'possible',
      columns: [
        { field: 'before', as: 'amount', currency: 'asset' },
        { field: 'after', as: 'amount', currency: 'asset' },
      ],
    },
  },
}

const tillsOf = (moved: unknown[], page: PageDeclaration = shownPage) =>
  definePlugin({
    id: 'tills',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    contributes: [adminPages, amountUnits],
    setup({ services, contribute }) {
      services.http.addRoutes(routes, { moved })
      contribute(adminPages, page.id, page)
      contribute(amountUnits, 'tills', () => new Map([['gold', { displayName: text('Gold'), scale: 3, symbol: 'g' }]]))
    },
  })

t.test('a product with an amount without a unit does not start, wherever the amount is shown', async (t) => {
  const sum = { field: 'sum', as: 'amount' } as const
  const list = { ...shownPage, columns: [], create: undefined } as unknown as PageDeclaration
  const detail = { kind: 'detail', id: 'a.b', title: text('A'), source: 'getTills', sections: [] }
  const write = { operation: 'postTill', title: text('A'), label: text('A'), fields: [], params: {} }
  const wrong: readonly unknown[] = [
    { ...list, columns: [sum] },
    { ...list, columns: [{ field: 'lots', as: 'rows', columns: [sum] }] },
    { ...list, columns: [{ ...sum, currency: 'asset', asset: 'CNY' }] },
    { ...list, columns: [{ ...sum, decimals: 'scale' }] },
    { ...list, create: { ...write, answer: [sum] } },
    { ...list, forms: [{ ...write, livePreview: { operation: 'a', takes: [], columns: [sum] } }] },
    { ...list, bulk: [{ ...write, ids: 'ids', answer: [sum] }] },
    { ...list, actions: [{ ...write, preview: { operation: 'a', columns: [sum] } }] },
    { ...detail, sections: [{ columns: [sum] }] },
    { ...detail, form: { ...write, answer: [sum] } },
  ]
  const code = { code: 'PLINTH_CONSOLE_AMOUNT_UNIT' }
  for (const one of wrong) throwsWith(t, () => assertAmountUnits([one as PageDeclaration]), code)
  t.doesNotThrow(() => assertAmountUnits([shownPage]))
  const faulty = { ...shownPage, columns: [...shownPage.columns, sum] } as PageDeclaration
  await rejectsWith(
    t,
    startBackOffice(t.testdir(), () => {}, { plugins: [tillsOf([], faulty)] }),
    { code: 'PLINTH_START_FAILED', cause: code },
  )
})

t.test('lists and forms show amounts in the same unit', { skip, timeout: 300_000 }, async (t) => {
  const moved: unknown[] = []
  const office = await startBackOffice(t.testdir(), (work) => t.teardown(work), { plugins: [tillsOf(moved)] })
  const { page, complaints } = await openSignedIn(t.teardown, `${office.url}tills.all`)
  const rows = page.locator('tbody tr')
  await rows.first().waitFor()
  const shown = (await rows.allInnerTexts()).map((row) => row.split(/\s*\t\s*/)[1])
  t.same(shown, ['123.456 g', 'CN¥5.00', '4,000 shells'])
  t.match(await rows.nth(2).locator('[title*="smallest unit"]').count(), 1)
  await rows.first().getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Empty' }).click()
  await page.getByRole('dialog').getByText('123.456 g of 1 is taken out.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await rows.first().getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Put in' }).click()
  await page.getByRole('dialog').getByText('Unit: g').waitFor()
  await page.getByRole('dialog').getByLabel('Change').fill('2.5')
  await page.getByRole('dialog').getByRole('button', { name: 'Put in' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.strictSame(moved.splice(0), [{ asset: 'gold', sum: 2_500 }])
  await page.getByRole('button', { name: 'Adjust' }).click()
  const dialog = page.getByRole('dialog')
  const submit = dialog.locator('button[type=submit]')
  await dialog.getByLabel('Asset').fill('gold')
  await dialog.getByText('Unit: g').waitFor()
  await dialog.getByLabel('Change').fill('1.2345')
  await submit.click()
  await dialog.getByText('at most 3 decimal places').waitFor()
  await dialog.getByLabel('Change').fill('-200')
  await submit.click()
  await dialog.getByText('-76.544 g').waitFor()
  t.ok(await submit.isDisabled(), 'the preview says that this is not possible')
  await dialog.getByLabel('Change').fill('-1.5')
  await submit.click()
  await dialog.getByText('121.956 g').waitFor()
  t.match((await dialog.getByRole('region').innerText()).replace(/\s+/g, ' '), /Before 123.456 g After 121.956 g/)
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'amounts')
  await submit.click()
  await dialog.waitFor({ state: 'detached' })
  t.strictSame(moved, [{ asset: 'gold', sum: -1_500 }])
  await page.setViewportSize({ width: 390, height: 844 })
  t.equal(await findHorizontalOverflow(page), 0)
  t.strictSame(complaints, [])
})
