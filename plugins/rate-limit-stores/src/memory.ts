import { definePlugin, key, rateLimitStore } from '@plinth/kernel'
import { MemoryStore } from './memory-store.ts'

export { MemoryStore, type MemoryStoreOptions } from './memory-store.ts'

const name = 'memory'

/** Process-local fixed windows: for tests, isolated diagnosis and a product that runs as one process. */
export default definePlugin({
  id: 'rate-limit-stores.memory',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.memory.provider': key.enum({
      title: { en: 'Provider of the store "memory"', 'zh-CN': '存储 memory 的提供者' },
      description: { en: 'Equals the name of the store.', 'zh-CN': '与存储名称相同。' },
      values: [name],
      default: name,
    }),
    'platform.rate-limit.stores.memory.cleanup-interval': key.integer({
      title: { en: 'Calls between purges', 'zh-CN': '两次清理之间的调用次数' },
      description: {
        en: 'A purge of expired windows starts at most once in this many calls and works in small steps.',
        'zh-CN': '每隔这么多次调用最多启动一次过期窗口清理，清理分小步进行。',
      },
      default: 1024,
      minimum: 1,
    }),
    'platform.rate-limit.stores.memory.max-keys': key.integer({
      title: { en: 'Keys at most', 'zh-CN': '最大键数' },
      description: {
        en: 'Running windows held at most, about 150 bytes each. A new key beyond it is refused with an error.',
        'zh-CN': '最多保存的运行中窗口数，每个约 150 字节。超出后新键会报错。',
      },
      default: 1_000_000,
      minimum: 1,
      maximum: 2 ** 24 - 1,
    }),
  },
  setup({ config, clock, contribute }) {
    const cleanupInterval = config.get('platform.rate-limit.stores.memory.cleanup-interval')
    const maxKeys = config.get('platform.rate-limit.stores.memory.max-keys')
    contribute(rateLimitStore, name, new MemoryStore({ clock, cleanupInterval, maxKeys }))
  },
})
