import type { patience } from '@plinth/kernel/conformance'
import type { Lease, SharedStore } from '../contract.ts'

/** A store, and its leases, whose calls hang no longer than the kit waits. */
export function boundedStore(store: SharedStore, { answer }: ReturnType<typeof patience>): SharedStore {
  const lease = (held: Lease): Lease => ({
    key: held.key,
    fence: held.fence,
    renew: (leaseMs) => answer('renew of a lease', () => held.renew(leaseMs)),
    release: () => answer('release of a lease', () => held.release()),
  })
  return {
    driver: store.driver,
    redis: store.redis,
    quota: store.quota,
    get: (key) => answer('get', () => store.get(key)),
    set: (key, value, ttlMs) => answer('set', () => store.set(key, value, ttlMs)),
    setIfAbsent: (key, value, ttlMs) => answer('setIfAbsent', () => store.setIfAbsent(key, value, ttlMs)),
    take: (key) => answer('take', () => store.take(key)),
    delete: (key) => answer('delete', () => store.delete(key)),
    deleteIf: (key, value) => answer('deleteIf', () => store.deleteIf(key, value)),
    increment: (key, ttlMs, by) => answer('increment', () => store.increment(key, ttlMs, by)),
    acquire: (key, leaseMs) =>
      answer('acquire', async () => {
        const held = await store.acquire(key, leaseMs)
        return held && lease(held)
      }),
    publish: (channel, message) => answer('publish', () => store.publish(channel, message)),
    subscribe: (channel, listener, onGap) => answer('subscribe', () => store.subscribe(channel, listener, onGap)),
  }
}
