/**
 * Tests which operations of the quickstart accept API tokens. A new operation for every signed-in user, and every
 * exception, must be added to these lists.
 */
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts, identity } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './fixtures/product-process.ts'

/** Operations without a permission that read only what the rights of the token allow. */
const openToTokens = ['GET /api/v1/iam/users/me']

/** Operations without a permission. They concern the account and the data of the caller, or the pages of the back office. */
const sessionOnlyForUsers = [
  'DELETE /api/v1/auth/oidc/identities/{id}',
  'DELETE /api/v1/auth/passkeys/{id}',
  'DELETE /api/v1/auth/totp',
  'DELETE /api/v1/iam/users/me/api-tokens/{id}',
  'DELETE /api/v1/iam/users/me/sessions',
  'DELETE /api/v1/iam/users/me/sessions/{id}',
  'DELETE /api/v1/notifications/inbox',
  'DELETE /api/v1/notifications/inbox/{id}',
  'DELETE /api/v1/push/devices/{id}',
  'GET /api/v1/admin/console/attention',
  'GET /api/v1/admin/console/charts',
  'GET /api/v1/admin/console/events',
  'GET /api/v1/admin/console/labels',
  'GET /api/v1/admin/console/lookups',
  'GET /api/v1/admin/console/pages',
  'GET /api/v1/admin/console/pages/{id}',
  'GET /api/v1/admin/console/pages/{id}/export',
  'GET /api/v1/auth/authenticators',
  'GET /api/v1/auth/oidc/identities',
  'GET /api/v1/auth/proof',
  'GET /api/v1/iam/users/me/api-tokens',
  'GET /api/v1/iam/users/me/sessions',
  'GET /api/v1/notifications/inbox',
  'GET /api/v1/notifications/inbox/unread-count',
  'GET /api/v1/notifications/preferences',
  'GET /api/v1/notifications/preferences/cells',
  'GET /api/v1/push/devices',
  'GET /api/v1/push/web-push/public-key',
  'POST /api/v1/admin/console/pages/{id}/import',
  'POST /api/v1/auth/logout',
  'POST /api/v1/auth/oidc/logout',
  'POST /api/v1/auth/oidc/{provider}/link/callback',
  'POST /api/v1/auth/oidc/{provider}/link/start',
  'POST /api/v1/auth/oidc/{provider}/proof/callback',
  'POST /api/v1/auth/oidc/{provider}/proof/start',
  'POST /api/v1/auth/passkeys',
  'POST /api/v1/auth/passkeys/options',
  'POST /api/v1/auth/proof',
  'POST /api/v1/auth/proof/passkey',
  'POST /api/v1/auth/proof/passkey/options',
  'POST /api/v1/auth/proof/totp',
  'POST /api/v1/auth/recovery-codes',
  'POST /api/v1/auth/totp',
  'POST /api/v1/auth/totp/options',
  'POST /api/v1/auth/wallet/proof',
  'POST /api/v1/auth/wallet/proof/challenge',
  'POST /api/v1/iam/users/me/api-tokens',
  'POST /api/v1/iam/users/me/email-change',
  'POST /api/v1/iam/users/me/email/confirm',
  'POST /api/v1/notifications/inbox-tokens',
  'POST /api/v1/notifications/preferences/link',
  'POST /api/v1/push/devices/fcm',
  'POST /api/v1/push/devices/web-push',
  'PUT /api/v1/admin/console/attention/{id}',
  'PUT /api/v1/auth/passkeys/{id}',
  'PUT /api/v1/iam/users/me',
  'PUT /api/v1/iam/users/me/password',
  'PUT /api/v1/iam/users/me/sessions/{id}',
  'PUT /api/v1/notifications/inbox/read-all',
  'PUT /api/v1/notifications/inbox/read-batch',
  'PUT /api/v1/notifications/inbox/unread-batch',
  'PUT /api/v1/notifications/inbox/{id}/read',
  'PUT /api/v1/notifications/inbox/{id}/unread',
  'PUT /api/v1/notifications/preferences',
  'PUT /api/v1/notifications/preferences/cells/{channel}/{category}',
]

/** Areas whose operations without a permission all need a session: members, and files of the caller. */
const sessionOnlyAreas = ['/api/v1/async-tasks', '/api/v1/mall/', '/api/v1/member-points/']

/** Operations with a permission that open a longer way in than a token, or that a person decides. */
const sessionOnlyWithPermission = [
  'DELETE /api/v1/admin/iam/sessions/{id}',
  'DELETE /api/v1/admin/iam/users/{id}/sessions',
  'DELETE /api/v1/admin/oidc/identities/{id}',
  'POST /api/v1/admin/iam/users/{id}/authenticators/reset',
  'POST /api/v1/admin/install/state/reset',
  'POST /api/v1/admin/open-platform/apps',
  'POST /api/v1/admin/open-platform/apps/{id}/rotate-secret',
  'POST /api/v1/admin/system-config/requests/{id}/approve',
  'POST /api/v1/admin/system-config/requests/{id}/reject',
  'POST /api/v1/admin/web3/payment-settlement-review-logs',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/retry-batch',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/{id}/retry',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/{id}/settle',
  'POST /api/v1/admin/webhooks/endpoints',
  'POST /api/v1/admin/webhooks/endpoints/{id}/enable',
  'POST /api/v1/admin/webhooks/endpoints/{id}/rotate-secret',
  'PUT /api/v1/admin/iam/users/{id}/password',
  'PUT /api/v1/admin/webhooks/endpoints/{id}',
]

t.test('each operation accepts or rejects API tokens as listed', { timeout: 300_000 }, async (t) => {
  const root = await dataDirectory(t.teardown)
  const config = {
    ...product.config,
    'platform.http.port': 0,
    'platform.install.installed': true,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.rate-limit.enabled': false,
    'platform.mail.driver': 'none',
  }
  const running = await startForTest({ ...product, root, config } as Product, { roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
  const attempt = { ...origin, method: 'test', identifier: 'test', setHeader() {} }
  const password = 'Correct-horse-7'
  const { id } = await running.service(accounts).createSuperAdministrator({ username: 'root', password }, origin)
  const { accessToken } = await running.service(identity).openSession(id, attempt)
  const call = async (method: string, url: string, token: string, payload?: object) => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await server.inject({ method: method as 'GET', url, headers, ...(payload ? { payload } : {}) })
    return /json/.test(String(response.headers['content-type'])) ? response.json() : { code: '200', data: null }
  }
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const body = { name: 'none', expiresAt, dataScope: 'all' }
  const created = await call('POST', '/api/v1/iam/users/me/api-tokens', accessToken, body)
  const { token } = created.data

  const found: Record<'open' | 'users' | 'permission', string[]> = { open: [], users: [], permission: [] }
  const wrong: string[] = []
  for (const [path, methods] of Object.entries((await server.openapi()).paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!operation.security.some((way) => 'bearer' in way)) continue
      const name = `${method.toUpperCase()} ${path}`
      const url = path.replaceAll(/\{\w+\}/g, '1')
      const { code, data } = await call(method.toUpperCase(), url, token, method === 'get' ? undefined : {})
      const needsSession = data?.reason === 'iam.session-required'
      if (operation['x-permission'] === undefined) {
        if (!needsSession) found.open.push(name)
        else if (!sessionOnlyAreas.some((area) => path.startsWith(area))) found.users.push(name)
      } else if (needsSession) found.permission.push(name)
      else if (data?.reason !== 'iam.permission-denied') wrong.push(`${name} ${code} ${data?.reason}`)
    }
  }
  t.strictSame(found.open.sort(), openToTokens)
  t.strictSame(found.users.sort(), sessionOnlyForUsers)
  t.strictSame(found.permission.sort(), sessionOnlyWithPermission)
  t.strictSame(wrong, [], 'a token without permissions reaches no operation that needs one')
})
