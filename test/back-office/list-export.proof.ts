/** Tests the export of back office lists as CSV files. */
import { readFile } from 'node:fs/promises'
import { adminPages } from '@plinth/admin'
import { assertMembers, until } from '@plinth/dev/testing'
import t from 'tap'
import { openPage, skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'

const { running, server, root, url } = await startWithRows(t.teardown)

const signIn = async (username: string) => {
  const payload = { username, password }
  const { data } = (await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json()
  return (page: string, query: Readonly<Record<string, string | string[]>> = {}) => {
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) for (const one of [value].flat()) search.append(name, one)
    return server.inject({
      url: `/api/v1/admin/console/pages/${page}/export?${search}`,
      headers: { authorization: `Bearer ${data.accessToken}`, 'accept-language': 'en' },
    })
  }
}
const asRoot = await signIn('root')

const linesOf = (csv: string) =>
  csv
    .replace(/^\ufeff/, '')
    .trimEnd()
    .split('\r\n')

t.test('each list is exported as a file with its titles and all its rows', async (t) => {
  let seen = 0
  for (const { id, kind } of running.contributions(adminPages).values()) {
    if (kind !== 'list') continue
    const view = await root('GET', `admin/console/pages/${id}`)
    if (view.path.includes('{')) continue
    const answer = await root('GET', `${view.path.slice('/api/v1/'.length)}${view.isPaged ? '?size=200' : ''}`)
    const items = 'items' in answer ? answer.items : answer
    const response = await asRoot(id)
    t.equal(response.statusCode, 200, id)
    t.match(response.headers, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${id}.csv"`,
    })
    const titles = view.columns.map(({ title, as }: Record<string, string>) =>
      as === 'time' ? `${title} (UTC)` : title,
    )
    t.equal(linesOf(response.body)[0], titles.map((title: string) => `"${title.replaceAll('"', '""')}"`).join(','), id)
    // A text of several lines is one cell, so a file may have more lines than rows.
    t.ok(linesOf(response.body).length > items.length, `${id}: ${items.length} rows`)
    seen += items.length
  }
  t.ok(seen > 50)
})

t.test('a page that is not a list has no export', async (t) => {
  for (const { id, kind } of running.contributions(adminPages).values()) {
    if (kind === 'list') continue
    t.hasStrict((await asRoot(id)).json(), { code: '404', data: { reason: 'console.page-unknown' } }, id)
  }
  t.hasStrict((await asRoot('console.plugins')).json(), { code: '404' })
})

t.test('the file has the filters and columns of the list, with names and texts as on the page', async (t) => {
  const users = await asRoot('iam.users', { filters: 'keyword=anna', columns: ['username', 'roles'] })
  t.strictSame(linesOf(users.body), ['"User name","Roles"', '"anna","Customer service"'])
  const chinese = await asRoot('iam.users', { filters: 'keyword=anna', columns: 'username', locale: 'zh-CN' })
  t.strictSame(
    linesOf(chinese.body),
    ['"用户名","anna"'].flatMap((line) => line.split(',')),
  )
  const orders = await asRoot('mall.orders', { columns: ['userId', 'status', 'cashAmount'] })
  t.match(orders.body, /"bela"/, 'the name instead of the id')
  t.match(orders.body, /"\d+\.\d\d [A-Z]{3}"/, 'an amount with its unit')
  t.strictSame(linesOf((await asRoot('iam.users', { filters: 'from=9000-01-01T00:00:00Z' })).body).length, 1)
})

t.test('no cell begins with a formula', async (t) => {
  await root('POST', 'admin/open-platform/apps', { name: '=HYPERLINK("http://x")', description: '+1', scopes: [] })
  const { body } = await asRoot('open-platform.apps', { columns: 'name' })
  t.ok(linesOf(body).includes(`"'=HYPERLINK(""http://x"")"`))
})

t.test('all pages of a long list are in the file', async (t) => {
  for (let number = 0; number < 210; number++)
    await root('POST', 'admin/iam/users', { username: `guest${number}`, password })
  const { body } = await asRoot('iam.users', { filters: 'keyword=guest', columns: 'username' })
  t.equal(new Set(linesOf(body)).size, 211)
})

t.test('permission, data scope and validation of the list apply', async (t) => {
  for (const [username, dataScope, permissions] of [
    ['reader', 'self', ['iam:user:view']],
    ['nobody', 'self', []],
  ] as const) {
    const role = await root('POST', 'admin/iam/roles', { code: username, name: username, dataScope, permissions })
    await root('POST', 'admin/iam/users', { username, password, roleIds: [role.id] })
  }
  const own = await (await signIn('reader'))('iam.users', { columns: 'username' })
  t.strictSame(linesOf(own.body), ['"User name"', '"reader"'])
  const denied = await (await signIn('nobody'))('iam.users')
  t.hasStrict(denied.json(), { code: '403', data: { reason: 'console.permission-missing' } })
  const wrong = (await asRoot('iam.users', { filters: 'colour=red' })).json()
  assertMembers(t, wrong, { code: '400', data: { reason: 'http.invalid-input', errors: [{ field: 'colour' }] } })
  t.hasStrict((await asRoot('no.page')).json(), { code: '404', data: { reason: 'console.page-unknown' } })
  const unsigned = await server.inject('/api/v1/admin/console/pages/iam.users/export')
  t.hasStrict(unsigned.json(), { code: '401' })
})

t.test('an operator downloads what the list shows', { skip, timeout: 300_000 }, async (t) => {
  const { page, complaints } = await openPage(t.teardown, `${url}iam.users?q=anna`, { locale: 'en' })
  await page.fill('input[autocomplete^=username]', 'root')
  await page.fill('input[autocomplete=current-password]', password)
  await page.click('button[type=submit]')
  await until(async () => (await page.locator('main tbody tr').count()) === 1, 'the list is filtered')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export as CSV' }).click(),
  ])
  t.equal(download.suggestedFilename(), 'iam.users.csv')
  const lines = linesOf(await readFile(await download.path(), 'utf8'))
  t.equal(lines.length, 2)
  t.match(lines[1], /^"anna"/)
  t.strictSame(complaints, [])
})
