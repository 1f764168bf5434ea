/**
 * Takes the screenshots of the operator guide and writes them to `docs/console/`. Run it with `node
 * scripts/console-pictures.ts`.
 */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { password, startWithRows } from '../test/back-office/back-office-rows.ts'

const directory = join(import.meta.dirname, '..', 'docs', 'console')
const executablePath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path))
if (executablePath === undefined) throw new Error('Install the package chromium.')
const size = { width: 1200, height: 750 }
const maxBytes = 60_000

const works: (() => Promise<unknown>)[] = []
try {
  const { url } = await startWithRows((work) => works.push(work))
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  works.push(() => browser.close())
  const context = await browser.newContext({
    viewport: size,
    locale: 'en',
    reducedMotion: 'reduce',
    colorScheme: 'light',
  })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await mkdir(directory, { recursive: true })
  const picture = async (name: string) => {
    // The connection for live updates stays open, so waiting for an idle network would not work.
    await page.locator('body:not(:has([aria-busy=true])) main').waitFor()
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 72 })
    const bytes = Buffer.from(data, 'base64')
    if (bytes.length > maxBytes) throw new Error(`${name}: ${bytes.length} bytes`)
    await writeFile(join(directory, `${name}.webp`), bytes)
    process.stdout.write(`${name}.webp ${bytes.length}\n`)
  }
  const open = async (path: string, content = 'main :is(tbody td, dd)') => {
    await page.goto(`${url}${path}`)
    await page.locator(content).first().waitFor()
  }
  await page.goto(url)
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', password)
  await picture('sign-in')
  await page.click('button[type=submit]')
  await page.locator('main section li').first().waitFor()
  await picture('overview')
  await open('system-config.centre', 'main input')
  await picture('config-centre')
  await open('iam.users')
  await picture('users')
  await open('notification.send-log')
  await picture('send-log')
  await open('member-points.accounts')
  await picture('points')
  await open('web3-settlement.reviews?status=open')
  await page.locator('main tbody td a').first().click()
  await page.locator('main dl').first().waitFor()
  await picture('settlement-review')
  // The window is taller here, so that the picture shows all fields and the preview next to them.
  await page.setViewportSize({ ...size, height: 1180 })
  await open('template.templates')
  await page.getByRole('button', { name: 'New template' }).click()
  const dialog = page.getByRole('dialog')
  const markup =
    '<mjml><mj-body background-color="#f3f4f6"><mj-section background-color="#ffffff"><mj-column><mj-text font-size="20px">Hello {{name}}</mj-text><mj-text>Order {{orderNo}} is on its way.</mj-text></mj-column></mj-section></mj-body></mjml>'
  for (const [label, value] of [
    ['Code', 'parcel'],
    ['Channel', 'mail'],
    ['Language', 'en'],
    ['Subject', 'Order {{orderNo}} is on its way'],
    ['Text', 'Dear {{name}}, order {{orderNo}} has left our house.'],
  ] as const)
    await dialog.getByLabel(label).first().fill(value)
  await dialog.getByRole('combobox', { name: /HTML/ }).selectOption('mjml')
  await dialog.getByRole('textbox', { name: /HTML/ }).fill(markup)
  const preview = dialog.getByRole('region', { name: 'Preview' })
  for (const [name, value] of [
    ['name', 'Anna'],
    ['orderNo', 'TEA-2026-0001'],
  ] as const)
    await preview.getByLabel(name, { exact: true }).fill(value)
  await preview.getByText('Dear Anna, order TEA-2026-0001').waitFor()
  await preview.locator('iframe').first().waitFor()
  await picture('template-preview')
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 390, height: 750 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await open('events.outbox?status=failed')
  await page.evaluate(`document.querySelector('main').scrollIntoView()`)
  await picture('phone')
} finally {
  for (const work of works.reverse()) await work()
}
