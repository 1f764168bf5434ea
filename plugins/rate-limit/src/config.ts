import { key } from '@plinth/kernel'
import { failurePolicies } from './request-rules.ts'

export const keys = {
  'platform.rate-limit.enabled': key.boolean({
    title: { en: 'Rate limiting', 'zh-CN': '限流' },
    description: { en: 'Off: every call passes.', 'zh-CN': '关闭后所有调用放行。' },
    default: true,
    reload: 'live',
  }),
  'platform.rate-limit.default-store': key.string({
    title: { en: 'Default store', 'zh-CN': '默认存储' },
    description: {
      en: 'Store of requests that name none. Several instances need a shared one.',
      'zh-CN': '未指定存储的请求使用它。多实例部署需要共享存储。',
    },
    default: 'memory',
    minLength: 1,
    reload: 'live',
  }),
  'platform.rate-limit.default-window': key.duration({
    title: { en: 'Default window', 'zh-CN': '默认窗口' },
    default: '1m',
    minimum: '1ms',
    reload: 'live',
  }),
  'platform.rate-limit.default-max-attempts': key.integer({
    title: { en: 'Default maximum', 'zh-CN': '默认最大次数' },
    description: { en: 'Per window; 0 or less: unlimited.', 'zh-CN': '每个窗口的次数；0 或负数表示不限。' },
    default: 60,
    reload: 'live',
  }),
  'platform.rate-limit.key-prefix': key.string({
    title: { en: 'Key prefix', 'zh-CN': '键前缀' },
    default: 'rate-limit',
    minLength: 1,
  }),
  'platform.rate-limit.store-deadline': key.duration({
    title: { en: 'Deadline of a store', 'zh-CN': '存储的时限' },
    description: {
      en: 'A store that has not answered by then counts as failed; the failure policy decides.',
      'zh-CN': '存储在此时限内未应答即视为故障，由故障策略决定。',
    },
    default: '250ms',
    minimum: '50ms',
    reload: 'live',
  }),
  'platform.rate-limit.failure-policy': key.enum({
    title: { en: 'When a store fails', 'zh-CN': '存储故障策略' },
    description: {
      en: 'insurance: count in the memory of each process; closed: refuse; open: let pass uncounted. For limits that name none.',
      'zh-CN': 'insurance：在各进程内存中计数；closed：拒绝；open：不计数直接放行。用于未指定策略的限流。',
    },
    values: failurePolicies,
    default: 'insurance',
    reload: 'live',
  }),
  'platform.rate-limit.deny-cache.ttl': key.duration({
    title: { en: 'Remembering denials', 'zh-CN': '拒绝记忆时间' },
    description: {
      en: 'So long a process answers a caller whom a shared store has denied by itself. A reset by another process counts after that. 0s: always ask.',
      'zh-CN': '共享存储拒绝后，进程在此时间内直接拒绝同一调用方；其他进程的重置在此之后生效。0s 表示每次都查询。',
    },
    default: '1s',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.rate-limit.annotation.enabled': key.boolean({
    title: { en: 'Declarative limits', 'zh-CN': '声明式限流' },
    description: { en: 'Limits that routes declare.', 'zh-CN': '路由上声明的限流。' },
    default: true,
  }),
  'platform.rate-limit.annotation.key-prefix': key.string({
    title: { en: 'Prefix of declarative keys', 'zh-CN': '声明式键前缀' },
    default: 'web',
    minLength: 1,
  }),
  'platform.rate-limit.annotation.shadow': key.boolean({
    title: { en: 'Shadow mode', 'zh-CN': '影子模式' },
    description: {
      en: 'Limits of routes count and report but deny nothing.',
      'zh-CN': '路由上的限流只计数和上报，不拒绝请求。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.rate-limit.annotation.draft-headers': key.boolean({
    title: { en: 'RateLimit header fields', 'zh-CN': 'RateLimit 响应头' },
    description: {
      en: 'Also send RateLimit and RateLimit-Policy of the IETF draft.',
      'zh-CN': '同时发送 IETF 草案的 RateLimit 和 RateLimit-Policy 响应头。',
    },
    default: false,
  }),
}
