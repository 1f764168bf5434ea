/** Instances that are processes of their own, on the real clock, while their Redis comes and goes. */
import { onEachDatabase } from '@plinth/database/testing'
import { ownRedis, skipOwnRedis } from '@plinth/shared-store/testing'
import t from 'tap'
import { until } from './fixtures/products.ts'
import { bullmq } from './fixtures/redis.ts'
import { observe } from './fixtures/workers.ts'

t.test('A11 Redis frozen, killed and empty again', { skip: skipOwnRedis }, async (t) => {
  onEachDatabase(t, 'bullmq', async (t, db) => {
    const redis = await ownRedis()
    t.teardown(() => redis.drop())
    const { first, start, end, runs, overlaps } = await observe(t, db, { ...redis.config, ...bullmq })
    const second = await start()
    const more = async (failure: string) => {
      const { length } = await runs()
      await until(async () => (await runs()).length > length + 12, failure)
    }
    await more('tasks run')
    redis.freeze()
    await until(async () => (await runs()).every(({ ended }) => ended), 'what runs ends without Redis')
    redis.thaw()
    await more('tasks run again after Redis stood still')
    await redis.kill()
    await until(async () => (await runs()).every(({ ended }) => ended), 'what runs ends without Redis')
    await redis.start()
    await more('tasks run again on an empty Redis')
    t.same(await overlaps(), [])
    await redis.kill()
    t.same(await Promise.all([end(first, 'SIGTERM'), end(second, 'SIGTERM')]), [0, 0], 'stops without Redis')
  })
})
