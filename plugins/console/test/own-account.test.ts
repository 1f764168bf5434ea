import t from 'tap'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { barriers, skip } from './fixtures/browser.ts'

t.test(
  'people look after their own account, whatever their roles let them do',
  { skip, timeout: 600_000 },
  async (t) => {
    const office = await startBackOffice(t.testdir(), (work) => t.teardown(work))
    await office.people.create({ username: 'anna', password }, office.actor)
    const other = await openSignedIn(t.teardown, office.url, { username: 'anna' })
    const { page, complaints } = await openSignedIn(t.teardown, office.url, { username: 'anna' })
    await page.locator('aside').getByRole('link', { name: 'anna' }).click()
    await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor()
    const sessions = page.locator('section', { has: page.getByRole('heading', { name: 'Your active sessions' }) })
    await sessions.locator('tbody tr').nth(1).waitFor()
    t.equal(await sessions.locator('tbody tr').count(), 2)
    t.strictSame(await barriers(page), [])

    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill('anna@example.com')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('dl').getByText('anna@example.com').waitFor()

    await page.getByRole('button', { name: 'Change the password' }).click()
    const current = dialog.getByRole('textbox', { name: 'Current password' })
    const renewed = dialog.getByRole('textbox', { name: 'New password' })
    await current.fill('not this one')
    await renewed.fill('Another-office-2027')
    t.equal(await renewed.getAttribute('type'), 'password')
    await dialog.getByRole('button', { name: 'Change the password' }).click()
    await dialog.getByText('The current password is wrong.').waitFor()
    t.equal(await current.getAttribute('aria-invalid'), 'true', 'said at the field that is wrong')
    await current.fill(password)
    await dialog.getByRole('button', { name: 'Change the password' }).click()
    await dialog.waitFor({ state: 'detached' })
    await sessions.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
    t.equal(await sessions.locator('tbody tr').count(), 1, 'the other session has ended, this one goes on')
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.page.fill('input[autocomplete=username]', 'anna')
    await other.page.fill('input[autocomplete=current-password]', 'Another-office-2027')
    await other.page.click('button[type=submit]')
    await other.page.locator('nav').first().waitFor()

    await page.reload()
    await sessions.locator('tbody tr').nth(1).waitFor()
    await page.getByRole('button', { name: 'End all other sessions' }).click()
    await dialog.getByRole('button', { name: 'End all other sessions' }).click()
    await sessions.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    t.strictSame(complaints, [])
  },
)
