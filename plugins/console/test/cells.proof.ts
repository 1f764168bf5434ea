/** Tests how a list and a detail page show each kind of value. The responses of a product are replaced for this. */
import type { Route } from 'playwright-core'
import t from 'tap'
import { openSignedIn, startBackOffice } from './fixtures/back-office.ts'
import { skip } from './fixtures/browser.ts'
import { columns, row as everyKind, form } from './fixtures/cells.ts'
import { createParcelsPlugin } from './fixtures/parcels.ts'

const parcels = createParcelsPlugin({ rows: [], calls: [] })
const start = () => startBackOffice(t.testdir(), (work) => t.teardown(work), { plugins: [parcels] })
const office = skip === false ? await start() : undefined

const rowsUrl = /\/api\/v1\/admin\/parcels(?:\?|$)/

const envelope = (data: unknown) => ({ json: { code: '200', message: '', data } })

/**
 * Replaces the page of the parcels and its rows.
 * @param figuresOf returns the data of a tile or chart
 */
async function replaced(
  teardown: (work: () => Promise<void>) => void,
  change: object,
  answer: object,
  figuresOf: (url: URL) => unknown = () => [],
) {
  const watched = await openSignedIn(teardown, office?.url ?? '')
  const { page } = watched
  // The declaration is read once, because a later request may be open when the test ends.
  let declared: Promise<object> | undefined
  const read = async (route: Route) => (await (await route.fetch()).json()).data
  await page.route('**/console/pages/parcels.all*', async (route) => {
    declared ??= read(route)
    await route.fulfill(envelope({ ...(await declared), ...change }))
  })
  await page.route(rowsUrl, (route) => route.fulfill(envelope(answer)))
  await page.route('**/api/v1/admin/figures**', (route) =>
    route.fulfill(envelope(figuresOf(new URL(route.request().url())))),
  )
  await page.goto(`${office?.url}parcels.all`)
  return watched
}

t.test('a cell shows its value in the form of its column', { skip, timeout: 600_000 }, async (t) => {
  const { page, complaints } = await replaced(t.teardown, { columns, detail: 'parcels.one' }, [everyKind])
  const cell = (title: string) => page.locator(`td[data-title="${title}"]`)
  await cell('Id').waitFor()
  for (const [title, text] of Object.entries({
    Order: '12345',
    Size: '1.5 KiB',
    Lasts: '1.5 hr',
    Share: '40 %',
    Sum: '1,500',
    Paid: 'Yes',
    Sent: 'Waits',
    Mood: 'Calm',
    Alarm: 'loud',
    Tags: 'First b c d 2 more',
    People: 'Ann Bob',
    None: '–',
    Lots: '2',
    Facts: 'Order: 7 · Is open: true · Lines: Note:',
    Change: 'Name Old New Is open No',
    Code: 'A-1',
    Odd: 'x\u{fffd}y z',
    Price: 'CN¥5.00',
    Owner: 'Ann',
    Words: 'p q',
  }))
    t.equal((await cell(title).innerText()).replace(/\s+/g, ' ').trim(), text, title)
  const tone = (title: string) => cell(title).locator('[data-tone]').getAttribute('data-tone')
  t.same(await Promise.all(['Paid', 'Sent', 'Mood', 'Alarm'].map(tone)), ['good', 'quiet', 'good', 'quiet'])
  const bar = cell('Share').locator('progress')
  t.same([await bar.getAttribute('value'), await bar.getAttribute('aria-label')], ['40', 'Share'])
  const numeric = await page.evaluate(
    '[...document.querySelectorAll("td[data-numeric]")].map(({ dataset }) => dataset.title)',
  )
  t.same(numeric, ['Order', 'Size', 'Lasts', 'Sum'], 'aligned at their end')
  t.match(await cell('At').locator('time').getAttribute('title'), /^\S.*\n2026-01-01T12:00:00\.000Z$/)
  t.equal(await cell('Code').locator('[data-copied]').getAttribute('data-copied'), 'A-1')
  t.equal(await cell('Code').getByRole('button', { name: 'Copy A-1' }).count(), 1)
  t.match(await cell('Bill').getByRole('link').getAttribute('href'), '/ctx/bill.pdf')
  t.equal(await cell('Bill').getByRole('link').getAttribute('rel'), 'noopener noreferrer')
  t.equal(await cell('Trap').getByRole('link').count(), 0, 'a script is not a file')
  t.match(await cell('Owner').getByRole('link').getAttribute('href'), /\/iam\.user\/u%2F7$/)
  t.equal(
    (await page.getByRole('region', { name: 'Total', exact: true }).innerText()).replace(/\s+/g, ' '),
    'Total Sum 1,500',
  )
  await cell('Paid').click()
  await page.waitForURL(/parcels\.one\/1$/)
  t.same(complaints, [])
})

t.test('a detail page shows values in full, below the name of its object', { skip, timeout: 600_000 }, async (t) => {
  const sections = [
    { columns: [...columns, { field: 'notes', as: 'chips', title: 'Notes' }] },
    {
      title: 'Lots of it',
      columns: [
        { field: 'alone', as: 'rows', title: 'Alone', columns: [{ field: 'left', as: 'count', title: 'Left' }] },
      ],
    },
  ]
  const page = { kind: 'detail', name: 'code', sections, related: [], actions: [], moments: [], timelines: [] }
  const answer = { ...everyKind, notes: ['x'.repeat(61), 'short'], alone: [{ left: 7 }] }
  const { page: shown, complaints } = await replaced(t.teardown, page, answer)
  const fact = (title: string) => shown.locator(`dt:text-is("${title}") + dd`)
  await fact('Tags').waitFor()
  t.equal(await shown.getByRole('heading', { level: 1 }).innerText(), 'A-1')
  t.match(await shown.title(), /^A-1 · /)
  for (const [title, text] of Object.entries({
    Tags: 'First b c d e f',
    Lots: 'Left 3 4 Total of 2 displayed rows Left 7',
    Facts: 'Order 7 Is open Yes Lines Note –',
    Change: 'Name Old New Is open No',
    Alone: 'Left 7',
  }))
    t.equal((await fact(title).first().innerText()).replace(/\s+/g, ' ').trim(), text, title)
  t.equal(await fact('None').count(), 0, 'a member without a value is no fact')
  const copied = await fact('Facts').first().locator('[data-copied]').getAttribute('data-copied')
  t.same(JSON.parse(copied ?? ''), JSON.parse(everyKind.facts))
  t.equal(await fact('Facts').first().getByRole('button', { name: 'Copy JSON' }).count(), 1)
  const chips = (title: string) => fact(title).locator('li').first().getAttribute('class')
  t.same([await chips('Notes'), (await chips('Tags')) === ''], ['', false], 'sentences are not chips')
  const isLabelled = shown.locator('dt:text-is("Alone"):not(.visually-hidden)')
  t.equal(await isLabelled.count(), 0, 'a single table has the heading of its section')
  t.same(complaints, [])
})

t.test(
  'an exact time range has its limits in the button, and needs one of them',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page, complaints } = await replaced(t.teardown, { columns, range: { title: 'Sent' } }, [everyKind])
    const asked = async (work: () => Promise<void>) => {
      const request = page.waitForRequest(rowsUrl)
      await work()
      return Object.fromEntries(new URL((await request).url()).searchParams)
    }
    const [from, to] = [page.getByLabel('From', { exact: true }), page.getByLabel('Until', { exact: true })]
    const apply = page.getByRole('button', { name: 'Apply' })
    await page.getByRole('button', { name: 'Sent: Any' }).click()
    const pressed = page.getByRole('dialog').getByRole('button', { pressed: true })
    t.same(await pressed.allInnerTexts(), ['Any'])
    t.equal(await apply.isDisabled(), true)
    await from.fill('2026-01-02T00:00')
    await to.fill('2026-01-01T00:00')
    await apply.click()
    t.notMatch(page.url(), 'from=')
    await to.fill('2026-01-03T00:00')
    t.same(await asked(() => apply.click()), { from: '2026-01-02T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z' })
    await page.getByRole('button', { name: /^Sent: Jan 2, 2026.* – Jan 3, 2026/ }).click()
    t.same([await from.inputValue(), await to.inputValue()], ['2026-01-02T00:00', '2026-01-03T00:00'])
    t.equal(await pressed.count(), 0)
    await from.fill('')
    t.same(await asked(() => apply.click()), { to: '2026-01-03T00:00:00.000Z' })
    await page.getByRole('button', { name: /^Sent: … – Jan 3, 2026/ }).click()
    await page.getByRole('button', { name: 'Today' }).click()
    await page.getByRole('button', { name: 'Sent: Today' }).click()
    t.same(await pressed.allInnerTexts(), ['Today'])
    t.same([await from.inputValue(), await to.inputValue()], ['', ''])
    t.same(complaints, [])
  },
)

t.test('a form has the control that suits each field, and needs its reason', { skip, timeout: 600_000 }, async (t) => {
  const { page, complaints } = await replaced(t.teardown, { columns, create: form }, [everyKind])
  await page.getByRole('button', { name: 'New parcel' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Weigh it first.').waitFor()
  const choice = (name: string) => dialog.getByRole('combobox', { name, exact: true })
  const options = (name: string) => choice(name).locator('option').allInnerTexts()
  t.same(await options('State'), ['–', 'Open', 'shut'])
  t.same(await options('Mode'), ['–', 'a', 'b'])
  t.same(await options('Fragile'), ['Default', 'Yes', 'No'])
  t.equal(await choice('Mode').getAttribute('aria-required'), 'true')
  t.equal(await dialog.getByRole('switch', { name: 'Insured' }).isChecked(), true)
  const typed = (name: string) => dialog.getByRole('textbox', { name, exact: true })
  const facts = (name: string, ...of: string[]) => Promise.all(of.map((one) => typed(name).getAttribute(one)))
  t.same(await facts('Password', 'type', 'autocomplete'), ['password', 'new-password'])
  t.same(await facts('Current password', 'type', 'autocomplete'), ['password', 'current-password'])
  t.equal(await dialog.getByRole('button', { name: 'Show or hide: Password' }).count(), 1)
  const section = dialog.getByRole('group', { name: 'More' })
  t.equal(await section.getByRole('textbox', { name: 'PIN' }).getAttribute('type'), 'password')
  t.same(await facts('Text', 'rows', 'spellcheck'), ['8', 'false'])
  t.equal(await dialog.getByLabel('Opens').getAttribute('type'), 'time')
  t.same(await facts('Count', 'type', 'inputmode'), ['text', 'numeric'])
  t.same(await facts('Price', 'type', 'inputmode'), ['text', 'decimal'])
  t.same(await dialog.locator('code').allInnerTexts(), ['n'])
  t.equal(await dialog.getByText('Unit: EUR', { exact: true }).count(), 1)
  t.equal(await dialog.getByText('Without the permission shop:view there are no choices.').count(), 1)
  t.equal(await typed('Why').count(), 0)
  await choice('State').selectOption('shut')
  await typed('Why').waitFor()
  await choice('State').selectOption('')
  await choice('Mode').selectOption('a')
  await typed('Count').fill('7')
  await typed('Price').fill('1.5')
  const send = dialog.getByRole('button', { name: 'Send it' })
  t.equal(await send.isDisabled(), true, 'without a reason')
  await dialog.getByRole('textbox', { name: 'Reason, for the audit' }).fill('New customer')
  const request = page.waitForRequest((one) => one.method() === 'POST' && rowsUrl.test(one.url()))
  await send.click()
  const sent = await request
  t.same(sent.postDataJSON(), { mode: 'a', insured: true, count: 7, price: 150 })
  t.equal(sent.headers()['x-reason'], 'New%20customer')
  await page.getByText('“Send it” was executed.', { exact: true }).waitFor()
  t.same(complaints, [])
})

t.test('a tile shows its change as good or bad, and a chart shows shares', { skip, timeout: 600_000 }, async (t) => {
  const path = '/api/v1/admin/figures'
  const shared = { operation: 'getFigures', method: 'GET', path, query: { state: 'paid' }, field: 'sum', range: true }
  const opens = { id: 'parcels.all', filter: { state: 'open' }, hasRange: true }
  const tiles = [
    { ...shared, id: 'a', title: 'Orders', lead: 'Paid ones', more: 'good', opens },
    { ...shared, id: 'b', title: 'Returns', more: 'bad' },
    { ...shared, id: 'c', title: 'Visits' },
    { ...shared, id: 'd', title: 'Disk', unit: 'bytes', range: false, opens: { ...opens, filter: undefined } },
    { ...shared, id: 'e', title: 'Shells', currency: 'asset', range: false },
  ]
  const share = { id: 's', as: 'share', title: 'Shops', method: 'GET', path: `${path}/shops`, at: 'at', by: 'shop' }
  const charts = [{ ...share, ranges: [], labels: { a: 'Airport' }, lines: [{ field: 'sold', title: 'Sold' }] }]
  const sold = ['b', 'a', 'a', 'a', 'c'].map((shop) => ({ at: '2026-01-01', shop, sold: shop === 'c' ? 0 : 1 }))
  const queries = new Set<string>()
  const { page, complaints } = await replaced(t.teardown, { columns, tiles, charts }, [everyKind], (url) => {
    if (url.pathname.endsWith('/shops')) return sold
    queries.add([...url.searchParams.keys()].join(' '))
    const daysAgo = (Date.now() - Date.parse(url.searchParams.get('from') ?? '')) / 86_400_000
    return [{ sum: daysAgo > 8 ? 1024 : 1536, asset: 'shells' }]
  })
  const tile = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('heading', { name }) })
  for (const name of ['Visits', 'Orders', 'Returns']) await tile(name).getByText('+50%').waitFor()
  await tile('Disk').getByText('1.5 KiB').waitFor()
  await tile('Shells').getByText('1,536').waitFor()
  const text = async (name: string) => (await tile(name).innerText()).replace(/\s+/g, ' ')
  t.equal(await text('Orders'), 'Orders Paid ones 1,536 +50% 1,024 before')
  t.equal(await text('Disk'), 'Disk 1.5 KiB')
  t.equal(await text('Shells'), 'Shells 1,536 shells')
  const tone = (name: string) => tile(name).locator('[data-tone]').getAttribute('data-tone')
  t.same(await Promise.all(['Orders', 'Returns', 'Visits'].map(tone)), ['good', 'bad', 'quiet'])
  t.same([...queries].sort(), ['state', 'state from to'])
  const target = (name: string) => tile(name).getByRole('link').getAttribute('href')
  t.match(await target('Orders'), /\/parcels\.all\?state=open&from=[^&]+&to=[^&]+$/)
  t.match(await target('Disk'), /\/parcels\.all$/)
  const parts = page.getByRole('region', { name: 'Shops' }).getByRole('listitem')
  await parts.first().waitFor()
  t.same(
    (await parts.allInnerTexts()).map((part) => part.replace(/\s+/g, ' ')),
    ['Airport 3 75 %', 'b 1 25 %'],
  )
  t.same(complaints, [])
})
