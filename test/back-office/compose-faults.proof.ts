/** Writes a message while previews fail, and after the response to a sent message was lost. */
import t from 'tap'
import { openPage, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'
import { pick, setTime } from './message-hand.ts'

t.test('N-001 a message is complete and sent once although the server fails', { skip, timeout: 600_000 }, async (t) => {
  const works: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const work of works.reverse()) await work()
  })
  const { root, url } = await startWithRows((work) => works.push(work))
  await root('POST', 'admin/templates', {
    code: 'sale',
    locale: 'en',
    subject: 'Sale',
    content: 'Tea costs {{price}}.',
  })
  const { page } = await openPage(t.teardown, url, { locale: 'en' })
  page.on('dialog', (question) => void question.accept())
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', password)
  await page.click('button[type=submit]')
  await page.locator('nav a').first().waitFor()
  await page.goto(`${url}notification.compose`)
  const main = page.locator('main')
  const button = (name: string) => main.getByRole('button', { name, exact: true })
  const price = main.getByLabel('price')
  /** Previews fail until the returned function is called. */
  const failPreviews = async () => {
    const json = { code: '429', message: 'Too many previews.', data: null }
    await page.route('**/template-preview', (route) => route.fulfill({ status: 429, json }))
    return () => page.unroute('**/template-preview')
  }

  await t.test('a message with unknown variables cannot be sent', async (t) => {
    const end = await failPreviews()
    await pick(page, 'Recipients', 'anna')
    await pick(page, 'Template', 'sale')
    await main.getByText('Too many previews.').waitFor()
    t.ok(await button('Send').isDisabled())
    t.ok(await button('Send to me').isDisabled())
    await end()
    await button('Try again').click()
    await price.fill('7 EUR')
    await main.getByText('Tea costs 7 EUR.').waitFor()
    t.notOk(await button('Send').isDisabled())
  })

  await t.test('the fields of a template remain when a later preview fails', async (t) => {
    const end = await failPreviews()
    await price.fill('8 EUR')
    await main.getByText('Too many previews.').waitFor()
    t.equal(await price.inputValue(), '8 EUR')
    t.notOk(await button('Send').isDisabled(), 'the message is complete')
    await end()
  })

  await t.test('a message whose response was lost is not sent again after a reload', async (t) => {
    const dialog = page.getByRole('dialog')
    const schedule = async () => {
      await button('Schedule').click()
      await dialog.getByRole('button', { name: 'Schedule', exact: true }).click()
    }
    await setTime(page)
    await page.route('**/notifications/send', async (route) => {
      await route.fetch()
      await route.fulfill({ status: 504, body: 'too late' })
    })
    await schedule()
    await dialog.getByText('The server does not respond.').waitFor()
    await page.unrouteAll()
    await page.reload()
    await main.getByText('Your unsaved entries were restored.').waitFor()
    await price.waitFor()
    await schedule()
    await dialog.getByText('The message is scheduled for').waitFor()
    t.equal((await root('GET', 'admin/notification/scheduled-messages')).total, 1)
  })

  await t.test('a discarded message is not restored', async (t) => {
    await page.getByRole('dialog').getByRole('button', { name: 'Write another message' }).click()
    t.equal(await button('Discard').count(), 0, 'an empty form has nothing to discard')
    await main.getByLabel('Subject').fill('A secret plan')
    await button('Discard').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await button('Discard').waitFor({ state: 'detached' })
    t.equal(await main.getByLabel('Subject').inputValue(), '')
    await page.reload()
    await button('Send').waitFor()
    t.equal(await main.getByText('Your unsaved entries were restored.').count(), 0)
  })
})
