/** One measured call of the admin API. */
interface GrowthCall {
  readonly name: string
  readonly path: string
  readonly kind: 'list' | 'single'
}

const admin = '/api/v1/admin'
const sendLogs = '/api/v1/notification-send-logs'

/** Query strings with every filter and order, by the path of the list. `none` matches no row. */
const lists: Readonly<Record<string, readonly string[]>> = {
  [`${admin}/iam/users`]: [
    '',
    'size=200',
    'enabled=false',
    'roleId=1',
    'roleId=2',
    'keyword=filled-99',
    'keyword=none',
    'sort=username',
    'sort=email',
    'sort=-createdAt',
    'sort=-lastLoginAt',
  ],
  [`${admin}/iam/roles`]: [''],
  [`${admin}/iam/audits`]: [
    '',
    'actor=user:7',
    'actor=none',
    'action=filled.7',
    'action=none',
    'targetType=kind-1',
    'targetType=kind-1&targetId=501',
    'targetType=kind-1&targetName=target-501',
    'targetName=target-501',
    'targetId=501',
  ],
  [`${admin}/iam/login-audits`]: ['', 'success=false', 'clientIp=10.0.7.7', 'clientIp=none', 'userId=7'],
  [sendLogs]: [
    '',
    'channel=email',
    'channel=none',
    'retryableOnly=true',
    'sort=createdAt',
    'channel=email&sort=createdAt',
    'channel=email&retryableOnly=true',
    'status=unknown',
    'status=unknown&sort=createdAt',
    'channel=email&status=unknown',
    'notificationId=7',
  ],
  '/api/v1/notifications': ['', 'state=queued', 'state=finished', 'sort=id'],
  '/api/v1/notifications/inbox': [
    '',
    'unreadOnly=true',
    'module=mall',
    'module=none',
    'module=mall&unreadOnly=true',
    'category=mall',
    'category=system',
    'keyword=order 99',
    'keyword=none',
  ],
  '/api/v1/notification-read-receipts': ['', 'messageId=message-7', 'messageId=none'],
  '/api/v1/notification-message-attachments': ['', 'messageId=message-7'],
  [`${admin}/events/outbox`]: [
    '',
    'status=delivered',
    'status=failed',
    'status=skipped',
    'type=filled.7',
    'type=none',
    'type=filled.7&status=failed',
    'key=blocked-1',
    'sort=createdAt',
  ],
  '/api/v1/async-tasks': [
    '',
    'type=filled.1',
    'type=none',
    'status=failed',
    'type=filled.1&status=failed',
    'ownerId=7',
  ],
  '/api/v1/notification-rules': [
    '',
    'enabled=false',
    'keyword=rule-7',
    'sort=code',
    'sort=-createdAt',
    'enabled=true&sort=code',
    'enabled=true&sort=createdAt',
  ],
  [`${admin}/open-platform/usage`]: ['', 'appId=7'],
  [`${admin}/money/payment-orders`]: [
    '',
    'status=success',
    'status=closed',
    'provider=web3',
    'provider=none',
    'provider=web3&status=pending',
    'userId=7',
    'userId=7&status=success',
  ],
  [`${admin}/money/payment-transactions`]: [
    '',
    'outTradeNo=filled-7',
    'outTradeNo=none',
    'type=refund',
    'type=none',
    'shared=true',
  ],
  '/api/v1/member-points/users/me/ledgers': [''],
  [`${admin}/member-points/accounts`]: ['', 'userId=7', 'userId=999999999'],
  [`${admin}/member-points/ledgers`]: ['', 'userId=7', 'userId=999999999'],
  [`${admin}/member-points/days`]: [''],
  [`${admin}/member-points/sources`]: ['', 'status=exhausted', 'userId=7', 'userId=7&status=exhausted'],
  [`${admin}/member-points/expire-batches`]: [''],
  [`${admin}/member-points/rules`]: ['', 'code=check-in', 'code=filled'],
  [`${admin}/approvals`]: [
    '',
    'workflow=filled.1',
    'workflow=none',
    'sourceType=kind-1',
    'sourceType=kind-1&sourceId=7',
  ],
  [`${admin}/web3/payment-settlement-review-logs`]: ['', 'outTradeNo=filled-7', 'retryable=true', 'status=open'],
  [`${admin}/web3/payment-settlement-audit-logs`]: ['', 'outTradeNo=filled-7'],
  [`${admin}/web3/payment-settlement-audit-logs/compensation-candidates`]: [
    '',
    'riskLevel=high',
    'riskLevel=low',
    'retryable=true',
    'retryable=false',
    'needsManualReview=true',
    'needsFundReview=true',
    'needsFundReview=false',
  ],
  '/api/v1/mall/orders': ['', 'status=paid'],
  [`${admin}/mall/orders`]: ['', 'status=paid', 'status=unpaid', 'userId=7', 'userId=7&status=paid'],
  [`${admin}/mall/refunds`]: ['', 'status=pending', 'status=rejected'],
  [`${admin}/money/accounts`]: ['', 'asset=points:mall', 'asset=none', 'ownerType=user&ownerId=7'],
  [`${admin}/money/entries`]: ['', 'asset=points:mall', 'asset=none', 'accountId=7', 'accountId=1'],
  [`${admin}/money/holds`]: ['', 'state=captured', 'accountId=7', 'accountId=7&state=captured'],
  [`${admin}/money/reconciliations`]: [''],
  [`${admin}/money/reconciliations/1/findings`]: [''],
  [`${admin}/system-config/history`]: ['', 'key=platform.log.level', 'actor=user:7'],
}

const singles = [
  '/api/v1/notifications/inbox/unread-count',
  '/api/v1/notifications/preferences',
  '/api/v1/member-points/users/me/overview',
  '/api/v1/member-points/tasks',
  `${sendLogs}/summary`,
  `${sendLogs}/summary?retryableOnly=true`,
  '/api/v1/notification-rules/ops-summary',
  `${admin}/events/outbox/backlog`,
  `${admin}/iam/users/7`,
  `${admin}/money/accounts/7`,
  `${admin}/money/accounts/7/explain`,
  `${admin}/money/journals/7`,
  `${admin}/web3/payment-settlement-audit-logs/summary`,
  '/metrics',
  '/health/ready',
]

/** Adds a query parameter to a path. */
export const pathWithQuery = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`

const named = (path: string) => decodeURIComponent(path.replace(/^\/api\/v1\/(admin\/)?/, ''))

export const calls: readonly GrowthCall[] = [
  ...Object.entries(lists).flatMap(([path, queries]) =>
    queries.map((query) => {
      const requested = query === '' ? path : pathWithQuery(path, query)
      return { name: named(requested), path: requested, kind: 'list' as const }
    }),
  ),
  ...singles.map((path) => ({ name: named(path), path, kind: 'single' as const })),
]
