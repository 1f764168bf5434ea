/** Tests that changes on the server appear in an open page of the back office without a reload. */
import { type HttpServer, http } from '@plinth/http'
import sharedStore from '@plinth/shared-store'
import systemConfig, { configCentre } from '@plinth/system-config'
import systemConfigAdmin from '@plinth/system-config/admin'
import type { Page } from 'playwright-core'
import t from 'tap'
import { type EventStream, HintSource } from '../web/admin/api/hint-source.ts'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { skip } from './fixtures/browser.ts'
import { configuredPlugin } from './fixtures/configured.ts'

const options = {
  plugins: [systemConfig, systemConfigAdmin, configuredPlugin, sharedStore],
  set: { 'platform.shared-store.database.poll-interval': '100ms' },
}
const directory = t.testdir()
const start = () => startBackOffice(directory, (work) => t.teardown(work), options)
const office = skip === false ? await start() : undefined

/** This time limit is shorter than the poll interval of a page with a live stream. */
const timeout = 60_000

/** Opens a page with a live stream. */
async function opened(teardown: (work: () => Promise<void>) => void, path: string, events?: (page: Page) => unknown) {
  const watched = await openSignedIn(teardown, office?.url ?? '', {})
  await events?.(watched.page)
  const received = watched.page.waitForResponse('**/console/events')
  await watched.page.goto(`${office?.url}${path}`)
  if (events === undefined) await received
  else received.catch(() => undefined)
  await watched.page.locator('main:not(:has([aria-busy=true])) h1').waitFor()
  return watched
}

t.test('a list shows new rows and keeps selection and input', { skip, timeout: 600_000 }, async (t) => {
  await office?.loseEvent()
  const { page, complaints } = await opened(t.teardown, 'events.outbox')
  const rows = page.locator('tbody tr')
  const before = await rows.count()
  await rows.first().getByRole('checkbox').check()
  const picked = await rows.first().getByRole('checkbox').getAttribute('aria-label')
  await page.getByRole('combobox', { name: 'Add filter' }).fill('probe')
  await office?.loseEvent()
  await rows.nth(before).waitFor({ timeout })
  t.ok(await page.getByRole('checkbox', { name: picked ?? '', exact: true }).isChecked())
  t.strictSame(complaints, [])
})

t.test('a form keeps the input and the version that was read', { skip, timeout: 600_000 }, async (t) => {
  const server = office?.running.service(http) as HttpServer
  const call = async (method: 'POST' | 'PUT', url: string, payload: object, token = '') =>
    (
      await server.inject({ method, url: `/api/v1/${url}`, payload, headers: { authorization: `Bearer ${token}` } })
    ).json()
  const { data: session } = await call('POST', 'auth/login', { username: 'root', password })
  const role = { code: 'auditor', name: 'Auditor', dataScope: 'all', permissions: [] }
  const { data } = await call('POST', 'admin/iam/roles', role, session.accessToken)
  const { page, complaints } = await opened(t.teardown, `iam.role/${data.id}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Description').fill('Reads what was done')
  const { code: _, ...replaced } = role
  const changed = { ...replaced, name: 'Chief auditor', version: data.version }
  t.hasStrict(await call('PUT', `admin/iam/roles/${data.id}`, changed, session.accessToken), { code: '200' })
  await page.locator('h1', { hasText: 'Chief auditor' }).waitFor({ timeout })
  t.equal(await dialog.getByLabel('Description').inputValue(), 'Reads what was done')
  const answer = page.waitForResponse((response) => response.request().method() === 'PUT')
  await dialog.getByRole('button', { name: 'Save' }).click()
  t.hasStrict(await (await answer).json(), { code: '409' }, 'what this person has not seen is not overwritten')
  t.strictSame(complaints, [])
})

t.test('the overview updates its counts', { skip, timeout: 600_000 }, async (t) => {
  const { page, complaints } = await opened(t.teardown, '')
  const item = page.getByRole('listitem').filter({ hasText: 'Events that were not delivered' })
  await item.waitFor()
  const before = Number.parseInt(await item.innerText(), 10)
  await office?.loseEvent()
  await item.filter({ hasText: new RegExp(`^${before + 1}`) }).waitFor({ timeout })
  t.strictSame(complaints, [])
})

t.test('a configuration change of another instance is shown', { skip, timeout: 600_000 }, async (t) => {
  const other = await start()
  const { page, complaints } = await opened(t.teardown, 'system-config.centre?group=demo')
  const field = page.locator('li[data-key="platform.demo.limit"]').getByRole('textbox', { name: 'Request limit' })
  t.equal(await field.inputValue(), '10')
  const centre = other.running.service(configCentre)
  await centre.save([{ key: 'platform.demo.limit', action: 'set', value: 77 }], { actor: { name: 'other' } })
  for (const late = AbortSignal.timeout(timeout); (await field.inputValue()) !== '77'; ) late.throwIfAborted()
  t.strictSame(complaints, [])
})

t.test('a page polls if it receives no hints', { skip, timeout: 600_000 }, async (t) => {
  const { page } = await opened(t.teardown, 'events.outbox', (page) =>
    page.route('**/console/events', (route) => route.abort()),
  )
  const rows = page.locator('tbody tr')
  const before = await rows.count()
  await office?.loseEvent()
  await rows.nth(before).waitFor({ timeout })
  t.ok((await rows.count()) > before)
})

t.test('a page without a connection reconnects after growing, limited pauses', async (t) => {
  const pauses: number[] = []
  const received: unknown[] = []
  const streams: EventStream[] = []
  let due: (() => void) | undefined
  const source = new HintSource({
    open: () => {
      const stream: EventStream = {
        onopen: null,
        onmessage: null,
        onerror: null,
        addEventListener: (_, end) => void received.push(end),
        close: () => void received.push('closed'),
      }
      streams.push(stream)
      return stream
    },
    later: (work, ms) => {
      pauses.push(ms)
      due = work
      return () => {
        due = undefined
      }
    },
    random: () => 1,
    onHint: (operations) => void received.push(operations),
    onChange: (isReceived) => void received.push(isReceived),
    onEnd: () => {},
  })
  source.start()
  source.start()
  t.equal(streams.length, 1, 'one connection')
  for (let count = 0; count < 8; count++) {
    streams.at(-1)?.onerror?.()
    due?.()
  }
  t.strictSame(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  received.length = 0
  streams.at(-1)?.onopen?.()
  streams.at(-1)?.onmessage?.({ data: '{"operations":["getThings"]}' })
  t.strictSame(received, [true, ['getThings']])
  streams.at(-1)?.onerror?.()
  t.equal(pauses.at(-1), 1_000, 'what was heard counts anew')
  source.stop()
  t.equal(due, undefined, 'nothing is waited for any more')
})
