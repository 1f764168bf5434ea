/** Tests that the installer leads the administrator to the page on which an account gets a second factor. */
import t from 'tap'
import { findAccessibilityProblems, openPage, saveScreenshot, skip } from '../fixtures/browser.ts'
import { startProduct } from '../fixtures/product.ts'
import { minimalForm, Wizard } from '../fixtures/wizard.ts'

const token = 'a token of the operator, 2026'
const modules = ['@plinth/authenticators', '@plinth/mail', '@plinth/rate-limit', '@plinth/rate-limit-stores/memory']

t.test('the last page of the installer opens the security page, signed in', { skip, timeout: 600_000 }, async (t) => {
  const environment = { PLATFORM_INSTALL_TOKEN: token, PLATFORM_RATE_LIMIT_DEFAULT_STORE: 'memory' }
  const product = await startProduct(t.testdir(), t.teardown, environment, modules)
  const { page, complaints } = await openPage(t.teardown, `${product.url}/install/`, { locale: 'en' })
  const wizard = new Wizard(page)
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(/^Show all \d+ checks$/).waitFor()
  await wizard.next.click()
  await wizard.field('site.name').waitFor()
  await wizard.fill(minimalForm)
  await wizard.next.click()
  await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
  await wizard.heading('The product is installed').waitFor()
  const link = page.getByRole('link', { name: 'Protect your account' })
  await link.waitFor()
  t.same(await findAccessibilityProblems(page), [])
  await saveScreenshot(page, 'done-protect')
  await link.click()
  await page.getByRole('heading', { name: 'Sign-in and security', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Use an authenticator app' }).waitFor()
  t.same(complaints, [])
})
