import databasePlugin from '@plinth/database'
import { rejectsWith, startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { skipRedis, skipRedisOn, skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { defineProduct } from '@plinth/kernel'
import sharedStorePlugin, { redisProbe } from '@plinth/shared-store'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { withTarget } from '../src/redis-probe.ts'

async function probe(t: Test) {
  const db = await createDatabase('sqlite')
  const product = defineProduct({ name: 'test', plugins: [databasePlugin, sharedStorePlugin], config: db.config })
  const running = await startForTest(product)
  t.teardown(async () => {
    await running.stop('test ended')
    await db.drop()
  })
  return running.service(redisProbe)
}
const here = { host: '127.0.0.1', port: 6379, database: 0, password: '' }

t.test('I-104 time of a Redis that the product does not use', { skip: skipRedis }, async (t) => {
  const { time } = await probe(t)
  for (const reported of [await time(), await time(here)])
    t.ok(Math.abs(reported - Date.now()) < 3_600_000, `${reported}`)
  await rejectsWith(t, time({ ...here, database: 1_000_000 }), { code: 'PLINTH_SHARED_STORE_REFUSED' })
  await rejectsWith(t, time({ ...here, password: 'wrong-word' }), { code: 'PLINTH_SHARED_STORE_REFUSED' })
})

t.test('a Redis that rejects connections is not reported as missing', { skip: skipWithoutRedisProgram }, async (t) => {
  const own = await startRedis()
  t.teardown(() => own.drop())
  t.equal(await skipRedisOn(own.port), false)
  const client = new Redis({ port: own.port })
  await client.config('SET', 'requirepass', 'open-sesame')
  client.disconnect()
  await rejectsWith(t, skipRedisOn(own.port), {
    message: /refuses: its tests cannot be skipped/,
    cause: { message: /NOAUTH/ },
  })
  await own.kill()
  t.match(await skipRedisOn(own.port), 'no Redis on 127.0.0.1')
})

t.test('I-104 a Redis with a password', { skip: skipWithoutRedisProgram }, async (t) => {
  const { time } = await probe(t)
  const own = await startRedis()
  t.teardown(() => own.drop())
  const client = new Redis({ port: own.port })
  await client.config('SET', 'requirepass', 'open-sesame')
  client.disconnect()
  const there = { ...here, port: own.port }
  t.ok(await time({ ...there, password: 'open-sesame', database: 3 }))
  for (const password of ['', 'wrong-word']) {
    const rejection = await time({ ...there, password }).catch((error: unknown) => error)
    t.hasStrict(rejection, { code: 'PLINTH_SHARED_STORE_REFUSED' }, password)
    t.notMatch(String(rejection), 'wrong-word')
  }
})

t.test('the configured credentials are used for the configured server alone', (t) => {
  const limits = { connectTimeout: 1, keepAlive: 2, disconnectTimeout: 3 }
  const nodes = [{ host: 'a', port: 1 }]
  const login = { ...limits, db: 0, username: 'shop', password: 'open-sesame' }
  const running = { mode: 'single', nodes, sentinel: {}, login, commandTimeoutMs: 4 } as const
  const target = { host: 'a', port: 1, database: 4, password: '' }
  t.same(withTarget(running, target), { ...running, login: { ...login, db: 4 } })
  t.same(withTarget(running, { ...target, password: 'typed' }), {
    ...running,
    login: { ...login, db: 4, password: 'typed' },
  })
  const elsewhere = { ...running, nodes: [{ host: 'a', port: 2 }], login: { ...limits, db: 4 } }
  t.same(withTarget(running, { ...target, port: 2 }), elsewhere)
  t.same(withTarget(running, { ...target, host: 'b', password: 'typed' }), {
    ...running,
    nodes: [{ host: 'b', port: 1 }],
    login: { ...limits, db: 4, password: 'typed' },
  })
  const cluster = { ...running, mode: 'cluster' } as const
  t.same(withTarget(cluster, { ...target, host: 'b' }), cluster, 'the form has no addresses of a cluster')
  const typed = { ...cluster, login: { ...login, password: 'typed' } }
  t.same(withTarget(cluster, { ...target, host: 'b', password: 'typed' }), typed)
  t.end()
})

t.test('I-104 a missing Redis', async (t) => {
  const { time } = await probe(t)
  const nobody = { ...here, port: 1 }
  await rejectsWith(t, time(nobody), { code: 'PLINTH_SHARED_STORE_UNAVAILABLE', message: /127\.0\.0\.1:1/ })
  await t.rejects(time(nobody, AbortSignal.abort(new Error('no time'))), /no time/)
})
