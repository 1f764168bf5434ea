import { key } from '@plinth/kernel'

export const config = {
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
      en: 'A store that has not answered by then counts as failed, and the call is refused.',
      'zh-CN': '存储在此时限内未应答即视为失败，调用被拒绝。',
    },
    default: '250ms',
    minimum: '1ms',
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
}
