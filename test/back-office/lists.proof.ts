/** Tests every list of the back office: time range, page size, columns and time zone. */
import { adminPages, type ListPageDeclaration } from '@plinth/admin'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { itemOf, memberAt, type Operation, operationsOf } from '../../plugins/console/src/admin/operations.ts'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'

const { running, server, root, url } = await startWithRows(t.teardown)
const operations = await operationsOf(server)
const lists = [...running.contributions(adminPages).values()].filter(
  (page): page is ListPageDeclaration => page.kind === 'list',
)

/** Lists that show a time but have no time filter, each with the reason. */
const withoutRange: Readonly<Record<string, string>> = {
  'backup.backups': 'few are kept, the newest first',
  'digest.digests': 'few rows, found by code',
  'iam.own-api-tokens': 'a person has few tokens at a time',
  'iam.own-sessions': 'a person has few sessions at a time',
  'iam.roles': 'few rows, in the order of their names',
  'iam.user-sessions': 'a person has few sessions at a time',
  'member-points.rule-versions': 'few versions of one rule',
  'member-points.rules': 'few rows, in the order of their codes',
  'money.findings': 'all differences of one run have the same moment',
  'notification.channels': 'one row for each channel',
  'notification.receipts': 'the recipients of a message; the moment is empty until they read it',
  'notification.rules': 'few rows, in the order of their codes',
  'notification.scheduled': 'only messages that wait, the next one first',
  'open-platform.apps': 'few rows, in the order of their names',
  'scheduler.tasks': 'one row for each task; its runs can be asked for a time',
  'sign-in-oidc.claim-rules': 'few rules, found by provider',
  'template.templates': 'few rows, found by code and channel',
  'web3.chains': 'one row for each chain',
  'webhooks.webhook-endpoints': 'few rows, found by name or status',
}

const rangeOf = ({ source }: ListPageDeclaration) => operations.get(source)?.query['from']?.['x-range']

t.test('each list with a time can be filtered by time, or has a reason why not', async (t) => {
  const timed = lists.filter(({ columns }) => columns.some(({ as }) => as === 'time'))
  t.ok(timed.length > 30)
  t.strictSame(
    timed.filter((page) => rangeOf(page) === undefined && withoutRange[page.id] === undefined).map(({ id }) => id),
    [],
  )
  for (const [id, reason] of Object.entries(withoutRange)) {
    const page = timed.find((one) => one.id === id)
    t.ok(page !== undefined && rangeOf(page) === undefined, `${id} needs no reason: ${reason}`)
  }
  for (const page of lists) {
    const range = rangeOf(page)
    if (range === undefined) continue
    const item = itemOf(operations.get(page.source) as Operation)
    t.match(JSON.stringify(memberAt(item, range)), /"date-time"/, `${page.id}: ${range} is a moment of a row`)
  }
})

t.test('each list explains what it contains, also while it is empty', (t) => {
  const silent = lists.filter(({ lead, empty }) => lead === undefined && empty === undefined)
  t.strictSame(
    silent.map(({ id }) => id),
    [],
  )
  t.end()
})

t.test('the time filter of a list selects its rows', async (t) => {
  let seen = 0
  for (const page of lists) {
    const operation = operations.get(page.source) as Operation
    const range = rangeOf(page)
    if (range === undefined || operation.path.includes('{')) continue
    const list = async (query: string) =>
      (await root('GET', `${operation.path.slice('/api/v1/'.length)}?${query}`)).items
    const all = await list('size=200')
    const moments: string[] = all.flatMap((row: Record<string, string>) => row[range] ?? [])
    const sorted = moments.toSorted()
    const [first, last] = [sorted[0], sorted.at(-1)]
    t.equal((await list('to=2001-01-01T00:00:00Z')).length, 0, `${page.id}: nothing is that old`)
    if (first === undefined || last === undefined) continue
    seen += 1
    const after = await list(`size=200&from=${last}`)
    t.equal(after.length, moments.filter((one) => one >= last).length, `${page.id}: from its last moment`)
    const before = await list(`size=200&to=${last}`)
    t.equal(before.length, moments.filter((one) => one < last).length, `${page.id}: before its last moment`)
  }
  t.ok(seen > 15, `${seen} lists with rows`)
})

t.test(
  'an operator filters by time, and keeps page size, columns and time zone',
  { skip, timeout: 600_000 },
  async (t) => {
    for (let number = 0; number < 25; number++)
      await root('POST', 'admin/iam/users', { username: `guest${number}`, password })
    const opened = async (address = '', options = {}) => {
      const watched = await openPage(t.teardown, url + address, {
        locale: 'en',
        timezoneId: 'Europe/Berlin',
        ...options,
      })
      await watched.page.fill('input[autocomplete^=username]', 'root')
      await watched.page.fill('input[autocomplete=current-password]', password)
      await watched.page.click('button[type=submit]')
      await watched.page.locator('nav').first().waitFor({ state: 'attached' })
      return watched
    }
    const { page, complaints } = await opened('iam.audit')
    const rows = page.locator('main tbody tr')
    const settled = () => page.locator('main section[aria-busy=false]').waitFor()
    await rows.first().waitFor()

    await t.test('a preset is in the address, and another user sees the same rows', async (t) => {
      await page.getByRole('button', { name: 'Occurred at: Any' }).click()
      t.strictSame(await findAccessibilityProblems(page), [])
      await page.getByRole('button', { name: 'Last 24 hours' }).click()
      await page.getByRole('button', { name: 'Occurred at: Last 24 hours' }).waitFor()
      await settled()
      t.match(page.url(), /[?&]from=24h/)
      t.ok((await rows.count()) > 5)
      await page.goto(`${url}iam.audit?to=2001-01-01T00:00:00.000Z`)
      await page.getByText('No entries match these filters.').waitFor()
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await rows.first().waitFor()
      t.notMatch(page.url(), /to=/)
    })

    await t.test('exact times are in the displayed time zone', async (t) => {
      await page.getByRole('button', { name: /^Occurred at: / }).click()
      await page.getByText('Times are in Asia/Shanghai', { exact: true }).waitFor()
      await page.getByLabel('From', { exact: true }).fill('2026-01-01T08:00')
      await page.getByLabel('Until', { exact: true }).fill('2025-01-01T08:00')
      await page.getByText('The end must not be before the start.').waitFor()
      await page.getByLabel('Until', { exact: true }).fill('')
      await page.getByRole('button', { name: 'Apply' }).click()
      await settled()
      t.equal(new URL(page.url()).searchParams.get('from'), '2026-01-01T00:00:00.000Z')
    })

    await t.test('the time zone of the browser can be chosen and stays chosen', async (t) => {
      await page.goto(`${url}iam.users`)
      await page.getByText('Times are in Asia/Shanghai (UTC+8)').waitFor()
      await page.getByText('My time').click()
      await page.getByText(/Times are in Europe\/Berlin \(UTC\+[12]\)/).waitFor()
      await page.reload()
      await page.getByText(/Times are in Europe\/Berlin \(UTC\+[12]\)/).waitFor()
      await page.getByText('Site time').click()
      t.strictSame(await findAccessibilityProblems(page), [])
    })

    await t.test('page size and hidden columns stay as they were chosen, for this list only', async (t) => {
      await rows.nth(19).waitFor()
      t.equal(await rows.count(), 20)
      await page.getByLabel('Rows on a page').selectOption('50')
      await rows.nth(25).waitFor()
      await page.getByRole('button', { name: 'Columns' }).click()
      await page.getByRole('menuitemcheckbox', { name: 'E-mail' }).click()
      await page.keyboard.press('Escape')
      await page.goto(`${url}iam.users`)
      await rows.nth(25).waitFor()
      t.equal(await page.getByRole('columnheader', { name: 'E-mail' }).count(), 0)
      await page.goto(`${url}iam.audit`)
      await rows.first().waitFor()
      t.equal(await page.getByLabel('Rows on a page').inputValue(), '20', 'another list')
    })

    await t.test('filters combine, and the keyboard alone adds, changes and removes them', async (t) => {
      const { keyboard } = page
      const filters = () => new URL(page.url()).searchParams.getAll('filter')
      await page.goto(`${url}mall.orders`)
      await rows.nth(1).waitFor()
      const all = await rows.count()
      await page.getByRole('button', { name: 'Status', exact: true }).focus()
      await keyboard.press('Enter')
      await page.locator('input[type=checkbox]:focus').waitFor()
      await keyboard.press('Space')
      await keyboard.press('Tab')
      await keyboard.press('Space')
      t.strictSame(await findAccessibilityProblems(page), [])
      await keyboard.press('Escape')
      const status = page.getByRole('button', { name: 'Status: Unpaid, Awaiting shipment' })
      await status.and(page.locator(':focus')).waitFor()
      await settled()
      t.strictSame(filters(), ['status:in:unpaid,paid'])

      await page.getByRole('combobox', { name: 'Add filter' }).focus()
      await keyboard.type('Amount')
      // "Amount paid with credit" comes first.
      await page.locator('[role=option][data-combobox-selected]').waitFor()
      await keyboard.press('ArrowDown')
      await page
        .getByRole('option', { name: 'Amount', exact: true })
        .and(page.locator('[data-combobox-selected]'))
        .waitFor()
      await keyboard.press('Enter')
      await page.getByLabel('At least (CNY)').and(page.locator(':focus')).waitFor()
      await keyboard.type('1,000.50')
      await keyboard.press('Enter')
      await page.getByRole('button', { name: /^Amount: ≥ CN¥1,000.50/ }).waitFor()
      await page.getByText('No entries match these filters.').waitFor()
      t.strictSame(filters(), ['status:in:unpaid,paid', 'cashAmount:gte:100050'])
      t.strictSame(await findAccessibilityProblems(page), [])
      await page.getByRole('button', { name: /^Amount: / }).focus()
      await keyboard.press('Delete')
      await settled()
      t.strictSame(filters(), ['status:in:unpaid,paid'])
      await status.focus()
      await keyboard.press('Delete')
      await settled()
      t.strictSame(filters(), [])
      t.equal(await rows.count(), all)

      const read = () => page.waitForResponse((response) => response.url().includes('/iam/login-audits?'))
      const byMe = read()
      await page.goto(`${url}iam.login-audit?filter=userId:in:me&filter=success:in:true`)
      t.match((await byMe).url(), /filter=userId%3Ain%3A\d+/, 'the server gets the id of the user')
      await page.getByRole('button', { name: 'User: Me' }).waitFor()
      const exported = await page.getByRole('link', { name: 'Export as CSV' }).getAttribute('href')
      t.match(decodeURIComponent(decodeURIComponent(exported ?? '')), /filter=userId:in:\d+&filter=success:in:true/)
      await page.goto(`${url}iam.login-audit?success=true`)
      await page.getByRole('button', { name: 'Result: Success' }).waitFor()

      await page.goto(`${url}mall.orders?filter=formerColumn:in:a`)
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await rows.nth(all - 1).waitFor()
      t.strictSame(filters(), [])
    })

    await t.test('an empty list offers the first step', async (t) => {
      await page.goto(`${url}open-platform.apps?q=nothing-has-this-name`)
      await page.getByText('No entries match these filters.').waitFor()
      t.equal(await page.getByRole('button', { name: 'New application' }).count(), 1, 'it is only filtered')
      for (const { id, version } of (await root('GET', 'admin/templates')).items)
        await root('DELETE', `admin/templates/${id}?version=${version}`)
      await page.goto(`${url}template.templates`)
      await page.getByRole('button', { name: 'New template' }).nth(1).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox').first().waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    })

    await t.test('an action that can be undone runs immediately, and its message undoes it on any page', async (t) => {
      const purge = async () =>
        (await root('GET', 'admin/scheduler/tasks')).find(
          ({ name }: { readonly name: string }) => name === 'approval.purge',
        )
      const pause = async () => {
        await page.goto(`${url}scheduler.tasks`)
        const row = rows.filter({ hasText: 'Remove old approvals' })
        await row.getByRole('button', { name: 'Actions' }).click()
        await page.getByRole('menuitem', { name: 'Pause' }).click()
      }
      const status = page.getByRole('status')
      const paused = status.filter({ hasText: 'Remove old approvals no longer runs automatically on any instance.' })
      await page.route('**/approval.purge/pause', (route) => route.fulfill({ status: 503, body: 'no server' }))
      await pause()
      const failed = status.filter({ hasText: 'The server does not respond.' })
      await failed.waitFor()
      t.equal((await purge()).paused, false)
      await page.unrouteAll()
      assertMembers(t, complaints.splice(0), [/the server responded with a status of 503/])
      await failed.getByRole('button', { name: 'Try again' }).click()
      await paused.waitFor()
      t.equal((await purge()).paused, true)
      t.strictSame(await findAccessibilityProblems(page), [])
      await page.getByRole('link', { name: 'Audit' }).first().click()
      await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor()
      await paused.getByRole('button', { name: 'Undo' }).click()
      const resumed = status.filter({ hasText: 'Remove old approvals runs automatically again.' })
      await resumed.waitFor()
      t.equal((await purge()).paused, false)
      await resumed.getByRole('button', { name: 'Close' }).click()
      await resumed.waitFor({ state: 'detached' })
    })

    await t.test('undoing sends the new version of the row', async (t) => {
      await page.goto(`${url}notification.rules`)
      await rows.filter({ hasText: 'open-platform.balance-low' }).getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Disable' }).click()
      const enabled = async () => (await root('GET', 'notification-rules')).items[0].enabled
      const status = page.getByRole('status')
      await status.filter({ hasText: 'open-platform.balance-low no longer sends messages.' }).waitFor()
      t.equal(await enabled(), false)
      await status.getByRole('button', { name: 'Undo' }).click()
      await status.filter({ hasText: 'open-platform.balance-low sends messages again.' }).waitFor()
      t.equal(await enabled(), true)
    })

    await t.test('on a phone and in Chinese', async (t) => {
      const phone = await opened('iam.audit?from=7d', { locale: 'zh-CN', viewport: { width: 390, height: 844 } })
      await phone.page.getByRole('button', { name: /最近 7 天/ }).click()
      await phone.page.getByText('时间按 Asia/Shanghai 显示', { exact: true }).waitFor()
      t.equal(await findHorizontalOverflow(phone.page), 0)
      t.strictSame(await findAccessibilityProblems(phone.page), [])
      t.strictSame(phone.complaints, [])
    })
    t.strictSame(complaints, [])
  },
)
