/** Tests pages of an example in a browser: fields that depend on each other, files, and totals of a list. */
import { join } from 'node:path'
import { http } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import storage from '@plinth/storage'
import t from 'tap'
import couriers from '../../examples/acme-admin-pages/couriers/plugin.ts'
import depots from '../../examples/acme-admin-pages/plugin.ts'
import { openSignedIn, password, startBackOffice } from '../../plugins/console/test/fixtures/back-office.ts'
import { findAccessibilityProblems, skip } from '../../plugins/console/test/fixtures/browser.ts'

const office =
  skip === false
    ? await startBackOffice(t.testdir(), (work) => t.teardown(work), {
        plugins: [depots, couriers, storage],
        set: { 'platform.storage.root': join(t.testdirName, 'files') },
      })
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
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Ann')
  t.equal(await dialog.getByRole('textbox', { name: 'Name on the badge' }).inputValue(), 'Ann')
  await dialog.getByRole('textbox', { name: 'Name on the badge' }).fill('A. Berg')
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Ann Berg')
  t.equal(
    await dialog.getByRole('textbox', { name: 'Name on the badge' }).inputValue(),
    'A. Berg',
    'the user has changed it',
  )

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
  const part = page.getByRole('region', { name: 'Total of 20 displayed rows' })
  await part.waitFor()
  t.match(await part.innerText(), `Daily pay\n€20.00`)
})

/** A picture of one pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

t.test('a form uploads files, a page shows them, and a removed file is gone', { skip }, async (t) => {
  if (office === undefined) return
  const call = await signedIn(office)
  const [depot] = (await call('GET', 'acme/depots')).items
  const person = { name: 'Finn', badgeName: 'Finn', city: 'Files', depotId: depot.id, dailyPay: 0 }
  const { id } = await call('POST', 'acme/couriers', person)
  const { page, complaints } = await openSignedIn(t.teardown, `${office.url}acme.courier/${id}`)
  const change = async () => {
    await page.getByRole('button', { name: 'Change' }).click()
    return page.getByRole('dialog')
  }
  const saved = async (dialog: ReturnType<typeof page.getByRole>) => {
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  const form = await change()
  const photo = form.getByLabel('Photo')
  // The code of the control is loaded with the first field for a file.
  await form.locator('input[type=file]').first().waitFor()
  await photo.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x') })
  await form.getByText('Allowed types: image/png, image/jpeg.').waitFor()
  await form.getByRole('button', { name: 'Save' }).click()
  t.equal(await form.isVisible(), true, 'a form with a rejected file is not sent')
  await photo.setInputFiles({ name: 'large.png', mimeType: 'image/png', buffer: Buffer.alloc(2_097_153) })
  await form.getByText('The file must not be empty, and at most 2 MiB.').waitFor()
  await photo.setInputFiles({ name: 'Finn Berg.png', mimeType: 'image/png', buffer: pixel })
  await form.getByRole('link', { name: /^Finn-Berg\.png/ }).waitFor()
  const contract = { name: 'contract.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') }
  await form.getByLabel('Contract').setInputFiles(contract)
  await form.getByRole('link', { name: /^contract\.pdf/ }).waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await saved(form)

  const picture = page.getByRole('img', { name: 'Finn-Berg.png' })
  await picture.waitFor()
  await page.waitForFunction(`document.querySelector('main img')?.naturalWidth === 1`)
  const stored = await call('GET', `acme/couriers/${id}`)
  const read = (url: string) => fetch(new URL(url, office.url))
  t.strictSame(Buffer.from(await (await read(stored.photo.url)).arrayBuffer()), pixel)
  t.equal(await (await read(stored.contract.url)).text(), '%PDF-1.4')
  t.equal((await read(`/storage/${stored.contract.id}`)).status, 404, 'the contract is private')
  t.strictSame(await findAccessibilityProblems(page), [])

  const again = await change()
  t.equal(await again.getByRole('link').count(), 2, 'the form shows the stored files')
  await again.getByRole('button', { name: 'Remove: Photo' }).click()
  await saved(again)
  await picture.waitFor({ state: 'detached' })
  t.match(await call('GET', `acme/couriers/${id}`), { photo: null, contract: { id: stored.contract.id } })
  t.equal((await read(stored.photo.url)).status, 404)
  t.strictSame(complaints, [])
})
