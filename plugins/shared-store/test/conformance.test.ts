import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { database } from '@plinth/database'
import { type SharedStoreHarness, sharedStoreCases } from '@plinth/dev/conformance/shared-store'
import { rejectsWith, testConformanceKit } from '@plinth/dev/testing'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import t from 'tap'
import { createSharedStoreCases, faultySharedStores } from './fixtures/faulty-shared-stores.ts'
import { patience, settle, twoInstances } from './fixtures/instances.ts'

for (const { dialect, skip } of everyDialect) {
  t.test(`the database driver obeys the contract (${dialect})`, { skip }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const { one, instances, stop } = await twoInstances(db.config)
    t.teardown(stop)
    const create = async (): Promise<SharedStoreHarness> => {
      await one.service(database).execute('delete from shared_store_entry')
      return { instances, pass: (ms) => pause(ms), settle: () => settle(instances), stop: async () => {} }
    }
    t.equal(instances[0].driver, 'database')
    t.equal(instances[0].redis, undefined)
    const earlier = await instances[0].acquire('clock', 60_000)
    await earlier?.release()
    const ahead = (Date.now() + 3_600_000) * 1000
    await one.service(database).execute('update shared_store_entry set amount = ?', [ahead])
    t.equal((await instances[1].acquire('clock', 60_000))?.fence, ahead + 1, 'a fence does not go back with the clock')
    for (const { name, run } of sharedStoreCases(create, patience)) await t.test(name, run)
  })
}

t.test('R-039 the Redis driver obeys the contract, with its key prefix', { skip: skipRedis }, async (t) => {
  const space = createRedisNamespace()
  t.teardown(() => space.drop())
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { instances, stop } = await twoInstances({ ...db.config, ...space.config })
  t.teardown(stop)
  const create = async (): Promise<SharedStoreHarness> => {
    await space.clear()
    return { instances, pass: (ms) => pause(ms), settle: () => settle(instances), stop: async () => {} }
  }
  t.equal(instances[0].driver, 'redis')
  const server = instances[0].redis
  t.match(server, { keyPrefix: space.keyPrefix })
  t.notMatch(Object.keys(server ?? {}), ['options'], 'what is handed out names no login')
  const own = server?.connect({ maxRetriesPerRequest: 0 })
  t.equal(await own?.ping(), 'PONG', 'a plugin can get a separate connection')
  own?.disconnect()
  for (const { name, run } of sharedStoreCases(create, patience)) await t.test(name, run)

  await space.clear()
  const [store] = instances
  const mark = randomUUID()
  const request = { key: mark, limit: 1, windowMs: 60_000, cost: 1 }
  await store.set(mark, 'x', 60_000)
  await store.increment(mark, 60_000)
  await store.acquire(mark, 60_000)
  await store.quota.decide('window', request, true)
  await store.quota.decide('bucket', request, true)
  const everywhere: string[] = []
  for await (const page of space.client.scanStream({ match: `*${mark}*`, count: 1000 })) everywhere.push(...page)
  t.same(
    everywhere.sort(),
    [
      `bucket:${mark}`,
      `counter:${mark}`,
      `value:${mark}`,
      `windows:${mark}`,
      `{lock:${mark}}`,
      `{lock:${mark}}:fence`,
    ].map((name) => `${space.keyPrefix}:${name}`),
  )

  const ahead = (Date.now() + 3_600_000) * 1000
  await space.client.set(`${space.keyPrefix}:{lock:clock}:fence`, ahead)
  t.equal((await store.acquire('clock', 60_000))?.fence, ahead + 1, 'a fence does not go back with the clock of Redis')

  await space.client.set(`${space.keyPrefix}:counter:orphan`, 5)
  t.match(await store.increment('orphan', 60_000), { value: 6, ttlMs: 60_000 }, 'a counter without an end gets one')
  await space.client.lpush(`${space.keyPrefix}:value:wrong`, 'x')
  await rejectsWith(t, store.get('wrong'), { code: 'PLINTH_SHARED_STORE_REFUSED', message: /WRONGTYPE/ })
})

t.test('the kit rejects faulty shared stores', async (t) => {
  const { faults, share, ...result } = await testConformanceKit(createSharedStoreCases, faultySharedStores)
  t.same(result, { wronglyRejected: [], missed: [], noSurvivors: [], unproven: [], vague: [] })
  t.ok(faults >= 25 && share >= 0.95, `refuses ${(100 * share).toFixed(1)} % of ${faults}`)
  for (const [what, { reason }] of Object.entries(faultySharedStores.survivors))
    t.comment(`survives: ${what}. ${reason}`)
})
