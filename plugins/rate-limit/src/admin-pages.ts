import { adminAttention, adminDetail, metricChart } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

/** Names of the stores of `@plinth/rate-limit-stores`. Another store is shown by its name in the configuration. */
const storeNames = {
  memory: text('Memory of the instance', '实例内存'),
  'local-token-bucket': text('Token bucket of the instance', '实例令牌桶'),
  'shared-window': text('Shared fixed window', '共享固定窗口'),
  'shared-bucket': text('Shared token bucket', '共享令牌桶'),
}

const setting = { labels: 'console.config-key', page: 'system-config.centre', optional: true }

const limiterPage = adminDetail('getAdminRateLimitOperations', (it) => ({
  id: 'rate-limit.operations',
  title: text('Rate limits', '限流'),
  place: { group: 'integrations', order: 40 },
  sections: [
    { title: text('Recommendations', '建议'), columns: [it.chips('runbookHints'), it.reference('settings', setting)] },
    {
      title: text('Stores', '存储'),
      columns: [
        it.rows('stores', (store) => [
          store.text('name', { mono: true, labels: storeNames }),
          store.flag('available'),
          store.flag('shared'),
          store.text('algorithm', {
            labels: {
              'token-bucket': text('Token bucket', '令牌桶'),
              'fixed-window': text('Fixed window', '固定窗口'),
            },
          }),
        ]),
      ],
    },
    {
      title: text('Effective limits', '当前限额'),
      columns: [
        it.text('defaultStore', { mono: true, labels: storeNames }),
        it.count('defaultWindowMs', { unit: 'ms' }),
        it.count('defaultMaxAttempts'),
        it.flag('annotationEnabled'),
        it.chips('responseHeaders'),
      ],
    },
    {
      title: text('Caller identification', '调用方识别'),
      columns: [
        it.chips('trustedProxies'),
        it.flag('trustForwardedHeaders'),
        it.chips('clientHeaders'),
        it.count('ipv6Prefix'),
      ],
    },
    { title: text('Metrics', '指标'), columns: [it.flag('metricsAvailable'), it.text('metricName', { mono: true })] },
  ],
  live: true,
}))

export const pages = [limiterPage]

const page = { id: 'rate-limit.operations' }

export const needsAttention = [
  adminAttention('getAdminRateLimitOperations', {
    id: 'rate-limit.unavailable',
    title: text('Rate limit stores that do not respond', '无响应的限流存储'),
    tone: 'bad',
    count: 'stores',
    where: { available: false },
    unattended: text('Calls that these stores limit may be rejected.', '由这些存储限流的调用可能被拒绝。'),
    page,
  }),
  adminAttention('getAdminRateLimitOperations', {
    id: 'rate-limit.gaps',
    title: text('Settings that allow calls without a limit', '使调用不受限流约束的设置'),
    tone: 'warn',
    count: 'protectionGaps',
    unattended: text('A client can send any number of calls.', '客户端可以发送任意数量的调用。'),
    page,
  }),
]

const metric = 'platform_rate_limit_requests_total'
const rejected = {
  name: 'rejected',
  title: text('Rejected', '已拒绝'),
  tone: 'bad',
  where: { outcome: ['rejected'] },
} as const

/** Charts of the decisions. The overview shows rejections, the page shows all decisions by store. */
export const limitCharts = [
  metricChart({
    id: 'rate-limit.refused',
    title: text('Rejected by rate limits', '限流拒绝'),
    order: 30,
    metric,
    lines: [rejected],
  }),
  metricChart({
    id: 'rate-limit.outcomes',
    title: text('Decisions by store', '各存储的限流结果'),
    lead: text('Results of the calls that a rate limit applies to.', '适用限流的调用的判定结果。'),
    page: 'rate-limit.operations',
    order: 10,
    metric,
    by: 'store',
    lines: [
      { name: 'allowed', title: text('Allowed', '已放行'), tone: 'good', where: { outcome: ['allowed'] } },
      rejected,
      { name: 'unlimited', title: text('Without a limit', '不限流'), tone: 'quiet', where: { outcome: ['unlimited'] } },
    ],
  }),
]
