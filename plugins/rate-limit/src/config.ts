import { guardsPermission, key } from '@plinth/kernel'
import { failurePolicies } from './request-rules.ts'

export const keys = {
  'platform.rate-limit.enabled': key.boolean({
    title: { en: 'Rate limiting', 'zh-CN': '限流' },
    description: { en: 'Off: all calls are allowed.', 'zh-CN': '关闭后所有调用放行。' },
    default: true,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.rate-limit.default-store': key.string({
    title: { en: 'Default store', 'zh-CN': '默认存储' },
    description: {
      en: 'Store for rate limits that do not specify one. Several instances require a shared store.',
      'zh-CN': '用于未指定存储的限流。多实例部署需要共享存储。',
    },
    default: 'memory',
    minLength: 1,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.rate-limit.default-window': key.duration({
    title: { en: 'Default window', 'zh-CN': '默认窗口' },
    default: '1m',
    minimum: '1ms',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.rate-limit.default-max-attempts': key.integer({
    title: { en: 'Default maximum per window', 'zh-CN': '默认最大次数' },
    description: {
      en: 'Maximum calls per window. 0 or less means unlimited.',
      'zh-CN': '每个窗口的次数；0 或负数表示不限。',
    },
    default: 60,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.rate-limit.key-prefix': key.string({
    title: { en: 'Key prefix', 'zh-CN': '键前缀' },
    default: 'rate-limit',
    minLength: 1,
    permission: guardsPermission,
  }),
  'platform.rate-limit.store-deadline': key.duration({
    title: { en: 'Store timeout', 'zh-CN': '存储超时时间' },
    description: {
      en: 'If a store does not respond within this time, the failure policy applies.',
      'zh-CN': '存储在此时间内未响应即视为故障，按故障策略处理。',
    },
    default: '250ms',
    minimum: '50ms',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.rate-limit.failure-policy': key.enum({
    title: { en: 'Store failure policy', 'zh-CN': '存储故障策略' },
    description: {
      en: 'insurance: count in the memory of each process. closed: reject calls. open: allow calls without counting. Applies to limits that do not specify a policy.',
      'zh-CN': 'insurance：在各进程内存中计数；closed：拒绝；open：不计数直接放行。用于未指定策略的限流。',
    },
    values: failurePolicies,
    default: 'insurance',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.rate-limit.deny-cache.ttl': key.duration({
    title: { en: 'Rejection cache time', 'zh-CN': '拒绝缓存时间' },
    description: {
      en: 'After a shared store has rejected a caller, the process rejects that caller for this time without asking the store. A reset by another process takes effect after this time. 0s: always ask the store.',
      'zh-CN': '共享存储拒绝后，进程在此时间内直接拒绝同一调用方；其他进程的重置在此之后生效。0s 表示每次都查询。',
    },
    default: '1s',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.rate-limit.annotation.enabled': key.boolean({
    title: { en: 'Declarative limits', 'zh-CN': '声明式限流' },
    description: { en: 'Applies the rate limits that routes declare.', 'zh-CN': '应用路由上声明的限流。' },
    default: true,
    permission: guardsPermission,
  }),
  'platform.rate-limit.annotation.key-prefix': key.string({
    title: { en: 'Key prefix of declarative limits', 'zh-CN': '声明式限流的键前缀' },
    default: 'web',
    minLength: 1,
    permission: guardsPermission,
  }),
  'platform.rate-limit.annotation.shadow': key.boolean({
    title: { en: 'Shadow mode', 'zh-CN': '影子模式' },
    description: {
      en: 'Rate limits of routes count and report calls, but reject none.',
      'zh-CN': '路由上的限流只计数和上报，不拒绝请求。',
    },
    default: false,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.rate-limit.annotation.draft-headers': key.boolean({
    title: { en: 'RateLimit header fields', 'zh-CN': 'RateLimit 响应头' },
    description: {
      en: 'Also sends the response headers RateLimit and RateLimit-Policy of the IETF draft.',
      'zh-CN': '同时发送 IETF 草案的 RateLimit 和 RateLimit-Policy 响应头。',
    },
    default: false,
  }),
}
