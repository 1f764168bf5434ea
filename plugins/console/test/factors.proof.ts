/** Tests second factors in a browser, with the virtual authenticator of Chromium: set-up, sign-in, second step, proof. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { ageProofs, openSignedIn, signIn } from './fixtures/back-office.ts'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  saveScreenshot,
  skip,
} from './fixtures/browser.ts'
import { addAuthenticator, readSecret, startFactorOffice, takeCodes } from './fixtures/factor-office.ts'

const timeout = 600_000
const securityPage = 'authenticators.security'

const out = (page: Page) => page.getByRole('button', { name: 'Sign out' }).click()
const isIn = (page: Page) => page.locator('nav').first().waitFor({ state: 'attached' })
const second = (page: Page) => page.getByRole('region', { name: 'Second step' })

/** Opens the page in the browser of the administrator, which has a security key. */
async function openSecurityPage(t: Test) {
  const office = await startFactorOffice(t)
  const { page, complaints } = await openSignedIn(t.teardown, office.url)
  const authenticator = await addAuthenticator(page)
  await page.goto(`${office.url}${securityPage}`)
  return { office, page, complaints, authenticator }
}

t.test('a user adds a passkey, signs in with it, renames and removes it', { skip, timeout }, async (t) => {
  const { office, page, complaints, authenticator } = await openSecurityPage(t)
  await page.getByText('You have no passkeys yet.').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'security-empty')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('Save your recovery codes').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'recovery-codes')
  t.equal((await takeCodes(page)).length, 10)
  await page.getByText('Not used yet').waitFor()
  await saveScreenshot(page, 'security-passkey')

  // From now on, only a passkey proves that the user may change the factors. The same device can have only one.
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const proof = page.getByRole('dialog').filter({ has: page.getByRole('heading', { name: 'Prove your identity' }) })
  await proof.getByRole('button', { name: 'Use a passkey' }).waitFor()
  t.equal(await proof.locator('input').count(), 0, 'neither password nor code')
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'proof-passkey')
  await proof.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('alert').filter({ hasText: 'already has a passkey' }).waitFor()

  // A user who cancels the prompt has made no error.
  await authenticator.setPresent(false)
  await out(page)
  const button = page.getByRole('button', { name: 'Sign in with a passkey' })
  await button.waitFor()
  t.equal(await page.getByLabel('User name or e-mail address').getAttribute('autocomplete'), 'username webauthn')
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'sign-in-passkey')
  await authenticator.setVerified(false)
  await authenticator.setPresent(true)
  await button.click()
  await page.getByRole('status').filter({ hasText: 'No passkey was used' }).waitFor()
  t.equal(await page.getByRole('alert').count(), 0)
  await saveScreenshot(page, 'passkey-cancelled')
  await authenticator.setVerified(true)
  await button.click()
  // The page that was open before comes back.
  await page.getByText(/^Last used/).waitFor()
  t.equal(page.url(), `${office.url}${securityPage}`)

  // The browser suggests the passkey in the field for the user name. The virtual authenticator accepts it immediately.
  await out(page)
  await page.getByText(/^Last used/).waitFor()

  await page.getByRole('button', { name: 'Rename “Passkey”' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name of the passkey').fill('Blue key')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await page.getByText('Blue key', { exact: true }).waitFor()
  await page.setViewportSize({ width: 390, height: 844 })
  t.equal(await findHorizontalOverflow(page), 0)
  await saveScreenshot(page, 'security-phone')
  await page.getByRole('button', { name: 'Remove “Blue key”' }).click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('You have no passkeys yet.').waitFor()
  t.strictSame(complaints, [])
})

t.test(
  'a copy of a passkey is rejected, and the password with another factor still signs in',
  { skip, timeout },
  async (t) => {
    const { page, complaints, authenticator } = await openSecurityPage(t)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    const [code = ''] = await takeCodes(page)
    await authenticator.setCounter(40)
    await out(page)
    await page.getByText(/^Last used/).waitFor()
    await authenticator.setPresent(false)
    await out(page)
    const button = page.getByRole('button', { name: 'Sign in with a passkey' })
    await button.waitFor()
    await authenticator.setCounter(3)
    await authenticator.setPresent(true)
    await button.click()
    await page.getByRole('alert').filter({ hasText: 'The passkey was rejected.' }).waitFor()
    t.equal(await page.locator('nav').count(), 0)

    await signIn(page)
    await second(page).getByRole('button', { name: 'Use a passkey' }).waitFor()
    await second(page).getByRole('button', { name: 'Use a recovery code' }).click()
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'recovery-code')
    await second(page).getByLabel('Recovery code').fill(code.toLowerCase())
    await second(page).getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('9 codes are left').waitFor()
    t.strictSame(complaints, [])
  },
)

t.test('the second step accepts a code of an app once, and a wrong code is explained', { skip, timeout }, async (t) => {
  const office = await startFactorOffice(t)
  const { page, complaints } = await openSignedIn(t.teardown, office.url)
  await page.goto(`${office.url}${securityPage}`)
  await page.getByRole('button', { name: 'Use an authenticator app' }).click()
  await page.getByRole('img', { name: 'QR code for an authenticator app' }).waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'totp-set-up')
  const secret = await readSecret(page)
  const field = page.getByLabel('Six-digit code')
  await field.fill('000000')
  await page.getByRole('button', { name: 'Confirm the code' }).click()
  await page.getByRole('alert').filter({ hasText: 'The code is wrong' }).waitFor()
  t.equal(await page.getByText('Your session has ended').count(), 0)
  const used = office.codeOf(secret)
  await field.fill(`${used.slice(0, 3)} ${used.slice(3)}`)
  await page.getByRole('button', { name: 'Confirm the code' }).click()
  const codes = await takeCodes(page)
  await page.getByText(/^Set up /).waitFor()

  await out(page)
  await signIn(page)
  const code = second(page).getByLabel('Code of your authenticator app')
  await code.and(page.locator(':focus')).waitFor()
  t.equal(await code.getAttribute('autocomplete'), 'one-time-code')
  t.strictSame(await findAccessibilityProblems(page), [])
  await page.setViewportSize({ width: 390, height: 844 })
  t.equal(await findHorizontalOverflow(page), 0)
  await saveScreenshot(page, 'second-step-phone')
  const enter = async (text: string) => {
    await code.fill(text)
    await second(page).getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  await enter(used)
  await page.getByRole('alert').filter({ hasText: 'already used' }).waitFor()
  t.equal(await code.inputValue(), '')
  await enter(office.codeOf(secret))
  await page.getByText(/^Set up /).waitFor()

  // Sign-in can be started again, and a recovery code works once.
  for (const [attempt, expected] of [
    [codes[0], 'in'],
    [codes[0], 'rejected'],
  ] as const) {
    await page.context().clearCookies()
    await page.reload()
    await signIn(page)
    await second(page).getByRole('button', { name: 'Start the sign-in again' }).click()
    await signIn(page)
    await second(page).getByRole('button', { name: 'Use a recovery code' }).click()
    await second(page)
      .getByLabel('Recovery code')
      .fill(attempt ?? '')
    await second(page).getByRole('button', { name: 'Sign in', exact: true }).click()
    await (expected === 'in'
      ? page.getByText('9 codes are left').waitFor()
      : page.getByRole('alert').filter({ hasText: 'recovery code is wrong' }).waitFor())
  }
  t.strictSame(complaints, [])
})

t.test('a user whose role requires a second factor sets it up to sign in', { skip, timeout }, async (t) => {
  const office = await startFactorOffice(t)
  await office.createUser('ann')
  await office.requireSecondFactor()
  const { page, complaints } = await openPage(t.teardown, office.url, { locale: 'en' })
  const authenticator = await addAuthenticator(page)
  await authenticator.setPresent(false)
  await signIn(page)
  await second(page).getByText('Your account needs a second factor').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'forced-set-up')
  await authenticator.setVerified(false)
  await authenticator.setPresent(true)
  await second(page).getByRole('button', { name: 'Create a passkey' }).click()
  await second(page).getByRole('status').filter({ hasText: 'No passkey was used' }).waitFor()
  await authenticator.setVerified(true)
  await second(page).getByRole('button', { name: 'Create a passkey' }).click()
  t.equal((await takeCodes(page)).length, 10)
  await isIn(page)

  const other = await openPage(t.teardown, `${office.url}iam.users`, { locale: 'zh-CN', colorScheme: 'dark' })
  await other.page.setViewportSize({ width: 390, height: 844 })
  await signIn(other.page, 'ann')
  await other.page.getByText('您的账户需要第二因素').waitFor()
  await other.page.getByRole('button', { name: '使用验证器应用' }).click()
  await other.page.getByRole('img', { name: '供验证器应用扫描的二维码' }).waitFor()
  t.strictSame(await findAccessibilityProblems(other.page), [])
  t.equal(await findHorizontalOverflow(other.page), 0)
  await saveScreenshot(other.page, 'forced-set-up-zh')
  // The codes are shown even if the next request fails, because no other response contains them.
  const account = '**/api/v1/iam/users/me'
  await other.page.route(account, (route) => route.fulfill({ json: { code: '503', message: '', data: null } }))
  await other.page.getByLabel('应用当前显示的 6 位验证码').fill(office.codeOf(await readSecret(other.page)))
  await other.page.getByRole('button', { name: '确认验证码' }).click()
  await other.page.getByText('请保存恢复码').waitFor()
  t.equal(await findHorizontalOverflow(other.page), 0)
  await saveScreenshot(other.page, 'recovery-codes-zh')
  const downloading = other.page.waitForEvent('download')
  await other.page.getByRole('button', { name: '下载' }).click()
  t.equal((await downloading).suggestedFilename(), '恢复码.txt')
  await other.page.unroute(account)
  t.equal((await takeCodes(other.page, '我已保存')).length, 10)
  await other.page.getByRole('heading', { name: '用户', level: 1 }).waitFor()
  t.strictSame([...complaints, ...other.complaints], [])
})

t.test(
  'a passkey proves the identity above a form, which stays filled; an ended session too',
  { skip, timeout },
  async (t) => {
    const { office, page, complaints, authenticator } = await openSecurityPage(t)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await takeCodes(page)
    await page.goto(`${office.url}iam.users`)
    await page.getByRole('button', { name: 'New user' }).click()
    const form = page.getByRole('dialog').filter({ has: page.getByRole('textbox', { name: 'User name' }) })
    const typed = { 'User name': 'carla', Password: 'Wonderful-office-2026' }
    for (const [name, value] of Object.entries(typed)) await form.getByRole('textbox', { name }).fill(value)
    const stays = async () => {
      for (const [name, value] of Object.entries(typed))
        t.equal(await form.getByRole('textbox', { name }).inputValue(), value, `${name} stays`)
    }
    await ageProofs(office, page)
    const save = () => form.getByRole('button', { name: 'Save' }).click()
    await save()
    const proof = page.getByRole('dialog').filter({ has: page.getByRole('heading', { name: 'Prove your identity' }) })
    const button = proof.getByRole('button', { name: 'Use a passkey' })
    await authenticator.setVerified(false)
    await button.click()
    await proof.getByRole('status').filter({ hasText: 'No passkey was used' }).waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'proof-cancelled')
    await button.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Escape')
    await proof.waitFor({ state: 'detached' })
    await stays()
    await authenticator.setVerified(true)
    await save()
    await button.click()
    await form.waitFor({ state: 'detached' })
    await page.getByRole('cell', { name: 'carla', exact: true }).waitFor()

    // The session ends while a form is open. The second step is asked above the form.
    await page.getByRole('button', { name: 'New user' }).click()
    typed['User name'] = 'dora'
    for (const [name, value] of Object.entries(typed)) await form.getByRole('textbox', { name }).fill(value)
    await authenticator.setPresent(false)
    await page.context().clearCookies()
    await save()
    const ended = page.getByRole('dialog').filter({ hasText: 'Your session has ended' })
    await ended.locator('input[autocomplete=current-password]:focus').waitFor()
    await ended.locator('input[autocomplete=current-password]').fill('Back-office-2026')
    await ended.getByRole('button', { name: 'Sign in', exact: true }).click()
    await ended.getByRole('button', { name: 'Use a passkey' }).waitFor()
    await authenticator.setPresent(true)
    await ended.getByRole('button', { name: 'Use a passkey' }).click()
    await ended.waitFor({ state: 'detached' })
    await stays()
    await save()
    await page.getByRole('cell', { name: 'dora', exact: true }).waitFor()
    t.strictSame(complaints, [])
  },
)

t.test('an administrator sees and resets the second factors of a user', { skip, timeout }, async (t) => {
  const office = await startFactorOffice(t)
  await office.createUser('ann')
  const ann = await openSignedIn(t.teardown, `${office.url}${securityPage}`, { username: 'ann', locale: 'zh-CN' })
  await ann.page.getByRole('button', { name: '使用验证器应用' }).click()
  await ann.page.getByLabel('应用当前显示的 6 位验证码').fill(office.codeOf(await readSecret(ann.page)))
  await ann.page.getByRole('button', { name: '确认验证码' }).click()
  await takeCodes(ann.page, '我已保存')
  await ann.page.getByRole('button', { name: '移除验证器应用' }).waitFor()
  t.strictSame(await findAccessibilityProblems(ann.page), [])
  await ann.page.setViewportSize({ width: 390, height: 844 })
  t.equal(await findHorizontalOverflow(ann.page), 0)
  await saveScreenshot(ann.page, 'security-zh')

  const { page, complaints } = await openSignedIn(t.teardown, `${office.url}iam.users`)
  await page.getByRole('link', { name: 'ann' }).click()
  const factors = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'Passkeys and second factors' }) })
  await factors.getByText('Remaining recovery codes').waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'user-factors')
  await factors.scrollIntoViewIfNeeded()
  await saveScreenshot(page, 'user-factors-2')
  await factors.getByRole('button', { name: 'Reset second factors' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason, for the audit').fill('Lost the phone')
  await dialog.getByRole('button', { name: 'Reset second factors' }).click()
  await dialog.waitFor({ state: 'detached' })
  await factors.getByText('Remaining recovery codes').waitFor({ state: 'detached' })
  const audit = await office.db.query<{ action: string }>('select action from iam_audit where reason = ?', [
    'Lost the phone',
  ])
  t.strictSame(audit, [{ action: 'user.reset-second-factors' }])
  await ann.page.reload()
  await signIn(ann.page, 'ann')
  await ann.page.getByText('您还没有通行密钥。').waitFor()
  t.strictSame([...complaints, ...ann.complaints], [])
})
