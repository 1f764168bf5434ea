/**
 * Tests that each operation of the quickstart with `fresh` rejects an old proof of identity, and that changes of the
 * configuration that concern secrets or guards do so too.
 */
import { join } from 'node:path'
import { manualClock } from '@plinth/dev/testing'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import { pino } from 'pino'
import t from 'tap'
import quickstart from '../examples/quickstart/plinth.config.ts'

t.setTimeout(120_000)

const password = 'Correct-horse-7'

/** Operations that must stay among those that need a fresh proof. */
const expected = [
  'DELETE /api/v1/admin/iam/roles/:id',
  'DELETE /api/v1/admin/iam/sessions/:id',
  'DELETE /api/v1/admin/iam/users/:id',
  'DELETE /api/v1/admin/iam/users/:id/sessions',
  'DELETE /api/v1/admin/oidc/identities/:id',
  'DELETE /api/v1/admin/oidc/rules/:id',
  'DELETE /api/v1/admin/open-platform/apps/:id',
  'DELETE /api/v1/admin/webhooks/endpoints/:id',
  'DELETE /api/v1/auth/oidc/identities/:id',
  'DELETE /api/v1/auth/passkeys/:id',
  'DELETE /api/v1/auth/totp',
  'DELETE /api/v1/iam/users/me/sessions',
  'DELETE /api/v1/iam/users/me/sessions/:id',
  'GET /api/v1/admin/iam/users/:id/personal-data/file',
  'POST /api/v1/admin/backups/prune',
  'POST /api/v1/admin/iam/invitations',
  'POST /api/v1/admin/iam/roles',
  'POST /api/v1/admin/iam/users',
  'POST /api/v1/admin/iam/users/:id/authenticators/reset',
  'POST /api/v1/admin/iam/users/:id/erasure',
  'POST /api/v1/admin/iam/users/:id/invitation',
  'POST /api/v1/admin/iam/users/:id/recovery',
  'POST /api/v1/admin/install/state/reset',
  'POST /api/v1/admin/mall/refunds/:refundNo/decision',
  'POST /api/v1/admin/money/payment-orders/:outTradeNo/refund',
  'POST /api/v1/admin/oidc/rules',
  'POST /api/v1/admin/open-platform/apps',
  'POST /api/v1/admin/open-platform/apps/:id/rotate-secret',
  'POST /api/v1/admin/system-config/requests/:id/approve',
  'POST /api/v1/admin/system-config/requests/:id/reject',
  'POST /api/v1/admin/web3/chains',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/:id/retry',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/:id/settle',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/auto-handle-expired',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/retry-batch',
  'POST /api/v1/admin/web3/unmatched-payments/:id/credit',
  'POST /api/v1/admin/web3/unmatched-payments/:id/repayment',
  'POST /api/v1/admin/webhooks/endpoints',
  'POST /api/v1/admin/webhooks/endpoints/:id/rotate-secret',
  'POST /api/v1/auth/oidc/:provider/link/start',
  'POST /api/v1/auth/passkeys',
  'POST /api/v1/auth/passkeys/options',
  'POST /api/v1/auth/recovery-codes',
  'POST /api/v1/auth/totp',
  'POST /api/v1/auth/totp/options',
  'POST /api/v1/iam/users/me/api-tokens',
  'POST /api/v1/iam/users/me/email/confirm',
  'PUT /api/v1/admin/iam/roles/:id',
  'PUT /api/v1/admin/iam/roles/:id/sign-in-policy',
  'PUT /api/v1/admin/iam/users/:id',
  'PUT /api/v1/admin/iam/users/:id/password',
  'PUT /api/v1/admin/open-platform/apps/:id',
  'PUT /api/v1/admin/web3/chains/:id',
  'PUT /api/v1/admin/webhooks/endpoints/:id',
]

t.test('each operation that declares a fresh proof rejects an old one before it does anything', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const product = defineProduct({
    name: 'quickstart',
    plugins: quickstart.plugins,
    config: {
      ...quickstart.config,
      ...db.config,
      'platform.http.port': 0,
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.system-config.master-key-file': join(db.directory, 'master.key'),
      'platform.install.installed': true,
      'platform.rate-limit.enabled': false,
      'platform.rate-limit.default-store': 'memory',
      'platform.iam.fresh-proof.enabled': true,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
    },
  })
  const logger = pino({ level: 'info' }, { write: () => {} })
  const running = await startMigrated(product, { clock, environment: {}, logger, roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
  await running.service(accounts).createAdministrator({ username: 'root', password }, origin)
  const server = running.service(http)
  const call = async (method: string, url: string, token?: string, payload?: object) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const body = payload === undefined ? {} : { payload }
    return (await server.inject({ method: method as 'GET', url, headers, ...body })).json()
  }
  const session = async () => {
    const { data } = await call('POST', '/api/v1/auth/login', undefined, { username: 'root', password })
    return data.accessToken as string
  }
  const outcomeOf = ({ code, data }: { code: string; data: { reason?: string } | null }) => `${code} ${data?.reason}`
  const required = '401 iam.proof-required'

  const old = await session()
  await clock.advance(10 * 60_000)
  const routes = server.routes.filter(({ fresh }) => fresh !== undefined)
  t.strictSame(routes.map(({ method, path }) => `${method} ${path}`).sort(), expected)
  for (const { method, path } of routes) {
    const url = path.replace(/:\w+/g, '4711')
    t.equal(outcomeOf(await call(method, url, old, method === 'GET' ? undefined : {})), required, `${method} ${path}`)
  }

  const centre = '/api/v1/admin/system-config'
  const set = (key: string, value: unknown) => ({ changes: [{ key, action: 'set', value }] })
  const save = async (token: string, key: string, value: unknown) =>
    outcomeOf(await call('POST', `${centre}/changes`, token, set(key, value)))
  const guard = ['platform.iam.password.policy', 'high'] as const
  const secret = ['platform.mail.smtp.password', 'Secret-4711'] as const
  const plain = ['platform.site.title', 'Shop'] as const
  t.equal(await save(old, ...plain), '200 undefined', 'a plain key')
  t.equal(await save(old, ...guard), required, 'a guard')
  t.equal(await save(old, ...secret), required, 'a secret')
  const document = { document: { format: 'plinth-config/1', values: { [guard[0]]: guard[1] } }, mode: 'merge' }
  t.equal(outcomeOf(await call('POST', `${centre}/import`, old, document)), required, 'by import')
  const preview = await call('POST', `${centre}/changes/preview`, old, set(...guard))
  t.equal(outcomeOf(preview), '200 undefined', 'a preview changes nothing')

  const fresh = await session()
  t.equal(await save(fresh, ...guard), '200 undefined')
  t.equal(await save(fresh, ...secret), '200 undefined')
  t.equal(await save(old, ...guard), '200 undefined', 'an unchanged guard')
  const back = { toVersion: 0, keys: [guard[0]] }
  t.equal(outcomeOf(await call('POST', `${centre}/rollback`, old, back)), required, 'by rollback')
  t.equal(await save(old, 'platform.iam.fresh-proof.enabled', false), required, 'the switch itself')

  const adjust = async (token: string, points: number) =>
    outcomeOf(
      await call('POST', '/api/v1/admin/member-points/manual-adjustments', token, {
        userId: 4711,
        points,
        reason: 'test',
      }),
    )
  t.equal(await adjust(old, 10_001), required, 'a large adjustment')
  t.equal(await adjust(old, -10_001), required)
  t.equal(await adjust(old, 10_000), await adjust(fresh, 10_001), 'a small one')
  t.equal(await save(fresh, 'platform.iam.fresh-proof.enabled', false), '200 undefined')
  t.equal(await save(old, ...guard), '200 undefined')
  t.not(outcomeOf(await call('DELETE', '/api/v1/admin/iam/roles/4711', old)), required, 'the switch is live')
})
