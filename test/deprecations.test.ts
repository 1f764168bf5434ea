/**
 * Tests that a deprecated operation and a deprecated key are marked in each description: OpenAPI, client types,
 * catalogue, API and pages.
 */
import databasePlugin from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import httpPlugin, { http, Type } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts } from '@plinth/iam'
import { definePlugin, defineProduct, key } from '@plinth/kernel'
import { catalogueToDotenv, catalogueToMarkdown } from '@plinth/kernel/host'
import systemConfig from '@plinth/system-config'
import systemConfigAdmin from '@plinth/system-config/admin'
import t from 'tap'

const replacement = { operation: 'GET /api/v2/acme/items', key: 'platform.acme.length' }
const acme = definePlugin({
  id: 'acme',
  version: '1.4.0',
  kernel: '^1.0.0',
  requires: { http },
  config: {
    'platform.acme.length': key.integer({ title: { en: 'Length', 'zh-CN': '长度' }, default: 1 }),
    'platform.acme.size': key.integer({
      title: { en: 'Size', 'zh-CN': '尺寸' },
      default: 1,
      deprecated: { since: '1.4.0', replacement: replacement.key, reason: { en: 'Renamed.', 'zh-CN': '已改名。' } },
    }),
  },
  setup({ services }) {
    for (const version of [1, 2]) {
      services.http.route({
        method: 'GET',
        path: `/api/v${version}/acme/items`,
        operationId: `listItemsV${version}`,
        summary: 'Items',
        access: 'public',
        response: Type.Object({}),
        handler: () => ({}),
        ...(version === 1
          ? { deprecated: { since: '1.4.0', replacement: replacement.operation, migration: 'Pages begin at 1.' } }
          : {}),
      })
    }
  },
})

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const product = defineProduct({
  name: 'deprecations',
  plugins: [databasePlugin, httpPlugin, i18n, iam, systemConfig, systemConfigAdmin, acme],
  config: {
    'platform.http.port': 0,
    'platform.database.sqlite.file': ':memory:',
    'platform.system-config.master-key': 'a1'.repeat(32),
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  },
})

t.test('C-036 a deprecated operation and key are shown everywhere, their replacements are not marked', async (t) => {
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)

  const { paths } = await server.openapi()
  const [old, fresh] = [1, 2].map((version) => paths[`/api/v${version}/acme/items`]?.['get'])
  t.match(old, {
    deprecated: true,
    description: /^Deprecated since 1\.4\.0; use GET \/api\/v2\/acme\/items\.\n\nPages begin at 1\.$/,
    'x-deprecated': { since: '1.4.0', replacement: replacement.operation },
  })
  t.equal(fresh?.deprecated, undefined)

  const { catalogue } = running.config
  const page = catalogueToMarkdown(catalogue, 'en')
  t.match(page, 'Deprecated since 1.4.0, use `platform.acme.length`. Renamed.')
  t.match(catalogueToMarkdown(catalogue, 'zh-CN'), /1\.4\.0.*`platform\.acme\.length`.*已改名。/)
  t.match(catalogueToDotenv(catalogue), /deprecated[^\n]*(?:\n#[^\n]*)*\n# ?PLATFORM_ACME_SIZE=/)
  t.equal(page.match(/Deprecated since/g)?.length, 1)

  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'test' }
  await running.service(accounts).createAdministrator(administrator, origin)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  const listed = await server.inject({ url: '/api/v1/admin/system-config/keys?query=%40deprecated', headers })
  const items = listed.json().data.groups.flatMap(({ items }: { items: readonly object[] }) => items)
  assertMembers(t, items, [
    { key: 'platform.acme.size', deprecated: { since: '1.4.0', replacement: replacement.key, reason: 'Renamed.' } },
  ])
  t.equal(items.length, 1)
})
