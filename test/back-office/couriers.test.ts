/** Tests pages of an example in a browser: fields that depend on each other, and totals of a list. */
import { http } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import t from 'tap'
import couriers from '../../examples/acme-admin-pages/couriers/plugin.ts'
import depots from '../../examples/acme-admin-pages/plugin.ts'
import { openSignedIn, password, startBackOffice } from '../../plugins/console/test/fixtures/back-office.ts'
import { findAccessibilityProblems, skip } from '../../plugins/console/test/fixtures/browser.ts'

const office =
  skip === false
    ? await startBackOffice(t.testdir(), (work) => t.teardown(work), { plugins: [depots, couriers] })
    : undefined

/** Calls the API as the administrator. */
async function signedIn({ running }: NonNullable<typeof office>) {
  const server = running.service(http)
  const payload = { username: 'root', password }
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  return async (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) =>
    (await server.inject(omitUndefined({ method, url: `/api/v1/admin/${path}`, headers, payload }))).json().data
}

t.test('a form offers what an operation returns for its other fields, and copies a name', { skip }, async (t) => {
  if (office === undefined) return
  const call = await signedIn(office)
  for (const [name, city] of [
    ['North', 'Oslo'],
    ['Harbour', 'Oslo'],
    ['Old', 'Oslo'],
    ['Centre', 'Bergen'],
  ])
    await call('POST', 'acme/depots', { name, city })
  const { items } = await call('GET', 'acme/depots')
  const old = items.find(({ name }: { name: string }) => name === 'Old')
  await call('PUT', `acme/depots/${old.id}/state`, { state: 'closed' })

  const { page, complaints } = await openSignedIn(t.teardown, `${office.url}acme.couriers`)
  await page.getByRole('button', { name: 'New courier' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('Ann')
  t.equal(await dialog.getByLabel('Name on the badge').inputValue(), 'Ann')
  await dialog.getByLabel('Name on the badge').fill('A. Berg')
  await dialog.getByLabel('Name', { exact: true }).fill('Ann Berg')
  t.equal(await dialog.getByLabel('Name on the badge').inputValue(), 'A. Berg', 'the user has changed it')

  const depot = dialog.getByRole('combobox', { name: 'Depot' })
  const city = dialog.getByRole('combobox', { name: 'City' })
  const options = dialog.getByRole('option')
  await dialog.getByText('Choose “City” first.').waitFor()
  await city.click()
  await dialog.getByRole('option', { name: 'Oslo' }).waitFor()
  t.strictSame(await options.allInnerTexts(), ['Bergen', 'Oslo'])
  await dialog.getByRole('option', { name: 'Oslo' }).click()
  await depot.click()
  await dialog.getByRole('option', { name: 'Harbour' }).waitFor()
  t.strictSame((await options.allInnerTexts()).toSorted(), ['Harbour', 'North'], 'the open depots of the city')
  t.strictSame(await findAccessibilityProblems(page), [])
  await dialog.getByRole('option', { name: 'North' }).click()

  await city.click()
  await dialog.getByRole('option', { name: 'Bergen' }).click()
  t.equal(await depot.inputValue(), '', 'the depot of another city is cleared')
  await depot.click()
  await dialog.getByRole('option', { name: 'Centre' }).click()
  await dialog.getByLabel('Daily pay').fill('120.50')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const [created] = (await call('GET', 'acme/couriers')).items
  t.match(created, { name: 'Ann Berg', badgeName: 'A. Berg', city: 'Bergen', dailyPay: 12050 })
  await page.getByRole('row', { name: /Ann Berg.*Bergen.*Centre/ }).waitFor()
  t.strictSame(complaints, [])
})

t.test('a user without the permission for the choices types the values', { skip }, async (t) => {
  if (office === undefined) return
  const call = await signedIn(office)
  const role = await call('POST', 'iam/roles', {
    code: 'dispatcher',
    name: 'Dispatcher',
    permissions: ['acme:courier:edit'],
  })
  await call('POST', 'iam/users', { username: 'dispatcher', password, roleIds: [role.id] })
  const { page } = await openSignedIn(t.teardown, `${office.url}acme.couriers`, { username: 'dispatcher' })
  await page.getByRole('button', { name: 'New courier' }).first().click()
  const dialog = page.getByRole('dialog')
  const city = dialog.getByRole('textbox', { name: 'City' })
  const help = await city.getAttribute('aria-describedby')
  t.equal(
    (await dialog.locator(`[id="${help}"]`).innerText()).trim(),
    'Without the permission acme:depot:edit there are no choices. Enter the value.',
  )
  t.equal(await dialog.getByRole('combobox').count(), 0)
  t.strictSame(await findAccessibilityProblems(page), [])
})

t.test('a list shows the totals of its rows, and says when there are more rows', { skip }, async (t) => {
  if (office === undefined) return
  const call = await signedIn(office)
  const { items } = await call('GET', 'acme/depots')
  const add = (name: string, dailyPay: number) =>
    call('POST', 'acme/couriers', { name, badgeName: name, city: 'Totals', depotId: items[0].id, dailyPay })
  const before = (await call('GET', 'acme/couriers')).items.reduce(
    (sum: number, { dailyPay }: { dailyPay: number }) => sum + dailyPay,
    0,
  )
  await add('Cara', 100_50)
  await add('Dan', 200_25)
  const { page } = await openSignedIn(t.teardown, `${office.url}acme.couriers`)
  const euros = (cents: number) => `€${(cents / 100).toFixed(2)}`
  const total = page.getByRole('region', { name: 'Total', exact: true })
  await total.waitFor()
  t.match(await total.innerText(), `Daily pay\n${euros(before + 300_75)}`)
  t.strictSame(await findAccessibilityProblems(page), [])
  for (let one = 0; one < 30; one += 1) await add(`Eve ${one}`, 1_00)
  await page.getByRole('button', { name: 'Reload' }).click()
  const part = page.getByRole('region', { name: 'Total of these 20 rows' })
  await part.waitFor()
  t.match(await part.innerText(), `Daily pay\n€20.00`)
})
