/** Tests the effects of wrong clocks. */

import { manualClock } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { type Events, event } from '@plinth/events'
import t from 'tap'
import { Type } from 'typebox'
import { dispatcherProcess } from './fixtures/dispatcher-process.ts'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))
const hourMs = 3_600_000
const start = Date.UTC(2026, 0, 1)

onDatabase(t, 'K-013 A10 no event waits because a clock was ahead', async (t, at) => {
  await t.test('events that were published in the meantime are delivered in order', async (t) => {
    const seen: string[] = []
    const ahead = await startEvents(t, at, { clock: manualClock(start + hourMs), roles: ['web'] })
    await ahead.db.execute('delete from outbox_event')
    await ahead.events.publish(noted, { note: 'first' }, { key: 'k' })
    await ahead.events.publish(noted, { note: 'loose' })
    ahead.clock.shiftWallClock(-hourMs)
    await ahead.events.publish(noted, { note: 'second' }, { key: 'k' })
    const worker = await startEvents(t, at, {
      clock: manualClock(start),
      handlers: (events) => events.on(noted, 'test.note', ({ payload }) => void seen.push(payload.note)),
    })
    await worker.events.idle()
    t.same(
      seen.filter((note) => note !== 'loose'),
      ['first', 'second'],
    )
    t.same(await worker.states(), { delivered: 3 })
  })

  await t.test('a retry happens at the planned time', async (t) => {
    const calls: string[] = []
    const on = (name: string, fails: boolean) => (events: Events) =>
      events.on(noted, 'test.note', () => {
        calls.push(name)
        if (fails) throw new Error('not yet')
      })
    const ahead = await startEvents(t, at, { clock: manualClock(start + hourMs), handlers: on('ahead', true) })
    await ahead.db.execute('delete from outbox_event')
    await ahead.events.publish(noted, { note: 'a' }, { key: 'r' })
    await ahead.events.idle()
    await ahead.running.stop('clock is set')
    const right = await startEvents(t, at, { clock: manualClock(start), handlers: on('right', false) })
    await right.pass(1_000)
    await right.events.idle()
    t.same(calls, ['ahead', 'right'])
  })

  await t.test(
    'the lease of a dead process expires in time, even if the clock of the database was ahead',
    async (t) => {
      const { db, events } = await startEvents(t, at, { clock: manualClock(start), roles: ['web'] })
      await db.execute('delete from outbox_event')
      await events.publish(noted, { note: 'a' }, { key: 'l' })
      let dies = false
      const calls: string[] = []
      const dead = dispatcherProcess({
        db,
        clock: manualClock(start + hourMs),
        dies: () => dies,
        handlers: (registry, step) =>
          registry.add(
            noted,
            'test.note',
            async () => {
              calls.push('dead')
              dies = true
              await step(async () => {})
            },
            {},
          ),
      })
      await Promise.race([dead.dispatcher.idle(), dead.crashed])
      const next = dispatcherProcess({
        db,
        clock: manualClock(start),
        handlers: (registry) => registry.add(noted, 'test.note', () => void calls.push('next'), {}),
      })
      await next.dispatcher.idle()
      t.same(calls, ['dead', 'next'])
      await next.dispatcher.drain(new AbortController().signal)
    },
  )

  await t.test('a process does not deliver an event twice if the clock jumps during the delivery', async (t) => {
    const clock = manualClock(start)
    const begun = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    const calls: string[] = []
    const { db, events } = await startEvents(t, at, { clock, roles: ['web'] })
    await db.execute('delete from outbox_event')
    const one = dispatcherProcess({
      db,
      clock,
      handlerDeadlineMs: 24 * hourMs,
      handlers: (registry) =>
        registry.add(
          noted,
          'test.note',
          async ({ payload }) => {
            calls.push(payload.note)
            begun.resolve()
            if (calls.length === 2) second.resolve()
            if (payload.note === 'slow') await end.promise
          },
          {},
        ),
    })
    await events.publish(noted, { note: 'slow' })
    one.dispatcher.wake()
    await begun.promise
    clock.shiftWallClock(hourMs)
    await events.publish(noted, { note: 'quick' })
    one.dispatcher.wake()
    await second.promise
    t.same(calls, ['slow', 'quick'])
    end.resolve()
    await one.dispatcher.idle()
    t.same(calls, ['slow', 'quick'])
    await one.dispatcher.drain(new AbortController().signal)
  })
})
