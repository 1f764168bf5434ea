/** Tests the shared store on a Redis Cluster. The proof `redis` tests failures of sentinels and clusters. */
import { setTimeout as pause } from 'node:timers/promises'
import { type SharedStoreHarness, sharedStoreCases } from '@plinth/dev/conformance/shared-store'
import { freePort, rejectsWith, until } from '@plinth/dev/testing'
import { skipWithoutRedisProgram } from '@plinth/dev/testing/shared-store'
import { errorReason, healthCheck } from '@plinth/kernel'
import t from 'tap'
import { patience, settle, twoInstances } from './fixtures/instances.ts'
import { send, startCluster } from './fixtures/redis-servers.ts'

const memory = { 'platform.database.sqlite.file': ':memory:' }

t.test(
  'the Redis driver obeys the contract on a cluster',
  { skip: skipWithoutRedisProgram, timeout: 600_000 },
  async (t) => {
    const cluster = await startCluster()
    t.teardown(() => cluster.drop())
    const { one, instances, stop } = await twoInstances({
      ...memory,
      ...cluster.config,
      'platform.cache.key-prefix': 'shop',
    })
    t.teardown(stop)
    const create = async (): Promise<SharedStoreHarness> => {
      await cluster.clear()
      return { instances, pass: (ms) => pause(ms), settle: () => settle(instances), stop: async () => {} }
    }
    for (const { name, run } of sharedStoreCases(create, patience)) await t.test(name, run)

    await cluster.clear()
    const [store] = instances
    const requests = Array.from({ length: 20 }, (_, n) => ({ key: `k${n}`, limit: 1, windowMs: 60_000, cost: 1 }))
    for (const algorithm of ['window', 'bucket'] as const) {
      const joint = await store.quota.decideAll(algorithm, requests)
      t.ok(
        joint.every(({ allowed }) => allowed),
        'limits of many keys are decided together',
      )
      const each = await Promise.all(requests.map((request) => store.quota.decide(algorithm, request, true)))
      t.notOk(
        each.some(({ allowed }) => allowed),
        'and one by one, with the same counts',
      )
    }
    const found = await Promise.all(
      cluster.nodes.slice(0, 3).map(async ({ port }) => (await send(port, ['keys', '*'])) as string[]),
    )
    t.ok(
      found.flat().every((key) => /^\{shop:(?:windows|bucket)\}:k\d+$/.test(key)),
      'all windows are in one slot, and so are all buckets',
    )
    const own = instances[0].redis?.connect({ maxRetriesPerRequest: 0 })
    t.equal(await own?.ping(), 'PONG', 'a plugin can get a separate connection')
    own?.disconnect()
    t.equal(await instances[0].redis?.evictionPolicy(), 'noeviction')
    await send(cluster.nodes[1]?.port ?? 0, ['config', 'set', 'maxmemory-policy', 'allkeys-lru'])
    t.equal(await instances[0].redis?.evictionPolicy(), 'allkeys-lru', 'the policy of every primary counts')

    const nodes = cluster.config['platform.cache.cluster.nodes'] as string[]
    const others = await twoInstances({
      ...memory,
      ...cluster.config,
      'platform.cache.cluster.nodes': [`127.0.0.1:${await freePort()}`, ...nodes],
    })
    t.teardown(others.stop)
    const leave = await others.instances[0].subscribe('any', () => {})
    await leave()
    t.pass('an instance starts if the first node is down')

    await cluster.drop()
    const isLost = () =>
      store.get('key').then(
        () => false,
        (error: unknown) => /not connected/.test(errorReason(error)),
      )
    await until(isLost, 'the client has lost all nodes')
    const unavailable = { code: 'PLINTH_SHARED_STORE_UNAVAILABLE' }
    await rejectsWith(t, (async () => store.redis?.evictionPolicy())(), unavailable)
    const report = await one.contributions(healthCheck).get('redis')?.(new AbortController().signal)
    t.match(report?.warnings?.join(), /does not respond/, 'a lost cluster is reported')
  },
)

t.test('keys that contradict each other are rejected with the name of the key', async (t) => {
  const sentinel = { 'platform.cache.mode': 'sentinel', 'platform.cache.sentinel.nodes': ['a:1'] }
  const cluster = { 'platform.cache.mode': 'cluster', 'platform.cache.cluster.nodes': ['a:1'] }
  const wrong = [
    [{ 'platform.cache.mode': 'sentinel' }, 'platform.cache.sentinel.nodes must contain at least one address while'],
    [sentinel, 'platform.cache.sentinel.name must contain the name of the primary while'],
    [{ 'platform.cache.mode': 'cluster' }, 'platform.cache.cluster.nodes must contain at least one address while'],
    [{ ...cluster, 'platform.cache.database': 1 }, 'platform.cache.database must be 0 while platform.cache.mode is'],
    [
      { 'platform.cache.password': 'x', 'platform.cache.password-file': 'y' },
      'platform.cache.password must be empty while platform.cache.password-file is set',
    ],
  ] as const
  for (const [config, message] of wrong) {
    const starting = twoInstances({ ...memory, 'platform.cache.enabled': true, ...config })
    const cause = { code: 'PLINTH_SHARED_STORE_SETTINGS', message: new RegExp(message) }
    await rejectsWith(t, starting, { code: 'PLINTH_START_FAILED', cause })
  }
  const address = twoInstances({ ...memory, ...sentinel, 'platform.cache.sentinel.nodes': ['a:70000'] })
  await rejectsWith(t, address, { message: /platform\.cache\.sentinel\.nodes.*must be a host and a port/s })
})
