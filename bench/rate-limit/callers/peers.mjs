// Measured calls of rate-limiter-flexible and of Redis itself. The argument is the port of Redis. This file is
// JavaScript, so that the type check does not need the measured packages.
import { createRequire } from 'node:module'
import { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { keyRing, serveMeasurements, warmUp } from '../meter.ts'

// The storage of the memory limiter, which the package does not export by name.
const require = createRequire(import.meta.url)
const MemoryStorage = require('rate-limiter-flexible/lib/component/MemoryStorage/MemoryStorage.js')

const port = Number(process.argv[2])
const plain = new Redis({ port })
const pipelined = new Redis({ port, enableAutoPipelining: true })
const roomy = { points: 1e12, duration: 3600 }
const memory = new RateLimiterMemory(roomy)
const drained = new RateLimiterMemory({ points: 1, duration: 3600 })
await drained.consume('drained:account:0123456789abcdef')
const storage = new MemoryStorage()
const redis = new RateLimiterRedis({ ...roomy, storeClient: plain })
const redisPipelined = new RateLimiterRedis({ ...roomy, storeClient: pipelined })
const next = keyRing('peer')
const count = (key) => storage.incrby(`rlflx:${key}`, 1, 3600)

const calls = {
  allow: () => memory.consume('login:account:0123456789abcdef'),
  // The limiter rejects its promise when it denies a call.
  deny: () => drained.consume('drained:account:0123456789abcdef').catch((denied) => denied),
  // This storage also counts denied calls.
  'sync allow': () => count('login:account:0123456789abcdef'),
  'sync deny': () => count('drained:account:0123456789abcdef'),
  incr: () => plain.incr(next()),
  'incr, pipelined': () => pipelined.incr(next()),
  window: () => redis.consume(next()),
  'window, pipelined': () => redisPipelined.consume(next()),
}
await warmUp(Object.values(calls))
serveMeasurements(calls)
