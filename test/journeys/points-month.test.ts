/**
 * Tests a month of a member through the API of the quickstart with `examples/mall`, with an injected clock. Every
 * returned balance must equal the ledger, its entries, its lots and a manual calculation.
 */
import { join } from 'node:path'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { onDatabase, startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import memberPoints from '@plinth/member-points'
import { ledger } from '@plinth/money'
import { mall } from '@plinth-example/mall'
import t, { type Test } from 'tap'
import quickstart from '../../examples/quickstart/plinth.config.ts'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'Correct-horse-7'
const asset = 'points:mall'
const dayMs = 86_400_000
/** Noon of 1 November in Shanghai, in milliseconds since the epoch. */
const firstNoon = Date.UTC(2026, 10, 1, 4)

interface ApiResponse {
  readonly code: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of many routes, matched by the test
  readonly data: any
}
type Call = (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => Promise<ApiResponse>

async function startMonth(t: Test, db: TestDatabase) {
  const clock = manualClock(firstNoon)
  const product = defineProduct({
    name: 'quickstart',
    plugins: [...new Set([...quickstart.plugins, memberPoints])],
    config: {
      ...quickstart.config,
      ...db.config,
      'platform.http.port': 0,
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.install.installed': true,
      'platform.site.time-zone': 'Asia/Shanghai',
      'platform.rate-limit.enabled': false,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.member-points.expire.auto-startup': false,
      'platform.example.mall.test-payments': true,
      'platform.example.mall.credit-asset': asset,
    },
  })
  const running = await startMigrated(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  await running.service(accounts).createAdministrator({ username: 'root', password }, origin)
  const { id: userId } = await running.service(accounts).create({ username: 'ann', password }, origin)
  const callAs =
    (username: string): Call =>
    async (method, path, payload) => {
      // The session of the previous day has expired, so the member logs in again.
      const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
      const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
      const body = payload === undefined ? {} : { payload }
      const response = await server.inject({ method, url: `/api/v1/${path}`, headers, ...body })
      await running.service(events).idle()
      return response.json()
    }
  return { running, clock, userId, ann: callAs('ann'), root: callAs('root'), url: server.url ?? '' }
}

onDatabase(
  t,
  'P-004 P-011 P-012 P-013 P-014 P-037 P-038 a month of a member: every returned balance is that of the ledger',
  async (t, db) => {
    const { running, clock, userId, ann, root, url } = await startMonth(t, db)
    const owner = { type: 'user', id: String(userId) }
    /** Checks that all sources report this balance after a step. */
    const has = async (step: string, available: number, frozen = 0): Promise<ApiResponse['data']> => {
      const overview = (await ann('GET', 'member-points/users/me/overview')).data
      t.match(overview, { asset, available, frozen }, `${step}: the overview`)
      t.match(await running.service(ledger).balance({ owner, asset }), { available, frozen }, `${step}: the ledger`)
      const entries = (await ann('GET', 'member-points/users/me/ledgers?size=200')).data.items
      t.match(entries[0], { availableAfter: available, frozenAfter: frozen }, `${step}: the last entry`)
      const sum = (name: string) =>
        entries.reduce((sum: number, entry: Record<string, number>) => sum + (entry[name] ?? 0), 0)
      t.same([sum('points'), sum('frozenPoints')], [available, frozen], `${step}: the sum of all entries`)
      const [account] = (await root('GET', `admin/member-points/accounts?userId=${userId}`)).data.items
      t.match(account, { userId, available, frozen }, `${step}: the account of the operator`)
      const { lots } = (await root('GET', `admin/money/accounts/${account.id}/explain?size=200`)).data
      const parts = lots.items as readonly { remaining: number; held: number }[]
      const units = (name: 'remaining' | 'held') => parts.reduce((sum, lot) => sum + lot[name], 0)
      t.same([units('remaining'), units('held')], [available, frozen], `${step}: its sources`)
      return overview
    }
    let today = 1
    const until = (day: number, hours = 0) => {
      clock.shiftWallClock(firstNoon + (day - 1) * dayMs + hours * 3_600_000 - clock.now())
      today = day
    }
    const checkIn = async (points: number, consecutiveDays: number) =>
      t.match((await ann('POST', 'member-points/users/me/check-in')).data, {
        points,
        consecutiveDays,
        date: `2026-11-${String(today).padStart(2, '0')}`,
      })
    const buy = async (lines: object[], more: object = {}) => {
      const { data } = await ann('POST', 'mall/orders', { lines, ...more })
      t.hasStrict(data, { status: 'unpaid' })
      return data
    }
    const pay = async (orderNo: string) =>
      t.hasStrict(await ann('POST', `mall/orders/${orderNo}/payments`, { provider: 'test' }), {
        data: { status: 'paid' },
      })
    const giveBack = async (orderNo: string, amount: number) => {
      const { refundNo } = (await ann('POST', `mall/orders/${orderNo}/refunds`, { amount, reason: 'broken' })).data
      const decided = await root('POST', `admin/mall/refunds/${refundNo}/decision`, { approve: true })
      t.hasStrict(decided, { code: '200', data: { status: 'refunded' } })
    }
    const adjust = (points: number) =>
      root('POST', 'admin/member-points/manual-adjustments', { userId, points, reason: 'Goodwill' })

    const save = async (code: string, type: string, config: object) =>
      t.hasStrict(await root('POST', 'admin/member-points/rules', { code, type, config }), { code: '200' })
    await save('expiry', 'expiry', { expiresInDays: 10, expiringSoonDays: 3 })
    await save('check-in', 'check-in', { points: 5, cycleDays: 7, bonuses: [{ day: 3, points: 10 }] })
    await save('order-reward', 'order', { points: 1, perAmount: 100, expiresInDays: 20 })
    const add = (sku: string, price: number) =>
      running.service(mall).catalogue.add({ sku, name: sku, price, stock: 100, lowStock: 5, delivery: 'parcel' })
    const [tea, cup] = [await add('TEA', 4_500), await add('CUP', 9_900)]

    // On day 1 the member checks in, places an order of 90.00 (which is also the first order), and writes a review.
    await checkIn(5, 1)
    t.match((await ann('POST', 'member-points/users/me/check-in')).data, { repeated: true, points: 0 })
    await has('check-in', 5)
    const first = await buy([{ goodsId: tea, quantity: 2 }])
    await has('an unpaid order', 5)
    await pay(first.orderNo)
    await has('order and first order', 5 + 90 + 100)
    const review = `mall/orders/${first.orderNo}/lines/${first.lines[0].id}/review`
    await ann('PUT', review, { rating: 5, body: 'Fresh, and it came quickly.' })
    await ann('PUT', review, { rating: 4, body: 'Fresh, and it came quickly enough.' })
    await has('review', 205)

    until(2)
    await checkIn(5, 2)
    await giveBack(first.orderNo, 3_000)
    await has('a third of the order is paid back', 210 - 30)

    until(3)
    await checkIn(15, 3)
    const second = await buy([{ goodsId: tea, quantity: 1 }], { credit: 100 })
    t.match(second, { creditAmount: 100, cashAmount: 4_400 })
    await has('points are held for an order', 95, 100)
    await pay(second.orderNo)
    await has('and spent with its payment', 95 + 44)

    until(5)
    await checkIn(5, 1)
    t.match((await adjust(50)).data, { available: 194 })
    t.match((await adjust(-20)).data, { available: 174 })
    t.hasStrict(await adjust(-1_000), { code: '409', data: { reason: 'money.balance-insufficient' } })
    await has('adjusted', 174)
    await giveBack(first.orderNo, 6_000)
    await has('the whole order is paid back', 174 - 60)

    until(6)
    await checkIn(5, 2)
    await giveBack(second.orderNo, 4_400)
    await has('and the other one, with what was paid in points', 119 - 44 + 100)

    until(12)
    // The points that had paid the second order were returned with their old expiry time. They expired on day 11.
    t.equal((await has('the returned points have expired', 75)).expiringSoon, 15 + 55, 'of the third and of the fifth')
    until(13)
    t.equal((await has('the check-in of the third has lapsed', 60)).monthExpired, 100 + 15, 'seen before a scan')
    until(15)
    const scan = async () => (await root('POST', 'admin/member-points/expire-batches/run', {})).data
    t.hasStrict(await scan(), { status: 'completed', expired: 2, points: 55 })
    t.hasStrict(await scan(), { status: 'completed', expired: 0, points: 0 }, 'twice is once')
    await has('a scan', 5)
    until(16)
    t.match(await scan(), { expired: 1, points: 5 })
    await has('all has lapsed', 0)
    t.hasStrict(await adjust(-1), { code: '409', data: { reason: 'money.balance-insufficient' } })

    until(20)
    await checkIn(5, 1)
    const third = await buy([{ goodsId: cup, quantity: 1 }])
    await pay(third.orderNo)
    await has('not the first order any more', 5 + 99)
    until(30, -1)
    t.match(await has('the end of the month', 104), {
      monthEarned: 433,
      monthReturned: 100,
      monthUsed: 100,
      monthReversed: 30 + 60 + 44 + 20,
      monthExpired: 100 + 15 + 55 + 5,
      expiringSoon: 5,
    })
    until(31)
    t.match(await has('the next month', 99), { monthEarned: 0, monthUsed: 0, monthReversed: 0, monthExpired: 5 })

    const { id } = (await root('POST', 'admin/money/reconciliations', {})).data
    let found = (await root('GET', `admin/money/reconciliations/${id}`)).data
    for (let turn = 0; found.finishedAt === null && turn < 200; turn++) {
      await clock.advance(1_000)
      found = (await root('GET', `admin/money/reconciliations/${id}`)).data
    }
    t.hasStrict(found, { state: 'completed', findings: 0 }, 'entries, balances, holds and sources agree')
    t.ok(found.accounts > 0 && found.journals > 20)
    assertMembers(t, (await root('GET', `admin/money/payment-orders?userId=${userId}`)).data.items, [
      { outTradeNo: third.orderNo, status: 'success', amount: 9_900, refundedAmount: 0 },
      { outTradeNo: second.orderNo, status: 'refunded', amount: 4_400 },
      { outTradeNo: first.orderNo, status: 'refunded', amount: 9_000 },
    ])

    assertMembers(t, await ann('GET', 'member-points/users/me/check-ins?month=2026-11'), {
      data: {
        month: '2026-11',
        today: '2026-12-01',
        days: [
          { date: '2026-11-01', points: 5, consecutiveDays: 1 },
          { date: '2026-11-02', points: 5, consecutiveDays: 2 },
          { date: '2026-11-03', points: 15, consecutiveDays: 3 },
          { date: '2026-11-05', points: 5, consecutiveDays: 1 },
          { date: '2026-11-06', points: 5, consecutiveDays: 2 },
          { date: '2026-11-20', points: 5, consecutiveDays: 1 },
        ],
      },
    })
    t.strictSame((await ann('GET', 'member-points/users/me/check-ins')).data, {
      month: '2026-12',
      today: '2026-12-01',
      days: [],
    })
    t.hasStrict(await ann('GET', 'member-points/users/me/check-ins?month=2026-13'), { code: '400' })
    t.strictSame(
      (await root('GET', 'member-points/users/me/check-ins?month=2026-11')).data.days,
      [],
      'of oneself alone',
    )
    if (db.dialect === 'sqlite' && skip === false) await ownPages(t, url)
  },
)

/** Checks the pages of the member for that month in a browser, on 1 December. */
async function ownPages(t: Test, url: string) {
  const { page, complaints, elsewhere } = await openPage(t.teardown, `${url}/mall/points`, { locale: 'en' })
  t.match(page.url(), /\/mall\/points\/$/)
  t.equal(await page.locator('h1').innerText(), 'My points')
  const field = (name: string) => page.getByLabel(name)
  await field('User name').fill('ann')
  await field('Password').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await field('User name').fill('ann')
  await field('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()

  const overview = page.getByRole('region', { name: 'Overview' })
  await overview.getByText('99', { exact: true }).waitFor()
  t.match(
    await overview.innerText(),
    /Available points\s+99\s+On hold\s+0\s+Expire within 3 days\s+0\s+This month\s+Earned\s+0\s+Returned\s+0\s+Used\s+0\s+Taken back\s+0\s+Expired\s+5/,
  )
  const checkIn = page.getByRole('region', { name: 'Daily check-in' })
  await checkIn.getByText('December 2026').first().waitFor()
  t.equal(await checkIn.locator('[data-today]').getAttribute('data-date'), '2026-12-01')
  t.equal(await checkIn.locator('[data-done]').count(), 0)
  t.ok(await checkIn.getByRole('button', { name: 'Next month' }).isDisabled())
  await checkIn.getByRole('button', { name: 'Previous month' }).click()
  await checkIn.getByRole('table', { name: 'November 2026' }).waitFor()
  t.strictSame(
    await page.evaluate(`[...document.querySelectorAll('[data-done][data-date]')].map(({ dataset }) => dataset.date)`),
    [1, 2, 3, 5, 6, 20].map((day) => `2026-11-${String(day).padStart(2, '0')}`),
  )
  t.match(
    await checkIn.locator('[data-date="2026-11-03"]').getAttribute('title'),
    'November 3, 2026, checked in, 15 points',
  )

  const ledger = page.getByRole('region', { name: 'Points history' })
  const entries = ledger.getByRole('listitem')
  t.equal(await entries.count(), 10)
  t.match(await entries.first().innerText(), /Expired\s+Dec 1, 2026, 12:00\sPM\s+-5\s+Balance 99/)
  for (let shown = 10; await ledger.getByRole('button', { name: 'Show earlier entries' }).isVisible(); ) {
    await ledger.getByRole('button', { name: 'Show earlier entries' }).click()
    await entries.nth(shown).waitFor()
    shown = await entries.count()
  }
  await ledger.getByText('All entries are shown.').waitFor()
  t.match(
    await entries.last().innerText(),
    /Check-in on 2026-11-01\s+Daily check-in\s+Nov 1, 2026, 12:00\sPM\s+\+5\s+Balance 5/,
  )

  const tasks = page.getByRole('region', { name: 'Earn points' })
  const task = (name: string) => tasks.getByRole('listitem').filter({ hasText: name })
  t.match(await task('Pay for your first order').innerText(), /Done\s+.*\+100/s)
  t.match(await task('Complete your profile').innerText(), /To do/)
  t.match(await task('Review what you bought').innerText(), /Any time/)
  await checkIn.getByRole('button', { name: 'Check in for 5 points' }).click()
  await checkIn.getByText('You earned 5 points.').waitFor()
  await overview.getByText('104', { exact: true }).waitFor()
  await checkIn.locator('[data-today][data-done]').waitFor()
  t.ok(await checkIn.getByRole('button', { name: 'You have checked in today' }).isDisabled())
  t.match(await checkIn.innerText(), /1 day in a row\. Check in tomorrow for 5 points\./)
  await task('Check in every day').getByText('Day 1 of 7').waitFor()
  await entries.first().filter({ hasText: 'Check-in on 2026-12-01' }).waitFor()

  for (const [language, colorScheme] of [
    ['English', 'light'],
    ['中文', 'dark'],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.getByRole('link', { name: language }).click()
    await page.locator('#points:not(:has([aria-busy])) #ledger li').first().waitFor()
    t.strictSame(await findAccessibilityProblems(page), [], `${language}, ${colorScheme}`)
    await page.setViewportSize({ width: 390, height: 844 })
    t.equal(await findHorizontalOverflow(page), 0, `${language} on a telephone`)
    await page.setViewportSize({ width: 1280, height: 860 })
  }
  t.equal(await page.locator('html').getAttribute('lang'), 'zh-CN')
  t.match(await page.locator('#ledger li').first().innerText(), /2026-12-01[\s\S]*余额 104/)
  await page.route('**/users/me/ledgers*', (route) => route.fulfill({ status: 503, body: '' }))
  await page.reload()
  await page.getByText('商城暂时没有响应，请稍后再试。').waitFor()
  await page.unroute('**/users/me/ledgers*')
  await page.getByRole('button', { name: '重试' }).click()
  await page.locator('#ledger li').first().waitFor()
  await page.getByRole('button', { name: '退出登录' }).click()
  await page.getByRole('heading', { name: '登录' }).waitFor()
  t.equal(await page.locator('#ledger').innerText(), '', 'nothing of it stays')
  t.strictSame(await page.evaluate('({ ...localStorage, ...sessionStorage })'), {})
  t.strictSame(
    complaints.filter((complaint) => !complaint.includes('503')),
    [],
  )
  t.strictSame(elsewhere, [])
}
