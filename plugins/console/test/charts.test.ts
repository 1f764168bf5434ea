import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import type { Page } from 'playwright-core'
import t from 'tap'
import { pagePathsOf } from '../src/page-source.ts'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import {
  emulateColorScheme,
  findAccessibilityProblems,
  findHorizontalOverflow,
  saveScreenshot,
  skip,
} from './fixtures/browser.ts'
import { createLendingPlugin } from './fixtures/lending.ts'

const stepMs = 30_000
const clock = manualClock()
const { plugin, served } = createLendingPlugin()
const office = await startBackOffice(t.testdir(), (work) => t.teardown(work), { plugins: [plugin], clock })
const { running, people, actor } = office
const server = running.service(http)

async function callAs(username: string) {
  const payload = { username, password }
  const { data } = (await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json()
  const headers = { authorization: `Bearer ${data.accessToken}` }
  return (path: string, language = 'en') =>
    server
      .inject({ url: `/api/v1/admin/console/${path}`, headers: { ...headers, 'accept-language': language } })
      .then((response) => response.json())
}

const titles = (page: Page) => page.locator('main section section h3').allInnerTexts()

t.test(
  'the chart library is loaded only with charts, and the first load stays small',
  { timeout: 600_000 },
  async (t) => {
    const { output } = pagePathsOf(join(import.meta.dirname, '..'))
    const html = await readFile(join(output, 'admin.html'), 'utf8')
    const packed = (await readdir(join(output, 'assets'))).filter((name) => name.endsWith('.js.gz'))
    const weigh = async (names: readonly string[]) => {
      const sizes = await Promise.all(names.map((name) => stat(join(output, 'assets', name))))
      return sizes.reduce((sum, { size }) => sum + size, 0)
    }
    const isFirst = (name: string) => html.includes(name.slice(0, -'.gz'.length))
    const first = await weigh(packed.filter(isFirst))
    t.ok(first > 0 && first <= 200 * 1024, `first load: ${first} bytes`)
    const drawing = packed.filter((name) => name.startsWith('charts-'))
    t.equal(drawing.length, 1)
    t.notOk(drawing.some(isFirst))
    for (const name of packed.filter((name) => !isFirst(name) && !/^(?:install|later-steps)-/.test(name))) {
      const more = await weigh([name])
      t.ok(more <= 60 * 1024, `${name}: ${more} bytes`)
    }
  },
)

t.test(
  'before the first interval ends, the overview shows that nothing was counted',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page, complaints } = await openSignedIn(t.teardown, office.url)
    await page.getByText(/^No data yet: .*Requests/).waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    t.strictSame(complaints, [])
  },
)

t.test('charts of the overview are in their order and show the counters of this process', async (t) => {
  const call = await callAs('root')
  const { items } = (await call('charts')).data
  t.strictSame(
    items.map(({ id }: { id: string }) => id),
    ['http.requests', 'http.failures', 'lending.desk'],
  )
  assertMembers(t, items[2], {
    title: 'At the desk',
    method: 'GET',
    path: '/api/v1/admin/console/charts/lending.desk/points',
    ranges: [{ id: 'hour', query: { span: 'hour' } }, { id: 'day' }],
    lines: [{ field: 'counts.served', title: 'Served', tone: 'good' }],
  })
  assertMembers(t, (await call('charts', 'zh-CN')).data.items[0], {
    title: '请求',
    ranges: [{ title: '最近一小时' }, {}],
  })

  served(3)
  await clock.advance(stepMs)
  const { code, data } = await call('charts/lending.desk/points')
  t.equal(code, '200')
  t.match(data, { instance: /:\d+:/, since: '2026-01-01T00:00:00.000Z', stepSeconds: 30 })
  t.strictSame(data.items.at(-1), { at: '2026-01-01T00:00:30.000Z', of: null, counts: { served: 3 } })
  const requests = (await call('charts/http.requests/points')).data.items
  t.ok(requests.at(-1).counts.all > 0, 'those of this test')
  await clock.advance(40 * 60_000)
  t.equal((await call('charts/lending.desk/points?span=hour')).data.items.length, 81)
  t.equal((await call('charts/lending.desk/points?span=day')).data.items.length, 8)
})

t.test('a user who may not read the numbers sees no chart', async (t) => {
  const root = await callAs('root')
  t.hasStrict(await root('charts/lending.by-day/points'), { code: '404', data: { reason: 'console.chart-unknown' } })
  t.hasStrict(await root('charts/nothing.here/points'), { code: '404', data: { reason: 'console.chart-unknown' } })
  t.hasStrict(await root('charts/lending.desk/points?span=year'), { code: '400' })
  await people.create({ username: 'nobody', password }, actor)
  const nobody = await callAs('nobody')
  t.strictSame((await nobody('charts')).data.items, [])
  t.hasStrict(await nobody('charts/http.requests/points'), { code: '403' })
  t.hasStrict((await server.inject('/api/v1/admin/console/charts')).json(), { code: '401' })
  assertMembers(t, (await root('pages/lending.days')).data.charts, [
    { id: 'lending.by-day', path: '/api/v1/admin/lending/days', at: 'day', by: 'branch', labels: { north: 'North' } },
    { id: 'lending.desk-of-page', ranges: [{ id: 'hour' }, { id: 'day' }] },
  ])
  t.strictSame((await root('pages/iam.users')).data.charts, [])
})

t.test(
  'charts in the browser: drawn, as a table, in both languages and colour schemes',
  { skip, timeout: 600_000 },
  async (t) => {
    served(5)
    await clock.advance(stepMs)
    const { page, complaints } = await openSignedIn(t.teardown, office.url, { colorScheme: 'light' })
    const desk = page.getByRole('region', { name: 'At the desk', exact: true })
    await desk.locator('canvas').waitFor()
    await desk.getByText('Served 8').waitFor()
    t.strictSame((await titles(page)).slice(-3), ['Requests', 'Failures of the product', 'At the desk'])

    await desk.getByText('Show numbers as a table').focus()
    await page.keyboard.press('Enter')
    const rows = desk.locator('tbody tr')
    t.match(await rows.first().innerText(), /\s5$/, 'the newest first')
    t.equal(await rows.count(), 82)
    t.match(await desk.innerText(), /Counted by \S+ · \d+ since /)
    await saveScreenshot(page, 'charts-light')
    t.strictSame(await findAccessibilityProblems(page), [])

    await page.getByRole('radio', { name: 'Last day' }).focus()
    await page.keyboard.press('Space')
    await desk.getByText('Served 3').waitFor()
    await desk.locator('tbody tr').nth(7).waitFor()
    t.equal(await desk.locator('tbody tr').count(), 8, 'long steps')

    await page.getByText('中文', { exact: true }).click()
    const chinese = page.getByRole('region', { name: 'At the desk 中文', exact: true })
    await chinese.waitFor()
    await page.getByText('最近一天').waitFor()
    await emulateColorScheme(page, 'dark')
    await page.setViewportSize({ width: 390, height: 844 })
    t.equal(await findHorizontalOverflow(page), 0)
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'charts-phone-dark')
    t.strictSame(complaints, [])
  },
)

t.test('charts on the page of a third party, each with its own time ranges', { skip, timeout: 600_000 }, async (t) => {
  served(1)
  await clock.advance(40 * 60_000)
  const { page, complaints } = await openSignedIn(t.teardown, `${office.url}lending.days`)
  const chart = page.getByRole('region', { name: 'Loans by branch' })
  await chart.locator('canvas').waitFor()
  assertMembers(t, await chart.locator('li').allInnerTexts(), ['North 11', 'south 1'])
  await chart.getByText('Show numbers as a table').click()
  await chart.locator('tbody tr').first().waitFor()
  t.strictSame(await chart.locator('tr').allInnerTexts(), ['Time\tNorth\tsouth', 'Mar 3\t4\t–', 'Mar 1\t7\t1'])

  const desk = page.getByRole('region', { name: 'At the desk' })
  await desk.getByText('Show numbers as a table').click()
  await desk.locator('tbody tr').nth(79).waitFor()
  await desk.getByRole('radio', { name: 'Last day' }).focus()
  await page.keyboard.press('Space')
  await desk.locator('tbody tr').nth(79).waitFor({ state: 'detached' })
  t.ok((await desk.locator('tbody tr').count()) < 30, 'the day has longer steps than the hour')
  await saveScreenshot(page, 'charts-lending')
  t.strictSame(await findAccessibilityProblems(page), [])
  t.strictSame(complaints, [])
})
