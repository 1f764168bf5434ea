import type { Page } from 'playwright-core'
import t from 'tap'
import { openSignedIn, password, signIn, startBackOffice } from './fixtures/back-office.ts'
import { barriers, openPage, overhang, skip } from './fixtures/browser.ts'

const office = skip === false ? await startBackOffice(t.testdir(), (work) => t.teardown(work)) : undefined

/** An open page of the back office with somebody signed in. */
const opened = (
  teardown: (work: () => Promise<void>) => void,
  path = '',
  options: Parameters<typeof openSignedIn>[2] = {},
) => openSignedIn(teardown, `${office?.url}${path}`, options)

const table = (page: Page) => page.locator('tbody tr').allInnerTexts()

t.test(
  'somebody signs in, a wrong password is said, and what was asked for is shown',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, complaints, elsewhere } = await openPage(t.teardown, `${office?.url}iam.users`, { locale: 'en' })
    t.equal(await page.locator('h1').innerText(), 'Sign in')
    await page.fill('input[autocomplete=username]', 'root')
    await page.fill('input[autocomplete=current-password]', 'wrong')
    await page.click('button[type=submit]')
    t.match(await page.getByRole('alert').innerText(), /not signed in/)
    t.strictSame(await barriers(page), [])
    await signIn(page)
    await page.locator('table').waitFor()
    t.equal(await page.locator('h1').innerText(), 'Users')
    t.match(await page.title(), /^Users · /)
    t.match(await table(page), [/root@example\.com/])
    const [session] = await page.context().cookies()
    t.match(session, { httpOnly: true, sameSite: 'Strict' })
    t.strictSame(await page.evaluate('({ ...localStorage, ...sessionStorage })'), {})
    await page.reload()
    await page.locator('table').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    t.strictSame(complaints, [])
    t.strictSame(elsewhere, [])
  },
)

t.test(
  'a user is made, found, changed and deleted, by what the pages declare',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, complaints } = await opened(t.teardown, 'iam.users')
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByLabel('User name').fill('anna')
    await page.getByLabel('E-mail address').fill('no address')
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    await page.getByRole('combobox', { name: 'Roles' }).click()
    await page.getByRole('option', { name: 'Super administrator' }).click()
    t.strictSame(await barriers(page), [])
    await page.getByRole('button', { name: 'Save' }).click()
    // What the server refuses stands in the form, which stays.
    await page
      .getByText(/address is not valid|e-mail/i)
      .last()
      .waitFor()
    t.equal(await page.getByLabel('User name').inputValue(), 'anna')
    await page.getByLabel('E-mail address').fill('anna@example.com')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'anna' }).waitFor()

    await page.getByRole('searchbox').fill('ANN')
    await page.waitForURL(/q=ANN/)
    await page.getByRole('link', { name: 'root' }).waitFor({ state: 'detached' })
    t.match(await table(page), [/anna@example\.com/])
    await page.getByRole('link', { name: 'anna' }).click()
    await page.locator('dl').waitFor()
    t.equal(await page.locator('h1').innerText(), 'anna')
    await page.getByRole('button', { name: 'Change' }).click()
    await page.getByLabel('Mobile number').fill('+8613800000000')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('+8613800000000').waitFor()
    t.strictSame(await barriers(page), [])

    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    t.match(await dialog.innerText(), /anna and all that belongs to this account is deleted/)
    const confirm = dialog.getByRole('button', { name: 'Delete' })
    t.ok(await confirm.isDisabled(), 'not before the name is typed')
    await dialog.getByLabel(/Type anna/).fill('anna')
    await dialog.getByLabel(/Reason/).fill('离职 left')
    await confirm.click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('There is nothing here').waitFor()
    await page.goto(`${office?.url}iam.audit?action=user.delete`)
    await page.locator('table').waitFor()
    t.match((await table(page)).join('\n'), /离职 left/, 'the reason is in the audit')
    t.strictSame(complaints, [])
  },
)

t.test(
  'the overview shows what needs attention, with the way to it, and says when nothing does',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, complaints } = await opened(t.teardown)
    await page.getByText('Nothing needs you.').waitFor()
    await office?.loseEvent()
    await page.reload()
    const item = page.getByRole('listitem').filter({ hasText: 'Events that were not delivered' })
    t.match(await item.innerText(), /^1\s/)
    t.strictSame(await barriers(page), [])
    await item.getByRole('link').click()
    await page.waitForURL(/events\.outbox\?status=failed$/)
    await page.getByRole('link', { name: 'probe.noted' }).waitFor()
    t.equal((await table(page)).length, 1)

    await page.route('**/events/outbox/backlog', (route) => route.fulfill({ status: 500, body: '{}' }))
    await page.goto(office?.url ?? '')
    await page.getByText('This could not be checked.').first().waitFor()
    t.notOk(await page.getByText('Nothing needs you.').isVisible(), 'what is not known is not called fine')
    t.strictSame(
      complaints.filter((complaint) => !complaint.includes('500')),
      [],
    )
  },
)

t.test('a session that ends in the middle of a form loses nothing', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await opened(t.teardown, 'iam.users')
  await page.getByRole('button', { name: 'New user' }).click()
  await page.getByLabel('User name').fill('berta')
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Your session has ended', { exact: false }).waitFor()
  await page.locator('input[autocomplete=current-password]').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Your session has ended', { exact: false }).waitFor({ state: 'detached' })
  t.equal(await page.getByLabel('User name').inputValue(), 'berta')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'berta' }).waitFor()
  t.strictSame(complaints, [])
})

t.test(
  'a thing shows the tables that it holds, rows that are picked are done together, and one of a kind needs no name',
  { skip, timeout: 300_000 },
  async (t) => {
    const later = new Date('9998-01-01T00:00:00Z')
    for (const [id, status] of [
      [5001, 'failed'],
      [5002, 'skipped'],
    ] as const) {
      await office?.db.execute(
        'insert into outbox_event (id, type, payload, status, attempts, next_at, created_at) values (?, ?, ?, ?, ?, ?, ?)',
        [id, 'shop.order-paid', '{"orderNo":"A-1"}', status, 3, later, later],
      )
    }
    await office?.db.execute('insert into outbox_delivery (id, event_id, handler, delivered_at) values (?, ?, ?, ?)', [
      ...[1, 5001, 'shop.tell-warehouse', later],
    ])
    const { page, complaints } = await opened(t.teardown, 'events.event/5001')
    await page.locator('dl').first().waitFor()
    t.equal(await page.locator('h1').innerText(), 'shop.order-paid')
    t.match(
      await page.locator('dd table').first().innerText(),
      /Handler\s+Delivered at\s+shop\.tell-warehouse\s+.*9998/,
    )
    t.match(await page.locator('pre').innerText(), /\{\n {2}"orderNo": "A-1"\n\}/)
    t.strictSame(await barriers(page), [])

    await page.goto(`${office?.url}events.backlog`)
    await page.locator('dl').first().waitFor()
    t.equal(await page.locator('h1').innerText(), 'Outbox in numbers')
    t.match(await page.title(), /^Outbox in numbers · /)

    await page.goto(`${office?.url}events.outbox?type=shop.order-paid`)
    await page.locator('tbody tr').first().waitFor()
    await page.locator('thead input[type=checkbox]').check()
    await page.getByRole('button', { name: 'Deliver the failed ones again' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Deliver the failed ones again' }).click()
    await dialog.getByText('Affected').waitFor()
    t.match(await dialog.locator('dl').innerText(), /Affected[^\n]*\n+1\n/, 'the failed one alone')
    t.strictSame(complaints, [])
  },
)

t.test(
  'a refusal that names a field stands at it, and has the focus; of a field that is not asked for, above the form',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, complaints } = await opened(t.teardown, 'iam.users')
    await page.getByRole('button', { name: 'New user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('User name').fill('root')
    await dialog.getByRole('textbox', { name: 'Password' }).fill(password)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.locator('input[aria-invalid=true]:focus').waitFor()
    t.equal(await dialog.getByLabel('User name').getAttribute('aria-invalid'), 'true')
    const spoken = (await dialog.getByLabel('User name').getAttribute('aria-describedby'))?.split(' ') ?? []
    const words = await Promise.all(spoken.map((id) => page.locator(`[id="${id}"]`).innerText()))
    t.match(words.join(' '), /This user name is taken\./)
    t.equal(await dialog.getByRole('alert').count(), 0, 'it is said once')
    t.strictSame(await barriers(page), [])
    await dialog.getByLabel('User name').fill('rosa')
    t.equal(await dialog.locator('input[aria-invalid=true]').count(), 0, 'what is typed anew is not judged yet')

    await page.goto(`${office?.url}shelves.one/1`)
    await page.getByRole('button', { name: 'Move' }).click()
    await dialog.getByLabel('Weight').fill('7')
    t.strictSame(await dialog.locator('code').allInnerTexts(), ['moon', 'sun'])
    for (const room of ['moon', 'sun']) {
      await dialog.getByLabel('To room').fill(room)
      await dialog.getByRole('button', { name: 'Show what will happen' }).click()
      await dialog.getByRole('button', { name: 'Move', exact: true }).click()
      if (room === 'moon') await dialog.locator('input[aria-invalid=true]:focus').waitFor()
    }
    t.match(await dialog.getByRole('alert').innerText(), /From room\s+It is locked\./)
    t.equal(await dialog.locator('input[aria-invalid=true]').count(), 0)
    t.strictSame(await barriers(page), [])
    t.strictSame(complaints, [])
  },
)

t.test('a form of an operation that replaces sends what was not changed too', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await opened(t.teardown, 'iam.roles')
  await page.getByRole('button', { name: 'New role' }).click()
  await page.getByLabel('Code').fill('auditor')
  await page.getByLabel('Name').fill('Auditor')
  await page.getByLabel('Description').fill('Reads what was done')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'Auditor' }).click()
  await page.locator('dl').waitFor()
  await page.getByRole('button', { name: 'Change' }).click()
  await page.getByLabel('Name').fill('Chief auditor')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Chief auditor' }).waitFor()
  t.match(await page.locator('dl').innerText(), /Reads what was done/)
  t.strictSame(complaints, [])
})

t.test('all state is in the address, and the keyboard is enough', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await opened(t.teardown, 'iam.users?sort=-username&enabled=true')
  await page.locator('table').waitFor()
  t.equal(await page.locator('th[aria-sort=descending]').innerText(), 'User name')
  await page.getByRole('button', { name: 'User name' }).click()
  await page.waitForURL((url) => !url.search.includes('sort='))
  await page.keyboard.press('Control+K')
  await page.locator('[role=dialog] input:focus').waitFor()
  await page.keyboard.type('login')
  await page.locator('[role=dialog] [data-action]').filter({ hasText: 'Login audit' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Login audit' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Users' }).waitFor()
  await page.locator('tbody tr').first().focus()
  await page.keyboard.press('Enter')
  await page.locator('dl').waitFor()
  t.strictSame(complaints, [])
})

t.test('each page in both languages and colours, on a telephone too', { skip, timeout: 300_000 }, async (t) => {
  for (const [locale, colorScheme] of [
    ['en', 'dark'],
    ['zh-CN', 'light'],
    ['zh-CN', 'dark'],
  ] as const) {
    const { page, complaints } = await opened(t.teardown, '', { locale, colorScheme })
    const links = (await page.evaluate(`[...document.querySelectorAll('nav a')].map(({ href }) => href)`)) as string[]
    for (const link of links) {
      await page.goto(link)
      // Nothing is on its way any more.
      await page.locator('main:not(:has([aria-busy=true])) h1').waitFor()
      t.strictSame(await barriers(page), [], `${link} ${locale} ${colorScheme}`)
    }
    await page.setViewportSize({ width: 390, height: 844 })
    t.equal(await overhang(page), 0)
    t.strictSame(complaints, [])
  }
})

t.test('who may not see a page is told which permission opens it', { skip, timeout: 300_000 }, async (t) => {
  await office?.people.create({ username: 'nobody', password }, office.actor)
  const { page, complaints } = await openPage(t.teardown, `${office?.url}iam.users`, { locale: 'en' })
  await signIn(page, 'nobody')
  await page.getByText('iam:user:view', { exact: false }).waitFor()
  t.strictSame(await page.locator('nav a').count(), 0)
  await page.goto(`${office?.url}nothing.here`)
  await page.getByText('There is no page', { exact: false }).waitFor()
  t.strictSame(complaints, [])
})

t.test(
  'lists within a thing and below it, and what a write would do and did',
  { skip, timeout: 300_000 },
  async (t) => {
    const { page, complaints } = await opened(t.teardown, 'shelves.all')
    await page.locator('table').waitFor()
    t.match(
      await table(page),
      [/^hall\s+1$/, /^attic\s+–$/],
      'a list that answers all at once; in a line, how many there are',
    )
    await page.getByRole('link', { name: 'hall' }).click()
    await page.locator('dl table').waitFor()
    t.match(await page.locator('dl').innerText(), /Books\s+Name\s+Pages\s+Iliad\s+683/)
    await page.getByRole('heading', { name: 'On it' }).waitFor()
    const below = page.locator('section', { has: page.getByRole('heading', { name: 'On it' }) }).locator('tbody tr')
    await below.waitFor()
    t.match(await below.innerText(), /Iliad\s+683/, 'what is in the path comes from the thing')

    await page.getByRole('button', { name: 'Move' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('To room').fill('cellar')
    await dialog.getByRole('button', { name: 'Show what will happen' }).click()
    await dialog.getByRole('region', { name: 'What will happen' }).waitFor()
    t.match(await dialog.locator('dl').innerText(), /^\S+\s+10\s+\S+\s+cellar$/)
    t.strictSame(office?.moved, [], 'nothing is done yet')
    await dialog.getByLabel('Weight').fill('7')
    t.equal(await dialog.getByRole('button', { name: 'Move', exact: true }).count(), 0, 'what was shown counts no more')
    await dialog.getByRole('button', { name: 'Show what will happen' }).click()
    t.strictSame(await barriers(page), [])
    await dialog.getByRole('button', { name: 'Move', exact: true }).click()
    await dialog.locator('table').waitFor()
    t.match(await dialog.locator('tbody tr').innerText(), /Iliad\s+683/, 'the answer')
    t.strictSame(office?.moved, [{ from: 'hall', room: 'cellar', limit: { weight: 7 } }])
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await dialog.waitFor({ state: 'detached' })
    t.strictSame(complaints, [])
  },
)
