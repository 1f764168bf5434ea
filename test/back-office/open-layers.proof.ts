/** Checks dialogs, menus, pickers and other layers of the back office for accessibility while they are open. */
import acme from '@plinth-example/acme-admin-pages'
import type { Page } from 'playwright-core'
import t from 'tap'
import {
  emulateColorScheme,
  findAccessibilityProblems,
  openPage,
  skip,
} from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'
import { openAt, signIn } from './every-page.ts'

const phone = { width: 390, height: 844 }
const desk = { width: 1280, height: 860 }

interface Layer {
  readonly name: string
  /** Path of the page below the back office. */
  readonly path: string
  readonly viewport?: typeof desk
  readonly open: (page: Page) => Promise<unknown>
}

const dialog = (page: Page) => page.getByRole('dialog').last()
const button = (page: Page, name: string | RegExp) => page.locator('main').getByRole('button', { name }).first()
const press = (page: Page, name: string) => dialog(page).getByRole('button', { name, exact: true }).last().click()

async function openForm(page: Page, opener: string) {
  await button(page, opener).click()
  await dialog(page).getByRole('button', { name: 'Cancel' }).waitFor()
  return dialog(page)
}

/** Opens the menu of the row with a text. */
async function openMenu(page: Page, text: string) {
  await page.locator('main tbody tr', { hasText: text }).first().getByRole('button', { name: 'Actions' }).click()
  await page.locator('[role=menuitem]:focus').waitFor()
}

async function choose(page: Page, text: string, action: string) {
  await openMenu(page, text)
  await page.getByRole('menuitem', { name: action }).click()
  await dialog(page).getByRole('button', { name: 'Cancel' }).waitFor()
}

async function openPalette(page: Page, text: string) {
  await page.keyboard.press('Control+K')
  await page.locator('[role=dialog] input:focus').waitFor()
  await page.keyboard.type(text)
}

/** Opens the list of a picker in the dialog or in the page. */
async function openPicker(within: ReturnType<typeof dialog> | Page, field: string | RegExp) {
  await within.getByRole('combobox', { name: field }).click()
  await within.locator('[data-combobox-option]').filter({ visible: true }).first().waitFor()
}

const keyRow = (page: Page, key: string) => page.locator(`li[data-key="${key}"]`)

/** Changes a value in the config centre and opens the review. */
async function review(page: Page) {
  await keyRow(page, 'platform.site.title').getByRole('textbox', { name: 'Title' }).fill('Coffee House')
  await page.getByRole('button', { name: 'Review and save' }).click()
  await dialog(page).getByText('takes effect').first().waitFor()
}

async function compose(page: Page) {
  for (const [field, option] of [
    ['Channels', 'Inbox'],
    ['Recipients', 'anna'],
  ] as const) {
    await page.getByRole('combobox', { name: field }).fill(option)
    await page.getByRole('option', { name: option }).first().click()
  }
  await page.locator('main').getByLabel('Subject').fill('Tea at four')
  await page.getByRole('article', { name: 'Inbox' }).getByText('Tea at four').waitFor()
}

const layers: readonly Layer[] = [
  {
    name: 'a form with errors',
    path: 'iam.roles',
    async open(page) {
      const form = await openForm(page, 'New role')
      await press(page, 'Save')
      await form.getByText('This field is required.').first().waitFor()
    },
  },
  {
    name: 'a form with a preview',
    path: 'template.templates',
    async open(page) {
      const form = await openForm(page, 'New template')
      await form.getByLabel('Code').first().fill('price')
      await form.getByLabel('Subject').first().fill('Tea costs {{price}}')
      await form.getByLabel('Text').first().fill('From now on.')
      await form.getByRole('region', { name: 'Preview' }).getByText('1 variable has no value.').waitFor()
    },
  },
  {
    name: 'the picker of several objects in a form',
    path: 'iam.users',
    open: async (page) => openPicker(await openForm(page, 'New user'), 'Roles'),
  },
  {
    name: 'the picker of one object in a form',
    path: 'member-points.accounts',
    open: async (page) => openPicker(await openForm(page, 'Adjust points'), 'Member'),
  },
  {
    name: 'the preview of a change',
    path: 'member-points.accounts',
    async open(page) {
      const form = await openForm(page, 'Adjust points')
      await form.getByRole('combobox', { name: 'Member' }).fill('chen')
      await form.getByRole('option', { name: 'chen' }).click()
      await form.getByLabel('Points').fill('25')
      await form.getByLabel('Reason').first().fill('A broken cup')
      await press(page, 'Preview changes')
      await form.getByRole('region', { name: 'Preview result' }).getByText('825').waitFor()
    },
  },
  {
    name: 'a secret that is shown once',
    path: 'open-platform.apps',
    async open(page) {
      const form = await openForm(page, 'New application')
      await form.getByLabel('Name').fill('Scales')
      await press(page, 'Save')
      await page.getByRole('dialog').getByText('shown only once').first().waitFor()
    },
  },
  { name: 'the menu of a row', path: 'iam.users', open: (page) => openMenu(page, 'bela') },
  {
    name: 'a dangerous action',
    path: 'iam.users',
    open: (page) => choose(page, 'bela', 'End all sessions'),
  },
  {
    name: 'an action on several rows',
    path: 'events.outbox',
    async open(page) {
      await page.locator('main thead').getByRole('checkbox').click()
      await button(page, /^Deliver failed/).click()
      await dialog(page).getByRole('button', { name: 'Cancel' }).waitFor()
    },
  },
  {
    name: 'the menu of the columns',
    path: 'iam.users',
    async open(page) {
      await button(page, 'Columns').click()
      await page.getByRole('menuitemcheckbox').first().waitFor()
    },
  },
  {
    name: 'the menu of the views',
    path: 'iam.users?enabled=true',
    async open(page) {
      await button(page, 'Views').click()
      await page.getByRole('menuitem', { name: 'Save this view' }).waitFor()
    },
  },
  {
    name: 'the name of a view',
    path: 'iam.users?enabled=true',
    async open(page) {
      await button(page, 'Views').click()
      await page.getByRole('menuitem', { name: 'Save this view' }).click()
      await dialog(page).getByLabel('Name of the view').waitFor()
    },
  },
  {
    name: 'the time range of a list',
    path: 'iam.audit',
    async open(page) {
      await button(page, /^Occurred at/).click()
      await page.getByLabel('From').waitFor()
    },
  },
  {
    name: 'the picker of a filter',
    path: 'iam.login-audit',
    async open(page) {
      await page.locator('main').getByRole('button', { name: 'User', exact: true }).click()
      await openPicker(page, /^User$/)
    },
  },
  { name: 'the palette with recent pages', path: 'iam.users', open: (page) => openPalette(page, '') },
  {
    name: 'the palette with records',
    path: 'iam.users',
    async open(page) {
      await openPalette(page, 'bela')
      await page.getByRole('option', { name: /bela/ }).first().waitFor()
      await page.getByText(/^\d+ found$/).waitFor()
    },
  },
  {
    name: 'the palette without a result',
    path: 'iam.users',
    async open(page) {
      await openPalette(page, 'nothing-has-this-name')
      await page.getByText('No matches.').waitFor()
    },
  },
  {
    name: 'the list of shortcuts',
    path: 'iam.users',
    async open(page) {
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    },
  },
  {
    name: 'the navigation on a phone',
    path: 'iam.users',
    viewport: phone,
    async open(page) {
      await page.getByRole('button', { name: 'Menu' }).click()
      await page.locator('aside nav a').first().waitFor()
    },
  },
  {
    name: 'a form on a phone',
    path: 'iam.users',
    viewport: phone,
    open: async (page) => openPicker(await openForm(page, 'New user'), 'Roles'),
  },
  {
    name: 'the details and the menu of a key',
    path: 'system-config.centre?q=platform.site.title&key=platform.site.title',
    async open(page) {
      const row = keyRow(page, 'platform.site.title')
      await row.locator('tbody tr').first().waitFor()
      await row.getByRole('button', { name: /^More actions/ }).click()
      await page.locator('[role=menuitem]:focus').waitFor()
    },
  },
  { name: 'the review of a draft', path: 'system-config.centre?q=platform.site.title', open: review },
  {
    name: 'a saved draft, and a message',
    path: 'system-config.centre?q=platform.site.title',
    async open(page) {
      await review(page)
      await press(page, 'Save 1 change')
      await dialog(page).getByText('Applied on 1 of 1 instances').waitFor()
    },
  },
  {
    name: 'the import of a configuration',
    path: 'system-config.centre',
    async open(page) {
      await button(page, 'Import').click()
      await dialog(page).getByRole('radio').first().waitFor({ state: 'attached' })
    },
  },
  {
    name: 'what a permission opens',
    path: 'iam.role-matrix?q=delete users',
    async open(page) {
      await button(page, 'Delete users').click()
      await dialog(page).getByText('Super administrator').first().waitFor()
    },
  },
  {
    name: 'the review of changed roles',
    path: 'iam.role-matrix?q=delete users',
    async open(page) {
      await page.getByRole('checkbox', { name: 'Delete users · Customer service' }).click()
      await button(page, 'Review and save').click()
      await dialog(page).getByLabel('Reason').waitFor()
    },
  },
  {
    name: 'the picker of templates in the composer',
    path: 'notification.compose',
    open: (page) => openPicker(page, 'Template'),
  },
  {
    name: 'the calendar of the composer',
    path: 'notification.compose',
    async open(page) {
      await page.getByLabel('Send at').click()
      const calendar = page.getByRole('dialog', { name: /^Send at/ })
      await calendar.getByRole('button', { name: 'Next' }).click()
      await calendar.getByRole('button', { name: /^15 / }).click()
    },
  },
  {
    name: 'the previews of the composer',
    path: 'notification.compose',
    open: compose,
  },
  {
    name: 'the confirmation of the composer',
    path: 'notification.compose',
    async open(page) {
      await compose(page)
      await page.locator('main').getByRole('button', { name: 'Send', exact: true }).click()
      await dialog(page).getByText('anna', { exact: true }).waitFor()
    },
  },
  {
    name: 'the result of the composer, and a message',
    path: 'notification.compose',
    async open(page) {
      await compose(page)
      await page.locator('main').getByRole('button', { name: 'Send', exact: true }).click()
      await press(page, 'Send')
      await dialog(page).getByText('Accepted').waitFor()
    },
  },
  {
    name: 'a page of a plugin in a frame',
    path: 'acme.depot-cities',
    open: (page) => page.frameLocator('main iframe').getByText('1 open').waitFor(),
  },
  {
    name: 'the question about a change that a frame requests',
    path: 'acme.depot-cities',
    async open(page) {
      // After a press outside the frame, the frame does not write without a question.
      await page.locator('main h1').click()
      await page.frameLocator('main iframe').getByRole('button', { name: 'Close: North' }).click()
      await dialog(page).getByRole('button', { name: 'Cancel' }).waitFor()
    },
  },
  {
    name: 'a form that another user has changed',
    path: 'iam.users',
    async open(page) {
      await page.locator('main tbody').getByRole('link', { name: 'dana' }).click()
      const form = await openForm(page, 'Change')
      await form.getByLabel('E-mail address').fill('dana@example.org')
      await page.evaluate(`(async () => {
        const headers = { 'content-type': 'application/json' }
        const { data } = await (await fetch('../../api/v1/admin/iam/users?keyword=dana')).json()
        const [{ id, version }] = data.items
        const body = JSON.stringify({ email: 'dana@example.net', version })
        await fetch('../../api/v1/admin/iam/users/' + id, { method: 'PUT', headers, body })
      })()`)
      await press(page, 'Save')
      await form.getByText('dana@example.net').waitFor()
    },
  },
  {
    name: 'the sign-in after the end of a session',
    path: 'iam.users',
    async open(page) {
      const form = await openForm(page, 'New user')
      await form.getByRole('textbox', { name: 'User name' }).fill('berta')
      await form.getByRole('textbox', { name: 'Password' }).fill(password)
      await page.context().clearCookies()
      await page.getByRole('button', { name: 'Save' }).dispatchEvent('click')
      await page.getByText('Your session has ended').waitFor()
    },
  },
]

t.test('no layer of the back office has an accessibility violation', { skip, timeout: 900_000 }, async (t) => {
  const works: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const work of works.reverse()) await work()
  })
  const { root, url } = await startWithRows((work) => works.push(work), { plugins: [acme] })
  await root('POST', 'admin/acme/depots', { name: 'North', city: 'Oslo' })
  const { page, complaints, elsewhere } = await openPage(t.teardown, url, { locale: 'en' })
  await signIn(page)
  // The browser asks before unsaved input is lost, and the input of one layer must not be restored in the next one.
  page.on('dialog', (question) => void question.accept())
  await page.addInitScript('if (self === top) sessionStorage.clear()')
  for (const { name, path, viewport = desk, open } of layers) {
    await t.test(name, async (t) => {
      await page.setViewportSize(viewport)
      await openAt(page, url + path)
      await open(page)
      for (const colorScheme of ['light', 'dark'] as const) {
        await emulateColorScheme(page, colorScheme)
        t.strictSame(await findAccessibilityProblems(page), [], colorScheme)
      }
    })
  }
  t.strictSame(complaints, [])
  t.strictSame(elsewhere, [])
})
