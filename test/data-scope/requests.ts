import type { ApiDocument, DescribedOperation } from '@plinth/http'

/** An operation that requires a permission. */
export interface Operation extends DescribedOperation {
  readonly method: string
  readonly path: string
}

interface SentRequest {
  readonly url: string
  readonly payload?: object
}

export const permissionOperations = ({ paths }: ApiDocument): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation['x-permission'] !== undefined)
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )

/** Ids and texts that the requests contain. */
export interface Names {
  /** The marker text in the rows. */
  readonly mark: string
  readonly userId: number
  readonly roleId: number
  readonly idOf: (entity: string) => number
}

/** Row ids for path parameters, by the prefix of the path. */
const targets: readonly (readonly [prefix: string, name: (names: Names) => string | number])[] = [
  ['/api/v1/admin/events/outbox/', ({ idOf }) => idOf('OutboxEvent')],
  ['/api/v1/admin/iam/users/', ({ userId }) => userId],
  ['/api/v1/admin/iam/sessions/', ({ idOf }) => idOf('IamToken')],
  ['/api/v1/admin/iam/api-tokens/', ({ idOf }) => idOf('IamApiToken')],
  ['/api/v1/admin/iam/roles/', ({ roleId }) => roleId],
  ['/api/v1/admin/install/sessions/', ({ mark }) => mark],
  ['/api/v1/admin/mall/orders/', ({ mark }) => mark],
  ['/api/v1/admin/mall/refunds/', ({ mark }) => mark],
  ['/api/v1/admin/money/accounts/', ({ idOf }) => idOf('MoneyAccount')],
  ['/api/v1/admin/money/journals/', ({ idOf }) => idOf('MoneyJournal')],
  ['/api/v1/admin/money/payment-orders/', ({ mark }) => mark],
  ['/api/v1/admin/iam/audits/', ({ idOf }) => idOf('IamAudit')],
  ['/api/v1/admin/money/reconciliations/', ({ idOf }) => idOf('MoneyReconciliation')],
  ['/api/v1/admin/notification/channels/', () => 'log'],
  ['/api/v1/admin/notification/messages/', ({ idOf }) => idOf('NotificationRow')],
  ['/api/v1/admin/oidc/identities/', ({ idOf }) => idOf('OidcIdentity')],
  ['/api/v1/admin/open-platform/apps/', ({ idOf }) => idOf('OpenApp')],
  ['/api/v1/admin/web3/payment-settlement-audit-logs/', ({ idOf }) => idOf('Web3SettlementAuditLog')],
  ['/api/v1/admin/web3/payment-settlement-review-logs/', ({ idOf }) => idOf('Web3SettlementReviewLog')],
  ['/api/v1/admin/web3/unmatched-payments/', ({ idOf }) => idOf('Web3UnmatchedPayment')],
  ['/api/v1/admin/digests/messages/', ({ idOf }) => idOf('Digest')],
  ['/api/v1/admin/delivery-receipts/receipts/', ({ idOf }) => idOf('DeliveryReceipt')],
  ['/api/v1/admin/delivery-receipts/subscriptions/', ({ idOf }) => idOf('DeliveryReceiptConfirmation')],
  ['/api/v1/admin/suppressions/', ({ idOf }) => idOf('Suppression')],
  ['/api/v1/admin/push/devices/', ({ idOf }) => idOf('PushDevice')],
  ['/api/v1/admin/webhooks/deliveries/', ({ idOf }) => idOf('WebhookDelivery')],
  ['/api/v1/admin/webhooks/endpoints/', ({ idOf }) => idOf('WebhookEndpoint')],
  ['/api/v1/notification-rules/', ({ idOf }) => idOf('NotificationRule')],
  ['/api/v1/notification-send-logs/', ({ idOf }) => idOf('SendLog')],
  ['/api/v1/notifications/', ({ idOf }) => idOf('NotificationRow')],
]

const anyHash = `0x${'ab'.repeat(32)}`

/** Request bodies of operations that change or read rows of the marked user. */
const bodies: Readonly<Record<string, (names: Names) => object>> = {
  'POST /api/v1/admin/events/outbox/replay': ({ idOf }) => ({ ids: [idOf('OutboxEvent')] }),
  'POST /api/v1/admin/iam/invitations': () => ({ username: 'intruder', email: 'intruder@example.org', orgId: 8008 }),
  'POST /api/v1/admin/iam/roles': ({ mark }) => ({ code: mark }),
  'PUT /api/v1/admin/iam/roles/{id}': () => ({ name: 'changed', permissions: [], version: 1 }),
  'PUT /api/v1/admin/iam/roles/{id}/sign-in-policy': () => ({
    secondFactorFrom: null,
    sessionLifetime: 60,
    sessionIdleTimeout: null,
    version: 1,
  }),
  'POST /api/v1/admin/iam/users': () => ({ username: 'intruder', password: 'Correct-horse-9', orgId: 8008 }),
  'POST /api/v1/admin/iam/users/{id}/erasure': ({ mark }) => ({ username: `${mark}-user` }),
  'PUT /api/v1/admin/iam/users/{id}': () => ({ enabled: false }),
  'PUT /api/v1/admin/iam/users/{id}/password': () => ({ password: 'Correct-horse-9' }),
  'POST /api/v1/admin/mall/refunds/{refundNo}/decision': () => ({ approve: true }),
  'POST /api/v1/admin/member-points/expire-batches/run': () => ({}),
  'POST /api/v1/admin/member-points/manual-adjustments': ({ userId }) => ({ userId, points: 5, reason: 'test' }),
  'POST /api/v1/admin/member-points/manual-adjustments/preview': ({ userId }) => ({ userId, points: 5 }),
  'POST /api/v1/admin/money/payment-orders/{outTradeNo}/refund': () => ({ reason: 'test' }),
  'POST /api/v1/admin/money/payment-orders/{outTradeNo}/refund/preview': () => ({}),
  'POST /api/v1/admin/money/payment-orders/{outTradeNo}/close': () => ({ reason: 'test' }),
  'POST /api/v1/admin/money/payment-orders/{outTradeNo}/close/preview': () => ({}),
  'POST /api/v1/admin/notification/audience': ({ userId }) => ({ recipientUserIds: [userId] }),
  'POST /api/v1/admin/notification/channels/{code}/test': ({ userId }) => ({ userId }),
  'POST /api/v1/admin/notification/template-tests': () => ({ templateId: 1, text: 'draft', channel: 'database' }),
  'POST /api/v1/admin/open-platform/apps': ({ userId }) => ({ name: 'intruder', ownerUserId: userId }),
  'PUT /api/v1/admin/open-platform/apps/{id}': () => ({ name: 'changed' }),
  'POST /api/v1/admin/open-platform/apps/{id}/disable': () => ({}),
  'POST /api/v1/admin/open-platform/apps/{id}/enable': () => ({}),
  'POST /api/v1/admin/open-platform/apps/{id}/rotate-secret': () => ({ graceSeconds: 0 }),
  'POST /api/v1/admin/web3/payment-confirmations': ({ mark }) => ({ outTradeNo: mark }),
  'POST /api/v1/admin/web3/payment-confirmations/batch': ({ mark }) => ({ items: [{ outTradeNo: mark }] }),
  'POST /api/v1/admin/web3/payment-confirmations/settled-audits': ({ mark }) => ({ outTradeNos: [mark] }),
  'POST /api/v1/admin/web3/payment-settlement-audit-logs/{id}/compensation-plan': () => ({}),
  'POST /api/v1/admin/web3/payment-settlement-audit-logs/compensation-plan-batch': audits,
  'POST /api/v1/admin/web3/payment-settlement-audit-logs/recheck-batch': audits,
  'PUT /api/v1/admin/web3/payment-settlement-audit-logs/status-batch': (names) => ({
    ...audits(names),
    status: 'resolved',
  }),
  'POST /api/v1/admin/web3/payment-settlement-review-logs': ({ mark }) => ({ outTradeNo: mark, action: 'record' }),
  'POST /api/v1/admin/web3/payment-settlement-review-logs/retry-batch': ({ idOf }) => ({
    ids: [idOf('Web3SettlementReviewLog')],
  }),
  'POST /api/v1/admin/web3/unmatched-payments': ({ mark }) => ({ outTradeNo: mark, transactionHash: anyHash }),
  'POST /api/v1/admin/web3/unmatched-payments/{id}/credit': () => ({ fingerprint: 'f'.repeat(64), reason: 'test' }),
  'POST /api/v1/admin/web3/unmatched-payments/{id}/repayment': () => ({
    transactionHash: anyHash,
    fingerprint: 'f'.repeat(64),
    reason: 'test',
  }),
  'POST /api/v1/admin/web3/unmatched-payments/{id}/repayment/preview': () => ({ transactionHash: anyHash }),
  'POST /api/v1/admin/webhooks/endpoints': ({ userId }) => ({
    name: 'intruder',
    url: 'https://example.org/',
    eventTypes: ['order.paid'],
    ownerId: userId,
  }),
  'PUT /api/v1/admin/webhooks/endpoints/{id}': () => ({ name: 'changed' }),
  'POST /api/v1/admin/webhooks/endpoints/{id}/disable': () => ({}),
  'POST /api/v1/admin/webhooks/endpoints/{id}/enable': () => ({}),
  'POST /api/v1/admin/webhooks/endpoints/{id}/test': () => ({}),
  'POST /api/v1/admin/webhooks/endpoints/{id}/rotate-secret': () => ({ graceSeconds: 0 }),
  'POST /api/v1/admin/webhooks/endpoints/{id}/redeliver': () => ({
    from: '2026-01-01T00:00:00Z',
    to: '2026-01-02T00:00:00Z',
  }),
  'DELETE /api/v1/notification-rules': ({ idOf }) => ({ ids: [idOf('NotificationRule')] }),
  'POST /api/v1/notification-rules': ({ userId }) => ({ code: 'intruder.rule', recipientUserIds: [userId] }),
  'PUT /api/v1/notification-rules/{id}': () => ({ thresholdCount: 9 }),
  'POST /api/v1/notification-rules/{id}/disable': () => ({}),
  'POST /api/v1/notification-rules/{id}/enable': () => ({}),
  'POST /api/v1/notification-rules/export': () => ({}),
  'POST /api/v1/notification-send-logs/retry-batch': ({ idOf }) => ({ ids: [idOf('SendLog')] }),
  'POST /api/v1/notifications/send': ({ userId }) => ({ recipientUserIds: [userId], subject: 'Hi', content: 'Hi' }),
}

function audits({ idOf }: Names) {
  return { ids: [idOf('Web3SettlementAuditLog')] }
}

/** Operations with the data scope `caller` that return success for ids outside of this scope but change nothing. */
export const harmlessOperations: readonly string[] = [
  'DELETE /api/v1/notification-rules',
  'PUT /api/v1/admin/web3/payment-settlement-audit-logs/status-batch',
  'POST /api/v1/admin/web3/payment-settlement-review-logs/retry-batch',
  // These operations refer to no row: the export runs with the scope of its owner, and a role without members has no
  // owner.
  'POST /api/v1/notification-rules/export',
  'POST /api/v1/admin/iam/roles',
  // This operation is rejected, because users have this role.
  'DELETE /api/v1/admin/iam/roles/{id}',
]

/** Query parameters that select the marked rows. */
const filters = ({ userId, mark, idOf }: Names): readonly Readonly<Record<string, string | number>>[] => [
  { userId },
  { ownerType: 'user', ownerId: userId },
  { outTradeNo: mark },
  { orderNo: mark },
  { messageId: mark },
  { keyword: mark },
  { key: mark },
  { accountId: idOf('MoneyAccount') },
  { appId: idOf('OpenApp') },
  { notificationId: idOf('NotificationRow') },
  { actor: `user:${userId}` },
  { actorUserId: userId },
]

/**
 * Returns the requests for an operation: one with a marked row in the path, one for each filter, and one with the
 * request body.
 * @throws Error for an operation with the scope `caller` for which this file contains no data
 */
export function requestsFor({ method, path, parameters = [], requestBody, ...operation }: Operation, names: Names) {
  const name = `${method} ${path}`
  const [, target] = targets.find(([prefix]) => path.startsWith(`${prefix}{`)) ?? []
  const isCaller = operation['x-data-scope'] === 'caller'
  const body = bodies[name]
  if (isCaller && path.includes('{') && target === undefined) throw new Error(`${name}: no row for its path`)
  if (isCaller && requestBody !== undefined && body === undefined) throw new Error(`${name}: no body`)
  const url = path.replace(/\{\w+\}/g, encodeURIComponent(String(target?.(names) ?? 1)))
  if (method !== 'GET') return [body === undefined ? { url } : { url, payload: body(names) }] as readonly SentRequest[]
  const known = new Set(parameters.filter((parameter) => parameter.in === 'query').map((parameter) => parameter.name))
  const requested = filters(names).filter((filter) => Object.keys(filter).every((parameter) => known.has(parameter)))
  const queries = requested.map((filter) => {
    const pairs = Object.entries(filter).map(([parameter, value]): [string, string] => [parameter, String(value)])
    return `?${new URLSearchParams(pairs)}`
  })
  return ['', ...queries].map((query): SentRequest => ({ url: url + query }))
}
