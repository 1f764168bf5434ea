import { setTimeout as pause } from 'node:timers/promises'
import { createDatabase } from '@plinth/database/testing'
import { event } from '@plinth/events'
import { manualClock } from '@plinth/kernel/testing'
import sharedStorePlugin, { type SharedStore } from '@plinth/shared-store'
import { redisSpace, skipRedis } from '@plinth/shared-store/testing'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { WakeUps } from '../src/wake-ups.ts'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))

t.test('with Redis a worker learns at once what another process published', { skip: skipRedis }, async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const redis = redisSpace()
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
  // No clock moves: no look comes by itself.
  await web.events.publish(noted, { note: 'from afar' })
  t.equal(await Promise.race([seen.promise, pause(20_000, 'nothing', { ref: false })]), 'from afar')
})

t.test('many publications are few messages, the last one included; a failure is one line', async (t) => {
  const clock = manualClock()
  const lines: { msg: string; failures?: number }[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  let messages = 0
  let isDown = false
  const publish = async () => {
    messages += 1
    if (isDown) throw new Error('no Redis')
  }
  const wakeUps = new WakeUps({ publish } as unknown as SharedStore, clock, log)
  for (let n = 0; n < 1_000; n++) wakeUps.announce()
  t.equal(messages, 1)
  await clock.advance(100)
  t.equal(messages, 2, 'for what was published meanwhile')
  await clock.advance(1_000)
  t.equal(messages, 2)
  isDown = true
  for (let n = 0; n < 5; n++) {
    wakeUps.announce()
    await clock.advance(100)
  }
  t.equal(lines.length, 1)
  isDown = false
  wakeUps.announce()
  await clock.advance(100)
  t.match(lines, [{}, { failures: 5 }])
  await wakeUps.stop()
  wakeUps.announce()
  await clock.advance(100)
  t.equal(messages, 8)
})
