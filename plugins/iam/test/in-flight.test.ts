import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { loginGuard, requirePrincipal } from '@plinth/iam'
import { definePlugin } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { hashCounters } from './fixtures/counted-hashes.ts'
import { startIam, system } from './fixtures/product.ts'

/** Returns a plugin with a route whose handler waits for the test, and a route with a body. */
function gated() {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const plugin = definePlugin({
    id: 'shop',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    permissions: [{ code: 'shop:order:save', displayName: { en: 'Save orders', 'zh-CN': '保存订单' } }],
    setup({ services }) {
      const common = {
        method: 'POST',
        access: { permission: 'shop:order:save', scope: 'none' },
        response: Type.String(),
      } as const
      services.http.route({
        ...common,
        path: '/api/v1/admin/shop/slow-orders',
        summary: 'Slow',
        async handler(request) {
          begun.resolve()
          await gate.promise
          return requirePrincipal(request).username
        },
      })
      services.http.route({
        ...common,
        path: '/api/v1/admin/shop/orders',
        summary: 'With a body',
        request: { body: Type.Object({ item: Type.String() }) },
        handler: (request) => requirePrincipal(request).username,
      })
    },
  })
  return { plugin, begun: begun.promise, open: gate.resolve }
}

async function shopWithClerk(t: Test) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { plugin, begun, open } = gated()
  const iam = await startIam(t, db, { plugins: [plugin] })
  const admin = await iam.administrator()
  const role = (
    await iam.call('POST', '/api/v1/admin/iam/roles', {
      token: admin,
      body: { code: 'clerk', name: 'Clerk', dataScope: 'all', permissions: ['shop:order:save'] },
    })
  ).data
  const mia = await iam.accounts.create({ username: 'mia', password: 'secret1', roleIds: [role.id] }, system)
  const user = `/api/v1/admin/iam/users/${mia.id}`
  const take = {
    role: () => iam.call('PUT', user, { token: admin, body: { roleIds: [] } }),
    sessions: () => iam.call('DELETE', `${user}/sessions`, { token: admin }),
  }
  return { iam, take, begun, open, token: await iam.login('mia', 'secret1') }
}

t.test('a running request is completed, and the next one is rejected', async (t) => {
  for (const [what, expected] of [
    ['role', '403'],
    ['sessions', '401'],
  ] as const) {
    const { iam, take, begun, open, token } = await shopWithClerk(t)
    const slow = iam.call('POST', '/api/v1/admin/shop/slow-orders', { token })
    await begun
    t.equal((await take[what]()).code, '200')
    open()
    t.hasStrict(await slow, { code: '200', data: 'mia' }, `${what}: authority counts when the handler begins`)
    const next = await iam.call('POST', '/api/v1/admin/shop/orders', { token, body: { item: 'x' } })
    t.equal(next.code, expected)
  }
})

t.test('a body that arrives slowly does not extend expired permissions', async (t) => {
  for (const what of ['role', 'sessions', 'nothing'] as const) {
    const { iam, take, token } = await shopWithClerk(t)
    // Caches the token. Then the access check before the body is already done when the server sends "100 Continue".
    t.equal((await iam.call('GET', '/api/v1/iam/users/me', { token })).code, '200')
    const { hostname, port } = new URL(iam.server.url ?? '')
    const body = JSON.stringify({ item: 'x' })
    const socket = connect(Number(port), hostname)
    const lines = [
      'POST /api/v1/admin/shop/orders HTTP/1.1',
      'host: test',
      `authorization: Bearer ${token}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      'expect: 100-continue',
      'connection: close',
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    const [go] = await once(socket, 'data')
    t.match(String(go), /^HTTP\/1.1 100 Continue/)
    if (what !== 'nothing') t.equal((await take[what]()).code, '200')
    await iam.clock.advance(1_000)
    let response = ''
    socket.on('data', (chunk) => {
      response += chunk
    })
    socket.write(body)
    await once(socket, 'close')
    const { code } = JSON.parse(response.slice(response.indexOf('\r\n\r\n')))
    t.equal(code, { role: '403', sessions: '401', nothing: '200' }[what], what)
  }
})

onDatabase(t, 'a caller who knew a replaced password cannot set a new one', async (t, at) => {
  const isProven = Promise.withResolvers<void>()
  const goesOn = Promise.withResolvers<void>()
  const slow = definePlugin({
    id: 'slow',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [loginGuard],
    setup: ({ contribute }) =>
      contribute(loginGuard, 'slow', {
        beforeAttempt: async () => {},
        afterAttempt: async ({ method }) => {
          if (method !== 'password-change') return
          isProven.resolve()
          await goesOn.promise
        },
      }),
  })
  const iam = await startIam(t, at, { plugins: [slow] })
  const admin = await iam.administrator()
  const mia = await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const token = await iam.login('mia', 'secret1')
  const body = { currentPassword: 'secret1', newPassword: 'secret2' }
  const changing = iam.call('PUT', '/api/v1/iam/users/me/password', { token, body })
  await isProven.promise
  const reset = { token: admin, body: { password: 'secret3' } }
  t.equal((await iam.call('PUT', `/api/v1/admin/iam/users/${mia.id}/password`, reset)).code, '200')
  goesOn.resolve()
  t.hasStrict(await changing, { code: '409', data: { reason: 'iam.changed-meanwhile' } })
  const loginWith = (password: string) =>
    iam.call('POST', '/api/v1/auth/login', { body: { username: 'mia', password } })
  t.hasStrict(await loginWith('secret2'), { code: '401' })
  t.hasStrict(await loginWith('secret3'), { code: '200' })
})

onDatabase(
  t,
  'a login that checks a password while it is replaced opens no session and keeps the new password',
  async (t, at) => {
    const iam = await startIam(t, at, { config: { 'platform.iam.password.hash.concurrency': 2 } })
    const admin = await iam.administrator()
    const mia = await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
    const loginWith = (password: string) =>
      iam.call('POST', '/api/v1/auth/login', { body: { username: 'mia', password } })
    const checked = Promise.withResolvers<void>()
    hashCounters.hold = checked.promise
    const login = loginWith('secret1')
    await until(() => hashCounters.held === 1, 'the old password is checked')
    hashCounters.hold = Promise.resolve()
    const reset = { token: admin, body: { password: 'secret2' } }
    t.equal((await iam.call('PUT', `/api/v1/admin/iam/users/${mia.id}/password`, reset)).code, '200')
    checked.resolve()
    t.hasStrict(await login, { code: '409', data: { reason: 'iam.changed-meanwhile' } })
    t.equal((await iam.call('GET', `/api/v1/admin/iam/users/${mia.id}/sessions`, { token: admin })).data.length, 0)
    t.equal((await loginWith('secret1')).code, '401')
    t.equal((await loginWith('secret2')).code, '200')
  },
)
