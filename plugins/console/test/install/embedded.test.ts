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

const timeout = 600_000

const token = 'a token of the operator, 2026'

t.test(
  'I-197 I-199 I-200 I-201 I-202 P04 P30 P41 the whole wizard on the embedded database, every view in both languages and colour schemes',
  { skip, timeout },
  async (t) => {
    const product = await startProduct(t.testdir(), t.teardown, { PLATFORM_INSTALL_TOKEN: token })
    const { page, complaints, elsewhere } = await openPage(t.teardown, `${product.url}/install/`, { locale: 'en-GB' })
    const wizard = new Wizard(page)
    const requested: { readonly path: string; readonly language: string; readonly address: string }[] = []
    page.on('request', (request) => {
      const path = new URL(request.url()).pathname
      const language = request.headers()['accept-language'] ?? ''
      if (path.includes('/api/')) requested.push({ path, language, address: request.url() })
    })

    const lookAt = async (name: string, english: string, chinese: string) => {
      for (const [language, heading] of [
        ['EN', english],
        ['中文', chinese],
      ] as const) {
        await wizard.language(language)
        await wizard.heading(heading).waitFor()
        t.equal(await page.locator('html').getAttribute('lang'), language === 'EN' ? 'en' : 'zh-CN')
        t.equal(await page.title(), `${heading} · Plinth`)
        t.equal(await page.locator('h1').count(), 1, 'one heading')
        t.equal(await page.locator('main').count(), 1, 'one main part')
        for (const [index, scheme] of (['light', 'dark'] as const).entries()) {
          await wizard.colours(index as 0 | 1)
          await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor()
          await page.waitForLoadState('networkidle')
          t.same(await findAccessibilityProblems(page), [], `${name}, ${heading}, ${scheme}`)
          await saveScreenshot(page, `${name}-${language === 'EN' ? 'en' : 'zh'}-${scheme}`)
        }
      }
      await wizard.language('EN')
      await wizard.colours(2)
      await wizard.heading(english).waitFor()
    }

    // The page that asks for the install token.
    await lookAt('gate', 'Install token', '安装令牌')
    await page.getByLabel('Token', { exact: true }).fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('Wrong token.').waitFor()
    t.same(await findAccessibilityProblems(page), [])
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.keyboard.press('Enter')
    await wizard.heading('Environment check').waitFor()
    await page.reload()
    await wizard.heading('Install token').waitFor()
    t.pass('a reload asks for the token again')
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.getByRole('button', { name: 'Continue' }).click()

    // Step 1 of the installer: environment check.
    await page.getByText(/^Show all \d+ checks$/).waitFor()
    await lookAt('environment', 'Environment check', '环境检查')
    await wizard.next.click()

    // Step 2 of the installer: configuration.
    await wizard.heading('Configuration').waitFor()
    await page.locator('h1:focus').waitFor()
    t.pass('the heading takes the focus')
    await page.getByRole('button', { name: 'Back', exact: true }).click()
    await wizard.heading('Environment check').waitFor()
    await wizard.next.click()
    await wizard.field('site.name').waitFor()
    t.equal(await wizard.field('site.url').inputValue(), product.url)
    await wizard.next.click()
    await page.getByText('This field is required.').first().waitFor()
    await wizard.field('site.name').and(page.locator(':focus')).waitFor()
    t.pass('the first wrong field takes the focus')
    await lookAt('form-errors', 'Configuration', '填写配置')
    await wizard.fill({ ...minimalForm, 'site.url': 'ftp://nowhere', 'administrator.confirmPassword': 'other' })
    await wizard.next.click()
    await page.getByText('The two passwords differ.').waitFor()
    const policies = page.getByRole('group', { name: 'Password policy' }).getByRole('radio')
    const isChecked = await Promise.all((await policies.all()).map((policy) => policy.isChecked()))
    t.same(isChecked, [false, true, false])
    await page
      .getByRole('radio', { name: 'Medium: at least 8 characters; a letter and a digit', checked: true })
      .waitFor()
    await wizard.fill({ 'administrator.password': '123456', 'administrator.confirmPassword': '123456' })
    await wizard.next.click()
    await page.getByText('Password does not meet the policy: at least 8 characters; a letter and a digit.').waitFor()
    t.equal(
      await wizard.field('administrator.password').getAttribute('aria-invalid'),
      'true',
      'I-111 medium is proposed',
    )
    await wizard.fill({
      'administrator.password': administrator.password,
      'administrator.confirmPassword': administrator.password,
    })
    await wizard.next.click()
    await page.getByText('must be an http or https address').waitFor()
    await wizard.field('site.url').and(page.locator(':focus')).waitFor()
    t.pass("the server's findings stand at the field")
    await wizard.fill({ 'site.url': product.url })
    await wizard.next.click()
    await wizard.dialog.waitFor()
    t.notMatch(await wizard.dialog.innerText(), administrator.password)
    t.same(await findAccessibilityProblems(page), [], 'plan')
    await saveScreenshot(page, 'plan-en-light')
    await page.keyboard.press('Escape')
    await wizard.dialog.waitFor({ state: 'hidden' })
    t.equal(await wizard.field('administrator.password').inputValue(), administrator.password, 'nothing is lost')

    // Steps 3 and 4 of the installer: progress and result.
    await wizard.next.click()
    await wizard.dialog.getByRole('button', { name: 'Install now' }).dblclick()
    await wizard.heading('The product is installed').waitFor()
    await lookAt('done', 'The product is installed', '产品安装完成')
    const links = await page.getByRole('main').getByRole('link').all()
    const targets = await Promise.all(links.map((link) => link.getAttribute('href')))
    t.same(targets, ['../admin/', '../docs/', '/admin/'], 'to what there is, and nowhere else')

    t.match(await readBrowserStorage(page), onlySession)
    t.same(complaints, [], 'no error, no warning, no violation of the policy')
    t.same(elsewhere, [], 'nothing is fetched from elsewhere')
    t.equal(page.url(), `${product.url}/install/`)
    t.equal(requested.filter(({ path }) => path.endsWith('/execute')).length, 1, 'a double click installs once')
    t.ok(requested.every(({ address }) => !address.includes('token=') && !address.includes(encodeURIComponent(token))))
    const languages = new Set(requested.map(({ language }) => language))
    t.same(languages, new Set(['en', 'zh-CN']))
    t.equal(await assertSignsIn(product.url, administrator), '200')

    const over = await fetch(`${product.url}/install/`, { redirect: 'manual' })
    t.equal(over.status, 302)
    t.notMatch(product.output(), administrator.password)
    t.notMatch(product.output(), token)

    await wizard.signedIn.click()
    await page.getByRole('complementary').getByText(administrator.username, { exact: true }).waitFor()
    t.equal(page.url(), `${product.url}/admin/`, 'the administrator is in the back office without a second sign-in')
    t.same(complaints, [])
    await page.goto(`${product.url}/`)
    t.equal(page.url(), `${product.url}/admin/`, 'the root path leads there too')
  },
)
