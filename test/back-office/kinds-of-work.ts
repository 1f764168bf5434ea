/** The kinds of work in the back office, each with its form, its input and its effect. */

import { until } from '@plinth/dev/testing'
import type { Locator, Page } from 'playwright-core'
import { password, type startWithRows } from './back-office-rows.ts'
import { pick, setTime } from './message-hand.ts'

type Api = Awaited<ReturnType<typeof startWithRows>>['root']

/** One piece of work. Each attempt has its own object, so that attempts do not affect each other. */
export interface Work {
  /** Path of the page below the back office. */
  readonly path: string
  /** Opens the form. After a reload or Back, the form must then contain the restored input. */
  open(): Promise<unknown>
  /** Types the input. */
  fill(): Promise<unknown>
  /** Chooses the buttons before the last one. Each of them calls the server. */
  readonly steps: readonly (() => Promise<unknown>)[]
  /** The button that changes data. */
  readonly commit: Locator
  /** Closes the form without the change. */
  cancel(): Promise<unknown>
  /** Returns the input that the form contains. */
  typed(): Promise<readonly string[]>
  /** Waits until the opened form reports that it contains restored input. */
  restored(): Promise<unknown>
  /** Waits until the page reports that the work is done. */
  reported(): Promise<unknown>
  /** Returns how many times the work was done. */
  effects(): Promise<number>
  /** Changes the same object as another user. Omitted if the work creates an object without a unique name. */
  change?(): Promise<unknown>
  /** Decides to keep the input after `change`. */
  resolve(): Promise<unknown>
  /** True for input that ends with its page: a file, selected rows, or a name. The user gives it again. */
  readonly isOfPage?: boolean
}

/** Work without a form. A menu item does it at once. */
export interface DirectWork {
  readonly path: string
  act(): Promise<unknown>
  /** Waits until the page shows that the work is done. */
  reported(): Promise<unknown>
  /** Returns 1 if the work is done, otherwise 0. */
  effects(): Promise<number>
  /** Chooses the button that reverses the work. Omitted if the work has none. */
  undo?(): Promise<unknown>
}

export type DirectKind = (page: Page, api: Api, turn: number) => Promise<DirectWork>

export type Kind = (page: Page, api: Api, turn: number) => Promise<Work>

const dialogOf = (page: Page) => page.getByRole('dialog').last()
const named = (within: Page | Locator, name: string | RegExp) =>
  within.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name }).first()

/** Confirms that the input is discarded. */
const discard = (page: Page) => named(dialogOf(page), 'Discard').click()

/** Work in a form of a declared page. */
function inDialog(page: Page, opener: string, submit: string, fields: Readonly<Record<string, string>>) {
  const dialog = dialogOf(page)
  // The form reports that the work is done by closing, or by telling that the input is stored already.
  const working = page.locator('[role=dialog]:not(:has-text("already contains your entries"))')
  const field = (label: string) => dialog.getByRole('textbox', { name: label }).first()
  return {
    dialog,
    steps: [],
    commit: named(dialog, submit),
    async open() {
      await named(page.locator('main'), opener).click()
      await dialog.waitFor()
    },
    async fill() {
      for (const [label, text] of Object.entries(fields)) await field(label).fill(text)
    },
    async cancel() {
      await named(dialog, 'Cancel').click()
      await discard(page)
    },
    typed: () => Promise.all(Object.keys(fields).map((label) => field(label).inputValue())),
    restored: () => dialog.getByText('Your unsaved entries were restored.').waitFor(),
    reported: () => working.waitFor({ state: 'detached' }),
    resolve: () => named(dialog, 'Apply my entries').click(),
  }
}

const matching = async (api: Api, path: string) => (await api('GET', path)).items.length

/** A stored setting is changed or a permission is granted in a draft, which is reviewed with a reason and saved. */
function inDraft(page: Page, change: () => Promise<unknown>, state: () => Promise<string>, save: RegExp) {
  const dialog = dialogOf(page)
  const reason = dialog.getByRole('textbox', { name: 'Reason' })
  const review = named(page, 'Review and save')
  return {
    steps: [],
    commit: named(dialog, save),
    // The page is the form.
    open: async () => {},
    async fill() {
      await change()
      await review.click()
      await reason.fill('As agreed')
    },
    async cancel() {
      await named(dialog, /^Back to/).click()
      await named(page.getByRole('region', { name: 'Draft' }), /^Discard/).click()
      await discard(page)
    },
    async restored() {
      await page.getByRole('region', { name: 'Draft' }).waitFor()
      await review.click()
      await reason.waitFor()
    },
    typed: async () => [await reason.inputValue(), await state()],
    reported: () =>
      dialog.getByText('Saved', { exact: true }).or(dialog.getByText('No changes to save.')).first().waitFor(),
    resolve: () => named(dialog, /^Keep m/).click(),
  }
}

/** A message is written with a template and its variable. */
async function inMessage(page: Page, api: Api, turn: number) {
  const code = `sale-${turn}`
  const content = 'Tea costs {{price}}.'
  await api('POST', 'admin/templates', { code, locale: 'en', subject: `Tea ${turn} costs {{price}}`, content })
  const main = page.locator('main')
  // While a dialog is open, the fields below it have no role.
  const [template, price] = [main.getByLabel('Template').first(), main.getByLabel('price')]
  return {
    code,
    path: 'notification.compose',
    steps: [],
    // The page is the form.
    open: async () => {},
    async fill() {
      await pick(page, 'Template', code)
      await price.fill('7 EUR')
    },
    async cancel() {
      await named(main, 'Discard').click()
      await discard(page)
    },
    typed: () => Promise.all([template, price].map((field) => field.inputValue())),
    async restored() {
      await main.getByText('Your unsaved entries were restored.').waitFor()
      await price.waitFor()
      // The name of the template is read from the server.
      await until(async () => (await template.inputValue()).startsWith(code), 'the template has its name')
    },
    // A message has no version.
    resolve: async () => {},
  }
}

const vouchers = 'admin/example-vouchers'
const newVoucher = (api: Api, code: string) => api('POST', vouchers, { code, value: 1_000 })

/** Returns the entry of the overview about paused tasks, without a decision about it. */
async function undecidedAttention(api: Api) {
  const id = 'scheduler.paused'
  const tasks = await api('GET', 'admin/scheduler/tasks')
  const [task] = tasks.items ?? tasks
  if (!task.paused) await api('POST', `admin/scheduler/tasks/${task.name}/pause`)
  await api('PUT', `admin/console/attention/${id}`, { assigneeUserId: null, snoozedUntil: null, doneCount: null })
  const read = async () =>
    (await api('GET', 'admin/console/attention')).items.find((one: { readonly id: string }) => one.id === id)
  return { title: (await read()).title as string, mark: async () => (await read()).mark }
}

/** A decision about an entry of the overview. */
const inAttention =
  (item: string, isDone: (mark: Readonly<Record<string, unknown>>) => boolean): DirectKind =>
  async (page, api) => {
    const { title, mark } = await undecidedAttention(api)
    return {
      path: '',
      async act() {
        await page.getByRole('button', { name: `Actions: ${title}` }).click()
        await page.getByRole('menuitem', { name: item }).click()
      },
      reported: () => until(async () => isDone((await mark()) ?? {}), 'the decision is stored'),
      effects: async () => Number(isDone((await mark()) ?? {})),
    }
  }

export const directKinds: Readonly<Record<string, DirectKind>> = {
  async 'move on a board'(page, api, turn) {
    const code = `MOVE-${turn}`
    const { id } = await newVoucher(api, code)
    const card = (column: string) =>
      page.getByRole('region', { name: column, exact: true }).locator('li', { hasText: code })
    return {
      path: `vouchers.vouchers?board=1&q=${code}`,
      async act() {
        await card('Draft')
          .getByRole('button', { name: `Actions: ${code}` })
          .click()
        await page.getByRole('menuitem', { name: 'Move to Active' }).click()
      },
      reported: () => card('Active').waitFor(),
      effects: async () => Number((await api('GET', `${vouchers}/${id}`)).status === 'active'),
      async undo() {
        await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click()
        await card('Draft').waitFor()
      },
    }
  },
  'snoozed attention': inAttention('Snooze for 4 hours', ({ snoozedUntil }) => snoozedUntil != null),
  'assigned attention': inAttention('Assign to me', ({ assigneeUserId }) => assigneeUserId != null),
}

export const kinds: Readonly<Record<string, Kind>> = {
  async import(page, api, turn) {
    const dialog = dialogOf(page)
    const code = `FILE-${turn}`
    const input = dialog.getByLabel('CSV file')
    const cancel = () =>
      dialog
        .getByRole('button', { name: /^(?:Cancel|Close)$/ })
        .last()
        .click()
    return {
      path: 'vouchers.vouchers',
      steps: [],
      commit: named(dialog, 'Import 1 rows'),
      isOfPage: true,
      async open() {
        await named(page.locator('main'), 'Import a CSV file').click()
        await input.waitFor()
      },
      async fill() {
        const buffer = Buffer.from(`Code,Value\r\n${code},10.00`)
        await input.setInputFiles({ name: `${code}.csv`, mimeType: 'text/csv', buffer })
        await dialog.getByText('1 rows: 1 can be imported').waitFor()
      },
      cancel,
      typed: async () => [await input.inputValue()],
      restored: async () => {},
      // The dialog shows the report until it is closed.
      async reported() {
        await dialog.getByText('1 of 1 rows imported').waitFor()
        await cancel()
      },
      effects: () => matching(api, `${vouchers}?keyword=${code}`),
      resolve: async () => {},
    }
  },
  async 'edit in a cell'(page, api, turn) {
    const code = `CELL-${turn}`
    const note = `Note ${turn}`
    const { id } = await newVoucher(api, code)
    const read = () => api('GET', `${vouchers}/${id}`)
    const form = inDialog(page, `Change Note: ${code}`, 'Save', { Note: note })
    return {
      ...form,
      path: `vouchers.vouchers?q=${code}`,
      // A form of a cell closes without a question.
      cancel: () => named(form.dialog, 'Cancel').click(),
      effects: async () => Number((await read()).note === note),
      change: async () => api('PUT', `${vouchers}/${id}`, { note: 'Theirs', version: (await read()).version }),
    }
  },
  async 'action on selected rows'(page, api, turn) {
    const code = `BULK-${turn}`
    await newVoucher(api, code)
    const form = inDialog(page, 'Delete', 'Delete', {})
    return {
      ...form,
      path: `vouchers.vouchers?q=${code}`,
      isOfPage: true,
      async open() {
        await page.locator('main tbody tr', { hasText: code }).getByRole('checkbox').check()
        await form.open()
      },
      cancel: () => named(form.dialog, 'Cancel').click(),
      restored: async () => {},
      effects: async () => 1 - (await matching(api, `${vouchers}?keyword=${code}`)),
    }
  },
  async 'shared view'(page, api, turn) {
    const name = `View ${turn}`
    const role = 'Customer service'
    const form = inDialog(page, 'Views', 'Save', { 'Name of the view': name })
    const stored = async () => (await api('GET', 'admin/console/pages/iam.users')).shared.views
    // A page has at most 20 views for one role.
    for (const { id } of await stored()) await api('DELETE', `admin/console/views/${id}`)
    return {
      ...form,
      path: `iam.users?q=view-${turn}`,
      isOfPage: true,
      async open() {
        await named(page.locator('main'), 'Views').click()
        await page.getByRole('menuitem', { name: 'Save this view' }).click()
        await form.dialog.waitFor()
      },
      async fill() {
        await form.fill()
        await page.getByRole('combobox', { name: 'For' }).click()
        await page.getByRole('option', { name: role }).click()
      },
      cancel: () => named(form.dialog, 'Cancel').click(),
      restored: async () => {},
      effects: async () => (await stored()).filter((one: { readonly name: string }) => one.name === name).length,
    }
  },
  async 'create in a form'(page, api, turn) {
    const code = `role-${turn}`
    const form = inDialog(page, 'New role', 'Save', { Code: code, Name: `Role ${turn}`, Description: 'For a test' })
    return {
      ...form,
      path: 'iam.roles',
      async fill() {
        await form.fill()
        await form.dialog.getByLabel('Data scope').selectOption({ index: 1 })
      },
      effects: () => matching(api, `admin/iam/roles?keyword=Role+${turn}`),
      resolve: () => form.dialog.getByRole('textbox', { name: 'Code' }).fill(`own-${turn}`),
      change: () => api('POST', 'admin/iam/roles', { code, name: 'Theirs', dataScope: 'self', permissions: [] }),
    }
  },
  async 'change in a form'(page, api, turn) {
    const { id } = await api('POST', 'admin/iam/users', { username: `user-${turn}`, password, roleIds: [] })
    const read = () => api('GET', `admin/iam/users/${id}`)
    const email = `new-${turn}@example.com`
    return {
      ...inDialog(page, 'Change', 'Save', { 'E-mail address': email, 'Mobile number': '' }),
      path: `iam.user/${id}`,
      effects: async () => Number((await read()).email === email),
      change: async () =>
        api('PUT', `admin/iam/users/${id}`, { username: `theirs-${turn}`, version: (await read()).version }),
    }
  },
  async 'config centre'(page, api, turn) {
    const key = 'platform.site.title'
    const title = `Tea House ${turn}`
    const field = page.locator(`li[data-key="${key}"]`).getByRole('textbox', { name: 'Title' })
    const history = async () => (await api('GET', `admin/system-config/history?key=${key}&size=100`)).items
    return {
      ...inDraft(
        page,
        () => field.fill(title),
        () => field.inputValue(),
        /^Save/,
      ),
      path: `system-config.centre?q=${key}`,
      effects: async () =>
        (await history()).filter(({ after }: { readonly after: unknown }) => JSON.stringify(after).includes(title))
          .length,
      change: () =>
        api('POST', 'admin/system-config/changes', { changes: [{ key, action: 'set', value: `Theirs ${turn}` }] }),
    }
  },
  async 'role matrix'(page, api) {
    const content = { name: 'Matrix', dataScope: 'self' }
    const revoked = { ...content, permissions: [] }
    // The matrix shows 20 roles, so each turn uses the same one.
    const [known] = (await api('GET', 'admin/iam/roles?keyword=Matrix')).items
    const { id } =
      known === undefined
        ? await api('POST', 'admin/iam/roles', { ...revoked, code: 'matrix' })
        : await api('PUT', `admin/iam/roles/${known.id}`, { ...revoked, version: known.version })
    const read = () => api('GET', `admin/iam/roles/${id}`)
    const box = page.getByRole('checkbox', { name: `Create users · ${content.name}`, exact: true })
    return {
      ...inDraft(
        page,
        // The page must first show that the role does not have the permission.
        () => box.and(page.locator(':not(:checked)')).click(),
        async () => String(await box.isChecked()),
        /^Save/,
      ),
      path: 'iam.role-matrix?q=create',
      effects: async () => (await read()).permissions.filter((code: string) => code.startsWith('iam:user:')).length,
      change: async () =>
        api('PUT', `admin/iam/roles/${id}`, {
          ...content,
          permissions: ['iam:audit:view'],
          version: (await read()).version,
        }),
    }
  },
  async 'template editor'(page, api, turn) {
    const content = { subject: 'Before', content: 'Before', enabled: true }
    const { id } = await api('POST', 'admin/templates', {
      ...content,
      code: `tea-${turn}`,
      channel: 'mail',
      locale: 'en',
    })
    const read = () => api('GET', `admin/templates/${id}`)
    return {
      ...inDialog(page, 'Change', 'Save', { Subject: `Tea costs {{price}}`, Text: `From now on ${turn}.` }),
      path: `template.template/${id}`,
      effects: async () => Number((await read()).content === `From now on ${turn}.`),
      change: async () =>
        api('PUT', `admin/templates/${id}`, { ...content, subject: 'Theirs', version: (await read()).version }),
    }
  },
  async 'dangerous action'(page, api, turn) {
    const username = `gone-${turn}`
    const { id } = await api('POST', 'admin/iam/users', { username, password, roleIds: [] })
    const form = inDialog(page, 'Erase', 'Erase', { Reason: 'Asked by the user' })
    return {
      ...form,
      async open() {
        await page
          .locator('main')
          .getByRole('button', { name: `Actions: ${username}` })
          .click()
        await page.getByRole('menuitem', { name: 'Erase' }).click()
        await form.dialog.waitFor()
        // The confirmation is never restored. The user types it each time.
        await form.dialog.getByLabel(`Type ${username}`).fill(username)
      },
      // A confirmation closes without a question.
      cancel: () => named(form.dialog, 'Cancel').click(),
      path: `iam.user/${id}`,
      effects: async () => 1 - (await matching(api, `admin/iam/users?keyword=${username}`)),
    }
  },
  async 'message for later'(page, api, turn) {
    const message = await inMessage(page, api, turn)
    const [main, dialog] = [page.locator('main'), dialogOf(page)]
    const commit = named(dialog, 'Schedule')
    const review = async () => {
      await named(main, 'Schedule').click()
      await commit.waitFor()
    }
    const waiting = 'admin/notification/scheduled-messages?size=100'
    return {
      ...message,
      commit,
      async fill() {
        await message.fill()
        await pick(page, 'Recipients', 'anna')
        await main.getByText('1 person gets it.').waitFor()
        await setTime(page)
        await review()
      },
      async cancel() {
        await named(dialog, 'Back to the message').click()
        await message.cancel()
      },
      typed: async () => [
        ...(await message.typed()),
        (await main.getByLabel(/^Send at/).getAttribute('aria-label')) ?? '',
        ...(await main.getByText('anna', { exact: true }).allInnerTexts()),
      ],
      async restored() {
        await message.restored()
        await main.getByText('anna', { exact: true }).waitFor()
        await review()
      },
      reported: () => dialog.getByText('The message is scheduled for').waitFor(),
      effects: async () =>
        (await api('GET', waiting)).items.filter((one: { readonly template: string }) => one.template === message.code)
          .length,
    }
  },
  async 'message to its sender'(page, api, turn) {
    const message = await inMessage(page, api, turn)
    const result = page.getByRole('dialog', { name: 'Sent to you' })
    const subject = `Tea ${turn} costs 7 EUR`
    return {
      ...message,
      commit: named(page.locator('main'), 'Send to me'),
      // The form remains on its page, so the user leaves the page.
      async cancel() {
        await message.cancel()
        await page.locator('nav').getByRole('link', { name: 'Overview' }).click()
      },
      async reported() {
        await result.waitFor()
        await named(result, 'Close').click()
        await message.cancel()
      },
      effects: async () =>
        (await api('GET', 'notification-send-logs?channel=database&size=100')).items.filter(
          (one: { readonly subject: string }) => one.subject === subject,
        ).length,
    }
  },
}
