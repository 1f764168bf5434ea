/** Tests the figures of the overview: numbers of a shop with a history, their range, and who may see them. */
import { database } from '@plinth/database'
import t from 'tap'
import {
  emulateColorScheme,
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  saveScreenshot,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'
import { addShopHistory } from './shop-history.ts'

const { running, root, logIn, url } = await startWithRows(t.teardown)
await addShopHistory(running)
const db = running.service(database)

const dayMs = 86_400_000
const now = Date.now()
const span = (days: number, until = now) =>
  `from=${new Date(until - days * dayMs).toISOString()}&to=${new Date(until).toISOString()}`

interface Item {
  readonly at: string
  readonly [member: string]: string | number
}
const items = async (path: string): Promise<readonly Item[]> => (await root('GET', path)).items
const sum = (rows: readonly Item[], member: string) => rows.reduce((total, row) => total + BigInt(row[member] ?? 0), 0n)

t.test('the figures equal the rows of the lists', async (t) => {
  for (const days of [1, 7, 30]) {
    const figures = await items(`admin/money/payment-figures?${span(days)}`)
    const orders = (await root('GET', `admin/money/payment-orders?size=1&${span(days)}`)).total
    t.equal(sum(figures, 'orders'), BigInt(orders), `${days} days`)
    const [paid] = await db.query<{ total: unknown }>(
      'select sum(amount) as total from money_payment_order where asset = ? and paid_at >= ? and paid_at < ?',
      ['cny', now - days * dayMs, now],
    )
    const ofYuan = figures.filter(({ asset }) => asset === 'cny')
    t.equal(sum(ofYuan, 'revenue'), BigInt(String(paid?.total ?? 0)))
    const messages = await items(`admin/notification/send-figures?${span(days)}`)
    const failed = (await root('GET', `notification-send-logs?size=1&status=failed&${span(days)}`)).total
    t.equal(sum(messages, 'failed'), BigInt(failed))
    const users = await items(`admin/iam/user-figures?${span(days)}`)
    t.equal(sum(users, 'created'), BigInt((await root('GET', `admin/iam/users?size=1&${span(days)}`)).total))
    t.equal(new Set(figures.map(({ at }) => at)).size, days === 1 ? 25 : days + 1, 'steps without a gap')
  }
})

t.test('points are those of the daily totals and of the ledger, each once', async (t) => {
  const issued = async (query: string) => sum(await items(`admin/member-points/figures?${query}`), 'issued')
  const [granted] = await db.query<{ total: unknown }>(
    `select sum(d_available + d_frozen) as total from money_entry
     where asset = 'points:mall' and d_available + d_frozen > 0 and kind <> 'money.reverse'`,
  )
  const today = BigInt(String(granted?.total))
  t.ok(today > 0n)
  const later = now + 60_000
  t.equal(await issued(span(1, later)), today, 'hours come from the ledger')
  const days = await items(`admin/member-points/days?size=200`)
  const whole = (await items(`admin/member-points/figures?${span(30, later)}`)).map(({ at }) => at).slice(1, -1)
  const counted = days.filter(({ day }) => whole.includes(String(day)))
  t.ok(counted.length >= 28)
  t.equal(await issued(span(30, later)), today + sum(counted, 'granted'))
})

t.test(
  'a span that is reversed or too long is rejected, and a person without a permission sees no figures',
  async (t) => {
    const wrong = [`from=${new Date(now).toISOString()}&to=2026-01-01T00:00:00Z`, span(101)]
    for (const query of wrong) await t.rejects(root('GET', `admin/iam/user-figures?${query}`), /400/)
    const anna = await logIn('anna')
    const { items, tiles } = await anna('GET', 'admin/console/charts')
    t.strictSame(
      tiles.map(({ id }: { id: string }) => id),
      ['iam.new-users'],
      'a role with one permission has one tile',
    )
    t.strictSame(items, [])
    await t.rejects(anna('GET', `admin/money/payment-figures?${span(7)}`), /403/)
  },
)

t.test('figures count only rows of the data scope', async (t) => {
  const role = await root('POST', 'admin/iam/roles', {
    code: 'own-figures',
    name: 'Own figures',
    dataScope: 'self',
    permissions: ['iam:user:view', 'money:payment:view', 'notification:send-log:view'],
  })
  await root('POST', 'admin/iam/users', { username: 'edda', password, roleIds: [role.id] })
  const edda = await logIn('edda')
  const own = async (path: string, member: string) => sum((await edda('GET', path)).items, member)
  t.equal(await own('admin/iam/user-figures', 'created'), 1n, 'only the own account')
  t.equal(await own('admin/money/payment-figures', 'orders'), 0n)
  t.equal(await own('admin/notification/send-figures', 'sent'), 0n)
  const [bela] = (await root('GET', 'admin/iam/users?keyword=bela')).items
  await root('PUT', `admin/iam/users/${bela.id}`, { roleIds: [role.id], version: bela.version })
  const buyer = await logIn('bela')
  const bought = (await root('GET', `admin/money/payment-orders?size=1&userId=${bela.id}`)).total
  t.ok(bought > 0)
  t.equal(sum((await buyer('GET', 'admin/money/payment-figures')).items, 'orders'), BigInt(bought))
})

t.test(
  'an operator reads the shop in both languages, and one range changes all',
  { skip, timeout: 600_000 },
  async (t) => {
    const watched = await openPage(t.teardown, url, { locale: 'en' })
    const { page, complaints } = watched
    await page.fill('input[autocomplete^=username]', 'root')
    await page.fill('input[autocomplete=current-password]', password)
    await page.click('button[type=submit]')
    const business = page.getByRole('region', { name: 'Business' })
    await business.locator('canvas').first().waitFor()
    const settled = () => page.locator('main:not(:has([aria-busy=true]))').waitFor()
    const tile = (name: string) =>
      business.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) })
    const ordersOf = async (days: number) => {
      const zone = 8 * 3_600_000
      const midnight = Math.floor((Date.now() + zone) / dayMs) * dayMs - zone
      const from = new Date(midnight - (days - 1) * dayMs).toISOString()
      return sum(await items(`admin/money/payment-figures?from=${from}`), 'orders')
    }
    await settled()
    await tile('Orders')
      .getByText(String(await ordersOf(7)), { exact: true })
      .waitFor()
    t.match(
      await tile('Revenue').innerText(),
      /CN¥[\d,]+\.\d\d[\s\S]*before[\s\S]*\$[\d,]+\.\d\d/,
      'units with decimals',
    )
    t.match(await tile('Points issued').innerText(), /[\d,]+ Points/)
    t.match(await business.getByRole('region', { name: 'Messages by channel' }).innerText(), /E-mail\s+\d+ \d+ %/)
    t.strictSame(await findAccessibilityProblems(page), [])

    await page.getByRole('radio', { name: 'Last 30 days' }).focus()
    await page.keyboard.press('Space')
    await tile('Orders')
      .getByText(String(await ordersOf(30)), { exact: true })
      .waitFor()
    t.match(page.url(), /[?&]from=30d/, 'the range is in the address')
    await page.reload()
    await tile('Orders')
      .getByText(String(await ordersOf(30)), { exact: true })
      .waitFor()

    await page.getByRole('button', { name: 'Exact time' }).click()
    t.strictSame(await findAccessibilityProblems(page), [])
    const day = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10)
    await page.getByLabel('From').fill(`${day(200)}T00:00`)
    await page.getByLabel('Until').fill(`${day(10)}T00:00`)
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('The range must be at most 100 days.').waitFor()
    await page.getByLabel('From').fill(`${day(20)}T00:00`)
    await page.getByRole('button', { name: 'Apply' }).click()
    const exact = `from=${day(21)}T16:00:00.000Z&to=${day(11)}T16:00:00.000Z`
    const expected = sum(await items(`admin/money/payment-figures?${exact}`), 'orders')
    await tile('Orders').getByText(String(expected), { exact: true }).waitFor()

    await tile('Orders').getByRole('link').click()
    await page.getByRole('heading', { name: 'Payment orders' }).waitFor()
    t.match(page.url(), new RegExp(`from=${day(21)}T16`), 'the list has the same range')
    await page.goto(url)
    await business.locator('canvas').first().waitFor()

    await page.getByText('中文', { exact: true }).click()
    await page.getByRole('region', { name: '业务' }).getByRole('link', { name: '收入' }).waitFor()
    await emulateColorScheme(page, 'dark')
    await page.setViewportSize({ width: 390, height: 844 })
    await settled()
    t.equal(await findHorizontalOverflow(page), 0)
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'figures-phone-dark')
    t.strictSame(complaints, [])
  },
)

t.test(
  'the overview counts the days of the site, also in a browser with another time zone',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page } = await openPage(t.teardown, url, { locale: 'en', timezoneId: 'America/New_York' })
    const beginnings: string[] = []
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url())
      const from = searchParams.get('from')
      if (pathname.endsWith('-figures') && from !== null) beginnings.push(from)
    })
    await page.fill('input[autocomplete^=username]', 'root')
    await page.fill('input[autocomplete=current-password]', password)
    await page.click('button[type=submit]')
    await page.getByRole('listitem').getByRole('heading', { name: 'Orders', exact: true }).waitFor()
    await page.locator('main:not(:has([aria-busy=true]))').waitFor()
    t.ok(beginnings.length > 0)
    t.strictSame(
      beginnings.filter((from) => !from.endsWith('T16:00:00.000Z')),
      [],
      'midnight of the site, which is 16:00 UTC',
    )
  },
)
