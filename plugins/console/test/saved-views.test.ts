/** Tests the data that the page stores in one browser: saved views of lists, favourite and recent pages, language and colours. */
import t from 'tap'
import { maxViewNameLength, maxViews, type SavedView, UserPreferences } from '../web/admin/shell/kept.ts'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import {
  emulateColorScheme,
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  skip,
} from './fixtures/browser.ts'

/** Returns a storage like that of a browser. It can reject writes. */
function memory(written: Record<string, string> = {}) {
  const storage = {
    written,
    isFull: false,
    getItem: (key: string) => storage.written[key] ?? null,
    setItem(key: string, value: string) {
      if (storage.isFull) throw new Error('QuotaExceededError')
      storage.written[key] = value
    },
  }
  return storage
}

const view = (name: string, more: Partial<SavedView> = {}): SavedView => ({
  name,
  page: 'iam.users',
  search: 'enabled=true',
  ...more,
})

t.test('views are stored per user and sorted by name, and a name is unique in a list', async (t) => {
  const storage = memory()
  const kept = new UserPreferences(storage, 'a')
  let reported = 0
  const stop = kept.subscribe(() => void reported++)
  t.ok(kept.save(view('b')))
  t.ok(kept.save(view('a')))
  t.ok(kept.save(view('a', { page: 'iam.roles' })), 'of another list')
  t.ok(kept.save(view('b', { search: 'q=x' })), 'in place of the first')
  kept.setFavourite('iam.users', true)
  t.equal(reported, 5)
  stop()
  const again = new UserPreferences(storage, 'a').current()
  t.strictSame(again, kept.current())
  t.strictSame(again.views, [view('a'), view('a', { page: 'iam.roles' }), view('b', { search: 'q=x' })])
  t.strictSame(again.favourites, ['iam.users'])
  t.strictSame(
    new UserPreferences(storage, 'b').current(),
    { views: [], favourites: [], recent: [], lists: {}, zone: 'site' },
    'somebody else',
  )
  kept.remove(view('a'))
  t.equal(reported, 5, 'nobody listens any more')
  t.strictSame(new UserPreferences(storage, 'a').current().views.length, 2)
})

t.test('page size, columns, widths and time zone are stored per user, and stored data is validated', async (t) => {
  const storage = memory()
  const kept = new UserPreferences(storage, 'a')
  kept.setList('iam.audit', { size: 50 })
  kept.setList('iam.audit', { columns: { action: false, ip: true } })
  kept.setList('iam.users', { size: 100, widths: { username: 240 } })
  kept.setZone('own')
  t.ok(kept.save(view('a')), 'changes of other choices keep these')
  const again = new UserPreferences(storage, 'a').current()
  t.strictSame(again.lists, {
    'iam.audit': { size: 50, columns: { action: false, ip: true }, widths: {} },
    'iam.users': { size: 100, columns: {}, widths: { username: 240 } },
  })
  t.equal(again.zone, 'own')
  t.strictSame(new UserPreferences(storage, 'b').current().lists, {}, 'another user')
  const widths = { a: 59, b: 60, c: 800, d: 801, e: '100' }
  const foreign = { lists: { x: { size: 7, columns: { a: 'yes', b: true }, widths }, y: 3 }, zone: 'mars' }
  const read = new UserPreferences(memory({ a: JSON.stringify(foreign) }), 'a').current()
  t.strictSame(read.lists, {
    x: { columns: { b: true }, widths: { b: 60, c: 800 } },
    y: { columns: {}, widths: {} },
  })
  t.equal(read.zone, 'site')
})

t.test('the number and the size of views are limited', async (t) => {
  const storage = memory()
  const kept = new UserPreferences(storage, 'a')
  for (let number = 0; number < maxViews; number++) t.ok(kept.save(view(`view ${number}`)))
  t.notOk(kept.save(view('one more')))
  t.ok(kept.save(view('view 7', { search: 'q=x' })), 'in place of one')
  t.equal(new UserPreferences(storage, 'a').current().views.length, maxViews)
  kept.remove(view('view 7'))
  t.notOk(kept.save(view('')))
  t.notOk(kept.save(view('x'.repeat(maxViewNameLength + 1))))
  t.notOk(kept.save(view('long', { search: `q=${'x'.repeat(2_000)}` })))
  t.ok(kept.save(view('one more')))
})

t.test('changes of two tabs are both kept; without a storage they last as long as the page', async (t) => {
  const storage = memory()
  const [one, other] = [new UserPreferences(storage, 'a'), new UserPreferences(storage, 'a')]
  one.save(view('a'))
  other.save(view('b'))
  one.reread()
  t.strictSame(
    one.current().views.map(({ name }) => name),
    ['a', 'b'],
  )
  storage.isFull = true
  t.ok(one.save(view('c')))
  t.ok(one.save(view('d')))
  t.equal(one.current().views.length, 4)
  t.equal(new UserPreferences(storage, 'a').current().views.length, 2)
  const nowhere = new UserPreferences(undefined, 'a')
  t.ok(nowhere.save(view('a')))
  t.equal(nowhere.current().views.length, 1)
})

t.test('the page works with any stored content', async (t) => {
  const fine = view('fine')
  for (const [written, views] of [
    ['no json', []],
    ['null', []],
    ['[]', []],
    ['{"views":{},"favourites":{}}', []],
    [JSON.stringify({ views: [null, 1, {}, { ...fine, page: 3 }, { ...fine, more: 1 }, view('')] }), [fine]],
    [JSON.stringify({ views: Array.from({ length: 99 }, () => fine) }), Array.from({ length: maxViews }, () => fine)],
  ] as const)
    t.strictSame(new UserPreferences(memory({ a: written }), 'a').current().views, views, written.slice(0, 60))
  const pages = JSON.stringify({ favourites: ['a', 1, null, ''], recent: ['a', 'b', 'c', 'd', 'e', 'f'] })
  const { favourites, recent } = new UserPreferences(memory({ a: pages }), 'a').current()
  t.strictSame(favourites, ['a'])
  t.strictSame(recent, ['a', 'b', 'c', 'd', 'e'])
})

t.test(
  'recent pages are the last five, the latest first; favourites keep the order in which they were chosen',
  async (t) => {
    const kept = new UserPreferences(memory(), 'a')
    for (const page of ['a', 'b', 'c', 'a', 'd', 'e', 'f']) kept.visit(page)
    t.strictSame(kept.current().recent, ['f', 'e', 'd', 'a', 'c'])
    for (const page of ['b', 'a', 'c']) kept.setFavourite(page, true)
    kept.setFavourite('a', false)
    t.strictSame(kept.current().favourites, ['b', 'c'])
    for (let number = 1; number < 20; number++) kept.setFavourite(`page ${number}`, true)
    t.equal(kept.current().favourites.length, 20)
    t.equal(kept.current().favourites[0], 'c', 'the oldest of more than twenty is removed')
    let reported = 0
    kept.subscribe(() => void reported++)
    kept.visit('f')
    t.equal(reported, 0, 'the last page is opened again')
  },
)

t.test(
  'filters, order and columns of a list are saved under a name, and found again in the list and in the palette',
  { skip, timeout: 600_000 },
  async (t) => {
    const office = await startBackOffice(t.testdir(), (work) => t.teardown(work))
    await office.people.create({ username: 'anna', email: 'anna@example.com', password }, office.actor)
    const { page, complaints } = await openSignedIn(t.teardown, `${office.url}iam.users`)
    await page.locator('table').waitFor()
    const columns = page.getByRole('button', { name: 'Columns' })
    await columns.click()
    await page.getByRole('menuitemcheckbox', { name: 'E-mail address' }).click()
    await page.keyboard.press('Escape')
    await page.waitForURL((url) => url.searchParams.get('columns')?.startsWith('username,') === true)
    await page.getByRole('columnheader', { name: 'E-mail address' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Enabled', exact: true }).click()
    await page.getByRole('checkbox', { name: 'Yes' }).check()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'User name' }).click()
    await page.waitForURL((url) => url.searchParams.get('sort') === '-username')
    const saved = page.url()

    const views = page.getByRole('button', { name: 'Views' })
    await views.click()
    await page.getByRole('menuitem', { name: 'Save this view' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name of the view').fill('Active people')
    for (const colorScheme of ['light', 'dark'] as const) {
      await emulateColorScheme(page, colorScheme)
      t.strictSame(await findAccessibilityProblems(page), [], colorScheme)
    }
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    const named = page.getByRole('button', { name: 'Active people' })
    await named.waitFor()

    await page.getByRole('navigation').getByRole('link', { name: 'Users', exact: true }).click()
    await page.waitForURL((url) => url.search === '')
    // A hidden column stays hidden until the user shows it.
    await page.locator('table').waitFor()
    t.equal(await page.getByRole('columnheader', { name: 'E-mail address' }).count(), 0)
    await columns.click()
    await page.getByRole('menuitemcheckbox', { name: 'E-mail address' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('columnheader', { name: 'E-mail address' }).waitFor()
    await views.click()
    await page.getByRole('menuitem', { name: 'Active people' }).click()
    await page.getByRole('columnheader', { name: 'E-mail address' }).waitFor({ state: 'detached' })
    await named.waitFor()
    const parts = (address: string) => [...new URL(address).searchParams].map((part) => part.join('=')).toSorted()
    t.strictSame(parts(page.url()), parts(saved))
    t.equal(await page.locator('th[aria-sort=descending]').innerText(), 'User name')

    await page.goto(`${office.url}iam.roles`)
    await page.locator('table').waitFor()
    await page.keyboard.press('Control+K')
    await page.getByRole('combobox', { name: /^Find a page/ }).fill('active')
    const hit = page.getByRole('group', { name: 'Views' }).getByRole('option')
    t.match(await hit.innerText(), /^Active people\s+Users$/)
    await page.keyboard.press('Enter')
    await named.waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    t.equal(await findHorizontalOverflow(page), 0)
    await named.click()
    t.strictSame(await findAccessibilityProblems(page), [])
    await page.getByRole('menuitem', { name: 'Remove “Active people”' }).click()
    await views.waitFor()
    await page.goto(`${office.url}iam.users`)
    await page.locator('table').waitFor()
    await views.click()
    t.ok(await page.getByRole('menuitem', { name: 'Choose filters' }).isDisabled())
    t.strictSame(complaints, [])
  },
)

t.test(
  'the chosen language and colour scheme are kept, also before the sign-in',
  { skip, timeout: 600_000 },
  async (t) => {
    const office = await startBackOffice(t.testdir(), (work) => t.teardown(work))
    const { page, complaints } = await openPage(t.teardown, office.url, { locale: 'en' })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const colours = () => page.locator('html').getAttribute('data-mantine-color-scheme')
    t.equal(await colours(), 'light')
    await page.getByText('中文', { exact: true }).click()
    await page.getByRole('heading', { name: '登录' }).waitFor()
    await page.getByTitle('深色').click()
    await page.locator('html[data-mantine-color-scheme=dark]').waitFor({ state: 'attached' })
    await page.reload()
    await page.getByRole('heading', { name: '登录' }).waitFor()
    t.equal(await colours(), 'dark')
    t.equal(await page.locator('html').getAttribute('lang'), 'zh-CN')
    // The page must work with any stored content.
    await page.evaluate('for (const name of Object.keys(localStorage)) localStorage.setItem(name, "{}")')
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    t.equal(await colours(), 'light')
    t.strictSame(complaints, [])
  },
)

t.test('no choice removes what another tab has stored meanwhile', (t) => {
  const choices: Readonly<Record<string, (one: UserPreferences) => void>> = {
    save: (one) => one.save(view('mine')),
    remove: (one) => one.remove(view('not there')),
    favourite: (one) => one.setFavourite('iam.users', true),
    visit: (one) => one.visit('iam.users'),
    list: (one) => one.setList('iam.users', { size: 50 }),
    zone: (one) => one.setZone('own'),
  }
  for (const [name, choose] of Object.entries(choices)) {
    const storage = memory()
    const [one, other] = [new UserPreferences(storage, 'a'), new UserPreferences(storage, 'a')]
    other.save(view('theirs'))
    choose(one)
    t.ok(
      one.current().views.some((saved) => saved.name === 'theirs'),
      name,
    )
  }
  t.end()
})
