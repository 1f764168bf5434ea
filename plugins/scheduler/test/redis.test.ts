/** Tests instances in separate processes with the real clock, while their Redis server is stopped and started. */
import { onDatabase, onSqlite, startHalfOpenProxy } from '@plinth/dev/testing/database'
import { skipRedis, skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import t from 'tap'
import { bullmq, useSeparateRedisKeys } from './fixtures/redis.ts'
import { startObserver } from './fixtures/workers.ts'

t.test('A11 Redis frozen, killed and empty again', { skip: skipWithoutRedisProgram }, async (t) => {
  onDatabase(t, 'bullmq', async (t, db) => {
    const redis = await startRedis()
    t.teardown(() => redis.drop())
    const { first, start, runs, overlaps } = await startObserver(t, db, { ...redis.config, ...bullmq })
    const second = await start()
    const more = async (failure: string) => {
      const { length } = await runs()
      await first.until(async () => (await runs()).length > length + 12, failure)
    }
    await more('tasks run')
    redis.freeze()
    await more('tasks run without an answer of Redis')
    redis.thaw()
    await more('tasks run again after Redis stood still')
    await redis.kill()
    await more('tasks run without Redis')
    await redis.start()
    await more('tasks run again on an empty Redis')
    t.same(await overlaps(), [])
    await redis.kill()
    for (const worker of [first, second]) t.same(await worker.end('SIGTERM'), [0, null], 'stops without Redis')
  })
})

t.test(
  'the network to Redis becomes silent: tasks continue, and the process ends on request',
  { skip: skipRedis },
  async (t) => {
    onSqlite(t, 'bullmq', async (t, db) => {
      const proxy = await startHalfOpenProxy({ port: 6379 })
      t.teardown(() => proxy.close())
      const silent = { 'platform.cache.port': proxy.port, 'platform.cache.command-timeout': '1s' }
      const { first, runs, overlaps } = await startObserver(t, db, { ...useSeparateRedisKeys(t), ...silent })
      const more = async (failure: string) => {
        const { length } = await runs()
        await first.until(async () => (await runs()).length > length + 8, failure)
      }
      await more('tasks run')
      for (const round of [1, 2]) {
        proxy.fallSilent()
        const before = proxy.accepted
        const silentSince = performance.now()
        await more(`tasks run in silence ${round}`)
        t.comment(`tasks went on ${Math.round(performance.now() - silentSince)} ms after the silence began`)
        // Three connections: that of the queue, that of its worker, and the second connection of the worker.
        await first.until(() => proxy.accepted >= before + 3, 'connections without an answer are made anew')
        if (round === 1) {
          proxy.recover()
          await more('tasks run again through Redis')
        }
      }
      t.same(await overlaps(), [])
      t.same(await first.end('SIGTERM'), [0, null], 'it stops in silence')
    })
  },
)
