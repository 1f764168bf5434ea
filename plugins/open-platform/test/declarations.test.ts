import { createDatabase } from '@plinth/dev/testing/database'
import { type HttpServer, http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { type OpenScopes, openApi, openScopes, signatureHeaders } from '@plinth/open-platform'
import t from 'tap'
import { Type } from 'typebox'
import { exportScope, orderScope, shop, startOpen } from './fixtures/product.ts'

t.test('C-050 C-045 scopes are listed, and the API description shows which route needs which scope', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { call, adminToken, server } = await startOpen(t, db)
  const scopes = await call('GET', '/api/v1/admin/open-platform/scopes', await adminToken())
  t.same(scopes.data, [
    { code: exportScope, plugin: 'shop', displayName: 'Export orders', displayDescription: 'All of them.' },
    { code: orderScope, plugin: 'shop', displayName: 'Read orders', displayDescription: null },
  ])
  const { paths, components } = await server.openapi()
  const [needed] = paths['/api/v1/shop/exports']?.['post']?.security ?? []
  t.same(Object.values(needed ?? {}), Array(4).fill([orderScope, exportScope]))
  const schemes = Object.keys(needed ?? {}).map((name) => components.securitySchemes[name])
  t.same(
    schemes.map((scheme) => scheme?.name),
    Object.values(signatureHeaders),
  )
  t.ok(schemes.every((scheme) => scheme?.type === 'apiKey' && scheme.in === 'header' && scheme.description))
  t.same(paths['/api/v1/open/whoami']?.['get']?.security, [
    { openAppKey: [], openTimestamp: [], openNonce: [], openSignature: [] },
  ])
})

t.test('C-050 an invalid declaration prevents the start and names the plugin', async (t) => {
  const started = async (add: (scopes: OpenScopes, server: HttpServer) => void) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const wrong = definePlugin({
      id: 'wrong',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { http, openScopes },
      setup: ({ services }) => add(services.openScopes, services.http),
    })
    return startOpen(t, db, { plugins: [shop, wrong] }).then(
      () => 'started',
      (error: Error) => error.message,
    )
  }
  const route = {
    method: 'GET',
    path: '/api/v1/wrong',
    summary: 'x',
    response: Type.Null(),
    handler: () => null,
  } as const
  const scope = (code: string) => ({ code, displayName: 'x' })
  for (const code of ['one', 'Shop:read', 'shop::read', 'shop:read ', `a:${'b'.repeat(128)}`]) {
    t.match(
      await started((scopes) => scopes.declare('wrong', scope(code))),
      /PLINTH_OPEN_PLATFORM_SCOPE.*malformed/,
      code,
    )
  }
  t.match(
    await started((scopes) => scopes.declare('wrong', scope(orderScope))),
    /PLINTH_OPEN_PLATFORM_SCOPE.*"wrong".*plugin "shop" has declared it/,
  )
  const rules = [
    [{ scopes: ['shop:order:burn'] }, 'signed', /scope "shop:order:burn" is declared by nobody/],
    [{ scopes: [] }, 'public', /GET \/api\/v1\/wrong of plugin "wrong": its access is not "signed"/],
    [{ scopes: [], cost: 0 }, 'signed', /its cost is no whole number/],
    [{ scopes: [], cost: 2 ** 31 }, 'signed', /its cost is no whole number/],
  ] as const
  for (const [rule, access, reason] of rules) {
    const add = (_: unknown, server: HttpServer) => server.route({ ...route, access, annotations: [openApi(rule)] })
    const message = await started(add)
    t.match(message, reason)
    t.match(message, 'PLINTH_OPEN_PLATFORM_ROUTE')
  }
})
