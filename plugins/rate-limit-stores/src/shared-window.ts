import { definePlugin, key, rateLimitStore } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { SharedQuotaStore } from './shared-quota-store.ts'

const name = 'shared-window'

/** Fixed windows that all instances share: for everything that several instances must count together. */
export default definePlugin({
  id: 'rate-limit-stores.shared-window',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { sharedStore },
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.shared-window.enabled': key.boolean({
      title: { en: 'Store "shared-window"', 'zh-CN': '启用存储 shared-window' },
      default: true,
      // Without its default store the limiter does not start.
      neededWhile: { key: 'platform.rate-limit.default-store', is: name },
    }),
    'platform.rate-limit.stores.shared-window.provider': key.enum({
      title: { en: 'Provider of the store "shared-window"', 'zh-CN': '存储 shared-window 的提供者' },
      description: { en: 'Equals the name of the store.', 'zh-CN': '与存储名称相同。' },
      values: [name],
      default: name,
    }),
  },
  setup({ services, config, contribute }) {
    if (!config.get('platform.rate-limit.stores.shared-window.enabled')) return
    contribute(rateLimitStore, name, new SharedQuotaStore('window', services.sharedStore.quota))
  },
})
