/**
 * Tests every operation of the quickstart with the generated client. Each operation must return its documented success
 * at least once, and each list must apply its filters and its time range.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callApps, callCodes, callPush, callWebhooks } from './every-operation/apps.ts'
import {
  callConfiguration,
  callConsole,
  callOperations,
  callScheduler,
  callTemplates,
} from './every-operation/back-office.ts'
import { assertSuccess, Successes } from './every-operation/clients.ts'
import { callFactors } from './every-operation/factors.ts'
import { callInstallation, callInstaller, installToken } from './every-operation/install.ts'
import { assertListQueriesApply, type Operation } from './every-operation/list-queries.ts'
import { LostResponses } from './every-operation/lost-responses.ts'
import { callDigests, callMessages, callRules, callTasks } from './every-operation/messages.ts'
import { callRecovery, callUserOperations } from './every-operation/people.ts'
import { callProviders } from './every-operation/providers.ts'
import { type Scene, startScene } from './every-operation/scene.ts'
import { callMall, callMoney, callPoints } from './every-operation/trade.ts'
import { callChains, callSettlement } from './every-operation/web3.ts'

const exceptionOf = (reason: string, operations: readonly string[]) =>
  Object.fromEntries(operations.map((operation) => [operation, reason]))

/** Operations that this test does not call, each with the reason and the test that calls it. */
const exceptions: Readonly<Record<string, string>> = {
  'POST /api/v1/admin/console/pages/{id}/import': 'It needs a list with an import: examples/vouchers/plugin.test.ts.',
  'POST /api/v1/admin/webhooks/deliveries/{id}/redeliver':
    'It needs a delivery that has ended: plugins/webhooks/test/deliveries.test.ts.',
  ...exceptionOf('It needs a receipt of a provider: plugins/delivery-receipts/test/endpoint.test.ts.', [
    'GET /api/v1/admin/delivery-receipts/receipts/{id}',
    'GET /api/v1/admin/delivery-receipts/subscriptions/{id}',
    'POST /api/v1/admin/delivery-receipts/subscriptions/{id}/confirm',
  ]),
  'POST /api/v1/notifications/preferences/link':
    'It needs an https address of the site: plugins/inbox/test/matrix.test.ts.',
  ...exceptionOf('It needs an item of another plugin: plugins/digest/test/digest.test.ts.', [
    'GET /api/v1/admin/digests/messages/{id}',
    'POST /api/v1/admin/digests/messages/{id}/send-now',
    'POST /api/v1/admin/digests/messages/{id}/discard',
  ]),
  'GET /api/v1/ws': 'It opens a WebSocket: plugins/notification-channels/test/websocket.test.ts.',
  'POST /api/v1/admin/scheduler/clock/confirm':
    'It needs a clock that differs from the time of the database: plugins/scheduler/test/clock.test.ts.',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/{id}/settle':
    'It needs a paid order on a chain: test/journeys/settlement-journey.test.ts.',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/{id}/retry':
    'It needs a paid order on a chain: plugins/web3-settlement/test/settle.test.ts.',
  'POST /api/v1/admin/web3/unmatched-payments':
    'It needs a transfer on a chain: plugins/web3-settlement/test/unmatched.test.ts.',
  'POST /api/v1/admin/web3/unmatched-payments/{id}/credit':
    'It needs a transfer on a chain: plugins/web3-settlement/test/unmatched.test.ts.',
  'POST /api/v1/admin/web3/unmatched-payments/{id}/repayment':
    'It needs a transfer on a chain: plugins/web3-settlement/test/unmatched.test.ts.',
  'POST /api/v1/notification-send-logs/{id}/retry':
    'It needs a message that a channel rejected: plugins/notification/test/send-log-retry.test.ts.',
  'POST /api/v1/notification-send-logs/retry-batch':
    'It needs messages that a channel rejected: plugins/notification/test/send-log-retry.test.ts.',
  'POST /api/v1/auth/oidc/{provider}/start': 'It needs a provider: plugins/sign-in-oidc/test/sign-in.test.ts.',
  'POST /api/v1/auth/oidc/{provider}/callback': 'It needs a provider: plugins/sign-in-oidc/test/sign-in.test.ts.',
  'POST /api/v1/auth/oidc/{provider}/link/start':
    'It needs a provider: plugins/sign-in-oidc/test/hostile-accounts.test.ts.',
  'POST /api/v1/auth/oidc/{provider}/link/callback':
    'It needs a provider: plugins/sign-in-oidc/test/hostile-accounts.test.ts.',
  'POST /api/v1/auth/oidc/{provider}/proof/start': 'It needs a provider: plugins/sign-in-oidc/test/factors.test.ts.',
  'POST /api/v1/auth/oidc/{provider}/proof/callback': 'It needs a provider: plugins/sign-in-oidc/test/factors.test.ts.',
  'DELETE /api/v1/admin/oidc/identities/{id}':
    'It needs a linked identity: plugins/sign-in-oidc/test/administration.test.ts.',
  'DELETE /api/v1/auth/oidc/identities/{id}':
    'It needs a provider: plugins/sign-in-oidc/test/hostile-accounts.test.ts.',
  ...exceptionOf('It needs an authenticator: plugins/authenticators/test/passkey-attacks.test.ts.', [
    'POST /api/v1/auth/passkey/options',
    'POST /api/v1/auth/passkey/login',
    'POST /api/v1/auth/passkeys/options',
    'POST /api/v1/auth/passkeys',
    'PUT /api/v1/auth/passkeys/{id}',
    'DELETE /api/v1/auth/passkeys/{id}',
    'POST /api/v1/auth/proof/passkey/options',
    'POST /api/v1/auth/proof/passkey',
    'POST /api/v1/auth/second-factor/passkey/options',
    'POST /api/v1/auth/second-factor/passkey',
    'POST /api/v1/auth/second-factor/set-up/passkey/options',
    'POST /api/v1/auth/second-factor/set-up/passkey',
  ]),
  ...exceptionOf('It needs a role with a second factor: plugins/authenticators/test/half-finished.test.ts.', [
    'POST /api/v1/auth/second-factor/set-up/totp/options',
    'POST /api/v1/auth/second-factor/set-up/totp',
  ]),
  ...exceptionOf('It needs a recipient of backups: plugins/backup/test/operations.test.ts.', [
    'GET /api/v1/admin/backups/{id}',
    'POST /api/v1/admin/backups',
    'POST /api/v1/admin/backups/{id}/verify',
    'POST /api/v1/admin/backups/prune',
  ]),
  'POST /api/v1/install/lock':
    'It needs an installed product whose installer is open: plugins/install/test/entry.test.ts.',
  'POST /api/v1/install/sessions/{sessionId}/retry':
    'It needs a failed installation: plugins/install/test/execute.test.ts.',
}

const { paths }: { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../docs/openapi.json'), 'utf8'),
)
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
)

/** Operations that accept an idempotency key. */
const idempotentOperations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { parameters = [] }]) => parameters.some(({ name }) => name === 'Idempotency-Key'))
    .map(([method]) => `${method.toUpperCase()} ${path}`),
)

/** Shows that the type of a response depends on `code`: a success has data, and a failure has a reason. */
async function narrowed({ admin }: Scene): Promise<string> {
  const { data: envelope } = await admin.GET('/api/v1/admin/templates/{id}', { params: { path: { id: 1 } } })
  if (envelope === undefined) return 'transport failure'
  if (envelope.code === '200') return envelope.data.subject
  // @ts-expect-error a failure has no subject
  void envelope.data?.subject
  return String(envelope.data?.reason)
}

t.test('the generated client calls every operation of the quickstart', { timeout: 600_000 }, async (t) => {
  const successes = new Successes()
  const lost = new LostResponses()
  const scene = await startScene(t, successes, {}, lost)
  const calls = [
    callUserOperations,
    callRecovery,
    callProviders,
    callFactors,
    callConsole,
    callConfiguration,
    callTemplates,
    callScheduler,
    callOperations,
    callRules,
    callTasks,
    callMessages,
    callDigests,
    callMall,
    callMoney,
    callPoints,
    callApps,
    callPush,
    callWebhooks,
    callCodes,
    callChains,
    callSettlement,
    callInstallation,
  ]
  for (const call of calls) await t.resolves(call(scene), call.name)
  t.equal(await narrowed(scene), 'template.unknown')
  await t.test('after a lost response, a repeated call with the same key executes nothing', async (t) => {
    const notKept = '1 commit, 1 executed, 409 idempotency.answer-not-kept'
    // A repeated send builds its response from the rows of its message. The second transaction delivers to the inbox.
    const resumed = { 'POST /api/v1/notifications/send': '2 commit, 2 executed, 200; 1 commit, 2 executed, 200' }
    const called = idempotentOperations.filter((one) => !(one in exceptions))
    t.same(lost.summary, { ...Object.fromEntries(called.map((one) => [one, notKept])), ...resumed })
  })
  await t.test('every list applies its filters and its time range', (t) => assertListQueriesApply(t, scene, paths))
  await t.rejects(assertSuccess(scene.user.GET('/api/v1/admin/iam/users')), /403/, 'a failure is no success')

  const settings = { 'platform.install.installed': 'false', 'platform.install.token': installToken }
  await t.resolves(callInstaller(await startScene(t, successes, settings)), callInstaller.name)

  const missing = operations.filter((operation) => !successes.seen.has(operation) && !(operation in exceptions))
  t.strictSame(missing, [], 'each operation succeeded or has a reason')
  const known = new Set(operations)
  for (const [operation, reason] of Object.entries(exceptions)) {
    t.ok(known.has(operation) && !successes.seen.has(operation), `${operation}: ${reason}`)
  }
  t.comment(`${successes.seen.size} of ${operations.length} operations succeeded`)
})
