import { gzipSync } from 'node:zlib'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import t from 'tap'
import product from '../../examples/quickstart/plinth.config.ts'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { dataDirectory } from '../fixtures/product-process.ts'

const maxFirstLoadBytes = 200_000
const screenshots = process.env['PLINTH_SCREENSHOTS']

t.test('C-045 the API reference in a browser', { skip, timeout: 900_000 }, async (t) => {
  const running = await startForTest(product, {
    set: {
      'platform.http.port': '0',
      // On a busy host the load shedder would otherwise reject requests.
      'platform.http.overload.max-wait': '1m',
      'platform.database.sqlite.file': `${await dataDirectory(t.teardown)}/plinth.sqlite`,
    },
  })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const docs = `${server.url}/docs/`
  const operations = Object.entries((await server.openapi()).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({ path, method, operationId })),
  )

  await t.test('the reference lists all operations in two languages and is small', async (t) => {
    const texts = { en: 'Search operations', 'zh-CN': '搜索接口' }
    for (const [locale, search] of Object.entries(texts)) {
      const byHeader = await (await fetch(docs, { headers: { 'accept-language': locale } })).text()
      const byQuery = await (await fetch(`${docs}?lang=${locale}`, { headers: { 'accept-language': 'fr' } })).text()
      for (const html of [byHeader, byQuery]) {
        t.match(html, `<html lang="${locale}">`)
        t.match(html, search)
      }
      t.equal(byHeader.match(/href="operations\//g)?.length, operations.length)
      t.match(byQuery, `href="operations/${operations[0]?.operationId}?lang=${locale}"`, 'links keep the language')
    }
    const files = await Promise.all(
      ['', 'reference.css', 'reference.js'].map(async (file) => (await fetch(docs + file)).text()),
    )
    const bytes = files.reduce((sum, text) => sum + gzipSync(text).length, 0)
    t.comment(`first load: ${bytes} bytes with gzip`)
    t.ok(bytes < maxFirstLoadBytes, `${bytes} bytes`)
  })

  await t.test('each operation and each named schema has a page, and every link leads to a page', async (t) => {
    const pages = new Map<string, string>()
    const waiting = operations.map(({ operationId }) => `operations/${operationId}`)
    for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
      if (pages.has(page)) continue
      const response = await fetch(docs + page)
      const html = await response.text()
      pages.set(page, html)
      if (response.status !== 200) t.fail(`${page}: ${response.status}`)
      waiting.push(...[...html.matchAll(/href="(schemas\/[^"]+)"/g)].map(([, link]) => link as string))
    }
    t.ok([...pages.keys()].some((page) => page.startsWith('schemas/')))
    for (const unknown of ['operations/unknown', 'schemas/toString']) t.equal((await fetch(docs + unknown)).status, 404)
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [390, 1280]) {
      await t.test(
        `the reference has no accessibility violation in the ${colorScheme} scheme at ${width} pixels`,
        async (t) => {
          const locale = colorScheme === 'light' ? 'en-US' : 'zh-CN'
          const { page, complaints, elsewhere } = await openPage(t.teardown, docs, {
            colorScheme,
            locale,
            viewport: { width, height: 860 },
          })
          const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
          t.equal(background, colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(21, 24, 28)')
          t.same(await findAccessibilityProblems(page), [])
          t.equal(await findHorizontalOverflow(page), 0)

          // Uses only the keyboard: searches, opens the operation, and sends the request.
          await page.locator('#search').focus()
          await page.keyboard.type('get send-metadata')
          await page.locator('#shown:text-is("1")').waitFor()
          t.equal(await page.locator('section > details:visible').count(), 1)
          await page.keyboard.press('Tab')
          await page.keyboard.press('Enter')
          const send = page.locator('section form.try button')
          await send.waitFor()
          t.same(await findAccessibilityProblems(page), [], 'with an open operation')
          t.equal(await findHorizontalOverflow(page), 0)
          if (screenshots !== undefined)
            await page.screenshot({ path: `${screenshots}/api-reference-${colorScheme}-${width}.png`, fullPage: true })
          await page.locator('#token').fill('example-token')
          const sent = page.waitForRequest(/\/api\/v1\/notifications\/send-metadata$/)
          await send.press('Enter')
          t.equal((await sent).headers()['authorization'], 'Bearer example-token')
          await page.locator('output pre').waitFor()
          t.match(await page.locator('output').textContent(), /^\d{3}\n\{\n {2}"code": "/)
          t.same(await findAccessibilityProblems(page), [], 'with a response')
          await page.locator('#search').fill('no such operation')
          await page.locator('#shown:text-is("0")').waitFor()
          t.equal(await page.locator('section:visible').count(), 0)
          t.same(complaints, [], 'no error, no policy violation')
          t.same(elsewhere, [], 'nothing is fetched from elsewhere')
        },
      )
    }
  }
})
