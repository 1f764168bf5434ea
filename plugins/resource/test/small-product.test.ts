/** A resource in a product without events, idempotency, translations and back office. */
import databasePlugin from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onSqlite, startMigrated } from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { defineResourcePlugin, permission, pluginWith } from '@plinth/resource'
import { c, table } from '@plinth/table'
import t, { type Test } from 'tap'

const Depot = table(
  'acme_depot',
  { id: c.id(), code: c.text(20).title('Code', '编号'), size: c.integer({ min: 0 }).default(1) },
  {
    title: { one: ['Depot', '仓库'], many: ['Depots', '仓库'] },
    owner: 'none',
    uniques: [{ columns: ['code'], reason: 'code-taken' }],
  },
)
const access = permission('acme:depot:manage', 'Manage depots', '管理仓库')
const depots = pluginWith().resource(Depot, {
  area: 'acme-depots',
  path: '/api/v1/admin/acme/depots',
  list: { access },
  get: { access },
  create: { access },
  change: { access },
  remove: { access },
  page: { group: 'orders', order: 1 },
})
const createDepot = defineChangeSet({
  id: '0001-create-depot',
  up: ({ schema, type }) => [
    schema
      .createTable('acme_depot')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(20), (c) => c.notNull())
      .addColumn('size', type.integer, (c) => c.notNull()),
    schema.createIndex('acme_depot_code_unique').on('acme_depot').column('code').unique(),
  ],
})
const plugin = defineResourcePlugin({
  id: 'acme.depots',
  version: '1.0.0',
  kernel: '^1.0.0',
  migrations: [createDepot],
  resources: [depots],
})

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }

onSqlite(t, 'a table without versions in the smallest product', async (t: Test, db) => {
  const config = {
    ...db.config,
    'platform.http.port': 0,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  }
  const plugins = [databasePlugin, httpPlugin, iamPlugin, plugin]
  const running = await startMigrated(defineProduct({ name: 'test', plugins, config }))
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createAdministrator(administrator, origin)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}`, 'idempotency-key': 'same' }
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url = '', payload?: object) =>
    (
      await server.inject({ method, url: `/api/v1/admin/acme/depots${url}`, headers, ...(payload && { payload }) })
    ).json()

  const { data } = await call('POST', '', { code: 'A' })
  assertMembers(t, data, { code: 'A', size: 1 })
  assertMembers(t, await call('POST', '', { code: 'A' }), {
    code: '409',
    message: 'Another depot has the same value of "Code".',
    data: { reason: 'acme-depots.code-taken', field: 'code' },
  })
  assertMembers(t, await call('PUT', `/${data.id}`, { size: 5 }), { code: '200', data: { code: 'A', size: 5 } })
  assertMembers(t, await call('PUT', `/${data.id}`, {}), { code: '200', data: { code: 'A', size: 5 } })
  t.equal((await call('PUT', `/${data.id}`, { version: 1 })).code, '400', 'the table has no version')
  t.equal((await call('DELETE', `/${data.id}`)).code, '200')
  assertMembers(t, await call('GET', `/${data.id}`), {
    code: '404',
    message: `The depot ${data.id} does not exist.`,
    data: { reason: 'acme-depots.not-found' },
  })
})
