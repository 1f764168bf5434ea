/** Tests the effect of each configuration key of the stores, through the limiter of a product with the store. */
import databasePlugin from '@plinth/database'
import { assertKeyEffect, manualClock, startForTest } from '@plinth/dev/testing'
import { defineProduct, type JsonValue, type Plugin } from '@plinth/kernel'
import rateLimitPlugin, { rateLimiter } from '@plinth/rate-limit'
import localTokenBucket, { LocalBucketStore } from '@plinth/rate-limit-stores/local-token-bucket'
import memory, { MemoryStore } from '@plinth/rate-limit-stores/memory'
import sharedBucket from '@plinth/rate-limit-stores/shared-bucket'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStorePlugin from '@plinth/shared-store'
import t, { type Test } from 'tap'

async function start(t: Test, plugin: Plugin, config: Record<string, JsonValue>) {
  const clock = manualClock()
  const product = defineProduct({
    name: 'test',
    plugins: [databasePlugin, sharedStorePlugin, rateLimitPlugin, memory, plugin].filter(
      (one, index, all) => all.indexOf(one) === index,
    ),
    config: { 'platform.database.sqlite.file': ':memory:', 'platform.rate-limit.failure-policy': 'closed', ...config },
  })
  const running = await startForTest(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const limiter = running.service(rateLimiter)
  const take = (key: string, store: string) => limiter.consume({ key, store, maxAttempts: 5, windowMs: 1000 })
  return { clock, take }
}

const localStores = {
  'local-token-bucket': { plugin: localTokenBucket, storeClass: LocalBucketStore },
  memory: { plugin: memory, storeClass: MemoryStore },
}
const localStoreOf = (key: string) => (key.includes('.memory.') ? 'memory' : 'local-token-bucket')

t.test('a local store accepts the maximum number of keys', async (t) => {
  const found = await assertKeyEffect(t, 'platform.rate-limit.stores.{local-token-bucket,memory}.max-keys', {
    changed: 1_000,
    observe: async (values, key) => {
      const name = localStoreOf(key)
      const { take } = await start(t, localStores[name].plugin, values)
      const outcomes = Array.from({ length: 1_001 }, (_, index) =>
        take(String(index), name).then(
          ({ allowed }) => `allowed: ${allowed}`,
          (error: { code: string }) => error.code,
        ),
      )
      return [...new Set(await Promise.all(outcomes))].join(', ')
    },
  })
  for (const { before, after } of found) t.same([before, after], ['allowed: true', 'allowed: true, 503'])
})

t.test('a local store removes expired keys after the configured number of calls', async (t) => {
  const found = await assertKeyEffect(t, 'platform.rate-limit.stores.{local-token-bucket,memory}.cleanup-interval', {
    changed: 1,
    observe: async (values, key) => {
      const name = localStoreOf(key)
      const { plugin, storeClass } = localStores[name]
      const { clock, take } = await start(t, plugin, values)
      let store: { readonly size: number } | undefined
      const { consume } = storeClass.prototype
      storeClass.prototype.consume = function (this: never, request) {
        store = this
        return consume.call(this, request)
      }
      try {
        for (const one of ['a', 'b']) await take(one, name)
        await clock.advance(5_000)
        for (let calls = 0; calls < 5; calls++) {
          await take('c', name)
          await new Promise((resolve) => setImmediate(resolve))
        }
        return store?.size
      } finally {
        storeClass.prototype.consume = consume
      }
    },
  })
  for (const { before, after } of found) t.same([before, after], [3, 1])
})

const plugins: Readonly<Record<string, Plugin>> = {
  'local-token-bucket': localTokenBucket,
  memory,
  'shared-window': sharedWindow,
  'shared-bucket': sharedBucket,
}

t.test('a store can be left out', async (t) => {
  const outcomes = await assertKeyEffect(
    t,
    'platform.rate-limit.stores.{local-token-bucket,shared-window,shared-bucket}.enabled',
    {
      compared: true,
      changed: false,
      observe: async (values, key) => {
        const name = key.split('.').at(-2) ?? ''
        const { take } = await start(t, plugins[name] ?? memory, values)
        return take('a', name).then(
          ({ allowed }) => `allowed: ${allowed}`,
          (error: { code: string }) => error.code,
        )
      },
    },
  )
  for (const { before, after } of outcomes)
    t.same([before, after], ['allowed: true', 'PLINTH_RATE_LIMIT_UNKNOWN_STORE'])
})

t.test('the provider of a store is the store itself', async (t) => {
  const outcomes = await assertKeyEffect(
    t,
    'platform.rate-limit.stores.{local-token-bucket,memory,shared-window,shared-bucket}.provider',
    {
      changed: 'other',
      observe: async (values, key) => {
        const name = key.split('.').at(-2) ?? ''
        return start(t, plugins[name] ?? memory, values).then(
          async ({ take }) => `allowed: ${(await take('a', name)).allowed}`,
          ({ message }: Error) => message.includes(key),
        )
      },
    },
  )
  for (const { before, after } of outcomes) t.same([before, after], ['allowed: true', true])
})
