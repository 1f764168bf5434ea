import { join } from 'node:path'
import { assertMembers } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { builtPage } from '../../src/built-page.ts'
import { PageBuild } from '../../src/page-build.ts'
import { pagePathsOf } from '../../src/page-source.ts'
import {
  emptyBrowserStorage,
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  readBrowserStorage,
  saveScreenshot,
  skip,
} from '../fixtures/browser.ts'
import { type Answer, type Script, serveScript } from '../fixtures/scripted-server.ts'
import { minimalForm, Wizard } from '../fixtures/wizard.ts'

const timeout = 600_000
const places = pagePathsOf(join(import.meta.dirname, '../..'))
const build = new PageBuild(places, { clock: systemClock, log: pino({ level: 'silent' }) })
build.start()
await build.settled(120_000)
const install = builtPage(places, build, 'install')

const data = (content: object): Answer => ({ data: content })
const field = (name: string, given: object = {}) => ({
  name,
  label: name,
  description: '',
  type: 'string',
  required: true,
  candidates: [],
  hints: { input: 'text' },
  ...given,
})
const password = { hints: { input: 'password' } }
const status = (installed: boolean) => data({ installed, installAllowed: !installed, productPath: '/' })
const step = (code: string, index: number) => ({
  sequence: index + 1,
  code,
  name: `Step ${code}`,
  description: '',
  status: 'pending',
  message: '',
  required: true,
  retryable: true,
})
const record = (id: number, stepCode: string, outcome = 'passed') => ({
  id,
  sessionId: 'session-1',
  stepCode,
  status: outcome,
  message: `${stepCode} ${outcome}`,
  occurredAt: new Date(id * 1000).toISOString(),
})
const finished = data({
  passed: true,
  restartRequired: false,
  administratorReady: true,
  locked: true,
  message: 'Installed.',
  sessionId: 'session-1',
  records: [record(1, 'entry'), record(2, 'lock')],
})

/** Responses of a product without errors. Tests replace single responses. */
const wellBehaved: Script = {
  status: () => status(false),
  'token/verify': () => data({ valid: true, reason: 'install.token.not-required', installed: false }),
  preflight: () =>
    data({
      passed: true,
      checks: [{ code: 'node', group: 'runtime', field: '', status: 'passed', message: 'Node.', fix: '' }],
    }),
  'config/schema': () =>
    data({
      groups: [
        { code: 'site', label: 'Site', description: '', fields: [field('name')] },
        {
          code: 'administrator',
          label: 'Administrator',
          description: '',
          fields: [field('username'), field('password', password), field('confirmPassword', password)],
        },
      ],
    }),
  'config/defaults': () => data({}),
  'config/plan': () => data({ passed: true, restartRequired: false, checks: [], entries: [] }),
  steps: () => data({ steps: ['entry', 'work', 'lock'].map(step) }),
  'execution-logs': () => data({ records: [] }),
  execute: () => finished,
  entries: () => data({ entries: [] }),
}

async function open(t: Test, script: Script, path = '', locale = 'en') {
  const server = await serveScript(install, { ...wellBehaved, ...script })
  t.teardown(() => server.close())
  const watched = await openPage(t.teardown, `${server.url}${path}`, { locale })
  return { server, ...watched, wizard: new Wizard(watched.page) }
}

/** Goes through the installer from the first view until the installation is running. */
async function begin(wizard: Wizard): Promise<void> {
  await wizard.heading('Environment check').waitFor()
  await wizard.page.getByText(/^Show all \d+ checks?$/).waitFor()
  await wizard.next.click()
  await wizard.field('site.name').waitFor()
  await wizard.fill(minimalForm)
  await wizard.next.click()
  await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
}

t.test(
  'the input survives Back, Forward and a reload, without passwords; all errors are shown together',
  {
    skip,
    timeout,
  },
  async (t) => {
    const rejected = { code: 'name', group: 'site', field: 'site.name', status: 'failed', message: 'Taken.', fix: '' }
    const { page, wizard, complaints } = await open(t, {
      'config/plan': () => data({ passed: false, restartRequired: false, checks: [rejected], entries: [] }),
    })
    const [username, password] = ['administrator.username', 'administrator.password'] as const
    await wizard.heading('Environment check').waitFor()
    await wizard.next.click()
    await wizard.fill({ ...minimalForm, 'administrator.confirmPassword': 'other' })
    await wizard.next.click()
    await page.getByText('The two passwords differ.').waitFor()
    await page.getByText('Taken.').waitFor()
    t.notMatch(JSON.stringify(await readBrowserStorage(page)), /Winter|other/, 'passwords are not stored')

    await page.goBack()
    await wizard.heading('Environment check').waitFor()
    await page.goForward()
    t.equal(await wizard.field(username).inputValue(), 'admin')
    t.equal(await wizard.field(password).inputValue(), minimalForm[password])

    await page.reload()
    await wizard.heading('Configuration').waitFor()
    t.equal(await wizard.field(username).inputValue(), 'admin')
    t.equal(await wizard.field(password).inputValue(), '')
    t.same(complaints, [])
  },
)

t.test(
  'I-011 I-090 P46 a locked installer shows the reason and checks again on request',
  { skip, timeout },
  async (t) => {
    let isInstalled = false
    let isAllowed = false
    const { page, complaints, wizard } = await open(t, {
      'token/verify': () =>
        isAllowed
          ? data({ valid: true, reason: 'install.token.not-required', installed: false })
          : data({ valid: false, reason: 'install.token.not-allowed', installed: isInstalled }),
    })
    await wizard.heading('The installer is locked').waitFor()
    await page.getByText('require-https').waitFor()
    t.same(await findAccessibilityProblems(page), [])
    isInstalled = true
    await page.getByRole('button', { name: 'Try again' }).click()
    await wizard.heading('Already installed').waitFor()
    t.equal(await page.getByRole('link', { name: 'Open the product' }).getAttribute('href'), '../')
    t.same(await findAccessibilityProblems(page), [])
    isAllowed = true
    await page.getByRole('button', { name: 'Try again' }).click()
    await wizard.heading('Environment check').waitFor()
    t.same(complaints, [])
  },
)

t.test('I-201 E6 all errors are also shown in Chinese, without text keys', { skip, timeout }, async (t) => {
  const verified = (answer: object) => ({ 'token/verify': () => data({ valid: false, installed: false, ...answer }) })
  const closed = { reason: 'install.token.not-allowed' }
  const check = {
    code: 'disk',
    group: 'files',
    field: '',
    status: 'failed',
    message: '空间不足。',
    fix: '请清理磁盘。',
  }
  const states: [Script, string, string][] = [
    [verified(closed), '安装入口已关闭', 'platform.install.allowed-cidrs'],
    [verified({ ...closed, hint: '只能通过 localhost 访问' }), '安装入口已关闭', '只能通过 localhost 访问'],
    [verified({ ...closed, installed: true }), '已经安装', '无需任何操作'],
    [verified({ reason: 'install.token.invalid' }), '安装令牌', 'PLATFORM_INSTALL_TOKEN'],
    [{ 'token/verify': () => undefined }, '无法连接服务器', '请确认产品正在运行'],
    [{ preflight: () => data({ passed: false, checks: [check] }) }, '环境检查', '请清理磁盘。'],
    [{ preflight: () => ({ code: '500', data: null }) }, '环境检查', 'refused'],
  ]
  for (const [script, heading, text] of states) {
    const { page, wizard } = await open(t, script, '', 'zh-CN')
    await wizard.heading(heading).waitFor()
    await page.getByText(text).first().waitFor()
    t.same(await findAccessibilityProblems(page), [], heading)
  }
})

t.test(
  'I-089 I-090 after too many wrong tokens the page shows the waiting time, then allows another attempt',
  { skip, timeout },
  async (t) => {
    const tokens: unknown[] = []
    const { page, wizard } = await open(t, {
      'token/verify': ({ body }) => {
        const { token } = body as { token: string }
        tokens.push(token)
        if (token === 'right') return data({ valid: true, reason: 'install.token.valid', installed: false })
        if (token === 'again') return { code: '429', data: { retryAfter: 10 } }
        return data({ valid: false, reason: 'install.token.invalid', installed: false })
      },
      preflight: ({ token }) =>
        token === 'right' ? (wellBehaved['preflight']?.({} as never) as Answer) : data({ authorized: false }),
    })
    await wizard.heading('Install token').waitFor()
    const input = page.getByLabel('Token', { exact: true })
    await input.fill('again')
    await page.keyboard.press('Enter')
    await page.getByText(/You can try again in (?:10|\d) s/).waitFor()
    const button = page.getByRole('button', { name: 'Continue' })
    t.ok(await button.isDisabled())
    t.same(await findAccessibilityProblems(page), [])
    await input.fill('right')
    await page.locator('button[type="submit"]:not([disabled])').click()
    await page.getByText(/^Show all \d+ checks?$/).waitFor()
    t.same(tokens, ['', 'again', 'right'])
  },
)

t.test(
  'I-093 an expired token leads back to the token page, and the typed input stays',
  { skip, timeout },
  async (t) => {
    let isRejected = false
    const { page, wizard } = await open(t, {
      'token/verify': () =>
        isRejected
          ? data({ valid: false, reason: 'install.token.invalid', installed: false })
          : data({ valid: true, reason: 'install.token.valid', installed: false }),
      'config/plan': () =>
        isRejected ? data({ authorized: false, passed: false, checks: [], entries: [] }) : undefined,
    })
    await wizard.heading('Environment check').waitFor()
    await page.getByText(/^Show all \d+ checks?$/).waitFor()
    await wizard.next.click()
    await wizard.field('site.name').waitFor()
    await wizard.fill(minimalForm)
    isRejected = true
    await wizard.next.click()
    await wizard.heading('Install token').waitFor()
    isRejected = false
    await page.getByLabel('Token', { exact: true }).fill('right')
    await page.keyboard.press('Enter')
    await wizard.field('site.name').waitFor()
    t.equal(await wizard.field('site.name').inputValue(), minimalForm['site.name'])
  },
)

t.test(
  'I-073 an installer that closes during a run leads back to the token page, and from there to the form',
  { skip, timeout },
  async (t) => {
    let isRejected = false
    const { page, wizard } = await open(t, {
      'token/verify': () =>
        isRejected
          ? data({ valid: false, reason: 'install.token.invalid', installed: false })
          : data({ valid: true, reason: 'install.token.valid', installed: false }),
      execute: () => {
        isRejected = true
        return data({ authorized: false, passed: false, records: [] })
      },
    })
    await begin(wizard)
    await wizard.heading('Install token').waitFor()
    isRejected = false
    await page.getByLabel('Token', { exact: true }).fill('right')
    await page.keyboard.press('Enter')
    await wizard.heading('Configuration').waitFor()
    t.equal(await wizard.field('administrator.username').inputValue(), minimalForm['administrator.username'])
  },
)

t.test(
  'I-116 a failed check keeps the next step disabled; a silent server is shown as another error',
  { skip, timeout },
  async (t) => {
    let turn: 'broken' | 'failed' | 'gone' | 'good' = 'failed'
    const { page, complaints, wizard } = await open(t, {
      preflight: () => {
        if (turn === 'gone') return undefined
        if (turn === 'broken') return { code: '500', data: null }
        if (turn === 'good') return wellBehaved['preflight']?.({} as never) as Answer
        const check = {
          code: 'disk',
          group: 'files',
          field: '',
          status: 'failed',
          message: 'No room.',
          fix: 'Make room.',
        }
        return data({ passed: false, checks: [check] })
      },
    })
    await page.getByText('Make room.').first().waitFor()
    await page.getByText('Fix the errors first').waitFor()
    t.ok(await wizard.next.isDisabled())
    t.same(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'state-environment-failed')
    turn = 'broken'
    await wizard.back.click()
    await page.getByRole('alert').getByText('refused').waitFor()
    turn = 'gone'
    await wizard.back.click()
    await page.getByRole('alert').getByText('The server does not respond').waitFor()
    t.ok(await wizard.next.isDisabled())
    turn = 'good'
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Everything is ready').waitFor()
    t.notOk(await wizard.next.isDisabled())
    t.ok(complaints.every((complaint) => complaint.startsWith('Failed to load resource: net::ERR_')))
  },
)

t.test(
  'I-199 live progress: one polite announcement, a warning before leaving, and the steps as they are recorded',
  { skip, timeout },
  async (t) => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    let records: object[] = []
    const { page, complaints, wizard, server } = await open(t, {
      execute: () => promise,
      'execution-logs': () => data({ records }),
    })
    await begin(wizard)
    await wizard.heading('Installing').waitFor()
    await page.locator('[aria-live="polite"]').getByText('Step 1 of 3: Step entry').waitFor()
    records = [record(2, 'work', 'warning'), record(1, 'entry')]
    await page.locator('[aria-live="polite"]').getByText('Step 3 of 3: Step lock').waitFor()
    t.equal(await page.locator('[aria-live]').count(), 1)
    await page.getByText('2 of 3 steps').waitFor()
    await page.getByText('work warning').waitFor()
    await page.getByText('1.0 s').waitFor()
    t.same(await findAccessibilityProblems(page), [], 'progress')
    t.equal(await findHorizontalOverflow(page), 0)
    await saveScreenshot(page, 'state-running')
    const question = page.waitForEvent('dialog')
    await page.close({ runBeforeUnload: true })
    const dialog = await question
    t.equal(dialog.type(), 'beforeunload')
    await dialog.dismiss()
    resolve(finished)
    await wizard.heading('The product is installed').waitFor()
    t.same(await readBrowserStorage(page), emptyBrowserStorage)
    t.same(complaints, [])
    t.equal(server.calls.filter((call) => call === 'execute').length, 1)
  },
)

t.test(
  'I-139 a lost response: the page finds out the result and does not show more than it knows',
  { skip, timeout },
  async (t) => {
    let isInstalled = false
    const { page, wizard } = await open(t, {
      status: () => status(isInstalled),
      execute: () => {
        isInstalled = true
        return undefined
      },
    })
    await begin(wizard)
    await wizard.heading('The product is installed').waitFor()
    await page.getByText('The product reports that it is installed').waitFor()
    t.same(await findAccessibilityProblems(page), [])
  },
)

t.test('I-140 a new attempt after a failure continues the failed session', { skip, timeout }, async (t) => {
  const failed = data({
    passed: false,
    restartRequired: false,
    administratorReady: false,
    locked: false,
    message: 'It failed.',
    sessionId: 'session-1',
    records: [record(1, 'entry'), record(2, 'work', 'failed')],
  })
  const { page, wizard, server } = await open(t, {
    execute: () => failed,
    'sessions/session-1/retry': () => finished,
  })
  await begin(wizard)
  await page.getByText('It stopped at: Step work').waitFor()
  await page.getByText('session-1').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await wizard.heading('The product is installed').waitFor()
  t.equal(server.calls.filter((call) => call === 'sessions/session-1/retry').length, 1)
})

t.test('I-198 P07 P08 the address of the endpoints comes only from the window', { skip, timeout }, async (t) => {
  const { page, server, wizard } = await open(
    t,
    {},
    '?__INSTALL_API_BASE__=https://evil.example&apiBase=https://evil.example#__INSTALL_API_BASE__=https://evil.example',
  )
  await page.getByText(/^Show all \d+ checks?$/).waitFor()
  t.same(server.calls.slice(0, 2), ['token/verify', 'preflight'], 'neither query nor hash count')

  const requested: string[] = []
  await page.route('**/config.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: `window.__INSTALL_API_BASE__ = '/elsewhere/'` }),
  )
  await page.route('**/ctx/install/', async (route) => {
    const response = await route.fetch()
    const html = (await response.text()).replace('<script', '<script src="./config.js"></script><script')
    await route.fulfill({ response, body: html })
  })
  await page.route('**/elsewhere/**', (route) => {
    requested.push(new URL(route.request().url()).pathname)
    return route.fulfill({
      json: { code: '200', message: '', data: { valid: false, reason: 'install.token.invalid' } },
    })
  })
  await page.goto(server.url)
  await wizard.heading('Install token').waitFor()
  t.same(requested, ['/elsewhere/token/verify'])
})

t.test(
  'C-034 I-199 unknown states, reasons, kinds and targets of a newer server do not stop the installation',
  { skip, timeout },
  async (t) => {
    const unknownCheck = { code: 'orbit', group: 'space', field: '', status: 'deferred', message: 'Orbit.', fix: '' }
    const { page, complaints, wizard } = await open(t, {
      'token/verify': ({ body }) =>
        (body as { token: string }).token === 'right'
          ? data({ valid: true, reason: 'install.token.good-enough', installed: false })
          : data({ valid: false, reason: 'install.token.expired', installed: false }),
      status: () => data({ installed: true, installAllowed: false, productPath: '/' }),
      entries: () => data({ entries: ['docs', 'holodeck'] }),
      preflight: () => data({ passed: true, checks: [unknownCheck] }),
      'config/schema': () =>
        data({
          groups: [
            {
              code: 'galaxy',
              label: 'Galaxy',
              description: '',
              fields: [field('name', { type: 'essay', hints: { input: 'hologram' } })],
            },
            {
              code: 'database',
              label: 'Database',
              description: '',
              fields: [
                field('type', {
                  candidates: [{ value: 'quantum', label: 'Quantum' }],
                  hints: { input: 'select' },
                }),
              ],
            },
          ],
        }),
      'config/plan': () =>
        data({
          passed: true,
          restartRequired: false,
          checks: [unknownCheck],
          entries: [
            {
              propertyKey: 'galaxy.name',
              environmentKey: '',
              maskedValue: 'M31',
              sensitive: false,
              target: 'blackboard',
              note: '',
            },
          ],
        }),
      execute: () =>
        data({
          passed: true,
          restartRequired: false,
          administratorReady: true,
          locked: true,
          message: 'Installed.',
          sessionId: 'session-1',
          records: [record(1, 'entry'), record(2, 'warp', 'deferred')],
        }),
    })
    await wizard.heading('Install token').waitFor()
    await page.getByLabel('Token', { exact: true }).fill('right')
    await page.keyboard.press('Enter')
    await page.getByText('Orbit.').first().waitFor()
    await page.getByText('Ready, with warnings').waitFor()
    await wizard.next.click()
    t.equal(await wizard.field('galaxy.name').getAttribute('type'), 'text')
    await wizard.fill({ 'galaxy.name': 'M31' })
    t.ok(await page.getByRole('radio', { name: 'Quantum' }).isChecked())
    await wizard.next.click()
    await wizard.dialog.getByText('blackboard').waitFor()
    await wizard.dialog.getByText('Orbit.').first().waitFor()
    t.same(await findAccessibilityProblems(page), [])
    await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
    await wizard.heading('The product is installed').waitFor()
    await page.getByText('warp deferred').waitFor()
    t.equal(await page.getByText('1 warning', { exact: true }).count(), 1)
    const links = await page.getByRole('main').getByRole('link').all()
    t.same(await Promise.all(links.map((link) => link.getAttribute('href'))), ['../docs/', '/ctx/'])
    t.same(complaints, [])
  },
)

t.test(
  'I-129 the error of a tested connection is shown at its field when the form is back',
  { skip, timeout },
  async (t) => {
    const rejection = 'The server refuses the password. Nothing was written.'
    const failed = data({
      passed: false,
      restartRequired: false,
      administratorReady: false,
      locked: false,
      message: 'It failed.',
      failedField: 'administrator.password',
      sessionId: 'session-1',
      records: [record(1, 'entry'), { ...record(2, 'work', 'failed'), message: rejection }],
    })
    const { page, wizard } = await open(t, { execute: () => failed, 'sessions/session-1/retry': () => finished })
    await begin(wizard)
    await wizard.heading('The installation stopped').waitFor()
    await page.getByRole('button', { name: 'Back to the form' }).click()
    await page.getByText(rejection).waitFor()
    await wizard.field('administrator.password').and(page.locator(':focus')).waitFor()
    t.equal(await wizard.field('administrator.password').getAttribute('aria-invalid'), 'true')
    t.same(await findAccessibilityProblems(page), [])
    await wizard.fill({ 'administrator.password': 'Better-2026', 'administrator.confirmPassword': 'Better-2026' })
    t.equal(await page.getByText(rejection).count(), 0, 'what is corrected is not wrong any more')
    await wizard.next.click()
    await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
    await wizard.heading('The product is installed').waitFor()
  },
)

t.test('the last step asks again while the product restarts', { skip, timeout }, async (t) => {
  let calls = 0
  const { page, wizard } = await open(t, {
    entries: () => (calls++ === 0 ? undefined : data({ entries: ['docs'] })),
  })
  await begin(wizard)
  await wizard.heading('The product is installed').waitFor()
  await page.locator('a[href="../docs/"]').waitFor()
  t.equal(calls, 2)
})

t.test('a form in which one field breaks its rule has no preview', { skip, timeout }, async (t) => {
  const { page, wizard } = await open(t, {})
  await wizard.heading('Environment check').waitFor()
  await page.getByText(/^Show all \d+ checks?$/).waitFor()
  await wizard.next.click()
  await wizard.field('site.name').waitFor()
  await wizard.fill({ ...minimalForm, 'site.name': '' })
  await wizard.next.click()
  const message = page.getByText('This field is required.')
  await message.or(wizard.dialog).waitFor()
  t.equal(await message.count(), 1)
  t.equal(await wizard.dialog.count(), 0)
})

t.test('the form shows at its field why the configured database cannot be used', { skip, timeout }, async (t) => {
  const database = { faultField: 'site.name', fault: 'The database does not respond.' }
  const { page, wizard } = await open(t, { 'config/defaults': () => data({ database }) })
  await page.getByText(/^Show all \d+ checks?$/).waitFor()
  await wizard.next.click()
  await wizard.field('site.name').waitFor()
  t.equal(await wizard.field('site.name').getAttribute('aria-invalid'), 'true')
  t.equal(await page.getByText('The database does not respond.').count(), 1)
})

t.test('the navigation marks the current step', { skip, timeout }, async (t) => {
  const execution = Promise.withResolvers<Answer>()
  const { page, wizard } = await open(t, { execute: () => execution.promise })
  const marked = () => page.getByRole('navigation').locator('li[aria-current=step]').allTextContents()
  await page.getByText(/^Show all \d+ checks?$/).waitFor()
  assertMembers(t, await marked(), [/^1Environment/])
  await wizard.next.click()
  await wizard.field('site.name').waitFor()
  assertMembers(t, await marked(), [/^2Configuration/])
  await wizard.fill(minimalForm)
  await wizard.next.click()
  await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
  await wizard.heading('Installing').waitFor()
  assertMembers(t, await marked(), [/^3Installation/])
  execution.resolve(finished)
  await wizard.heading('The product is installed').waitFor()
  assertMembers(t, await marked(), [/^Done/])
})

t.test('a script that does not load is reported, and another attempt loads it', { skip, timeout }, async (t) => {
  const server = await serveScript(install, wellBehaved)
  t.teardown(() => server.close())
  const { page } = await openPage(t.teardown, server.url, { locale: 'en' })
  let isBroken = true
  await page.route('**/later-steps-*.js', (route) => (isBroken ? route.abort() : route.continue()))
  await page.reload()
  const wizard = new Wizard(page)
  await wizard.heading('No connection to the server').waitFor()
  isBroken = false
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText(/^Show all \d+ checks?$/).waitFor()
  await wizard.next.click()
  await wizard.field('site.name').waitFor()
})

t.test('a step that was cancelled without a network is not sent later', { skip, timeout }, async (t) => {
  const isGiven = (token: string) =>
    token === 'right'
      ? data({ valid: true, reason: 'install.token.valid', installed: false })
      : data({ valid: false, reason: 'install.token.required', installed: false })
  const { page, server, wizard } = await open(t, {
    'token/verify': ({ body }) => isGiven((body as { token: string }).token),
  })
  /** Returns the endpoints that are called after the network is available again. */
  const calledAfter = async (work: () => Promise<unknown>) => {
    await page.context().setOffline(true)
    await work()
    server.calls.splice(0)
    await page.context().setOffline(false)
    // The browser sends requests that waited for the network before this one. So when this request has been answered,
    // a waiting request would be in `server.calls`.
    await page.evaluate(`fetch('../api/v1/install/status')`)
    return server.calls.filter((endpoint) => endpoint !== 'status')
  }
  const enter = async () => {
    await page.getByRole('textbox').fill('right')
    await wizard.page.locator('form button[type=submit]').click()
  }
  await page.getByRole('textbox').waitFor()
  const unreachable = page.getByRole('button', { name: 'Try again' })
  const failedToken = async () => {
    await enter()
    await unreachable.waitFor()
  }
  t.same(await calledAfter(failedToken), [], 'the token')
  await unreachable.click()
  await enter()
  await page.getByText(/^Show all \d+ checks?$/).waitFor()
  await wizard.next.click()
  await wizard.field('site.name').waitFor()
  await wizard.fill(minimalForm)
  const failedPlan = async () => {
    await wizard.next.click()
    await page.getByRole('alert').waitFor()
    await wizard.back.click()
  }
  t.same(await calledAfter(failedPlan), [], 'the plan, and the checks of the step before it')
  await unreachable.click()
  await page.getByText(/^Show all \d+ checks?$/).waitFor()
  await wizard.next.click()
  await wizard.next.click()
  const failedInstallation = async () => {
    await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
    await page.getByRole('alert').waitFor()
    await wizard.back.click()
  }
  t.notOk((await calledAfter(failedInstallation)).includes('execute'), 'the installation')
})
