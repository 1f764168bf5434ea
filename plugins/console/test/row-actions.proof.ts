/** Tests lists in a browser: row actions, the resulting state, and unknown values. */
import { http } from '@plinth/http'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { skip } from './fixtures/browser.ts'
import { createParcelsPlugin, type ParcelStore } from './fixtures/parcels.ts'

const store: ParcelStore = { rows: [], calls: [] }
const start = () => startBackOffice(t.testdir(), (work) => t.teardown(work), { plugins: [createParcelsPlugin(store)] })
const office = skip === false ? await start() : undefined

t.beforeEach(() => {
  store.calls.length = 0
  store.rows = [1, 2, 3].map((id) => ({ id, version: 1, state: 'ready', before: `shelf ${id}`, after: `van ${id}` }))
})

async function opened(teardown: (work: () => Promise<void>) => void, username = 'root') {
  const watched = await openSignedIn(teardown, office?.url ?? '', { username })
  await watched.page.goto(`${office?.url}parcels.all`)
  await row(watched.page, 1).waitFor()
  return watched
}
const row = (page: Page, id: number) => page.locator('tbody tr').filter({ has: page.getByText(`van ${id}`) })
const openActions = (page: Page, id: number) => row(page, id).getByRole('button', { name: 'Actions' }).click()

t.test(
  'an action sends the version that its row had, so a changed row is a conflict',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page } = await opened(t.teardown)
    const [first] = store.rows
    if (first !== undefined) first.version = 2
    await openActions(page, 1)
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('It was changed.').waitFor()
    t.same(store.calls, [])
    await page.keyboard.press('Escape')
    await openActions(page, 2)
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row(page, 2).waitFor({ state: 'detached' })
    t.same(store.calls, [{ deleted: 2, version: 1 }])
  },
)

t.test(
  'an action without its permission is disabled and shows the permission',
  { skip, timeout: 600_000 },
  async (t) => {
    const server = office?.running.service(http)
    const call = async (path: string, payload: object, token = '') =>
      (
        await server?.inject({ method: 'POST', url: path, payload, headers: { authorization: `Bearer ${token}` } })
      )?.json()
    const { data: session } = await call('/api/v1/auth/login', { username: 'root', password })
    const clerk = { code: 'clerk', name: 'Clerk', dataScope: 'all', permissions: ['parcels:view'] }
    const { data: role } = await call('/api/v1/admin/iam/roles', clerk, session.accessToken)
    if (office === undefined) throw new Error('no back office')
    await office.people.create({ username: 'mia', password, roleIds: [role.id] }, office.actor)

    const { page } = await opened(t.teardown, 'mia')
    await openActions(page, 1)
    const send = page.getByRole('menuitem', { name: 'Send' })
    t.equal(await send.isDisabled(), true)
    t.equal(await send.getAttribute('title'), 'Requires the permission parcels:send.')
    t.equal(await page.getByRole('menuitem', { name: 'Delete' }).isDisabled(), false)
    await send.click({ force: true })
    t.equal(await page.getByRole('dialog').count(), 0, 'nothing opens')
  },
)

t.test(
  'a difference shows the old value as deleted and the new value as inserted',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page } = await opened(t.teardown)
    t.equal(await row(page, 1).locator('del').innerText(), 'shelf 1')
    t.equal(await row(page, 1).locator('ins').innerText(), 'van 1')
    const isFirst = '(row) => row.querySelector("del").compareDocumentPosition(row.querySelector("ins"))'
    t.equal(
      await row(page, 1).evaluate(`(${isFirst})(document.querySelector("tbody tr"))`),
      4,
      'the old value is first',
    )
  },
)

t.test('the reload button reads the list again', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await opened(t.teardown)
  store.rows.push({ id: 4, version: 1, state: 'ready', before: 'shelf 4', after: 'van 4' })
  await page.getByRole('button', { name: 'Reload' }).click()
  await row(page, 4).waitFor()
  t.equal(await page.locator('tbody tr').count(), 4)
})

t.test('after an action on several rows no row is selected', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await opened(t.teardown)
  for (const id of [1, 3]) await row(page, id).getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Archive' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('2 selected').waitFor({ state: 'detached' })
  t.same(store.calls, [{ archived: [1, 3] }])
  for (const id of [1, 2, 3]) t.equal(await row(page, id).getByRole('checkbox').isChecked(), false)
})

t.test(
  'a successful response that contains a failure is reported as a failure',
  { skip, timeout: 600_000 },
  async (t) => {
    const [first] = store.rows
    if (first !== undefined) first.state = 'lost'
    const { page } = await opened(t.teardown)
    const message = page.locator('[data-toast]').last()
    const deliver = async (id: number) => {
      await openActions(page, id)
      await page.getByRole('menuitem', { name: 'Deliver' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Deliver' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await deliver(1)
    t.match(await message.innerText(), /^“Deliver” failed\./)
    t.equal(await message.getAttribute('data-failure'), 'true')
    await deliver(2)
    t.match(await message.innerText(), /^“Deliver” was executed\./)
    t.equal(await message.getAttribute('data-failure'), null)
    for (const id of [1, 3]) await row(page, id).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Deliver' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Deliver' }).click()
    await dialog.getByText('Rejected').waitFor()
    t.match(await message.innerText(), /^Deliver: 1 of 2 succeeded\./)
    t.equal(await message.getAttribute('data-failure'), 'true')
  },
)

t.test(
  'the menu of a row is named after the row, whose name stays visible beside it',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page } = await opened(t.teardown)
    const menu = row(page, 2).getByRole('button', { name: 'Actions: 2', exact: true })
    await page.evaluate(`document.querySelector('table').parentElement.style.width = '14rem'`)
    await menu.focus()
    const list = await page.locator('table').locator('..').boundingBox()
    const name = await row(page, 2).locator('[data-name]').boundingBox()
    t.ok((name?.x ?? -1) >= (list?.x ?? 0), 'the name is not scrolled out of view')
  },
)

t.test('a form opens with the focus on its first field', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await opened(t.teardown)
  await page.goto(`${office?.url}iam.users`)
  await page.getByRole('button', { name: 'New user' }).click()
  await page.getByRole('dialog').locator('input').first().and(page.locator(':focus')).waitFor()
  t.pass('the focus is in the first field')
})

t.test('the address of a row below its list opens the page of the row', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await opened(t.teardown)
  await page.goto(`${office?.url}iam.users/1`)
  await page.waitForURL(/iam\.user\/1$/)
  t.match(page.url(), /iam\.user\/1$/)
})

t.test('the message after an action links to the row that it created', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await opened(t.teardown)
  await openActions(page, 2)
  await page.getByRole('menuitem', { name: 'Deliver' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deliver' }).click()
  await page.locator('[data-toast]').getByRole('button', { name: 'Open' }).click()
  await page.getByRole('heading', { name: 'van 2' }).waitFor()
  t.match(page.url(), /parcels\.one\/2$/)
})

t.test(
  'the checkbox above the rows selects all of them, and clears the selection',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page } = await opened(t.teardown)
    const all = page.getByRole('checkbox', { name: 'Select all on this page' })
    const selected = () => page.locator('tbody').getByRole('checkbox', { checked: true }).count()
    await all.check()
    t.equal(await selected(), 3)
    await all.uncheck()
    t.equal(await selected(), 0)
    await row(page, 2).getByRole('checkbox').check()
    t.equal(await all.evaluate((box: { indeterminate?: boolean }) => box.indeterminate), true, 'some are selected')
    await all.check()
    t.equal(await selected(), 3)
  },
)

t.test('signing out ends the session in the other tabs of the browser', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await opened(t.teardown)
  const other = await page.context().newPage()
  // The other tab has no stream and soon no connection to the server, so it can learn of the sign-out only from the
  // first tab.
  await other.route('**/console/events', (route) => route.abort())
  await other.goto(`${office?.url}parcels.all`)
  await row(other, 1).waitFor()
  await other.route('**/api/**', (route) => route.abort())
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await other.getByText('Your session has ended', { exact: false }).waitFor()
  t.equal(await row(other, 1).count(), 1, 'the tab keeps its page')
})

t.test('a number shows its unit', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await openSignedIn(t.teardown, office?.url ?? '')
  await page.route('**/console/pages/parcels.all*', async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    for (const unit of ['percent', 'bytes', 'ms'])
      body.data.columns.push({ field: 'version', as: 'count', unit, title: unit })
    await route.fulfill({ response, json: body })
  })
  await page.goto(`${office?.url}parcels.all`)
  await row(page, 1).waitFor()
  for (const text of ['1 %', '1 B', '1 ms'])
    t.equal(await row(page, 1).getByText(text, { exact: true }).count(), 1, text)
})

t.test('C-034 the back office shows unknown values unchanged', { skip, timeout: 600_000 }, async (t) => {
  for (const one of store.rows) one.state = 'teleported'
  const watched = await openSignedIn(t.teardown, office?.url ?? '')
  const { page, complaints } = watched
  // The response is changed as if a newer server had sent it.
  await page.route('**/console/pages/parcels.all*', async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    body.data.columns.push({ field: 'version', as: 'hologram', title: 'Version' })
    body.data.actions[0].tone = 'shining'
    await route.fulfill({ response, json: body })
  })
  await page.goto(`${office?.url}parcels.all`)
  await row(page, 1).waitFor()
  t.same(
    (await row(page, 1).locator('td').allInnerTexts()).filter((text) => /^(?:teleported|1)$/.test(text.trim())),
    ['1', 'teleported', '1'],
    'id, an unknown state, and a number of an unknown kind',
  )
  await openActions(page, 1)
  t.equal(await page.getByRole('menuitem', { name: 'Delete' }).isDisabled(), false)
  t.same(complaints, [])
})

t.test('a column keeps the width that its user chose', { skip, timeout: 600_000 }, async (t) => {
  const { page, complaints } = await opened(t.teardown)
  const edge = page.getByRole('columnheader', { name: 'State' }).getByRole('separator', { name: 'Column width' })
  const width = async () => {
    const box = await page.getByRole('columnheader', { name: 'State' }).boundingBox()
    return Math.round(box?.width ?? 0)
  }
  const automatic = await width()
  const grip = await edge.boundingBox()
  const [x, y] = [(grip?.x ?? 0) + (grip?.width ?? 0) / 2, (grip?.y ?? 0) + (grip?.height ?? 0) / 2]
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x + 90, y, { steps: 3 })
  await page.mouse.up()
  t.equal(await width(), automatic + 90, 'drag')
  await edge.focus()
  await page.keyboard.press('ArrowLeft')
  t.equal(await width(), automatic + 70, 'arrow key')
  await page.reload()
  await row(page, 1).waitFor()
  t.equal(await width(), automatic + 70, 'after a reload')
  t.equal(await edge.getAttribute('aria-valuetext'), `${automatic + 70} px`)
  await edge.dblclick()
  t.equal(await width(), automatic, 'double click')
  t.same(complaints, [])
})
