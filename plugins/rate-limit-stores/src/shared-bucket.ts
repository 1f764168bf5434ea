import { definePlugin, rateLimitStore } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { SharedQuotaStore } from './shared-quota-store.ts'
import { enabledKey, providerKey } from './store-keys.ts'

const name = 'shared-bucket'

/**
 * Token buckets that all instances share, for expensive operations. Each limit and window of a key has its own bucket.
 */
export default definePlugin({
  id: 'rate-limit-stores.shared-bucket',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { sharedStore },
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.shared-bucket.enabled': enabledKey(name),
    'platform.rate-limit.stores.shared-bucket.provider': providerKey(name),
  },
  setup({ services, config, contribute }) {
    if (!config.get('platform.rate-limit.stores.shared-bucket.enabled')) return
    contribute(rateLimitStore, name, new SharedQuotaStore('bucket', services.sharedStore.quota))
  },
})
