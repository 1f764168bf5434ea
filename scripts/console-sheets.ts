/**
 * Takes a picture of every page and dialog of the back office, in both languages, both colour schemes and two widths,
 * and writes them as contact sheets. Run it with `node scripts/console-sheets.ts <directory> [page ...]`. With `--half`,
 * each view is taken twice per language instead of four times: wide in one scheme, narrow in the other. With `--pages`,
 * dialogs are left out.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import { startWithRows } from '../test/back-office/back-office-rows.ts'
import { entriesOf, settled, signIn, walkPages } from '../test/back-office/every-page.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { half: { type: 'boolean', default: false }, pages: { type: 'boolean', default: false } },
})
const [directory, ...only] = positionals
if (directory === undefined) throw new Error('Usage: node scripts/console-sheets.ts <directory> [page ...]')

const widths = [1440, 390] as const
/** Pictures on one sheet, and the width of each on the sheet in pixels. */
const layout = { 1440: { perSheet: 6, columns: 2, shown: 960 }, 390: { perSheet: 12, columns: 6, shown: 320 } } as const
const maxHeight = 1_400

interface Picture {
  readonly name: string
  readonly image: string
}

/** Contact sheets of one language, colour scheme and width. A full sheet is written immediately. */
class Sheets {
  readonly width: (typeof widths)[number]
  readonly scheme: 'light' | 'dark'
  readonly #browser: Browser
  readonly #name: string
  #pictures: Picture[] = []
  #count = 0

  constructor(browser: Browser, name: string, width: (typeof widths)[number], scheme: 'light' | 'dark') {
    this.#browser = browser
    this.#name = name
    this.width = width
    this.scheme = scheme
  }

  async add(picture: Picture): Promise<void> {
    this.#pictures.push(picture)
    if (this.#pictures.length === layout[this.width].perSheet) await this.write()
  }

  async write(): Promise<void> {
    if (this.#pictures.length === 0) return
    const { columns, shown } = layout[this.width]
    const cells = this.#pictures.map(
      ({ name, image }) => `<figure><figcaption>${name}</figcaption><img src="${image}" width="${shown}"></figure>`,
    )
    this.#pictures = []
    this.#count += 1
    const page = await this.#browser.newPage({ viewport: { width: columns * (shown + 8), height: 600 } })
    await page.setContent(
      `<style>body{margin:0;display:grid;grid-template-columns:repeat(${columns},${shown}px);gap:8px;align-items:start;font:16px sans-serif}figure{margin:0}</style>${cells.join('')}`,
    )
    const file = `${this.#name}-${String(this.#count).padStart(2, '0')}.png`
    await writeFile(join(directory as string, file), await page.screenshot({ fullPage: true }))
    await page.close()
    process.stdout.write(`${file}\n`)
  }
}

const works: (() => Promise<unknown>)[] = []
try {
  const { root, url } = await startWithRows((work) => works.push(work))
  await mkdir(directory, { recursive: true })
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  works.push(() => browser.close())
  for (const locale of ['en', 'zh-CN']) {
    const context = await browser.newContext({ locale, reducedMotion: 'reduce', timezoneId: 'Europe/Berlin' })
    const page = await context.newPage()
    await page.goto(url)
    await signIn(page)
    const entries = (await entriesOf(root, locale)).filter(({ id }) => only.length === 0 || only.includes(id))
    const sheets = widths.flatMap((width) =>
      (['light', 'dark'] as const).map((scheme) => new Sheets(browser, `${locale}-${scheme}-${width}`, width, scheme)),
    )
    const taken = sheets.filter(({ width, scheme }) => {
      const isWideAndLight = (width === widths[0]) === (scheme === 'light')
      return !values.half || isWideAndLight === (locale === 'en')
    })
    const look = async ({ name }: { readonly name: string }) => {
      for (const sheet of taken) {
        await page.setViewportSize({ width: sheet.width, height: 900 })
        await page.emulateMedia({ colorScheme: sheet.scheme })
        await settled(page)
        await sheet.add({ name: await titled(page, name), image: await imageOf(page) })
      }
      await page.setViewportSize({ width: widths[0], height: 900 })
    }
    await walkPages(page, url, entries, look, { dialogs: !values.pages })
    for (const sheet of taken) await sheet.write()
    await context.close()
  }
} finally {
  for (const work of works.reverse()) await work()
}

/** Adds to the name how many pixels the page is wider than its window. */
async function titled(page: Page, name: string): Promise<string> {
  const pixels = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  return pixels === 0 ? name : `${name} (${pixels} pixels too wide)`
}

async function imageOf(page: Page): Promise<string> {
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  const { width } = page.viewportSize() ?? { width: widths[0] }
  const clip = { x: 0, y: 0, width, height: Math.min(height, maxHeight) }
  const image = await page.screenshot({ clip, fullPage: true, type: 'jpeg', quality: 70 })
  return `data:image/jpeg;base64,${image.toString('base64')}`
}
