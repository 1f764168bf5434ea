import { existsSync } from 'node:fs'
import { http } from '@plinth/http'
import { startForTest } from '@plinth/kernel/testing'
import { type Browser, chromium } from 'playwright-core'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './product-process.ts'

const executablePath = '/usr/bin/chromium'
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const skip = existsSync(executablePath) ? false : `no browser at ${executablePath}`

t.test(
  "C-033 C-045 the API reference works in a browser under the product's own content policy",
  { skip, timeout: 120_000 },
  async (t) => {
    const running = await startForTest(product, {
      set: {
        'platform.http.port': '0',
        'platform.database.sqlite.file': `${await dataDirectory(t.teardown)}/plinth.sqlite`,
      },
    })
    t.teardown(() => running.stop('test ended'))
    const browser: Browser = await chromium.launch({ executablePath, args: flags })
    t.teardown(() => browser.close())
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    const elsewhere: string[] = []
    const url = running.service(http).url ?? ''
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:')) elsewhere.push(request.url())
    })
    await page.goto(`${url}/docs/`, { waitUntil: 'networkidle' })
    for (const { method, path, hidden } of running.service(http).routes) {
      if (hidden) continue
      const shown = path.replace(/:(\w+)/g, '{$1}').replace('*', '{wildcard}')
      const row = page.locator(`.opblock-${method.toLowerCase()} [data-path="${shown}"]`)
      await t.resolves(row.waitFor({ timeout: 15_000 }), `${method} ${shown} is listed`)
    }
    await page.locator('[data-path="/api/v1/notifications/send-metadata"]').click()
    await page.getByRole('button', { name: 'Try it out' }).click()
    await page.getByRole('button', { name: 'Execute', exact: true }).click()
    await page.getByText('"code": "200"').first().waitFor()
    t.pass('a request from the page is answered')
    if (process.env['PLINTH_SCREENSHOTS'] !== undefined) {
      await page.screenshot({ path: `${process.env['PLINTH_SCREENSHOTS']}/api-reference.png` })
    }
    t.same(complaints, [], 'no error, no policy violation')
    t.same(elsewhere, [], 'nothing is fetched from elsewhere')
  },
)
