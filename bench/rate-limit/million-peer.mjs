import { createRequire } from 'node:module'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { measureKeys } from './million-keys.ts'

const require = createRequire(import.meta.url)
const MemoryStorage = require('rate-limiter-flexible/lib/component/MemoryStorage/MemoryStorage.js')

// Argument: `store` measures the storage of the memory limiter, and `limiter` measures the whole limiter.
await measureKeys((windowMs) => {
  if (process.argv[2] === 'store') {
    const storage = new MemoryStorage()
    return (key) => storage.incrby(key, 1, windowMs / 1000)
  }
  const limiter = new RateLimiterMemory({ points: 1e9, duration: windowMs / 1000 })
  return (key) => limiter.consume(key)
})
