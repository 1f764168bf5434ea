import database from '@plinth/database'
import { defineProduct, rateLimitStore } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import rateLimit, { rateLimiter } from '@plinth/rate-limit'
import localBucket from '@plinth/rate-limit-stores/local-token-bucket'
import memory from '@plinth/rate-limit-stores/memory'
import sharedBucket from '@plinth/rate-limit-stores/shared-bucket'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import { keyRing, serveMeasurements, warmUp } from '../meter.ts'

/** The whole limiter, called as a plugin calls it. The argument is the port of Redis. */
const product = defineProduct({
  name: 'bench',
  plugins: [database, sharedStore, rateLimit, memory, localBucket, sharedWindow, sharedBucket],
  config: {
    'platform.database.sqlite.file': ':memory:',
    'platform.cache.enabled': true,
    'platform.cache.port': Number(process.argv[2]),
    'platform.cache.key-prefix': 'bench',
    // The timeouts are long, so that the limiter does not switch to another store when Redis is slow on a busy host. A
    // failed call ends the measurement.
    'platform.cache.command-timeout': '60s',
    'platform.rate-limit.store-deadline': '60s',
    'platform.rate-limit.failure-policy': 'closed',
    'platform.log.level': 'warn',
  },
})
const running = await startProduct(product, { envFile: false })
const limiter = running.service(rateLimiter)
const store = running.contributions(rateLimitStore).get('memory')
const next = keyRing('user')
const roomy = { maxAttempts: 1e12, windowMs: 3_600_000 }
const hot = 'login:account:0123456789abcdef'
const drained = { key: 'drained:account:0123456789abcdef', maxAttempts: 1, windowMs: 3_600_000 }
for (const name of ['memory', 'shared-window', 'shared-bucket']) await limiter.consume({ ...drained, store: name })
/** The request that the limiter sends to a store. */
const complete = { key: `rate-limit:${hot}`, limit: 1e12, windowMs: 3_600_000, cost: 1 }
const empty = { ...complete, key: `rate-limit:${drained.key}`, limit: 1 }
store?.consume(empty)

const declared = limiter.declare({ store: 'memory', ...roomy })
const scarce = limiter.declare({ store: 'memory', maxAttempts: 1, windowMs: 3_600_000 })
const window = limiter.declare({ store: 'shared-window', ...roomy })
const scarceWindow = limiter.declare({ store: 'shared-window', maxAttempts: 1, windowMs: 3_600_000 })
const bucket = limiter.declare({ store: 'shared-bucket', ...roomy })
const local = limiter.declare({ store: 'local-token-bucket', ...roomy })

const calls = {
  allow: () => limiter.consume({ key: hot, store: 'memory', maxAttempts: 1e12, windowMs: 3_600_000 }),
  deny: () => limiter.consume({ ...drained, store: 'memory' }),
  'declared allow': () => declared.consume(hot),
  'declared deny': () => scarce.consume(drained.key),
  'sync allow': () => store?.consume(complete),
  'sync deny': () => store?.consume(empty),
  window: () => limiter.consume({ key: next(), store: 'shared-window', ...roomy }),
  joint: () =>
    limiter.consumeAll([
      { key: next(), store: 'shared-window', ...roomy },
      { key: 'address', store: 'shared-window', ...roomy },
    ]),
  'declared window': () => window.consume(next()),
  'declared window deny': () => scarceWindow.consume(drained.key),
  'declared bucket': () => bucket.consume(next()),
  'declared local bucket': () => local.consume(hot),
}
await warmUp(Object.values(calls))
serveMeasurements(calls)
