import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import {
  findAccessibilityProblems,
  onlySession,
  openPage,
  readBrowserStorage,
  saveScreenshot,
  skip,
} from '../fixtures/browser.ts'
import { assertSignsIn, startProduct } from '../fixtures/product.ts'
import { administrator, minimalForm, Wizard } from '../fixtures/wizard.ts'

/** Connection settings with a port on which no server listens. */
const closed = `PLATFORM_DATABASE_TYPE=postgresql
PLATFORM_DATABASE_HOST=127.0.0.1
PLATFORM_DATABASE_PORT=1
PLATFORM_DATABASE_NAME=shop
PLATFORM_DATABASE_USERNAME=keeper
PLATFORM_DATABASE_PASSWORD=word
`

t.test(
  'a new product whose database server does not respond shows this at the field, and is installed on another server',
  { skip, timeout: 600_000 },
  async (t) => {
    const directory = t.testdir()
    await writeFile(join(directory, '.env'), closed)
    const product = await startProduct(directory, t.teardown)
    const { page } = await openPage(t.teardown, `${product.url}/install/`, { locale: 'en-GB' })
    const wizard = new Wizard(page)
    await wizard.heading('Environment check').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'The database does not respond.' }).first().waitFor()
    await wizard.next.click()
    await wizard.field('database.host').waitFor()
    t.equal(await wizard.field('database.host').inputValue(), '127.0.0.1')
    await page.getByText('The database does not respond.').waitFor()
    t.equal(await wizard.field('database.host').getAttribute('aria-invalid'), 'true')
    t.same(await findAccessibilityProblems(page), [], 'the fault at the field')
    await saveScreenshot(page, 'fallback-field')

    await page.getByText('Embedded (no server)').click()
    await wizard.fill(minimalForm)
    await wizard.next.click()
    await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
    await wizard.heading('The product is installed').waitFor({ timeout: 300_000 })
    t.equal(await assertSignsIn(product.url, administrator), '200')
    await wizard.signedIn.waitFor()
    t.match(await readBrowserStorage(page), onlySession)
  },
)
