import { setTimeout as pause } from 'node:timers/promises'
import { createDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import { event } from '@plinth/events'
import sharedStorePlugin from '@plinth/shared-store'
import t from 'tap'
import { Type } from 'typebox'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))

t.test('with Redis a worker is notified immediately of events of another process', { skip: skipRedis }, async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  const seen = Promise.withResolvers<string>()
  const settings = { plugins: [sharedStorePlugin], config: redis.config }
  const web = await startEvents(t, at, { ...settings, roles: ['web'] })
  const worker = await startEvents(t, at, {
    ...settings,
    roles: ['worker'],
    handlers: (events) => events.on(noted, 'test.note', ({ payload }) => seen.resolve(payload.note)),
  })
  await worker.events.idle()
  // No clock advances, so no instance polls. Only a message can cause the delivery.
  await web.events.publish(noted, { note: 'from afar' })
  t.equal(await Promise.race([seen.promise, pause(120_000, 'nothing', { ref: false })]), 'from afar')
})

t.test('with Redis a worker whose slots are full passes its events to another one', { skip: skipRedis }, async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  const isBlocked = Promise.withResolvers<void>()
  const seen = Promise.withResolvers<string>()
  const settings = {
    plugins: [sharedStorePlugin],
    config: { ...redis.config, 'platform.events.dispatcher.network-concurrency': 1 },
    roles: ['worker'],
  } as const
  const begun = Promise.withResolvers<void>()
  const busy = await startEvents(t, at, {
    ...settings,
    handlers: (events) =>
      events.on(noted, 'test.note', () => {
        begun.resolve()
        return isBlocked.promise
      }),
  })
  const other = await startEvents(t, at, {
    ...settings,
    handlers: (events) => events.on(noted, 'test.note', ({ payload }) => seen.resolve(payload.note)),
  })
  await other.events.idle()
  await busy.events.publish(noted, { note: 'slow' })
  await begun.promise
  await busy.events.publish(noted, { note: 'for another' })
  t.equal(await Promise.race([seen.promise, pause(120_000, 'nothing', { ref: false })]), 'for another')
  isBlocked.resolve()
  await busy.events.idle()
  t.same(await busy.states(), { delivered: 2 })
})
