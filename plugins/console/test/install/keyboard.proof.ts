import t from 'tap'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  saveScreenshot,
  skip,
} from '../fixtures/browser.ts'
import { assertSignsIn, startProduct } from '../fixtures/product.ts'
import { administrator, minimalForm, Wizard } from '../fixtures/wizard.ts'

const timeout = 600_000

t.test(
  'I-199 P05 P06 with the keyboard alone, on a phone, in Chinese, below a context path',
  { skip, timeout },
  async (t) => {
    const product = await startProduct(t.testdir(), t.teardown, { PLATFORM_HTTP_CONTEXT_PATH: '/ctx' })
    const options = { locale: 'zh-Hans-SG', viewport: { width: 375, height: 740 }, colorScheme: 'dark' } as const
    const { page, complaints } = await openPage(t.teardown, `${product.url}/ctx/install/`, options)
    const wizard = new Wizard(page)
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(new URL(request.url()).pathname))
    const { keyboard } = page
    /** Presses Tab until the element has the focus. */
    const tabTo = async (selector: string) => {
      await page.locator(selector).first().waitFor({ state: 'attached' })
      for (let count = 0; count < 60; count++) {
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
        await keyboard.press('Tab')
      }
      throw new Error(`the keyboard does not reach ${selector}`)
    }
    const fits = async (name: string) => {
      t.equal(await findHorizontalOverflow(page), 0, `${name} fits`)
      t.same(await findAccessibilityProblems(page), [], name)
      await saveScreenshot(page, `phone-${name}`)
    }

    await wizard.heading('环境检查').waitFor()
    await page.getByText(/^显示全部 \d+ 项检查$/).waitFor()
    await fits('environment')
    await tabTo('main > div:last-child button:last-of-type:not([data-loading])')
    await keyboard.press('Enter')

    await wizard.field('site.name').waitFor()
    await fits('form')
    t.equal(await wizard.field('site.url').inputValue(), `${product.url}/ctx`)
    t.ok(await page.getByRole('radio', { name: '中文' }).last().isChecked(), 'the language of the page is proposed')
    for (const [path, value] of Object.entries(minimalForm)) {
      await tabTo(`[id="field-${path}"]`)
      await keyboard.type(value)
    }
    await tabTo('[type="radio"][name="field-database.type"]')
    await keyboard.press('ArrowRight')
    await wizard.field('database.host').waitFor()
    await fits('form-server')
    await keyboard.press('ArrowLeft')
    await wizard.field('database.host').waitFor({ state: 'hidden' })
    await tabTo('main > div:last-child button[type="submit"]')
    await keyboard.press('Space')
    await wizard.dialog.waitFor()
    await fits('plan')
    await page.locator('dialog footer button:last-child:enabled').waitFor()
    for (let count = 0; count < 30; count++) {
      t.ok(
        await page.evaluate(
          'document.querySelector("dialog").contains(document.activeElement) || document.activeElement === document.body',
        ),
        'the focus stays in the dialog',
      )
      if (await page.evaluate('document.activeElement.matches("dialog footer button:last-child")')) break
      await keyboard.press('Tab')
    }
    await keyboard.press('Enter')
    await wizard.heading('产品安装完成').waitFor()
    // The link appears only after the page has requested the list of pages.
    await page.getByRole('link').last().and(page.locator('[href="/ctx/admin/"]')).waitFor()
    await fits('done')
    t.same(complaints, [])
    t.same(
      addresses.filter((path) => !path.startsWith('/ctx/')),
      [],
    )
    t.equal(await assertSignsIn(product.url, administrator), '200')
  },
)
