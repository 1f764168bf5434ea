import { definePlugin, rateLimitStore } from '@plinth/kernel'
import { MemoryStore } from './memory-store.ts'
import { IdleSweep, type Swept } from './purge-pace.ts'
import { cleanupIntervalKey, maxKeysKey, providerKey } from './store-keys.ts'

export { MemoryStore } from './memory-store.ts'

const name = 'memory'

/** Process-local fixed windows: for tests, isolated diagnosis and a product that runs as one process. */
export default definePlugin({
  id: 'rate-limit-stores.memory',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.memory.provider': providerKey(name),
    'platform.rate-limit.stores.memory.cleanup-interval': cleanupIntervalKey({
      en: 'Removal of expired windows starts at most once per this number of calls and works in small steps.',
      'zh-CN': '每隔这么多次调用最多启动一次过期窗口清理，清理分小步进行。',
    }),
    'platform.rate-limit.stores.memory.max-keys': maxKeysKey({
      en: 'Maximum number of active windows, about 150 bytes each. Further new keys are rejected with an error.',
      'zh-CN': '最多保存的活动窗口数，每个约 150 字节。超出后新键会被拒绝并报错。',
    }),
  },
  setup({ config, clock, contribute, onStop }) {
    const cleanupInterval = config.get('platform.rate-limit.stores.memory.cleanup-interval')
    const maxKeys = config.get('platform.rate-limit.stores.memory.max-keys')
    const idle = new IdleSweep(clock)
    onStop(() => idle.stop())
    const onHeld = (store: Swept) => idle.held(store)
    contribute(rateLimitStore, name, new MemoryStore({ clock, cleanupInterval, maxKeys, onHeld }))
  },
})
