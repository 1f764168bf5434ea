import { setTimeout as pause } from 'node:timers/promises'
import databasePlugin from '@plinth/database'
import { defineProduct, healthCheck, type JsonValue } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import sharedStorePlugin, { type SharedStore, sharedStore } from '@plinth/shared-store'
import { ownRedis, skipOwnRedis } from '@plinth/shared-store/testing'
import t, { type Test } from 'tap'

/** Far from what a busy machine takes for an answer. */
const deadlineMs = 2_000
const unavailable = { code: 'PLINTH_SHARED_STORE_UNAVAILABLE' }

const start = (config: Record<string, JsonValue>, roles?: readonly ('web' | 'worker' | 'cli')[]) =>
  startForTest(
    defineProduct({
      name: 'test',
      plugins: [databasePlugin, sharedStorePlugin],
      config: { 'platform.database.sqlite.file': ':memory:', 'platform.cache.enabled': true, ...config },
    }),
    roles === undefined ? {} : { roles },
  )

/** A subscriber that was cut off hears again some time after the connection is back. */
async function publishUntilHeard(store: SharedStore, heard: readonly string[]): Promise<void> {
  for (let count = 1; heard.length === 0 && count <= 600; count++) {
    await store.publish('news', `after ${count}`)
    await pause(50)
  }
}

async function storeOnOwnRedis(t: Test) {
  const redis = await ownRedis()
  t.teardown(() => redis.drop())
  const product = await start({
    'platform.cache.port': redis.port,
    'platform.cache.command-timeout': `${deadlineMs}ms`,
  })
  t.teardown(() => product.stop('test ended'))
  const store = product.service(sharedStore)
  const request = { key: 'k', limit: 1000, windowMs: 60_000, cost: 1 }
  const calls: Record<string, () => Promise<unknown>> = {
    get: () => store.get('k'),
    set: () => store.set('k', 'v'),
    take: () => store.take('k'),
    increment: () => store.increment('k', 60_000),
    acquire: () => store.acquire('k', 60_000),
    publish: () => store.publish('k', 'v'),
    window: () => store.quota.decide('window', request, { take: true }),
    bucket: () => store.quota.decide('bucket', request, { take: true }),
    reset: () => store.quota.reset('window', 'k'),
  }
  /** Every call fails, with the code, by the deadline; answers the slowest. */
  const allFail = async () => {
    const outcomes = await Promise.all(
      Object.entries(calls).map(async ([name, call]) => {
        const from = performance.now()
        const thrown = await call().then(
          () => undefined,
          (error: unknown) => error,
        )
        return { name, thrown, ms: performance.now() - from }
      }),
    )
    for (const { name, thrown } of outcomes) t.match(thrown, unavailable, name)
    const times = outcomes.map(({ ms }) => ms)
    return Math.max(...times)
  }
  const answersAgain = async () => {
    for (let tries = 0; tries < 600; tries++) {
      try {
        return await store.get('kept')
      } catch {
        await pause(50)
      }
    }
    return 'never'
  }
  return { redis, product, store, calls, allFail, answersAgain }
}

const skip = skipOwnRedis

t.test('a frozen Redis is noticed by the deadline, and afterwards at once', { skip }, async (t) => {
  const { redis, product, store, allFail, answersAgain } = await storeOnOwnRedis(t)
  await store.set('kept', 'kept')
  const heard: string[] = []
  await store.subscribe('news', (message) => heard.push(message))
  redis.freeze()
  t.teardown(redis.thaw)
  const first = await allFail()
  t.ok(first >= deadlineMs - 20 && first < 2 * deadlineMs, `every call fails at the deadline: ${Math.round(first)} ms`)
  const later = await allFail()
  t.ok(later < deadlineMs, `while the connection is made anew calls do not wait for it: ${Math.round(later)} ms`)
  const check = product.contributions(healthCheck).get('redis')
  await t.rejects(Promise.resolve(check?.(new AbortController().signal)), unavailable)
  redis.thaw()
  t.equal(await answersAgain(), 'kept')
  await check?.(new AbortController().signal)
  await publishUntilHeard(store, heard)
  t.match(heard, [/^after /])
})

t.test('a killed Redis comes back empty, and everything goes on', { skip }, async (t) => {
  const { redis, store, calls, allFail, answersAgain } = await storeOnOwnRedis(t)
  const heard: string[] = []
  await store.subscribe('news', (message) => heard.push(message))
  await store.set('kept', 'lost')
  for (const call of Object.values(calls)) await call()
  const before = await store.acquire('task', 60_000)
  const underWay = Promise.allSettled(Array.from({ length: 50 }, () => store.increment('hits', 60_000)))
  redis.freeze()
  const cutOff = Promise.allSettled(Array.from({ length: 50 }, () => store.increment('cut off', 60_000)))
  await redis.kill()
  t.equal((await underWay).length, 50)
  const outcomes = await cutOff
  t.ok(
    outcomes.every((outcome) => outcome.status === 'fulfilled' || outcome.reason.code === unavailable.code),
    'calls that were under way fail or have their answer',
  )
  t.ok((await allFail()) < deadlineMs, 'a connection that is closed needs no deadline')
  await redis.start()
  t.equal(await answersAgain(), undefined, 'what was there is gone')
  t.equal((await store.increment('cut off', 60_000)).value, 1, 'nothing was sent twice')
  for (const [name, call] of Object.entries(calls)) await t.resolves(call(), name)
  const after = await store.acquire('task', 60_000)
  t.ok((after?.fence ?? 0) > (before?.fence ?? 0), 'fences grow over the loss of everything')
  t.equal(await before?.renew(60_000), false, 'a lock that was lost is not held')
  await publishUntilHeard(store, heard)
  t.match(heard, [/^after /], 'who listened listens again')
})

t.test('a product without its Redis does not start, and says why', { skip }, async (t) => {
  const redis = await ownRedis()
  await redis.drop()
  const config = { 'platform.cache.port': redis.port, 'platform.cache.password': 'hidden-secret' }
  await t.rejects(start(config), { message: /shared-store.*127\.0\.0\.1:\d+/s })
  const command = await start(config, ['cli'])
  t.teardown(() => command.stop('test ended'))
  const error = await command
    .service(sharedStore)
    .get('k')
    .then(
      () => undefined,
      (thrown: Error) => thrown,
    )
  t.match(error, unavailable)
  t.match(error?.message, /ECONNREFUSED/)
  t.notMatch(error?.message, /hidden-secret/)
})
