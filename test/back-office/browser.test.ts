import { http } from '@plinth/http'
import type { RunningProduct } from '@plinth/kernel/host'
import { startForTest } from '@plinth/kernel/testing'
import t from 'tap'
import product from '../../examples/quickstart/plinth.config.ts'
import { browserOfFile, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { dataDirectory } from '../fixtures/product-process.ts'

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly tags: readonly string[] }>>>>
}
/** Returns the API description as the page reads it. */
const described = async (running: { service: RunningProduct['service'] }): Promise<Described> =>
  JSON.parse(JSON.stringify(await running.service(http).openapi()))

t.test(
  "C-045 the API reference works in a browser under the product's own content policy",
  { skip, timeout: 600_000 },
  async (t) => {
    const running = await startForTest(product, {
      set: {
        'platform.http.port': '0',
        // Prevents rejections by the load shedder on a busy host.
        'platform.http.overload.max-wait': '1m',
        'platform.database.sqlite.file': `${await dataDirectory(t.teardown)}/plinth.sqlite`,
      },
    })
    t.teardown(() => running.stop('test ended'))
    const browser = await browserOfFile()
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    // On a busy host the page needs long to lay out hundreds of operations.
    page.setDefaultTimeout(180_000)
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
    const { paths } = await described(running)
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { tags }]) => ({ method, path, group: tags[0] ?? '' })),
    )
    t.equal(operations.length, running.service(http).routes.filter(({ hidden }) => !hidden).length)
    // One group at a time: the page shows only the first ten operations if hundreds are open.
    for (const [group, listed] of Map.groupBy(operations, (operation) => operation.group)) {
      const head = page.locator(`[id="operations-tag-${group}"]`)
      await head.click()
      // One query for all rows: single queries cost more than the page itself.
      const rows = listed.map(({ method, path }) => `.opblock-${method} [data-path="${path}"]`)
      const missing = `${JSON.stringify(rows)}.filter((row) => !document.querySelector(row)?.checkVisibility())`
      await page.waitForFunction(`${missing}.length === 0`).catch(() => {})
      t.strictSame(await page.evaluate(missing), [], `${group}: all ${rows.length} operations are listed`)
      await head.click()
    }
    await page.locator('#operations-tag-notification').click()
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
