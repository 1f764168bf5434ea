import { until } from '@plinth/dev/testing'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { skipRedis, startRedis } from '@plinth/dev/testing/shared-store'
import type { JsonValue, RateLimitRequest } from '@plinth/kernel'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { startConsumerProcess } from './fixtures/processes.ts'
import { concurrentCalls, type StoreName } from './fixtures/product.ts'

type Config = Readonly<Record<string, JsonValue>>
const names: readonly StoreName[] = ['shared-window', 'shared-bucket']
/** The window is so long that nothing expires or refills during a test. */
const windowMs = 3_600_000_000
const timeout = 600_000

/** Runs two instances under load that together call more often than the limit allows. */
async function neverOverAdmits(t: Test, name: StoreName, config: Config, kill: boolean): Promise<void> {
  const of: RateLimitRequest = { key: `shared:${name}:${kill}`, limit: 300, windowMs, cost: 1 }
  const first = startConsumerProcess(t, config, name, of, 400)
  const second = startConsumerProcess(t, config, name, of, 400)
  for (const { ready } of [first, second]) await ready()
  for (const { tell } of [first, second]) tell()
  if (kill) {
    // One instance may be much faster than the other and use most of the limit.
    await until(() => first.passed + second.passed > 20, 'they are under way')
    await first.kill()
  }
  await Promise.all([first.ended(), second.ended()])
  const total = first.passed + second.passed
  t.equal(second.isFinished, true, 'who was not killed finished')
  t.equal(second.failed, 0, 'and saw no error')
  // Calls whose result was lost may have been counted.
  const lost = kill ? concurrentCalls + first.failed : 0
  t.ok(total <= 300 && total >= 300 - lost, `${total} of 300 passed, ${lost} may be lost`)
}

for (const { dialect, skip } of everyDialect) {
  t.test(
    `R-035 two processes on one database (${dialect}) never accept too many calls`,
    { skip, timeout },
    async (t) => {
      const db = await createDatabase(dialect)
      t.teardown(() => db.drop())
      for (const name of names) {
        await t.test(name, { timeout }, (t) => neverOverAdmits(t, name, db.config, false))
        await t.test(`${name}, one is killed`, { timeout }, (t) => neverOverAdmits(t, name, db.config, true))
      }
    },
  )
}

/** Starts a Redis server for this test. Returns the configuration of products that use it. */
async function redisOf(t: Test) {
  const redis = await startRedis()
  if (redis === undefined) throw new Error('redis-server cannot be started')
  t.teardown(() => redis.drop())
  const client = new Redis({ port: redis.port })
  client.on('error', () => {})
  t.teardown(() => client.disconnect())
  const config: Config = { 'platform.database.sqlite.file': ':memory:', ...redis.config }
  return { redis, client, config }
}

t.test('R-035 two processes on one Redis never accept too many calls', { skip: skipRedis, timeout }, async (t) => {
  const { config } = await redisOf(t)
  for (const name of names) {
    await t.test(name, { timeout }, (t) => neverOverAdmits(t, name, config, false))
    await t.test(`${name}, one is killed`, { timeout }, (t) => neverOverAdmits(t, name, config, true))
  }
})

t.test(
  'R-035 while Redis is paused calls fail, and quota that they may have taken is not granted again',
  {
    skip: skipRedis,
    timeout,
  },
  async (t) => {
    const { redis, client, config: patient } = await redisOf(t)
    const config = { ...patient, 'platform.cache.command-timeout': '2s' }
    const of: RateLimitRequest = { key: 'paused', limit: 2000, windowMs, cost: 1 }
    const both = [
      startConsumerProcess(t, config, 'shared-window', of, null),
      startConsumerProcess(t, config, 'shared-window', of, null),
    ]
    for (const { ready } of both) await ready()
    for (const { tell } of both) tell()
    await until(() => both.every(({ passed }) => passed > 20), 'both are under way')
    redis.freeze()
    t.teardown(redis.thaw)
    await until(() => both.every(({ failed }) => failed > 0), 'both notice')
    redis.thaw()
    await until(() => both.every(({ isDenied }) => isDenied), 'the quota is used up')
    for (const { tell } of both) tell()
    await Promise.all(both.map(({ ended }) => ended()))
    const total = both.reduce((sum, { passed }) => sum + passed, 0)
    t.ok(total <= 2000, `at most the limit: ${total}`)
    // Results may be lost: at most all pending calls of both instances, for each of a few reconnections.
    t.ok(total > 1000, `few are lost: ${2000 - total}`)
    const left = await client.pttl('plinth:windows:paused')
    t.equal(await client.hget('plinth:windows:paused', `s${windowMs}`), '2000')
    t.ok(left > 0 && left <= windowMs)
  },
)

t.test(
  'R-035 if Redis restarts empty the window starts again: one more limit, and no more',
  {
    skip: skipRedis,
    timeout,
  },
  async (t) => {
    const { redis, config } = await redisOf(t)
    for (const name of names) {
      const of: RateLimitRequest = { key: `emptied:${name}`, limit: 200, windowMs, cost: 1 }
      const both = [startConsumerProcess(t, config, name, of, null), startConsumerProcess(t, config, name, of, null)]
      const total = () => both.reduce((sum, { passed }) => sum + passed, 0)
      for (const { ready } of both) await ready()
      for (const { tell } of both) tell()
      await until(() => both.every(({ isDenied }) => isDenied), 'the quota is used up')
      await until(() => total() >= 200, 'all that passed is told')
      t.equal(total(), 200)
      await redis.kill()
      await until(() => both.every(({ failed }) => failed > 0), 'both notice')
      t.equal(total(), 200, 'nobody passes meanwhile')
      await redis.start()
      await until(() => total() >= 400, 'the quota is there again')
      for (const { tell } of both) tell()
      await Promise.all(both.map(({ ended }) => ended()))
      t.equal(total(), 400, name)
    }
  },
)
