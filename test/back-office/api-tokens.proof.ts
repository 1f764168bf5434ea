/** Tests in a browser that a user creates an API token, which is shown once, and that an administrator revokes it. */
import t from 'tap'
import { findAccessibilityProblems, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'
import { OperatorActions, openBackOffice } from './operator-hand.ts'

t.test('a user creates an API token and an administrator revokes it', { skip, timeout: 300_000 }, async (t) => {
  const { url } = await startWithRows(t.teardown)
  const { page, complaints } = await openBackOffice(t, url, password)
  page.setDefaultTimeout(30_000)
  const hand = new OperatorActions(page)
  const ask = async (token: string) => {
    const response = await fetch(new URL('/api/v1/iam/users/me', url), {
      headers: { authorization: `Bearer ${token}` },
    })
    return (await response.json()) as { code: string; data: { permissions?: readonly string[]; reason?: string } }
  }

  await hand.goTo('My API tokens', 'My API tokens')
  await hand.row('Stock report').waitFor()
  await hand.click(page.getByRole('button', { name: 'New API token' }))
  const form = page.getByRole('dialog', { name: 'New API token' })
  await form.getByLabel('Name').fill('Nightly export')
  await form.getByRole('button', { name: /^Expires at/ }).click()
  const calendar = page.getByRole('dialog', { name: /^Expires at/ })
  await calendar.getByRole('button', { name: 'Next' }).click()
  await calendar.getByRole('button', { name: /^15 / }).click()
  await calendar.getByRole('button', { name: 'Apply' }).click()
  await form.getByLabel('Data scope').selectOption({ label: 'Data of the organisation' })
  const permissions = form.getByRole('combobox', { name: 'Permissions' })
  await permissions.fill('iam:user:view')
  await form.getByRole('option', { name: 'View users (iam:user:view)' }).click()
  t.strictSame(await findAccessibilityProblems(page), [], 'the form')
  await hand.click(form.getByRole('button', { name: 'Save', exact: true }))

  const shown = hand.dialog().locator('input[readonly]')
  await shown.waitFor()
  const token = await shown.inputValue()
  t.match(token, /^plinthpat_[0-9A-Za-z]{36}$/)
  await hand.button('Copy').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [], 'the token')
  t.strictSame((await ask(token)).data.permissions, ['iam:user:view'])
  await hand.click(hand.button('I have saved it'))
  await hand
    .row('Nightly export')
    .filter({ hasText: token.slice(10, 14) })
    .waitFor()
  t.notMatch(await page.content(), token, 'it is not shown again')

  await hand.goTo('API tokens', 'API tokens')
  await page.getByRole('heading', { level: 1, name: 'API tokens', exact: true }).waitFor()
  await hand.choose(hand.row('Nightly export'), 'Revoke')
  await hand.dialog().getByText('Requests with the token Nightly export are rejected immediately.').waitFor()
  await hand.click(hand.button('Revoke'))
  await hand.row('Nightly export').waitFor({ state: 'detached' })
  t.equal((await ask(token)).data.reason, 'iam.api-token-invalid')
  t.strictSame(complaints, [])
})
