/** Tests pages with code of a plugin in a browser: the page of an example, and a page that attacks the back office. */

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from '@plinth/dev/testing'
import type { Frame, Page } from 'playwright-core'
import t from 'tap'
import depots from '../../examples/acme-admin-pages/plugin.ts'
import { openSignedIn, startBackOffice } from '../../plugins/console/test/fixtures/back-office.ts'
import {
  emulateColorScheme,
  findAccessibilityProblems,
  findHorizontalOverflow,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { hostileFrame } from './hostile-frame.ts'

/** Requests and packets that arrived anywhere outside of the API. */
const arrived: string[] = []

const elsewhere = createServer((request, response) => {
  arrived.push(`${request.method} ${request.url}`)
  response.end()
})
elsewhere.on('connection', () => arrived.push('a connection'))
elsewhere.listen(0, '127.0.0.1')
await once(elsewhere, 'listening')
const packets = createSocket('udp4', () => arrived.push('a packet'))
packets.bind(0, '127.0.0.1')
await once(packets, 'listening')
t.teardown(() => {
  elsewhere.close()
  packets.close()
})
const hostile = hostileFrame({
  arrived,
  http: (elsewhere.address() as AddressInfo).port,
  udp: packets.address().port,
})

const office =
  skip === false
    ? await startBackOffice(t.testdir(), (work) => t.teardown(work), { plugins: [depots, hostile.plugin] })
    : undefined

/** Opens a page in a frame, and returns the frame when it is connected. */
async function opened(teardown: (work: () => Promise<void>) => void, id: string, width = 1440) {
  const watched = await openSignedIn(teardown, office?.url ?? '', { viewport: { width, height: 900 } })
  const frame = await openFrame(watched.page, id)
  return { ...watched, frame }
}

/** Waits for the frame. On a busy host it may respond too late, so that the page must be loaded again. */
async function connected(page: Page): Promise<void> {
  const late = page.getByText('Its script does not respond.')
  await page.locator('iframe').or(late).filter({ visible: true }).waitFor()
  if ((await late.count()) === 0) return
  await page.getByRole('button', { name: 'Reload' }).click()
  await connected(page)
}

async function openFrame(page: Page, id: string): Promise<Frame> {
  await page.goto(`${office?.url}${id}`)
  await connected(page)
  const frame = page.frames().find((one) => one.url().endsWith(`/admin/frames/${id}`))
  if (frame === undefined) throw new Error(`there is no frame of ${id}`)
  return frame
}

/** Runs code in a frame. */
const run = (frame: Frame, code: string) => frame.evaluate<unknown>(code)
/** Waits until a press outside of the frame, such as each command of this test to the page, no longer counts. */
async function withoutPress(): Promise<void> {
  const since = performance.now()
  await until(() => performance.now() - since > 6_500, 'the last press no longer counts')
}

const ownHeight = 'Math.ceil(document.documentElement.getBoundingClientRect().height)'

t.test(
  'a page in a frame shows data, and changes it with one press that can be undone',
  { skip, timeout: 600_000 },
  async (t) => {
    const { page, complaints, elsewhere: others } = await openSignedIn(t.teardown, office?.url ?? '')
    for (const [name, city] of [
      ['North', 'Lima'],
      ['South', 'Lima'],
      ['East', 'Quito'],
    ])
      await page.evaluate(
        `fetch('../api/v1/admin/acme/depots', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '${JSON.stringify({ name, city })}' })`,
      )
    const frame = await openFrame(page, 'acme.depot-cities')
    t.equal(await page.locator('h1').innerText(), 'Depots by city')
    await frame.getByText('2 open · 0 closed').waitFor()

    await withoutPress()
    await frame.getByRole('button', { name: 'Close: North' }).click()
    await page.getByText('“Close a depot · North, Closed” was executed.').waitFor()
    await frame.getByText('1 open · 1 closed').waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    await page.locator('[data-toast]').getByRole('button', { name: 'Undo' }).click()
    await page.getByText('“Close a depot · North, Closed” was undone.').waitFor()
    await frame.getByText('2 open · 0 closed').waitFor()

    // A script that writes without a press in the frame asks, and the question names the row.
    await page.locator('h1').click()
    const ids = (await run(
      frame,
      `plinth.call('getAdminAcmeDepots').then(({ items }) => items.map(({ id }) => id))`,
    )) as number[]
    const asked = run(
      frame,
      `plinth.call('putAdminAcmeDepotsByIdState', { params: { id: ${ids.at(-1)} }, body: { state: 'closed' } }).catch(({ code }) => code)`,
    )
    const dialog = page.getByRole('dialog')
    await dialog.getByText('North', { exact: true }).waitFor()
    t.match(await dialog.innerText(), /Close a depot.*will accept no more parcels.*Depot\s+North\s+State\s+Closed/s)
    t.strictSame(await findAccessibilityProblems(page), [])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    t.equal(await asked, 'frame.cancelled')
    t.equal(await frame.getByRole('button', { name: 'Close: North' }).count(), 1)

    await frame.getByRole('button', { name: 'Close: North' }).click()
    await until(
      async () => (await dialog.count()) + (await frame.getByText('1 open · 1 closed').count()) > 0,
      'the write runs or asks',
    )
    // A busy host may take so long that the press no longer counts, so that the write asks.
    if ((await dialog.count()) > 0) await dialog.getByRole('button', { name: 'Close a depot' }).click()
    await frame.getByText('1 open · 1 closed').waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    t.strictSame(complaints, [])
    t.strictSame(others, [])
  },
)

t.test('a frame follows the language and the colours of the back office', { skip, timeout: 600_000 }, async (t) => {
  const { page, frame } = await opened(t.teardown, 'acme.depot-cities')
  const shown = () =>
    run(
      frame,
      `({ lang: document.documentElement.lang, scheme: getComputedStyle(document.documentElement).colorScheme, text: getComputedStyle(document.body).color })`,
    )
  await frame.getByText('Lima').waitFor()
  for (const scheme of ['light', 'dark'] as const) {
    await emulateColorScheme(page, scheme)
    const color = await page.evaluate('getComputedStyle(document.body).color')
    const shows = async () => JSON.stringify(await shown()) === JSON.stringify({ lang: 'en', scheme, text: color })
    await until(shows, `the frame is ${scheme}`)
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      t.equal(await findHorizontalOverflow(page), 0)
      const isWhole = async () =>
        (await page.evaluate('document.querySelector("iframe").clientHeight')) === (await run(frame, ownHeight))
      await until(isWhole, 'the frame is as high as its document')
      t.equal(await run(frame, 'document.documentElement.scrollWidth > innerWidth'), false)
      const directory = process.env['PLINTH_SCREENSHOTS']
      if (directory !== undefined) await page.screenshot({ path: `${directory}/frame-${scheme}-${width}.png` })
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  // The frame reads its data for the new language and again for the new texts. The first response arrives last.
  const held = Promise.withResolvers<void>()
  let requests = 0
  await page.route('**/api/v1/admin/acme/depots?*', async (route) => {
    if (requests++ === 0) await held.promise
    await route.continue()
  })
  await page.getByText('中文').first().click()
  await frame.getByText('1 营业 · 1 停业').waitFor()
  t.match(await shown(), { lang: 'zh-CN' })
  await run(frame, `document.querySelector('.city').id = 'replaced'`)
  held.resolve()
  await frame.locator('#replaced').waitFor({ state: 'detached' })
  t.equal(requests, 2)
  t.equal(await frame.locator('.counts').first().innerText(), '1 营业 · 1 停业')
  t.equal(page.frames().includes(frame), true, 'the document stays open')
})

/** Opens the hostile page in a new window. */
const openedHostile = async (teardown: (work: () => Promise<void>) => void) => {
  arrived.length = 0
  hostile.calls.length = 0
  return opened(teardown, 'hostile.frame')
}

t.test('a hostile frame reaches nothing outside of its frame', { skip, timeout: 600_000 }, async (t) => {
  const { page, frame } = await openedHostile(t.teardown)
  const address = page.url()
  const names = (await run(frame, 'Object.keys(attacks)')) as string[]
  t.ok(names.length > 35)
  const results = new Map<string, string>()
  for (const name of names) results.set(name, String(await run(frame, `attempt('${name}')`)))
  t.strictSame(
    [...results].filter(([, result]) => /^(?:succeeded|no result)/.test(result)),
    [],
  )
  t.match(Object.fromEntries(results), {
    cookie: 'SecurityError',
    localStorage: 'SecurityError',
    parentDocument: 'SecurityError',
    topLocation: 'SecurityError',
    textAsCode: 'EvalError',
    peer: 'ReferenceError',
    notDeclared: 'frame.not-declared',
    inherited: 'frame.not-declared',
    otherPath: 'frame.parameter',
    emptyPath: 'frame.parameter',
    missingPath: 'frame.parameter',
    otherParameter: 'frame.parameter',
    objectParameter: 'frame.parameter',
    brokenText: 'frame.parameter',
    wrongType: 'http.invalid-input',
    otherMember: 'frame.parameter',
  })
  for (const name of (await run(frame, 'Object.keys(silent)')) as string[]) await run(frame, `void silent.${name}()`)
  await run(frame, 'soon(1_000)')
  t.strictSame(
    await run(frame, `result('getHostileThing', { params: { id: 7 } })`),
    { id: 7, shelf: 'A' },
    'it still works',
  )
  t.strictSame(arrived, [])
  t.strictSame(hostile.calls, [{ read: 7 }])
  t.equal(page.url().replace(/#$/, ''), address)
  t.equal(page.context().pages().length, 1)
  t.equal(await page.getByRole('dialog').count(), 0)
})

t.test('a frame that leaves its document is stopped', { skip, timeout: 600_000 }, async (t) => {
  const { page, frame: first } = await openedHostile(t.teardown)
  const names = (await run(first, 'Object.keys(departures)')) as string[]
  t.equal(names.length, 6)
  for (const name of names) {
    const frame = await openFrame(page, 'hostile.frame')
    await run(frame, `setTimeout(departures.${name})`)
    await page.getByText('Its script opened another address.').waitFor()
    t.equal(await page.locator('iframe').count(), 0, name)
  }
  t.strictSame(arrived, [])
  t.strictSame(hostile.calls, [])
  t.strictSame(await findAccessibilityProblems(page), [])
  await page.getByRole('button', { name: 'Reload' }).click()
  await connected(page)
})

t.test('a frame cannot flood the back office', { skip, timeout: 600_000 }, async (t) => {
  const { page, frame } = await openedHostile(t.teardown)
  const codes = (await run(
    frame,
    `Promise.all(Array.from({ length: 100 }, () => result('getHostileThings').then(({ code = 'ok' }) => code)))`,
  )) as string[]
  t.ok(codes.includes('frame.busy'))
  t.strictSame([...new Set(codes)].sort(), ['frame.busy', 'ok'])
  t.equal(hostile.calls.length, codes.filter((code) => code === 'ok').length)
  t.ok(hostile.open.most <= 6, `${hostile.open.most} at the same time`)

  const floods: Readonly<Record<string, string>> = {
    calls: `for (let call = 0; call < 1_000; call++) void result('getHostileThings')`,
    large: `port.then((one) => one.postMessage('x'.repeat(50_000_000)))`,
    object: `port.then((one) => one.postMessage({ type: 'toast', text: 'out' }))`,
  }
  for (const [name, code] of Object.entries(floods)) {
    hostile.calls.length = 0
    const again = await openFrame(page, 'hostile.frame')
    await run(again, `void setTimeout(() => { ${code} })`)
    await page.getByText('Its script sent too many or too large messages.').waitFor()
    t.equal(await page.locator('iframe').count(), 0, name)
    t.ok(hostile.calls.length < 300, `${hostile.calls.length} calls`)
  }
})

t.test('the operator sees a whole write, and decides', { skip, timeout: 600_000 }, async (t) => {
  const { page, frame } = await openedHostile(t.teardown)
  const dialog = page.getByRole('dialog')
  const request = (id: number, name: string, more = '') =>
    run(frame, `result('putHostileThing', { params: { id: ${id} }, body: { name: '${name}', ${more} } })`)

  const first = request(7, 'other', `bookTitle: 'Tea', printedBy: { houseName: 'Leaf' }`)
  t.match(await dialog.innerText(), /Rename.*The thing gets another name\..*Name\s+other.*7/s)
  t.match(await dialog.innerText(), /Book title\s+Tea.*Printed by.*House name\s+Leaf/s, 'names without a title')
  t.hasStrict(await request(8, 'second'), { code: 'frame.busy' }, 'only one dialog is open')
  t.strictSame(hostile.calls, [], 'nothing is sent before the decision')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  t.strictSame(await first, { id: 7 })
  t.strictSame(hostile.calls, [{ changed: 7, name: 'other' }])

  const rejected = request(7, 'taken')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await dialog.getByText('This name is taken.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  t.match(await rejected, { message: 'This name is taken.', field: 'name' })

  for (const id of [1, 2, 3]) {
    const asked = request(id, 'again').catch(() => ({ code: 'the frame is gone' }))
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    t.hasStrict(await asked, { code: id < 3 ? 'frame.cancelled' : 'the frame is gone' })
  }
  await page.getByText('Its script asked again after you cancelled several times.').waitFor()
  t.strictSame(hostile.calls, [{ changed: 7, name: 'other' }])
})

t.test('a frame cannot use undo to write on its own', { skip, timeout: 600_000 }, async (t) => {
  const { page, frame } = await openedHostile(t.teardown)
  const dialog = page.getByRole('dialog')
  const move = (id: number) =>
    run(frame, `result('putHostileThingShelf', { params: { id: ${id} }, body: { shelf: 'B' } })`)

  await page.locator('h1').click()
  const alone = move(7)
  t.match(await dialog.innerText(), /Move.*7.*B/s, 'the last press was outside of the frame')
  t.strictSame(hostile.calls, [])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  t.hasStrict(await alone, { code: 'frame.cancelled' })

  const focused = run(
    frame,
    `(document.querySelector('#field').focus(), result('putHostileThingShelf', { params: { id: 7 }, body: { shelf: 'B' } }))`,
  )
  await until(async () => (await dialog.count()) > 0 || hostile.calls.length > 0, 'the write runs or asks')
  t.strictSame(hostile.calls, [], 'a frame that takes the focus gains nothing')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await focused

  await withoutPress()
  await frame.locator('#field').click()
  const first = await move(1)
  t.hasStrict(first, { id: 1 })
  await page.getByText('“Move · 1, B” was executed.').waitFor()
  t.strictSame(hostile.calls, [{ read: 1 }, { moved: 1, shelf: 'B' }])
  await page.locator('[data-toast]').getByRole('button', { name: 'Undo' }).click()
  await page.getByText('“Move · 1, B” was undone.').waitFor()
  t.strictSame(hostile.calls.at(-1), { moved: 1, shelf: 'A' }, 'the former value comes from the server')
})

t.test('the document of a frame is isolated outside of the back office, too', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await openedHostile(t.teardown)
  const response = await page.goto(`${office?.url}frames/hostile.frame`)
  t.match(response?.headers(), {
    'content-security-policy': /^sandbox allow-scripts; default-src 'none'; .*frame-ancestors 'self'$/,
    'connection-allowlist': '()',
    'x-content-type-options': 'nosniff',
  })
  t.equal(await page.evaluate('origin'), 'null')
  for (const name of ['cookie', 'localStorage', 'fetch', 'xhr', 'peer'])
    t.notMatch(await page.evaluate(`attempt('${name}')`), /^succeeded/, name)
  t.strictSame(arrived, [])
  t.equal((await page.goto(`${office?.url}frames/acme.depots`))?.status(), 404, 'a list has no document')
})
