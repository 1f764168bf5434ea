import { definePlugin, key, rateLimitStore } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { SharedQuotaStore } from './shared-quota-store.ts'

const name = 'shared-bucket'

/** Token buckets that all instances share, one for each limit and window of a key: for what is expensive. */
export default definePlugin({
  id: 'rate-limit-stores.shared-bucket',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { sharedStore },
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.shared-bucket.enabled': key.boolean({
      title: { en: 'Store "shared-bucket"', 'zh-CN': '启用存储 shared-bucket' },
      default: true,
      // Without its default store the limiter does not start.
      neededWhile: { key: 'platform.rate-limit.default-store', is: name },
    }),
    'platform.rate-limit.stores.shared-bucket.provider': key.enum({
      title: { en: 'Provider of the store "shared-bucket"', 'zh-CN': '存储 shared-bucket 的提供者' },
      description: { en: 'Equals the name of the store.', 'zh-CN': '与存储名称相同。' },
      values: [name],
      default: name,
    }),
  },
  setup({ services, config, contribute }) {
    if (!config.get('platform.rate-limit.stores.shared-bucket.enabled')) return
    contribute(rateLimitStore, name, new SharedQuotaStore('bucket', services.sharedStore.quota))
  },
})
