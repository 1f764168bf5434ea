import { definePlugin, rateLimitStore } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { SharedQuotaStore } from './shared-quota-store.ts'
import { enabledKey, providerKey } from './store-keys.ts'

const name = 'shared-window'

/** Fixed windows that all instances share. */
export default definePlugin({
  id: 'rate-limit-stores.shared-window',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { sharedStore },
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.shared-window.enabled': enabledKey(name),
    'platform.rate-limit.stores.shared-window.provider': providerKey(name),
  },
  setup({ services, config, contribute }) {
    if (!config.get('platform.rate-limit.stores.shared-window.enabled')) return
    contribute(rateLimitStore, name, new SharedQuotaStore('window', services.sharedStore.quota))
  },
})
