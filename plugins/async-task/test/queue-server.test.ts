/** Tests that the engine `bullmq` needs a Redis server that never removes jobs. */
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onSqlite } from '@plinth/dev/testing/database'
import { skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { healthCheck } from '@plinth/kernel'
import { Redis } from 'ioredis'
import t from 'tap'
import { startTasks } from './fixtures/product.ts'

t.test('a Redis that may remove jobs', { skip: skipWithoutRedisProgram }, async (t) => {
  onSqlite(t, 'bullmq', async (t, db) => {
    const redis = await startRedis('--maxmemory-policy', 'allkeys-lru')
    t.teardown(() => redis.drop())
    const client = new Redis({ port: redis.port })
    t.teardown(() => client.disconnect())
    const config = { ...redis.config, 'platform.async-task.engine': 'bullmq' }
    const cause = { code: 'PLINTH_COORDINATION_EVICTION', message: /maxmemory-policy allkeys-lru.*queue async-task/ }
    await rejectsWith(t, startTasks(t, db, { config }), { cause }, 'no worker starts')
    const doctor = async (more = {}) => {
      const { running } = await startTasks(t, db, { config: { ...config, ...more }, roles: ['cli'] })
      const check = running.contributions(healthCheck).get('async-task.queue')
      return async () => check?.(new AbortController().signal)
    }
    const check = await doctor()
    await rejectsWith(t, check(), cause, 'a command predicts it')
    await client.config('SET', 'maxmemory-policy', 'noeviction')
    t.same(await check(), { warnings: [] })
    await client.call('ACL', 'SETUSER', 'blind', 'on', 'nopass', '~*', '&*', '+@all', '-info')
    const blind = await doctor({ 'platform.cache.username': 'blind', 'platform.cache.password': 'any-word' })
    assertMembers(t, await blind(), { warnings: [/^The maxmemory-policy of Redis is unknown/] })
    const embedded = await startTasks(t, db, { config: redis.config, roles: ['cli'] })
    const unused = embedded.running.contributions(healthCheck).get('async-task.queue')
    t.same(await unused?.(new AbortController().signal), { warnings: [] }, 'without the queue, no policy matters')
  })
})
