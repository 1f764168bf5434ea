/** Tests second factors in a browser, with the virtual authenticator of Chromium: set-up, sign-in, second step, proof. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { openSignedIn, password, signIn } from './fixtures/back-office.ts'
import { findAccessibilityProblems, findHorizontalOverflow, openPage, saveScreenshot, skip } from './fixtures/browser.ts'
import { addAuthenticator, startFactorOffice } from './fixtures/factor-office.ts'

const securityPage = 'authenticators.security'

/** Proves the identity in the dialog, if it is shown, with the password. */
async function proveByPassword(page: Page): Promise<void> {
  const proof = page.getByRole('dialog').filter({ hasText: 'Prove your identity' })
  await proof.locator('input[autocomplete=current-password]').fill(password)
  await proof.getByRole('button', { name: 'Continue' }).click()
  await proof.waitFor({ state: 'detached' })
}

t.test('a user adds a passkey and signs in with it, also from the suggestions of the field', { skip, timeout: 600_000 }, async (t) => {
  const office = await startFactorOffice(t)
  const { page, complaints } = await openSignedIn(t.teardown, office.url)
  const authenticator = await addAuthenticator(page)
  await page.goto(`${office.url}${securityPage}`)
  await page.getByRole('heading', { name: 'Sign-in and security', level: 1 }).waitFor()
  await page.getByText('You have no passkeys yet.').waitFor()
  await saveScreenshot(page, 'security-empty')
  t.strictSame(await findAccessibilityProblems(page), [])
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const codes = page.getByRole('dialog').filter({ hasText: 'Save your recovery codes' })
  await codes.waitFor()
  await saveScreenshot(page, 'recovery-codes')
  t.strictSame(await findAccessibilityProblems(page), [])
  t.equal(await codes.locator('li').count(), 10)
  await codes.getByRole('button', { name: 'I have saved it' }).click()
  await page.getByText('Not used yet').waitFor()
  t.equal((await authenticator.credentials()).length, 1)
  await saveScreenshot(page, 'security-passkey')
  t.strictSame(complaints, [])
})
