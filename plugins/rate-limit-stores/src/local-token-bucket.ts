import { definePlugin, key, rateLimitStore } from '@plinth/kernel'
import { LocalBucketStore } from './local-bucket-store.ts'

export { LocalBucketStore, type LocalBucketStoreOptions } from './local-bucket-store.ts'

const name = 'local-token-bucket'

/** Process-local token buckets: bursts up to the limit, then evenly. Never the quota of several instances. */
export default definePlugin({
  id: 'rate-limit-stores.local-token-bucket',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.local-token-bucket.enabled': key.boolean({
      title: { en: 'Store "local-token-bucket"', 'zh-CN': '启用存储 local-token-bucket' },
      default: true,
      // Without its default store the limiter does not start.
      neededWhile: { key: 'platform.rate-limit.default-store', is: name },
    }),
    'platform.rate-limit.stores.local-token-bucket.provider': key.enum({
      title: { en: 'Provider of the store "local-token-bucket"', 'zh-CN': '存储 local-token-bucket 的提供者' },
      description: { en: 'Equals the name of the store.', 'zh-CN': '与存储名称相同。' },
      values: [name],
      default: name,
    }),
    'platform.rate-limit.stores.local-token-bucket.cleanup-interval': key.integer({
      title: { en: 'Calls between purges', 'zh-CN': '两次清理之间的调用次数' },
      description: {
        en: 'A purge of idle buckets starts at most once in this many calls and works in small steps.',
        'zh-CN': '每隔这么多次调用最多启动一次空闲桶清理，清理分小步进行。',
      },
      default: 1024,
      minimum: 1,
    }),
    'platform.rate-limit.stores.local-token-bucket.max-keys': key.integer({
      title: { en: 'Keys at most', 'zh-CN': '最大键数' },
      description: {
        en: 'Keys with buckets in use held at most. A new key beyond it is refused with an error.',
        'zh-CN': '最多保存的使用中键数。超出后新键会报错。',
      },
      default: 1_000_000,
      minimum: 1,
      maximum: 2 ** 24 - 1,
    }),
  },
  setup({ config, clock, contribute }) {
    if (!config.get('platform.rate-limit.stores.local-token-bucket.enabled')) return
    const cleanupInterval = config.get('platform.rate-limit.stores.local-token-bucket.cleanup-interval')
    const maxKeys = config.get('platform.rate-limit.stores.local-token-bucket.max-keys')
    contribute(rateLimitStore, name, new LocalBucketStore({ clock, cleanupInterval, maxKeys }))
  },
})
