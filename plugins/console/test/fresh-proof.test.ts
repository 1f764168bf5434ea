/** Tests fresh proofs in the back office: the form keeps its values, and the operation runs once. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { ageProofs, openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, skip } from './fixtures/browser.ts'

t.test('an action asks for the password in place, and continues after it', { skip, timeout: 600_000 }, async (t) => {
  const office = await startBackOffice(t.testdir(), (work) => t.teardown(work), {
    set: { 'platform.iam.fresh-proof.enabled': 'true' },
  })
  const { page, complaints } = await openSignedIn(t.teardown, office.url)
  const age = (one: Page = page) => ageProofs(office, one)
  const users = async () =>
    (await office.db.query<{ username: string }>('select username from iam_user order by id')).map(
      ({ username }) => username,
    )
  await page.goto(`${office.url}iam.users`)
  await page.getByRole('button', { name: 'New user' }).click()
  const form = page.getByRole('dialog').filter({ has: page.getByRole('textbox', { name: 'User name' }) })
  const typed = { 'User name': 'carla', Password: 'Wonderful-office-2026' }
  await age()
  for (const [name, value] of Object.entries(typed)) await form.getByRole('textbox', { name }).fill(value)
  const save = () => form.getByRole('button', { name: 'Save' }).click()
  await save()

  const proof = page.getByRole('dialog').filter({ has: page.locator('input[autocomplete=current-password]') })
  await proof.locator('input[autocomplete=current-password]:focus').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  const prove = async (text: string) => {
    await proof.locator('input[autocomplete=current-password]').fill(text)
    await proof.getByRole('button', { name: 'Continue' }).click()
  }
  await prove('not this one')
  await proof.getByText('The current password is wrong.').waitFor()
  await page.keyboard.press('Escape')
  await proof.waitFor({ state: 'detached' })
  await form.getByText('You did not prove your identity. Nothing was changed.').waitFor()
  for (const [name, value] of Object.entries(typed))
    t.equal(await form.getByRole('textbox', { name }).inputValue(), value, `${name} stays`)
  t.strictSame(await users(), ['root'])

  await save()
  await prove(password)
  await form.waitFor({ state: 'detached' })
  await page.getByRole('cell', { name: 'carla', exact: true }).waitFor()
  t.strictSame(await users(), ['root', 'carla'], 'the user was created once')
  t.equal(await page.getByText('Your session has ended').count(), 0, 'the page keeps its session')

  await t.test('a download asks first', async () => {
    await page.getByRole('link', { name: 'carla' }).click()
    const file = page.getByRole('link', { name: 'Export all data' })
    await file.waitFor()
    await age()
    const downloading = page.waitForEvent('download')
    await file.click()
    await prove(password)
    t.match((await downloading).suggestedFilename(), /^user-\d+\.json$/)
  })

  await t.test('a second tab of the same session goes on', async (t) => {
    const second = await page.context().newPage()
    await second.goto(`${office.url}iam.roles`)
    await second.getByRole('heading', { name: 'Roles', level: 1 }).waitFor()
    await age()
    await page.goto(`${office.url}iam.own-account`)
    await page.getByRole('button', { name: 'End all other sessions' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End all other sessions' }).click()
    await prove(password)
    await proof.waitFor({ state: 'detached' })
    await second.bringToFront()
    await second.goto(`${office.url}iam.users`)
    await second.getByRole('cell', { name: 'carla', exact: true }).waitFor()
    t.equal(await second.getByText('Your session has ended').count(), 0)
  })

  await t.test('in Chinese', async (t) => {
    const chinese = await openSignedIn(t.teardown, office.url, { locale: 'zh-CN' })
    await chinese.page.goto(`${office.url}iam.own-account`)
    await chinese.page.getByRole('button', { name: '结束其他会话' }).click()
    await age(chinese.page)
    await chinese.page.getByRole('dialog').getByRole('button', { name: '结束其他会话' }).click()
    await chinese.page
      .getByRole('dialog')
      .filter({ hasText: '验证身份' })
      .getByRole('button', { name: '继续' })
      .waitFor()
    t.strictSame(chinese.complaints, [])
  })
  t.strictSame(complaints, [])
})
