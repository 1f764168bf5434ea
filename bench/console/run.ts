/**
 * Measures the back office in a browser whose processor is slowed down: the size of the first load, the load time of
 * ten pages, and the longest task of the page during each load and each action. The config centre has 2,000 additional
 * keys, and the send log has a million rows.
 *
 * Usage: `node bench/console/run.ts [--keys 2000] [--rows 1000000] [--database sqlite] [--slow 4] [--rounds 3]`
 */
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type CDPSession, chromium, type Page } from 'playwright-core'
import { onDatabases } from '../databases.ts'
import { type ProductProcess, startProductProcess } from '../growth/product-process.ts'
import { smallSizes } from '../growth/sizes.ts'
import { type Bar, barsText, sectionText } from '../kernel/report.ts'
import { median, spread } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '2000' },
    rows: { type: 'string', default: '1000000' },
    database: { type: 'string', multiple: true, default: ['sqlite'] },
    /** Factor by which the browser slows down the processor. */
    slow: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
  },
})
const rounds = Number(values.rounds)
const maxTaskMs = 200
const maxLoadMs = 2_000
/** The browser reports only tasks that are at least this long. */
const reportedMs = 50
/** Time in milliseconds after a load or an action during which its late tasks are measured. */
const settleMs = 1_000

const executablePath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path))

/** Paths below the back office. */
const pages = {
  overview: '',
  'send log': 'notification.send-log',
  'send log, failed': 'notification.send-log?status=failed',
  'a sent message': `notification.send/${values.rows}`,
  'config centre': 'system-config.centre',
  'config centre, one key':
    'system-config.centre?q=platform.bench-14.part-0.value-14&key=platform.bench-14.part-0.value-14',
  'change history': 'system-config.history',
  users: 'iam.users',
  'roles and permissions': 'iam.role-matrix',
  'new message': 'notification.compose',
} as const

const busy = 'main [aria-busy=true], main [class*="Skeleton-root"]'
/** True if the page shows its content and no request is pending. */
const isSettled = `document.querySelector('main :is(tbody td, dd, section p, input, [role=alert])') !== null && document.querySelector('${busy}') === null`

/** Waits until the page shows its content, and returns the milliseconds since the start of the navigation. */
async function settled(page: Page): Promise<number> {
  const shown = await page.waitForFunction(`(${isSettled}) && performance.now()`, undefined, { timeout: 120_000 })
  return Number(await shown.jsonValue())
}

interface Action {
  readonly name: string
  readonly page: keyof typeof pages
  readonly act: (page: Page) => Promise<unknown>
}

const search = (page: Page) => page.locator('main input[type=search]')
const actions: readonly Action[] = [
  {
    name: 'search a key by typing',
    page: 'config centre',
    act: (page) => search(page).pressSequentially('bench value 19', { delay: 100 }),
  },
  {
    name: 'filter secrets',
    page: 'config centre',
    act: (page) => page.getByRole('button', { name: /^Secret/ }).click(),
  },
  {
    name: 'choose a group',
    page: 'config centre',
    act: (page) =>
      page
        .getByRole('navigation')
        .getByRole('button', { name: /^Bench 7/ })
        .click(),
  },
  {
    name: 'scroll through the keys',
    page: 'config centre',
    async act(page) {
      await page.mouse.move(900, 500)
      for (let turns = 0; turns < 30; turns++) await page.mouse.wheel(0, 800)
    },
  },
  {
    name: 'change a value and review it',
    page: 'config centre, one key',
    async act(page) {
      await page.locator('li[data-key$=".value-14"] input').first().pressSequentially('abc', { delay: 100 })
      await page.getByRole('button', { name: 'Review and save' }).click()
      await page.getByRole('dialog').getByLabel('Reason').waitFor()
    },
  },
  {
    name: 'open the next page',
    page: 'send log',
    act: (page) => page.getByRole('button', { name: 'Next', exact: true }).click(),
  },
  {
    name: 'filter by channel',
    page: 'send log',
    async act(page) {
      await page.getByRole('button', { name: 'Channel', exact: true }).click()
      await page.getByRole('dialog').getByRole('combobox').click()
      await page.locator('[data-combobox-option]').filter({ visible: true }).first().click()
      await page.keyboard.press('Escape')
    },
  },
  {
    name: 'search a page and a record by typing',
    page: 'send log',
    async act(page) {
      await page.keyboard.press('Control+K')
      await page.locator('[role=dialog] input:focus').waitFor()
      await page.keyboard.type('filled-9', { delay: 100 })
      await page.getByText(/^\d+ found$/).waitFor()
    },
  },
]

/** Returns the longest task in milliseconds since the last call; 0 if no task was long. */
const longestTask = (page: Page) => page.evaluate<number>('globalThis.longestTaskMs.take()')
const watchTasks = `globalThis.longestTaskMs = (() => {
  let longest = 0
  const note = (entries) => { for (const { duration } of entries) longest = Math.max(longest, duration) }
  const observer = new PerformanceObserver((list) => note(list.getEntries()))
  observer.observe({ type: 'longtask', buffered: true })
  return { take() { note(observer.takeRecords()); const last = longest; longest = 0; return last } }
})()`

/** Returns the size of each file of the first load, as sent with gzip. */
async function firstLoad(page: Page, url: string) {
  const files = new Map<string, number>()
  const bodies: Promise<void>[] = []
  page.on('response', (response) => {
    if (!['document', 'script', 'stylesheet', 'font', 'image'].includes(response.request().resourceType())) return
    bodies.push(response.body().then((body) => void files.set(response.url(), gzipSync(body).length)))
  })
  await page.goto(url)
  await page.locator('h1').waitFor()
  await Promise.all(bodies)
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
}

async function signIn(page: Page) {
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', 'Correct-horse-7')
  await page.click('button[type=submit]')
  await page.locator('nav a').first().waitFor()
  await settled(page)
}

/** Waits until the pages are built. Until then, the server sends a page that reloads automatically. */
async function waitForPages(url: string) {
  while ((await (await fetch(url)).text()).includes('http-equiv="refresh"')) await pause(200)
}

const text = (ms: number) => (ms < reportedMs ? `< ${reportedMs}` : ms.toFixed(0))

async function measure(product: ProductProcess, settings: string): Promise<void> {
  const browser = await chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const url = `${product.url}/admin/`
    await waitForPages(url)
    // The content policy would block the expressions that this program waits for.
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en', bypassCSP: true })
    const page = await context.newPage()
    await page.addInitScript(watchTasks)
    const bytes = await firstLoad(page, url)
    await signIn(page)
    const session: CDPSession = await context.newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: Number(values.slow) })
    const bars: Bar[] = []
    const loads: string[][] = [['page', 'load, ms', 'longest task, ms']]
    for (const [name, path] of Object.entries(pages)) {
      const times: number[] = []
      const tasks: number[] = []
      for (let round = 0; round < rounds; round++) {
        await page.goto(url + path)
        times.push(await settled(page))
        await pause(settleMs)
        tasks.push(await longestTask(page))
      }
      loads.push([name, median(times).toFixed(0), text(median(tasks))])
      bars.push({ name: `${name}: load`, measured: spread(times), bar: { atMost: maxLoadMs }, unit: 'ms' })
      bars.push({ name: `${name}: longest task`, measured: spread(tasks), bar: { atMost: maxTaskMs }, unit: 'ms' })
    }
    const acts: string[][] = [['page', 'action', 'longest task, ms']]
    for (const { name, page: on, act } of actions) {
      const tasks: number[] = []
      for (let round = 0; round < rounds; round++) {
        await page.goto(url + pages[on])
        await settled(page)
        await pause(settleMs)
        await longestTask(page)
        await act(page)
        await pause(settleMs)
        tasks.push(await longestTask(page))
      }
      acts.push([on, name, text(median(tasks))])
      bars.push({ name: `${on}: ${name}`, measured: spread(tasks), bar: { atMost: maxTaskMs }, unit: 'ms' })
    }
    const notes = [
      `first load until the sign-in page: ${(bytes / 1000).toFixed(0)} KB with gzip`,
      `${values.keys} additional keys; ${values.rows} rows in the send log; processor slowed down ${values.slow} times`,
      `median of ${rounds} rounds; a task below ${reportedMs} ms is not reported by the browser`,
    ]
    console.log(`${sectionText({ title: 'Back office', settings, tables: [loads, acts], notes, bars })}\n`)
    console.log(`${barsText(bars)}\n`)
  } finally {
    await browser.close()
  }
}

await onDatabases(values.database, async (dialect, open) => {
  const db = await open()
  const product = await startProductProcess(db.config, Number(values.keys))
  try {
    await product.ask({ call: 'fill', sizes: { ...smallSizes, sendLog: Number(values.rows) } })
    await measure(product, `${dialect}: ${await product.ask({ call: 'settings' })}`)
  } finally {
    await product.end()
  }
})
