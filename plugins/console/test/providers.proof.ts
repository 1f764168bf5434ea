/** Tests the sign-in through a provider in a browser: sign-in, second step, link, fresh proof in a window, errors. */
import outgoingHttp from '@plinth/outgoing-http'
import signInOidc from '@plinth/sign-in-oidc'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { clientId, clientSecret, startProvider } from '../../sign-in-oidc/test/fixtures/provider.ts'
import { ageProofs, signIn } from './fixtures/back-office.ts'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  saveScreenshot,
  skip,
} from './fixtures/browser.ts'
import { readSecret, startFactorOffice, takeCodes } from './fixtures/factor-office.ts'

const timeout = 600_000
const securityPage = 'authenticators.security'

async function startOffice(t: Test, entry: object = {}) {
  let issuer = ''
  const office = await startFactorOffice(t, {
    plugins: [outgoingHttp, signInOidc],
    async set(url) {
      const redirectUris = [`${url}sign-in/oidc/acme`]
      const client = {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: [url.replace(/\/$/, '')],
      }
      const provider = await startProvider(t, { redirectUris, configuration: { clients: [client] } })
      issuer = provider.issuer
      const acme = { issuer, clientId, title: 'Acme ID', createAccounts: true, ...entry }
      return {
        'platform.outgoing-http.allow-http': 'true',
        'platform.outgoing-http.allowed-hosts': JSON.stringify([provider.host]),
        'platform.sign-in-oidc.providers': JSON.stringify({ acme }),
        'platform.sign-in-oidc.client-secrets': JSON.stringify({ acme: { issuer, clientId, secret: clientSecret } }),
      }
    },
  })
  return { ...office, issuer }
}

/** Signs in at the provider and agrees, until the provider redirects back. */
async function signInAtProvider(page: Page, issuer: string, name: string): Promise<void> {
  await page.waitForURL((url) => url.origin === issuer)
  await page.fill('input[name=login]', name)
  await page.fill('input[name=password]', 'any')
  await page.click('button[type=submit]')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL((url) => url.origin !== issuer)
}

/** Errors of pages of this product. The provider of this test has no icon, and loads fonts of another server. */
const own = (complaints: readonly string[], issuer: string) =>
  complaints.filter((one) => !one.includes(issuer) && !one.includes('https://fonts.'))

t.test('a user signs in through a provider and returns to the page that was open', { skip, timeout }, async (t) => {
  const office = await startOffice(t)
  const { page, complaints } = await openPage(t.teardown, `${office.url}iam.own-account`, { locale: 'en' })
  const button = page.getByRole('button', { name: 'Continue with Acme ID' })
  await button.waitFor()
  t.strictSame(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'providers')
  await page.setViewportSize({ width: 390, height: 844 })
  t.equal(await findHorizontalOverflow(page), 0)
  await button.click()
  await signInAtProvider(page, office.issuer, 'anna')
  await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor()
  t.equal(page.url(), `${office.url}iam.own-account`)
  t.strictSame(await page.evaluate('({ ...sessionStorage })'), {})
  t.strictSame(own(complaints, office.issuer), [])

  // The sign-out also ends the session at the provider, so the next sign-in asks for the password again.
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await button.click()
  await page.locator('input[name=password]').waitFor()

  // A response that this browser did not request is rejected, and the page has a way back.
  const other = await openPage(t.teardown, `${office.url}sign-in/oidc/acme?code=stolen&state=stolen`, {
    locale: 'zh-CN',
  })
  await other.page.getByRole('alert').filter({ hasText: '登录失败' }).waitFor()
  t.equal(other.page.url(), `${office.url}sign-in/oidc/acme`, 'the code leaves the address')
  t.strictSame(await findAccessibilityProblems(other.page), [])
  await saveScreenshot(other.page, 'provider-rejected')
  await other.page.getByRole('link', { name: '返回登录' }).click()
  await other.page.getByRole('button', { name: '使用 Acme ID 登录' }).waitFor()
  t.strictSame(other.complaints, [])
})

t.test(
  'a user links a provider, proves the identity with it above a form, and signs in in two steps',
  { skip, timeout },
  async (t) => {
    const office = await startOffice(t, { passwordHidden: true })
    const { page, complaints } = await openPage(t.teardown, office.url, { locale: 'en' })
    // The password is the last way in, so it is only hidden.
    await page.getByRole('button', { name: 'Sign in with a password' }).click()
    await signIn(page)
    await page.getByRole('link', { name: 'root' }).waitFor()
    await page.goto(`${office.url}${securityPage}`)
    await page.getByRole('button', { name: 'Link Acme ID' }).click()
    await signInAtProvider(page, office.issuer, 'root-at-acme')
    await page.getByRole('button', { name: 'Link the account' }).waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'provider-link')
    await page.getByRole('button', { name: 'Link the account' }).click()
    await page.getByRole('button', { name: 'Remove the link to Acme ID' }).waitFor()
    await saveScreenshot(page, 'provider-linked')

    await page.goto(`${office.url}iam.users`)
    await page.getByRole('button', { name: 'New user' }).click()
    const form = page.getByRole('dialog').filter({ has: page.getByRole('textbox', { name: 'User name' }) })
    await form.getByRole('textbox', { name: 'User name' }).fill('carla')
    await form.getByRole('textbox', { name: 'Password' }).fill('Wonderful-office-2026')
    await ageProofs(office, page)
    await form.getByRole('button', { name: 'Save' }).click()
    const proof = page.getByRole('dialog').filter({ has: page.getByRole('heading', { name: 'Prove your identity' }) })
    await proof.getByRole('button', { name: 'Use Acme ID' }).waitFor()
    await saveScreenshot(page, 'proof-provider')
    const opening = page.waitForEvent('popup')
    await proof.getByRole('button', { name: 'Use Acme ID' }).click()
    const popup = await opening
    await proof.getByRole('status').filter({ hasText: 'Continue in the window' }).waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    await popup.waitForURL((url) => url.origin === office.issuer)
    t.equal(await popup.evaluate('window.opener'), null, 'the provider cannot reach this page')
    const closed = popup.waitForEvent('close')
    await popup.fill('input[name=login]', 'root-at-acme')
    await popup.fill('input[name=password]', 'any')
    await popup.click('button[type=submit]')
    await form.waitFor({ state: 'detached' })
    await page.getByRole('cell', { name: 'carla', exact: true }).waitFor()
    await closed

    // The user also has an authenticator app, which the provider does not replace.
    await page.goto(`${office.url}${securityPage}`)
    await page.getByRole('button', { name: 'Use an authenticator app' }).click()
    const secret = await readSecret(page)
    await page.getByLabel('Six-digit code').fill(office.codeOf(secret))
    await page.getByRole('button', { name: 'Confirm the code' }).click()
    await takeCodes(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Continue with Acme ID' }).click()
    await page.getByLabel('Code of your authenticator app').fill(office.codeOf(secret))
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'provider-second-step')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Remove the link to Acme ID' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No account is linked.').waitFor()
    t.strictSame(own(complaints, office.issuer), [])
  },
)
