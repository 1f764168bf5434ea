import { systemClock } from '@plinth/kernel'
import { MemoryStore } from '@plinth/rate-limit-stores/memory'
import { measureKeys } from './million-keys.ts'

await measureKeys((windowMs) => {
  const store = new MemoryStore({ clock: systemClock, cleanupInterval: 1024, maxKeys: 2_000_000 })
  return (key) => store.consume({ key, limit: 1e9, windowMs, cost: 1 })
})
