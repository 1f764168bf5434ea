import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminPages } from '@plinth/admin'
import consolePlugin from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import databasePlugin from '@plinth/database'
import { operationTypes } from '@plinth/dev/openapi'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct, omitUndefined } from '@plinth/kernel'
import sitePlugin from '@plinth/site'
import t from 'tap'
import depots from './plugin.ts'

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const text = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')

t.test('a list, a detail page, a form and an action in the back office need fewer than 80 lines', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const plugins = [
    consolePlugin,
    consoleAdmin,
    databasePlugin,
    eventsPlugin,
    httpPlugin,
    sitePlugin,
    i18nPlugin,
    iamPlugin,
    depots,
  ]
  const config = {
    ...db.config,
    'platform.http.port': 0,
    // On a busy host the load shedder would otherwise reject requests.
    'platform.http.overload.max-wait': '1m',
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  }
  const running = await startForTest(defineProduct({ name: 'acme', plugins, config }))
  t.teardown(() => running.stop('test ended'))
  t.same(
    [...running.contributions(adminPages).keys()].filter((page) => page.startsWith('acme.')),
    ['acme.depots', 'acme.depot', 'acme.depot-cities'],
  )
  const lines = ['plugin.ts', 'admin-pages.ts'].flatMap((file) => text(file).trimEnd().split('\n'))
  t.ok(lines.length < 80, `${lines.length} lines`)
  const server = running.service(http)
  const types = operationTypes(await server.openapi(), (plugin) => plugin === 'acme.depots')
  t.equal(text('operations.gen.ts'), types, 'what `plinth openapi --types acme.depots` writes')

  await running.service(accounts).createAdministrator(administrator, origin)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  const call = async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) =>
    (await server.inject(omitUndefined({ method, url, headers, payload }))).json()
  const page = async (id: string) => (await call('GET', `/api/v1/admin/console/pages/${id}`)).data

  const list = await page('acme.depots')
  assertMembers(t, list, {
    title: 'Depots',
    columns: [{ title: 'Name' }, { title: 'City' }, { title: 'State', labels: { closed: 'Closed' } }],
    create: { method: 'POST', fields: [{ name: 'name', required: true, schema: { maxLength: 80 } }, { name: 'city' }] },
  })
  t.hasStrict(await call('POST', list.create.path, { name: '', city: 'Lima' }), { code: '400' })
  const { data } = await call('POST', list.create.path, { name: 'North', city: 'Lima' })
  assertMembers(t, (await call('GET', list.path)).data.items, [{ name: 'North', city: 'Lima', state: 'open' }])
  const [close] = list.actions
  assertMembers(t, close, {
    label: 'Close',
    allowed: true,
    when: { state: ['open'] },
    body: { state: { value: 'closed' } },
  })
  t.hasStrict(await call('PUT', close.path.replace('{id}', data.id), { state: close.body.state.value }), {
    code: '200',
  })
  const detail = await page('acme.depot')
  t.hasStrict((await call('GET', detail.path.replace('{id}', data.id))).data, { name: 'North', state: 'closed' })
  t.hasStrict(await call('PUT', close.path.replace('{id}', '7'), { state: 'open' }), {
    code: '404',
    data: { reason: 'acme.depot-unknown' },
  })
})
