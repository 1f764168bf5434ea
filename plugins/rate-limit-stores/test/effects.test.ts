/** What each key of the stores does, seen through the limiter of a product that has it. */
import databasePlugin from '@plinth/database'
import { defineProduct, type JsonValue, type Plugin } from '@plinth/kernel'
import { manualClock, startForTest } from '@plinth/kernel/testing'
import rateLimitPlugin, { rateLimiter } from '@plinth/rate-limit'
import localTokenBucket from '@plinth/rate-limit-stores/local-token-bucket'
import memory from '@plinth/rate-limit-stores/memory'
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

for (const [name, plugin] of [
  ['local-token-bucket', localTokenBucket],
  ['memory', memory],
] as const) {
  t.test(`how many keys ${name} holds, and when it forgets them`, async (t) => {
    const root = `platform.rate-limit.stores.${name}`
    // effects of platform.rate-limit.stores.{local-token-bucket,memory}.{max-keys,cleanup-interval}
    const few = await start(t, plugin, { [`${root}.max-keys`]: 2, [`${root}.cleanup-interval`]: 1 })
    t.match(await few.take('a', name), { allowed: true })
    await few.take('b', name)
    await t.rejects(few.take('c', name), { code: '503' }, 'a third key is refused')
    await few.clock.advance(5000)
    await few.take('a', name)
    await new Promise((resolve) => setImmediate(resolve))
    t.match(await few.take('c', name), { allowed: true }, 'once others have lapsed it fits')
  })
}

for (const [name, plugin] of [
  ['local-token-bucket', localTokenBucket],
  ['shared-window', sharedWindow],
  ['shared-bucket', sharedBucket],
] as const) {
  t.test(`the store ${name} can be left out`, async (t) => {
    const key = `platform.rate-limit.stores.${name}.enabled`
    // effects of platform.rate-limit.stores.{local-token-bucket,shared-window,shared-bucket}.enabled
    t.match(await (await start(t, plugin, { [key]: true })).take('a', name), { allowed: true })
    const without = await start(t, plugin, { [key]: false })
    await t.rejects(without.take('a', name), { code: 'PLINTH_RATE_LIMIT_UNKNOWN_STORE' })
  })
}

t.test('a provider is the store itself, and nothing else', async (t) => {
  // effects of platform.rate-limit.stores.{local-token-bucket,memory,shared-window,shared-bucket}.provider
  for (const [name, plugin] of Object.entries({
    'local-token-bucket': localTokenBucket,
    memory,
    'shared-window': sharedWindow,
    'shared-bucket': sharedBucket,
  })) {
    const key = `platform.rate-limit.stores.${name}.provider`
    await t.rejects(start(t, plugin, { [key]: 'other' }), { message: new RegExp(key.replaceAll('.', '\\.')) })
    t.match(await (await start(t, plugin, { [key]: name })).take('a', name), { allowed: true })
  }
})
