/** Works in lists of the back office: edits cells, imports a file, moves cards, and sees the outcome of each row. */
import { until } from '@plinth/dev/testing'
import type { Locator, Page, Route } from 'playwright-core'
import t from 'tap'
import vouchers from '../../examples/vouchers/plugin.ts'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  saveScreenshot,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'

const list = 'vouchers.vouchers'
const path = 'admin/example-vouchers'

const { root, url } = skip ? ({} as never) : await startWithRows(t.teardown, { plugins: [vouchers] })

const isFocused = (one: Locator) => one.and(one.page().locator(':focus')).count()

async function open(page: Page, address = list) {
  await page.goto(`${url}${address}`)
  await page.locator('main:not(:has([aria-busy=true])) h1').waitFor()
}

/** Signs in and opens the list. */
async function start(locale = 'en', viewport = { width: 1440, height: 900 }) {
  const { page, complaints } = await openPage(t.teardown, url, { locale, viewport, hasTouch: viewport.width < 500 })
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', password)
  await page.click('button[type=submit]')
  await page.locator('main h1').waitFor()
  await open(page)
  return { page, complaints }
}

const csv = ['Code,Value,Holder', ...Array.from({ length: 200 }, (_, at) => `GIFT-${at},10.00,bela`)]
csv[11] = 'gift!,10.00,bela'
csv[21] = 'GIFT-3,10.00,bela'
csv[31] = 'GIFT-30,10.005,bela'
const file = (lines: readonly string[]) => ({
  name: 'vouchers.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(lines.join('\r\n')),
})

t.test(
  '200 rows with three faults are imported, and the faults are reported',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, complaints } = await start()
    await page.getByRole('button', { name: 'Import a CSV file' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('CSV file').setInputFiles({ ...file([]), buffer: Buffer.from([0xff, 0xfe, 0x41]) })
    await dialog.getByText('The file is not in UTF-8').waitFor()
    await dialog.getByLabel('CSV file').setInputFiles(file(csv))
    await dialog.getByText('200 rows: 197 can be imported, 3 problems').waitFor()
    t.same(await dialog.locator('tbody td:nth-child(-n+2)').allTextContents(), [
      '12',
      'Code',
      '22',
      'Code',
      '32',
      'Value',
    ])
    t.same(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'import-checked')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download all problems' }).click(),
    ])
    t.equal(download.suggestedFilename(), `${list}.csv`)
    t.equal((await root('GET', path)).total, 0, 'the check has written nothing')
    await dialog.getByRole('button', { name: 'Import the 197 rows without problems' }).click()
    await dialog.getByText('197 of 200 rows imported').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('main tbody tr', { hasText: 'GIFT-199' }).waitFor()
    t.equal((await root('GET', `${path}?count=exact`)).total, 197)
    t.same(complaints, [])
  },
)

t.test('of two files that are chosen quickly, the last one is checked', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await start()
  await page.getByRole('button', { name: 'Import a CSV file' }).click()
  const dialog = page.getByRole('dialog')
  // The first file is read slowly.
  await page.evaluate(`(() => {
    const read = File.prototype.arrayBuffer
    File.prototype.arrayBuffer = async function () {
      if (this.name === 'slow.csv') await new Promise((resolve) => { window.finishSlow = resolve })
      return read.call(this)
    }
  })()`)
  const input = dialog.getByLabel('CSV file')
  await input.setInputFiles({ ...file(['Code,Value', 'SLOW-1,10.00']), name: 'slow.csv' })
  await page.waitForFunction('window.finishSlow !== undefined')
  await input.setInputFiles(file(['Code,Value', 'FAST-1,10.00', 'FAST-2,10.00']))
  await dialog.getByText('2 rows: 2 can be imported, 0 problems').waitFor()
  await page.evaluate('window.finishSlow()')
  await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
  await page.waitForLoadState('networkidle')
  t.ok(await dialog.getByText('2 rows: 2 can be imported, 0 problems').isVisible())

  // The response for the first file arrives after a file that cannot be read was chosen.
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route(
    (url) => url.pathname.endsWith('/import'),
    async (route) => {
      await held
      await route.continue().catch(() => {})
    },
    { times: 1 },
  )
  const sent = page.waitForRequest((request) => request.url().endsWith('/import'))
  await input.setInputFiles(file(['Code,Value', 'SLOW-1,10.00']))
  await sent
  await input.setInputFiles({ ...file([]), buffer: Buffer.from([0xff, 0xfe, 0x41]) })
  await dialog.getByText('The file is not in UTF-8').waitFor()
  release()
  await page.waitForLoadState('networkidle')
  t.equal(await dialog.getByText('can be imported').count(), 0, 'the report of another file is not shown')
  t.same(complaints, [])
})

t.test('an import without a response is repeated with the same key', { skip, timeout: 300_000 }, async (t) => {
  const { page } = await start()
  const keys: (string | undefined)[] = []
  page.on('request', (one) => {
    if (one.url().endsWith('/import')) keys.push(one.headers()['idempotency-key'])
  })
  await page.getByRole('button', { name: 'Import a CSV file' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('CSV file').setInputFiles(file(['Code,Value', 'LOST-1,10.00', 'LOST-2,10.00']))
  await dialog.getByText('2 rows: 2 can be imported, 0 problems').waitFor()
  const send = dialog.getByRole('button', { name: 'Import 2 rows' })
  const lose = async (route: Route) => {
    await route.fetch()
    await route.abort()
  }
  await page.route((url) => url.pathname.endsWith('/import'), lose, { times: 1 })
  await send.click()
  await dialog.getByText('The server does not respond.').waitFor()
  await send.click()
  await dialog.getByText('2 rows imported').waitFor()
  t.equal(keys.length, 3)
  t.ok(keys[1])
  t.equal(keys[2], keys[1])
  t.equal((await root('GET', `${path}?keyword=LOST&count=exact`)).total, 2)
  for (const { id } of (await root('GET', `${path}?keyword=LOST`)).items) await root('DELETE', `${path}/${id}`)
})

t.test('an action does not abort the action on the row before', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await start()
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route(
    (url) => url.pathname.endsWith('/activate'),
    async (route) => {
      await promise
      await route.continue()
    },
  )
  for (const code of ['GIFT-182', 'GIFT-181']) {
    await page.getByRole('button', { name: `Actions: ${code}` }).click()
    await page.getByRole('menuitem', { name: 'Activate' }).click()
  }
  resolve()
  for (const code of ['GIFT-182', 'GIFT-181']) {
    await page.getByRole('status').getByText(`“Activate · ${code}” was executed.`).waitFor()
    const [{ id, status }] = (await root('GET', `${path}?keyword=${code}`)).items
    t.equal(status, 'active')
    await root('POST', `${path}/${id}/withdraw`)
  }
  t.same(complaints, [])
})

t.test(
  'a filter with an impossible time opens, and its removal keeps the focus',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page } = await start()
    for (const time of ['soon', '+275760-09-13T00:00:00Z']) {
      await open(page, `${list}?filter=${encodeURIComponent(`validUntil:gte:${time}`)}`)
      const chip = page.getByRole('button', { name: /^Valid until: / })
      await chip.click()
      t.equal(await page.getByLabel('From').inputValue(), '')
      await page.keyboard.press('Escape')
      await chip.press('Delete')
      t.ok(await isFocused(page.getByRole('combobox', { name: 'Add filter' })))
    }
  },
)

t.test('a cell is edited in place, with undo, errors and conflicts', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await start()
  const row = page.locator('main tbody tr', { hasText: 'GIFT-199' })
  const pencil = row.getByRole('button', { name: 'Change Note: GIFT-199' })
  const one = async () => (await root('GET', `${path}?keyword=GIFT-199`)).items[0]
  const popover = page.getByRole('dialog')
  const note = popover.getByLabel('Note')
  t.equal(await row.getByRole('button', { name: 'Change Code: GIFT-199' }).count(), 0, 'the code is fixed')

  await row.getByRole('button', { name: 'Change Holder: GIFT-199' }).focus()
  for (let step = 0; step < 6 && !(await isFocused(pencil)); step++) await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Enter')
  await note.waitFor()
  await page.keyboard.type('For the anniversary')
  t.same(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'cell-edited')
  await page.keyboard.press('Escape')
  await popover.waitFor({ state: 'detached' })
  t.ok(await isFocused(pencil), 'the focus returns after Escape')
  t.equal((await one()).note, null)

  await page.keyboard.press('Enter')
  await note.fill('x'.repeat(101))
  await page.keyboard.press('Enter')
  await popover.locator('[aria-invalid=true]').waitFor()
  await note.fill('For the anniversary')
  await page.keyboard.press('Enter')
  await page.getByText('“Note” of GIFT-199 was saved.').waitFor()
  t.match(await one(), { note: 'For the anniversary', version: 2 })
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
  await page.getByText('The change was undone.').waitFor()
  t.match(await one(), { note: null, version: 3 })

  await pencil.click()
  await popover.getByRole('button', { name: 'Save' }).click()
  await popover.waitFor({ state: 'detached' })
  t.equal((await one()).version, 3, 'an unchanged value is not sent')
  await pencil.click()
  await note.fill('Mine')
  const { id } = await one()
  await root('PUT', `${path}/${id}`, { note: 'Theirs', version: 3 })
  await page.keyboard.press('Enter')
  await popover.getByRole('cell', { name: 'Theirs' }).waitFor()
  await popover.getByRole('cell', { name: 'Mine' }).waitFor()
  await saveScreenshot(page, 'cell-conflict')
  await popover.getByRole('button', { name: 'Apply my entries' }).click()
  await popover.getByRole('button', { name: 'Save' }).click()
  await until(async () => (await one()).note === 'Mine', 'the own value is stored')

  const amount = row.getByRole('button', { name: 'Change Value: GIFT-199' })
  await amount.click()
  await popover.getByLabel('Value').fill('12.5')
  await page.keyboard.press('Enter')
  await until(async () => (await one()).value === 1_250, 'an amount is typed in its main unit')
  t.same(
    complaints.splice(0).filter((line) => !line.includes('409')),
    [],
  )
})

t.test('cards are moved with the pointer and with the keyboard', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await start()
  await page.getByRole('button', { name: 'Show as a board' }).click()
  const column = (name: string) => page.getByRole('region', { name, exact: true })
  const card = (name: string, code: string) => column(name).locator('li', { hasText: code })
  await card('Draft', 'GIFT-199').waitFor()
  await column('Draft').getByText('197', { exact: true }).waitFor()
  t.equal(await column('Draft').locator('li').count(), 20)
  t.match(page.url(), /[?&]board=1/)
  t.same(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'board')

  const drag = async (code: string, from: string, to: string) => {
    const source = (await card(from, code).boundingBox()) as { x: number; y: number; width: number; height: number }
    const target = (await column(to).boundingBox()) as typeof source
    await page.mouse.move(source.x + source.width / 2, source.y + source.height - 6)
    await page.mouse.down()
    await page.mouse.move(target.x + 40, target.y + 40, { steps: 5 })
    await saveScreenshot(page, `board-drag-${to}`)
    await page.mouse.up()
  }
  await drag('GIFT-199', 'Draft', 'Active')
  await card('Active', 'GIFT-199').waitFor()
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
  await card('Draft', 'GIFT-199').waitFor()

  await drag('GIFT-198', 'Draft', 'Void')
  await page.getByRole('dialog').getByText('GIFT-198 can no longer be used.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).last().click()
  await card('Void', 'GIFT-198').waitFor()
  await drag('GIFT-198', 'Void', 'Draft')
  t.equal((await root('GET', `${path}?keyword=GIFT-198`)).items[0].status, 'void', 'no action leads there')

  const menu = (name: string, code: string) => card(name, code).getByRole('button', { name: `Actions: ${code}` })
  await menu('Draft', 'GIFT-197').focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Move to Active' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('menuitem', { name: 'Move to Active' }).focus()
  await page.keyboard.press('Enter')
  await card('Active', 'GIFT-197').waitFor()
  t.ok(await isFocused(menu('Active', 'GIFT-197')), 'the focus follows the card')

  const { id } = (await root('GET', `${path}?keyword=GIFT-196`)).items[0]
  await menu('Draft', 'GIFT-196').click()
  await page.getByRole('menuitem', { name: 'Move to Active' }).waitFor()
  await root('DELETE', `${path}/${id}`)
  await page.getByRole('menuitem', { name: 'Move to Active' }).click()
  await page.getByText(/GIFT-196.*does not exist/).waitFor()
  await column('Draft').getByRole('button', { name: 'Show more: Draft' }).click()
  await until(async () => (await column('Draft').locator('li').count()) === 40, 'more cards')
  await page.getByRole('button', { name: 'Show as a list' }).click()
  await page.locator('main tbody tr').first().waitFor()
  t.same(complaints, [])
})

t.test('rows that an action left unchanged are listed with their reason', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await start()
  for (const code of ['GIFT-195', 'GIFT-194'])
    await page.locator('main tbody tr', { hasText: code }).getByRole('checkbox').check()
  const { id } = (await root('GET', `${path}?keyword=GIFT-194`)).items[0]
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await root('DELETE', `${path}/${id}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  const notice = page.getByRole('alert').filter({ hasText: '1 done, 1 not done' })
  await notice.getByText('Not found, or not in your data scope').waitFor()
  await notice.getByRole('link', { name: 'GIFT-194' }).waitFor()
  await page.getByText('1 selected').waitFor({ state: 'hidden' })
  t.ok(await notice.isVisible(), 'the reason stays, although the row is gone')
  t.same(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'bulk-failures')
  const all = page.locator('main thead').getByRole('checkbox')
  await all.check()
  await all.uncheck()
  await page.locator('main tbody tr').first().getByRole('checkbox').check()
  t.equal(await notice.count(), 0, 'the failures are of rows that are no longer selected')
  t.same(complaints, [])
})

t.test('both languages and a narrow screen', { skip, timeout: 300_000 }, async (t) => {
  for (const [locale, width] of [
    ['zh-CN', 1440],
    ['zh-CN', 390],
    ['en', 390],
  ] as const) {
    const { page } = await start(locale, { width, height: 844 })
    for (const address of [list, `${list}?board=1`, 'mall.refunds?board=1', 'notification.rules?board=1']) {
      await open(page, address)
      if (address.includes('board')) await page.locator('main [data-value] li').first().waitFor()
      t.notOk(await findHorizontalOverflow(page), `${address} ${width}`)
      t.same(await findAccessibilityProblems(page), [], `${address} ${locale} ${width}`)
      await saveScreenshot(page, `${address.replace(/\W/g, '-')}-${locale}-${width}`)
    }
  }
})
