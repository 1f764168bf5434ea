import { definePlugin, rateLimitStore } from '@plinth/kernel'
import { LocalBucketStore } from './local-bucket-store.ts'
import { IdleSweep, type Swept } from './purge-pace.ts'
import { cleanupIntervalKey, enabledKey, maxKeysKey, providerKey } from './store-keys.ts'

export { LocalBucketStore } from './local-bucket-store.ts'

const name = 'local-token-bucket'

/** Process-local token buckets: bursts up to the limit, then an even rate. Instances do not share these quotas. */
export default definePlugin({
  id: 'rate-limit-stores.local-token-bucket',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.local-token-bucket.enabled': enabledKey(name),
    'platform.rate-limit.stores.local-token-bucket.provider': providerKey(name),
    'platform.rate-limit.stores.local-token-bucket.cleanup-interval': cleanupIntervalKey({
      en: 'Removal of idle buckets starts at most once per this number of calls and works in small steps.',
      'zh-CN': '每隔这么多次调用最多启动一次空闲桶清理，清理分小步进行。',
    }),
    'platform.rate-limit.stores.local-token-bucket.max-keys': maxKeysKey({
      en: 'Maximum number of keys with buckets in use. Further new keys are rejected with an error.',
      'zh-CN': '最多保存的使用中键数。超出后新键会被拒绝并报错。',
    }),
  },
  setup({ config, clock, contribute, onStop }) {
    if (!config.get('platform.rate-limit.stores.local-token-bucket.enabled')) return
    const cleanupInterval = config.get('platform.rate-limit.stores.local-token-bucket.cleanup-interval')
    const maxKeys = config.get('platform.rate-limit.stores.local-token-bucket.max-keys')
    const idle = new IdleSweep(clock)
    onStop(() => idle.stop())
    const onHeld = (store: Swept) => idle.held(store)
    contribute(rateLimitStore, name, new LocalBucketStore({ clock, cleanupInterval, maxKeys, onHeld }))
  },
})
