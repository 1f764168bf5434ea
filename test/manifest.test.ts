import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineEntity } from '@mikro-orm/core'
import databasePlugin, { column } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import httpPlugin, { http, type RouteDeclaration, Type } from '@plinth/http'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { createManifest, lockFileText, type Manifest } from '@plinth/kernel/host'
import outgoingHttpPlugin, { outgoingHttp } from '@plinth/outgoing-http'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { compareManifests } from '../kernel/src/cli/manifest.ts'

t.test('the lock file of the quickstart records routes, tables and outgoing hosts of its plugins', async (t) => {
  const running = await startForTest(product, { roles: ['cli'] })
  t.teardown(() => running.stop('test ended'))
  const recorded = readFileSync(join(import.meta.dirname, '../examples/quickstart/plinth.lock.json'), 'utf8')
  t.equal(lockFileText(createManifest(product.plugins, running)), recorded, 'run node scripts/generate.ts')

  const { plugins } = JSON.parse(recorded) as Manifest
  const entriesOf = (plugin: string, kind: string) => plugins[plugin]?.entries[kind] ?? []
  t.ok(entriesOf('iam', 'routes').includes('POST /api/v1/auth/login public'))
  t.ok(entriesOf('iam', 'routes').includes('GET /api/v1/admin/iam/users iam:user:view'))
  t.ok(entriesOf('iam', 'tables').includes('iam_user'))
  t.strictSame(entriesOf('social', 'outgoing-hosts'), ['*'])
  t.strictSame(entriesOf('iam', 'outgoing-hosts'), [], 'it sends nothing itself')
})

interface Version {
  readonly access?: RouteDeclaration['access']
  readonly path?: string
  readonly method?: 'GET' | 'POST'
  readonly table?: string
  readonly hosts?: readonly string[]
  readonly summary?: string
}

/** Returns the manifest of a plugin with a route, a table and a host. */
async function manifestOfVersion(version: Version): Promise<Manifest> {
  const { access = 'user', path = '/api/v1/acme', method = 'GET', table, hosts = ['api.acme.example'] } = version
  const entities =
    table === undefined
      ? []
      : [defineEntity({ name: 'Acme', tableName: table, properties: { id: column.primaryKey() } })]
  const acme = definePlugin({
    id: 'acme',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http, outgoingHttp },
    outgoingHosts: hosts,
    entities,
    setup({ services }) {
      const { summary = 'Items' } = version
      services.http.route({ method, path, summary, access, response: Type.Object({}), handler: () => ({}) })
    },
  })
  const plugins = [databasePlugin, httpPlugin, outgoingHttpPlugin, acme]
  const running = await startForTest(defineProduct({ name: 'planted', plugins }), { roles: ['cli'] })
  try {
    return createManifest(plugins, running)
  } finally {
    await running.stop('read')
  }
}

t.test('each planted change of routes, tables and hosts is found, and a compatible one is not', async (t) => {
  const before = await manifestOfVersion({})
  const none: string[] = []
  const cases: readonly (readonly [change: string, version: Version, expected: readonly string[]])[] = [
    ['nothing', {}, none],
    ['another text of a route', { summary: 'All items' }, none],
    ['fewer hosts', { hosts: [] }, ['removed outgoing-hosts api.acme.example']],
    [
      'another path',
      { path: '/api/v1/acme/items' },
      ['added routes GET /api/v1/acme/items user', 'removed routes GET /api/v1/acme user'],
    ],
    [
      'another method',
      { method: 'POST' },
      ['added routes POST /api/v1/acme user', 'removed routes GET /api/v1/acme user'],
    ],
    [
      'a public route',
      { access: 'public' },
      ['added routes GET /api/v1/acme public', 'removed routes GET /api/v1/acme user'],
    ],
    ['a table', { table: 'acme_item' }, ['added tables acme_item']],
    ['another host', { hosts: ['api.acme.example', 'eu.acme.example'] }, ['added outgoing-hosts eu.acme.example']],
    ['any host', { hosts: ['*'] }, ['added outgoing-hosts *', 'removed outgoing-hosts api.acme.example']],
  ]
  for (const [change, version, expected] of cases) {
    const found = compareManifests(before, await manifestOfVersion(version))
    t.strictSame(
      found.map(({ change, kind, entry }) => `${change} ${kind} ${entry}`),
      expected,
      change,
    )
  }
})
