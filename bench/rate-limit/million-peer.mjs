import { RateLimiterMemory } from 'rate-limiter-flexible'
import { measureKeys } from './million-keys.ts'

await measureKeys((windowMs) => {
  const limiter = new RateLimiterMemory({ points: 1e9, duration: windowMs / 1000 })
  return (key) => limiter.consume(key)
})
