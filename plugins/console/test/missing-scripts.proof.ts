/** Tests that only a part of the page fails if a script does not load. */
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { http } from '@plinth/http'
import type { Page } from 'playwright-core'
import t from 'tap'
import { PageFiles } from '../src/built-page.ts'
import { keepReplacedAssets } from '../src/former-assets.ts'
import { pagePathsOf } from '../src/page-source.ts'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { openPage, skip } from './fixtures/browser.ts'

const office = skip === false ? await startBackOffice(t.testdir(), (work) => t.teardown(work)) : undefined
type Office = NonNullable<typeof office>
const { output } = pagePathsOf(join(import.meta.dirname, '..'))

const isMissing = (page: Page, script: string) =>
  page.route(`**/assets/${script}`, (route) => route.fulfill({ status: 404, body: '' }))

/** Returns the scripts that the back office may load. */
async function scripts() {
  const html = await readFile(join(output, 'admin.html'), 'utf8')
  const ofEntry = (await readdir(join(output, 'assets'))).filter((name) => name.endsWith('.js') && html.includes(name))
  const entry = await Promise.all(ofEntry.map((name) => readFile(join(output, 'assets', name), 'utf8')))
  const others = (await readdir(join(output, 'assets'))).filter((name) => name.endsWith('.js') && !html.includes(name))
  const loaded = await Promise.all(
    others.map(async (name) => [name, await readFile(join(output, 'assets', name), 'utf8')] as const),
  )
  const texts = [...entry, ...loaded.map(([, text]) => text)]
  const install = await readFile(join(output, 'install.html'), 'utf8')
  const ofInstall = loaded.filter(([name]) => install.includes(name) || /^later-steps/.test(name)).map(([name]) => name)
  return {
    ofEntry,
    lazy: others.filter((name) => !ofInstall.includes(name) && texts.some((text) => text.includes(name))),
  }
}

/** Heading of a complete page. */
const heading = 'main h1:not(.visually-hidden)'
const pages = ['', 'iam.users', 'iam.role-matrix', 'console.plugins']

t.test(
  'if any one of its scripts is missing, the back office still shows the other pages',
  { skip, timeout: 900_000 },
  async (t) => {
    const { url } = office as Office
    const { lazy, ofEntry } = await scripts()
    t.ok(lazy.length > 8, `${lazy.length} scripts`)
    const { page } = await openSignedIn(t.teardown, url)
    for (const script of lazy) {
      await isMissing(page, script)
      let whole = 0
      let broken = 0
      await page.goto(url)
      for (const path of pages) {
        await page.evaluate(`history.pushState({}, '', ${JSON.stringify(`/admin/${path}`)})`)
        const box = page.locator('main').getByText('This part could not be loaded')
        await page.locator(heading).or(box).first().waitFor()
        if (await page.locator(heading).isVisible()) whole += 1
        else broken += 1
        t.ok(await page.locator('nav a').first().isVisible(), `${script}: /${path} has the navigation`)
      }
      t.ok(whole + broken === pages.length && broken <= 2, `${script}: ${whole} of ${pages.length} pages are whole`)
      await page.unrouteAll()
    }
    for (const script of ofEntry) {
      const { page } = await openPage(t.teardown, url)
      await isMissing(page, script)
      await page.goto(url)
      await page.getByText('This page could not be loaded.').waitFor()
    }
  },
)

t.test(
  'a dialog whose script is missing shows an error when opened, and the page keeps working',
  { skip, timeout: 300_000 },
  async (t) => {
    const { url } = office as Office
    const { page } = await openSignedIn(t.teardown, url)
    await isMissing(page, 'palette-*.js')
    await page.reload()
    await page.locator('main h1').waitFor()
    t.equal(await page.getByText('This part could not be loaded').count(), 0, 'nobody has opened it')
    await page.keyboard.press('Control+K')
    await page.getByRole('dialog').getByText('This part could not be loaded').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('navigation').getByRole('link', { name: 'Access' }).click()
    await page.locator('table').waitFor()
  },
)

t.test(
  'typed input is kept when the new version of the page loads, except passwords',
  { skip, timeout: 300_000 },
  async (t) => {
    const { url, running } = office as Office
    const server = running.service(http)
    const login = { method: 'POST', url: '/api/v1/auth/login', payload: { username: 'root', password } } as const
    const token = (await server.inject(login)).json().data.accessToken
    await server.inject({
      method: 'POST',
      url: '/api/v1/admin/iam/roles',
      headers: { authorization: `Bearer ${token}` },
      payload: { code: 'support', name: 'Support', dataScope: 'all', permissions: [] },
    })
    const { page } = await openSignedIn(t.teardown, `${url}iam.role-matrix`)
    page.on('dialog', (question) => void question.accept())
    await page.getByRole('checkbox', { name: 'Create users · Support', exact: true }).click()
    await page.getByRole('region', { name: 'Draft' }).getByText('1 change').waitFor()
    await isMissing(page, 'plugins-page-*.js')
    await page.getByRole('navigation').getByRole('link', { name: 'Product' }).click()
    await page.getByRole('navigation').getByRole('link', { name: 'Plugins' }).click()
    await page.getByText('The other pages work.').waitFor()
    // From here on, the server has the script of the new version.
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Load the new version' }).click()
    await page.getByRole('heading', { name: 'Plugins', level: 1 }).waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Access' }).click()
    await page.getByRole('navigation').getByRole('link', { name: 'Roles and permissions' }).click()
    await page.getByRole('region', { name: 'Draft' }).getByText('1 change').waitFor()

    await page.goto(`${url}iam.users`)
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByRole('textbox', { name: 'User name' }).fill('frida')
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    await page.reload()
    t.equal(await page.evaluate('sessionStorage.length'), 0, 'it is kept while the page is away alone')
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByText('Your unsaved entries were restored.').waitFor()
    t.equal(await page.getByRole('textbox', { name: 'User name' }).inputValue(), 'frida')
    t.equal(await page.getByRole('textbox', { name: 'Password' }).inputValue(), '')
  },
)

t.test('the assets of a replaced build are served for a day', async (t) => {
  const root = t.testdir()
  const [former, replaced, current] = ['former', 'old/assets', 'new/assets'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  const now = Date.UTC(2026, 0, 2)
  for (const directory of [replaced, current, former]) await mkdir(directory, { recursive: true })
  await writeFile(join(root, 'new', 'admin.html'), '<p>new</p>')
  for (const [directory, name] of [
    [replaced, 'page-1.js'],
    [replaced, 'page-1.js.br'],
    [replaced, 'same.js'],
    [current, 'page-2.js'],
    [current, 'same.js'],
    [former, 'page-0.js'],
  ] as const)
    await writeFile(join(directory, name), name)
  const dayBefore = (now - 25 * 60 * 60_000) / 1000
  await utimes(join(former, 'page-0.js'), dayBefore, dayBefore)
  await keepReplacedAssets({ replaced, current, former, now })
  t.strictSame((await readdir(former)).sort(), ['page-1.js', 'page-1.js.br'])
  const files = await PageFiles.read(join(root, 'new'), former)
  t.match(files?.asset('assets/page-1.js', ['br']), { encoding: 'br', immutable: true })
  for (const name of ['page-2.js', 'same.js']) t.ok(files?.asset(`assets/${name}`, []), name)
  t.equal(files?.asset('assets/page-0.js', []), undefined)
})
