import database from '@plinth/database'
import { defineProduct, systemClock } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import rateLimit, { rateLimiter } from '@plinth/rate-limit'
import localBucket from '@plinth/rate-limit-stores/local-token-bucket'
import memory, { MemoryStore } from '@plinth/rate-limit-stores/memory'
import sharedBucket from '@plinth/rate-limit-stores/shared-bucket'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import { warmUp } from './meter.ts'
import { measureKeys } from './million-keys.ts'

// Argument: `store` measures the memory store alone, and `limiter` measures the whole limiter with a rule that is
// declared once.
if (process.argv[2] === 'store') {
  await measureKeys((windowMs) => {
    const store = new MemoryStore({ clock: systemClock, cleanupInterval: 1024, maxKeys: 2_000_000 })
    return (key) => store.consume({ key, limit: 1e9, windowMs, cost: 1 })
  })
} else {
  const product = defineProduct({
    name: 'bench',
    plugins: [database, sharedStore, rateLimit, memory, localBucket, sharedWindow, sharedBucket],
    config: {
      'platform.database.sqlite.file': ':memory:',
      'platform.rate-limit.stores.memory.max-keys': 2_000_000,
      'platform.log.level': 'warn',
    },
  })
  const limiter = (await startProduct(product, { envFile: false })).service(rateLimiter)
  const all = ['memory', 'local-token-bucket', 'shared-window', 'shared-bucket'].map((store) =>
    limiter.declare({ store, maxAttempts: 1e9, windowMs: 1000 }),
  )
  await warmUp(all.map((limit) => () => limit.consume('warm')))
  await measureKeys((windowMs) => {
    const limit = limiter.declare({ store: 'memory', maxAttempts: 1e9, windowMs })
    return (key) => limit.consume(key)
  })
}
