/**
 * Tests each write of the quickstart's back office: switches the network off, starts the write, and cancels it. When
 * the network is on again, the write must not be sent.
 */
import type { BrowserContext, Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openPage, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'

interface Call {
  readonly operation: string
  readonly method: string
  readonly path: string
}
interface Write extends Call {
  readonly reason?: string
  /** Member of the row whose value the user must type to confirm the write. */
  readonly type?: string
}
interface FormView extends Write {
  readonly title: string
}
interface ActionView extends Write {
  readonly label: string
  /** An action that can be undone has no dialog. */
  readonly undo?: string
}
interface PageView extends Call {
  readonly id: string
  readonly kind: 'list' | 'detail' | 'own'
  readonly key?: string
  readonly detail?: string
  readonly form?: FormView
  readonly create?: FormView
  readonly forms?: readonly FormView[]
  readonly actions?: readonly ActionView[]
  readonly bulk?: readonly ActionView[]
  readonly operations?: Readonly<Record<string, Call>>
}

const writes = <T extends Call>(calls: readonly (T | undefined)[] = []): readonly T[] =>
  calls.filter((call) => call !== undefined).filter(({ method }) => method !== 'GET')

/**
 * Returns the page without the rules that would prevent a write: required fields, states of rows, and previews. Without
 * tones, all actions of a page are buttons.
 */
function opened(view: PageView): PageView {
  const loosened = JSON.stringify(view, (name, value) => {
    // A schema lists its required members. A field has a flag.
    if (name === 'required') return Array.isArray(value) ? [] : false
    return ['when', 'tone', 'preview', 'livePreview', 'live', 'params', 'body', 'query'].includes(name)
      ? undefined
      : value
  })
  return { ...JSON.parse(loosened), charts: [], related: [] }
}

/** Returns a row that contains a text in each member that the page needs for its writes. */
function rowFor({ key, actions = [] }: PageView): object {
  const names = [key, ...actions.map(({ type }) => type)].filter((name) => name !== undefined)
  return Object.assign(
    {},
    ...names.map((name) => name.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), 'x1')),
  )
}

const enveloped = (data: unknown) => ({ json: { code: '200', message: '', data } })

/** Opens an address of the back office without loading a new document. */
const follow = (page: Page, path: string) =>
  page.evaluate(`history.pushState({}, '', ${JSON.stringify(new URL(path, page.url()).href)})`)

/** Operations with POST that change nothing as the pages call them, with their paths. */
const readsByPost: Readonly<Record<string, string>> = {
  postAdminNotificationAudience: '/api/v1/admin/notification/audience',
  postAdminSystemConfigRollback: '/api/v1/admin/system-config/rollback',
  postNotificationsTemplatePreview: '/api/v1/notifications/template-preview',
}

/** Writes that need an authenticator, a second factor or a provider. They are sent in the same way as `postAuthTotpOptions`. */
const needsFactor = /^(?:delete|post|put)Auth(?!TotpOptions$)(?:Oidc|Passkeys|RecoveryCodes|Totp)/

/** Opens a browser whose network can be switched off. */
async function browserOf(t: Test, url: string) {
  const { page } = await openPage((work) => t.teardown(work), url, { locale: 'en' })
  const context: BrowserContext = page.context()
  const sent: string[] = []
  let isOnline = true
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    const isRead = request.method() === 'GET' || Object.values(readsByPost).includes(pathname)
    if (isOnline && !isRead) sent.push(`${request.method()} ${pathname}`)
  })
  const line = page.getByText(/^No connection since /)
  return {
    page,
    /**
     * Runs the work without a network, switches the network on again, and returns the writes that are sent afterwards.
     */
    async withoutNetwork(work: () => Promise<void>) {
      isOnline = false
      await context.setOffline(true)
      await line.waitFor()
      await work()
      sent.splice(0)
      isOnline = true
      await context.setOffline(false)
      await line.waitFor({ state: 'detached' })
      return [...sent]
    },
  }
}

async function signedIn(t: Test, url: string) {
  const watched = await browserOf(t, url)
  await signIn(watched.page)
  await watched.page.locator('nav a').first().waitFor()
  return watched
}

async function signIn(page: Page): Promise<void> {
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', password)
  await page.click('button[type=submit]')
}

/** Fills in the dialog, submits it, waits for the error, and cancels. */
async function tryAndCancel(dialog: Locator, { reason, type }: Write): Promise<void> {
  if (reason === 'required') await dialog.getByLabel(/^Reason/).fill('because')
  if (type !== undefined) await dialog.getByLabel(/^Type x1/).fill('x1')
  await dialog.locator('button[type=submit]').click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByRole('button', { name: 'Cancel', exact: true }).first().click()
  await dialog.waitFor({ state: 'detached' })
}

/** Closes the message of an action without a dialog. The message offers to try again. */
async function dismissFailure(page: Page, { label }: ActionView): Promise<void> {
  const message = page.getByRole('status').locator('div', { hasText: `${label}: The server does not respond.` })
  await message.getByRole('button', { name: 'Close' }).click()
  await message.waitFor({ state: 'detached' })
}

const office = skip === false ? await startWithRows((work) => t.teardown(work as never)) : undefined
type Office = NonNullable<typeof office>

t.test('a declared write that was cancelled without a network is never sent', { skip, timeout: 900_000 }, async (t) => {
  const { root, url } = office as Office
  const { page, withoutNetwork } = await signedIn(t, url)

  const { groups } = await root('GET', 'admin/console/pages')
  const ids: string[] = groups.flatMap(({ pages }: { readonly pages: readonly PageView[] }) =>
    pages.map(({ id }) => id),
  )
  const views: PageView[] = []
  for (const id of ids) {
    const view: PageView = await root('GET', `admin/console/pages/${id}`)
    views.push(view)
    if (view.detail !== undefined && !ids.includes(view.detail)) ids.push(view.detail)
  }
  let current: PageView | undefined
  await page.route(/\/api\/v1\//, async (route) => {
    const { pathname } = new URL(route.request().url())
    if (current === undefined || route.request().method() !== 'GET') return route.fallback()
    if (pathname.endsWith(`/admin/console/pages/${current.id}`)) return route.fulfill(enveloped(current))
    const pattern = new RegExp(`${current.path.replace(/\{\w+\}/g, '[^/]+')}$`)
    // The response for the signed-in user is not replaced, because the page compares it with the user of its session.
    if (!pattern.test(pathname) || pathname.endsWith('/iam/users/me')) return route.fallback()
    const row = rowFor(current)
    return route.fulfill(enveloped(current.kind === 'list' ? { items: [row], total: 1, next: null } : row))
  })

  let count = 0
  // The subtest below tests custom pages.
  for (const view of views.filter(({ kind }) => kind !== 'own')) {
    const forms = writes([view.create, view.form, ...(view.forms ?? [])])
    const [actions, bulk] = [writes(view.actions), writes(view.bulk)]
    count += forms.length + actions.length + bulk.length
    if (forms.length + actions.length + bulk.length === 0) continue
    current = opened(view)
    await follow(page, `/admin/${view.id}${view.kind === 'detail' ? '/x1' : ''}`)
    const main = page.locator('main')
    await main
      .locator(view.kind === 'list' ? 'tbody tr' : 'h1')
      .first()
      .waitFor()
    const dialog = page.getByRole('dialog')
    const pressed = (name: string) => main.getByRole('button', { name, exact: true }).first().click()
    const sent = await withoutNetwork(async () => {
      for (const form of forms) {
        await pressed(form.title)
        await tryAndCancel(dialog, form)
      }
      for (const [place, action] of actions.entries()) {
        // Selects among buttons with the same name, because actions for different states of a row may have the same
        // name.
        const turn = actions.slice(0, place).filter(({ label }) => label === action.label).length
        const named = { name: action.label, exact: true }
        // The name of this button contains the name of the row.
        if (view.kind === 'list')
          await main
            .getByRole('button', { name: /^Actions: / })
            .first()
            .click()
        const offered = view.kind === 'list' ? page.getByRole('menuitem', named) : main.getByRole('button', named)
        await offered.nth(turn).click()
        if (action.undo === undefined) await tryAndCancel(dialog, action)
        else await dismissFailure(page, action)
      }
      if (bulk.length > 0) await main.locator('tbody input[type=checkbox]').first().check()
      for (const one of bulk) {
        await pressed(one.label)
        await tryAndCancel(dialog, one)
      }
    })
    t.strictSame(sent, [], `${view.id}: ${[...forms, ...actions, ...bulk].map(({ operation }) => operation)}`)
  }
  t.ok(count > 100, `${count} writes were tried`)
})

interface OwnWrite {
  readonly path: string
  prepare(page: Page): Promise<unknown>
  /** Starts the write without a network, waits for the error, and cancels. */
  attempt(page: Page): Promise<unknown>
}

const failIn = (page: Page) => page.getByRole('dialog').getByRole('alert').waitFor()
const changeTitle = (page: Page) => page.getByRole('textbox', { name: 'Title' }).first().fill('Other')
const response = (page: Page, name: string | RegExp) =>
  page.getByRole('dialog').getByRole('button', { name }).first().click()
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click()

/** How to attempt the write of each operation that a custom page calls. */
const ownWrites: Readonly<Record<string, OwnWrite>> = {
  postAuthTotpOptions: {
    path: 'authenticators.security',
    prepare: (page) => page.getByRole('button', { name: 'Use an authenticator app' }).waitFor(),
    async attempt(page) {
      await press(page, 'Use an authenticator app')
      await page.getByRole('alert').filter({ hasText: 'The server does not respond' }).waitFor()
    },
  },
  postAdminSystemConfigChanges: {
    path: 'system-config.centre?q=platform.site.title',
    async prepare(page) {
      await changeTitle(page)
      await press(page, 'Review and save')
      await page.getByRole('dialog').locator('button[type=submit]:enabled').waitFor()
    },
    async attempt(page) {
      await response(page, /^Save/)
      await failIn(page)
      await response(page, 'Back to the keys')
      await press(page, 'Discard')
      await response(page, 'Discard')
      await page.getByRole('region', { name: 'Draft' }).waitFor({ state: 'detached' })
    },
  },
  postAdminSystemConfigChangesPreview: {
    path: 'system-config.centre?q=platform.site.title',
    prepare: changeTitle,
    async attempt(page) {
      await press(page, 'Review and save')
      await failIn(page)
      await response(page, 'Back to the keys')
    },
  },
  postAdminSystemConfigVerifications: {
    path: 'system-config.centre?q=platform.mail.smtp.password',
    prepare: (page) => page.locator('main input[type=password]').first().fill('a-secret'),
    async attempt(page) {
      await press(page, 'Verify')
      await page.getByText(/^The server does not respond/).waitFor()
    },
  },
  postAdminSystemConfigImport: {
    path: 'system-config.centre',
    prepare: (page) => press(page, 'Import'),
    async attempt(page) {
      const buffer = Buffer.from(JSON.stringify({ format: 1, values: [] }))
      const file = { name: 'config.json', mimeType: 'application/json', buffer }
      await page.getByRole('dialog').locator('input[type=file]').setInputFiles(file)
      await failIn(page)
      await response(page, 'Cancel')
    },
  },
  putAdminIamRolesById: {
    path: 'iam.role-matrix',
    async prepare(page) {
      await page.getByRole('checkbox', { name: 'Create users · Customer service', exact: true }).click()
      await press(page, 'Review and save')
    },
    async attempt(page) {
      await response(page, /^Save/)
      await failIn(page)
      await response(page, /^Back/)
    },
  },
  postNotificationsSend: {
    path: 'notification.compose',
    async prepare(page) {
      await page.getByRole('combobox', { name: 'Recipients' }).fill('anna')
      await page.getByRole('option', { name: 'anna' }).first().click()
      await page.getByLabel('Subject').fill('The shop is open')
      await page.getByText('1 person gets it.').first().waitFor()
      await page.locator('main button[type=submit]').click()
      await page.getByRole('dialog').waitFor()
    },
    async attempt(page) {
      await response(page, 'Send')
      await failIn(page)
      await response(page, /^Back/)
    },
  },
}

t.test(
  'a write of a custom page that was cancelled without a network is never sent',
  { skip, timeout: 600_000 },
  async (t) => {
    const { root, url } = office as Office
    const { groups } = await root('GET', 'admin/console/pages')
    const ids = groups.flatMap(({ pages }: { readonly pages: readonly PageView[] }) => pages.map(({ id }) => id))
    const own: PageView[] = await Promise.all(ids.map((id: string) => root('GET', `admin/console/pages/${id}`)))
    const operations = own
      .flatMap(({ operations = {} }) => writes(Object.values(operations)))
      .filter(({ operation }) => !(operation in readsByPost) && !needsFactor.test(operation))
    t.strictSame(operations.map(({ operation }) => operation).sort(), Object.keys(ownWrites).sort())
    for (const [operation, { path, prepare, attempt }] of Object.entries(ownWrites)) {
      const { page, withoutNetwork } = await signedIn(t, url)
      await page.goto(`${url}${path}`)
      await page.locator('main h1').waitFor()
      await prepare(page)
      t.strictSame(await withoutNetwork(async () => void (await attempt(page))), [], operation)
    }
  },
)

t.test('signing in and out without a network fails and is not sent later', { skip, timeout: 600_000 }, async (t) => {
  const { page, withoutNetwork } = await browserOf(t, (office as Office).url)
  const signingIn = await withoutNetwork(async () => {
    await signIn(page)
    await page.getByRole('alert').waitFor()
  })
  t.strictSame(signingIn, [])
  await signIn(page)
  await page.locator('nav a').first().waitFor()
  const signingOut = await withoutNetwork(async () => {
    await press(page, 'Sign out')
    await page.getByText('Sign-out failed. You are still signed in').waitFor()
  })
  t.strictSame(signingOut, [])
  t.equal((await page.locator('nav a').count()) > 0, true)
})

t.test('cancelling aborts a write in progress', { skip, timeout: 600_000 }, async (t) => {
  const { url } = office as Office
  const { page } = await signedIn(t, url)
  await page.goto(`${url}iam.users`)
  const isWrite = (request: { method(): string }) => request.method() === 'POST'
  // The write never receives a response, so it stays pending.
  await page.route('**/admin/iam/users', (route) => (isWrite(route.request()) ? undefined : route.fallback()))
  await press(page, 'New user')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('User name').fill('eva')
  await dialog.getByLabel('E-mail address').fill('eva@example.com')
  await dialog.getByRole('textbox', { name: 'Password' }).fill(password)
  const [failed, sent] = [page.waitForEvent('requestfailed', isWrite), page.waitForRequest(isWrite)]
  await dialog.locator('button[type=submit]').click()
  await sent
  await dialog.getByRole('button', { name: 'Cancel', exact: true }).first().click()
  await dialog.getByRole('button', { name: 'Discard', exact: true }).click()
  t.match((await failed).failure()?.errorText, /ERR_ABORTED/)
})
