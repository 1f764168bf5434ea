/**
 * Performs the operator tasks in Directus in a browser and counts clicks and keys like
 * `test/back-office/operator-*.test.ts`.
 * Run it against a new Directus with an empty database:
 *
 *     TAP_TIMEOUT=900 node bench/console/directus.ts http://127.0.0.1:8055 admin@example.com <password>
 */
import { omitUndefined } from '@plinth/kernel'
import { chromium, type Page } from 'playwright-core'
import { OperatorActions } from '../../test/back-office/operator-hand.ts'

const [base = '', email = '', password = ''] = process.argv.slice(2)
const json = { 'content-type': 'application/json' }

async function call(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(
    `${base}${path}`,
    omitUndefined({
      method,
      headers: { ...json, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    }),
  )
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  const { data } = (await response.json()) as { readonly data: { readonly access_token: string; readonly id: string } }
  return data
}

const { access_token: token } = await call('POST', '/auth/login', { email, password })
const authorization = { authorization: `Bearer ${token}` }
const root = (method: string, path: string, body?: object) => call(method, path, body, authorization)

/**
 * Creates the data of the test. Directus has no catalogue of declared settings, so a collection represents the keys of
 * a product.
 */
async function seed() {
  const text = (field: string) => ({ field, type: 'string', schema: {}, meta: { interface: 'input' } })
  const id = { field: 'id', type: 'integer', schema: { is_primary_key: true, has_auto_increment: true } }
  const secret = { field: 'secret', type: 'hash', schema: {}, meta: { interface: 'input-hash', special: ['hash'] } }
  const fields = [{ ...id, meta: { hidden: true } }, text('name'), text('value'), secret]
  await root('POST', '/collections', { collection: 'keys', schema: {}, meta: {}, fields })
  const { id: key } = await root('POST', '/items/keys', { name: 'send-deadline', value: '5s' })
  await root('PATCH', `/items/keys/${key}`, { value: '20s' })
  await root('POST', '/items/keys', { name: 'smtp-password', secret: 'The-first-word-1' })
  const cron = { trigger: 'schedule', options: { cron: '0 0 * * *' } }
  await root('POST', '/flows', { name: 'Remove old approvals', status: 'active', ...cron })
  await root('POST', '/roles', { name: 'Customer service' })
  for (const name of ['bela', 'chen'])
    await root('POST', '/users', { first_name: name, email: `${name}@example.com`, password })
  await seedShop()
}

/** Creates orders, refunds and vouchers, and a policy that allows the settlement of orders to a role and a user. */
async function seedShop() {
  const id = { field: 'id', type: 'integer', schema: { is_primary_key: true, has_auto_increment: true } }
  const field = (name: string, type: string, schema: object = {}) => ({ field: name, type, schema, meta: {} })
  const status = field('status', 'string')
  const collections = {
    orders: [field('number', 'string'), status],
    refunds: [field('number', 'string'), status, field('requested', 'timestamp')],
    settlements: [field('number', 'string')],
    vouchers: [
      field('code', 'string', { is_unique: true, is_nullable: false }),
      field('amount', 'integer'),
      field('valid_until', 'date'),
    ],
  }
  for (const [collection, own] of Object.entries(collections))
    await root('POST', '/collections', { collection, schema: {}, meta: {}, fields: [{ ...id, meta: {} }, ...own] })
  const { id: order } = await root('POST', '/items/orders', { number: 'TEA-1', status: 'created' })
  for (const next of ['paid', 'shipped', 'refunded']) await root('PATCH', `/items/orders/${order}`, { status: next })
  for (const [index, state] of ['pending', 'refunded', 'pending', 'rejected', 'pending', 'refunded'].entries())
    await root('POST', '/items/refunds', {
      number: `R-${index}`,
      status: state,
      requested: new Date(Date.UTC(2026, 10, 20 - index)).toISOString(),
    })
  const policies = (policy: string) => ({ create: [{ policy }], update: [], delete: [] })
  const { id: policy } = await root('POST', '/policies', { name: 'Settlement', app_access: true })
  const allowed = { policy, collection: 'settlements', action: 'update', fields: ['*'], permissions: {} }
  await root('POST', '/permissions', allowed)
  const { id: role } = await root('POST', '/roles', { name: 'Finance', policies: policies(policy) })
  await root('POST', '/users', { first_name: 'dana', email: 'dana@example.com', password, role })
  const emil = { first_name: 'emil', email: 'emil@example.com', password, policies: policies(policy) }
  await root('POST', '/users', emil)
}

/** Returns a CSV file of 200 vouchers. `faults` replace cells, by row and column. */
function vouchers(faults: readonly (readonly [row: number, column: number, value: string])[]) {
  const rows = Array.from({ length: 200 }, (_, index) => [`TEA-${1000 + index}`, '500', '2027-01-31'])
  for (const [row, column, value] of faults) rows[row]?.splice(column, 1, value)
  const text = ['code,amount,valid_until', ...rows.map((cells) => cells.join(','))].join('\n')
  return { name: 'vouchers.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
}

async function forgetFilters() {
  const body = JSON.stringify({ query: { filter: { bookmark: { _null: true } }, limit: -1 } })
  await fetch(`${base}/presets`, { method: 'DELETE', headers: { ...json, ...authorization }, body })
}

type Work = (hand: OperatorActions, page: Page) => Promise<unknown>
const row = (page: Page, text: string) => page.locator('tbody tr', { hasText: text }).first()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).last()
/** The page and its drawer may each have a button "Save". The last one is in front, so it is the one to click. */
const saves = (page: Page) => page.getByRole('button', { name: 'Save', exact: true, disabled: false }).last()
const area = (page: Page, path: string) => page.locator(`a[href$="/admin/${path}"]`).first()

async function setStatus(hand: OperatorActions, page: Page, status: string) {
  await hand.click(row(page, 'bela'))
  await page.getByText('Admin Options').waitFor()
  await hand.click(page.locator('[field=status] .input'))
  await hand.click(page.locator('#menu-outlet').getByText(status, { exact: true }))
  await hand.click(saves(page))
  await row(page, 'bela').waitFor({ state: 'detached' })
}

/** Shows the refunds that wait for a decision. */
async function filterRefunds(hand: OperatorActions, page: Page) {
  await hand.click(area(page, 'content/refunds'))
  await row(page, 'R-0').waitFor()
  await hand.click(page.locator('.icon-filter'))
  await hand.click(page.locator('.add-filter'))
  await hand.click(page.locator('#menu-outlet').getByText('Status', { exact: true }))
  await hand.type(page.locator('.filter-input input').last(), 'pending')
  await row(page, 'rejected').waitFor({ state: 'detached' })
}

const settings = (page: Page) => page.locator('.module-bar a[href*="/admin/settings"]').first()

/** Imports a file. The choice of the file counts as one click. */
async function importVouchers(hand: OperatorActions, page: Page, file: ReturnType<typeof vouchers>) {
  hand.clicks += 1
  await page.locator('input[type=file]').first().setInputFiles(file)
  await hand.click(page.getByRole('button', { name: 'Start Import' }))
}

const tasks: Readonly<Record<string, Work>> = {
  'find out who changed a key, and put it back': async (hand, page) => {
    await hand.click(area(page, 'content/keys'))
    await hand.click(row(page, 'send-deadline'))
    await hand.click(page.getByText('Revisions', { exact: true }))
    await hand.click(page.getByText('Created', { exact: true }))
    await hand.click(page.getByRole('button', { name: /Apply/ }))
    await hand.click(saves(page))
    await row(page, '5s').waitFor()
  },
  'change a secret': async (hand, page) => {
    await hand.click(area(page, 'content/keys'))
    await hand.click(row(page, 'smtp-password'))
    await hand.type(page.locator('.field', { hasText: /^\s*Secret/ }).locator('input'), 'Another-word-5')
    await hand.click(saves(page))
    await page.getByText('Item Updated').first().waitFor()
  },
  'stop a schedule': async (hand, page) => {
    await hand.click(area(page, 'flows'))
    await hand.click(row(page, 'Remove old approvals').locator('button, .ctx-toggle').last())
    await hand.click(page.getByText(/inactive/i).first())
    await row(page, 'Inactive').waitFor()
  },
  'give a role': async (hand, page) => {
    await hand.click(area(page, 'users'))
    await hand.click(row(page, 'chen@example.com'))
    await page.getByText('Admin Options').waitFor()
    await hand.click(page.locator('.field', { hasText: /^\s*Role/ }).getByText('Select an item'))
    await hand.click(row(page, 'Customer service'))
    await hand.click(saves(page))
    await page.getByText('Select Item', { exact: true }).waitFor({ state: 'detached' })
    await hand.click(saves(page))
    await row(page, 'Customer service').waitFor()
  },
  'end all sessions of a user, by suspending and activating': async (hand, page) => {
    await hand.click(area(page, 'users'))
    await setStatus(hand, page, 'Suspended')
    await hand.click(page.getByText('Suspended Users', { exact: true }).first())
    await setStatus(hand, page, 'Active')
  },
  'which refunds wait longest': async (hand, page) => {
    await filterRefunds(hand, page)
    await hand.click(page.locator('th').getByText('Requested', { exact: true }))
    await hand.click(page.getByText('Sort Ascending', { exact: true }))
    await page.locator('tbody tr').first().filter({ hasText: 'R-4' }).waitFor()
  },
  'who may settle': async (hand, page) => {
    await hand.click(settings(page))
    await hand.click(page.getByText('Access Policies', { exact: true }).first())
    await hand.click(row(page, 'Settlement'))
    await page.getByText('emil').first().waitFor()
    await hand.click(page.getByText('Finance', { exact: true }))
    await page.getByText('dana').first().waitFor()
  },
  'hand the Monday view to a colleague': async (hand, page) => {
    await filterRefunds(hand, page)
    await hand.click(page.locator('header i[data-icon^=bookmark]').first())
    await hand.typeInFocus('Monday')
    await hand.click(button(page, 'Save'))
    await page.locator('a', { hasText: 'Monday' }).first().waitFor()
    await hand.click(settings(page))
    await hand.click(page.getByText('Bookmarks', { exact: true }).first())
    await hand.click(row(page, 'Monday'))
    await hand.click(
      page
        .locator('.field', { hasText: /^\s*Scope/ })
        .locator('.interface')
        .first(),
    )
    await hand.click(page.locator('#menu-outlet').getByText(/Customer service/))
    await hand.click(saves(page))
    await row(page, 'Customer service').waitFor()
  },
  'import 200 vouchers with three faults': async (hand, page) => {
    await hand.click(area(page, 'content/vouchers'))
    await hand.click(page.getByText('Import / Export', { exact: true }))
    // The first message names the wrong date without its line, the second one the lines of both wrong codes.
    const codes = [[99, 0, ''] as const, [150, 0, 'TEA-1005'] as const]
    for (const faults of [[...codes, [20, 2, '31/31/2027'] as const], codes]) {
      await importVouchers(hand, page, vouchers(faults))
      await hand.click(button(page, 'Dismiss'))
      await hand.click(page.locator('i[data-icon=close]').last())
    }
    await importVouchers(hand, page, vouchers([]))
    await row(page, 'TEA-1000').waitFor()
  },
  'what happened to an order': async (hand, page) => {
    await hand.click(area(page, 'content/orders'))
    await hand.click(row(page, 'TEA-1'))
    await hand.click(page.getByText('Revisions', { exact: true }))
    // The second of three changes, because it also shows the status before. The page shows the last status.
    await hand.click(page.getByText(/^Updated/).nth(1))
    await page.getByText('Previous Revision').waitFor()
    await button(page, 'Cancel').click()
  },
}

await seed()
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 860 },
    locale: 'en-US',
    reducedMotion: 'reduce',
  })
  page.setDefaultTimeout(120_000)
  await page.goto(`${base}/admin/login`)
  await page.fill('input[type=email]', email)
  await page.fill('input[type=password]', password)
  await page.click('button[type=submit]')
  // Skips questions about the licence and the owner, which appear once per session.
  for (const later of ['Skip', 'Remind Later']) await button(page, later).click()
  await area(page, 'content').click()
  await area(page, 'content/keys').waitFor()
  for (const [name, work] of Object.entries(tasks)) {
    // A task may leave a drawer open, and Directus keeps filters.
    await forgetFilters()
    await page.goto(`${base}/admin/content`)
    await area(page, 'content/keys').waitFor()
    const hand = new OperatorActions(page)
    await work(hand, page)
    process.stdout.write(`${name}: ${hand.clicks} clicks, ${hand.keys} keys, ${hand.characters} letters\n`)
  }
} finally {
  await browser.close()
}
