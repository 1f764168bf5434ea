/** Lanes of handlers, postponed deliveries, and the order of publication. */

import { manualClock } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { event, PostponedDelivery } from '@plinth/events'
import t from 'tap'
import { Type } from 'typebox'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))
const mailed = event('test.mailed', Type.Object({ note: Type.String() }))

onDatabase(
  t,
  'K-013 handlers that wait for other servers never delay handlers that use the database',
  async (t, at) => {
    const seen: string[] = []
    const end = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    let waiting = 0
    const { db, events, effect, effects, states } = await startEvents(t, at, {
      handlers: (events) => {
        events.on(mailed, 'test.mail', () => {
          if (++waiting === 8) begun.resolve()
          return end.promise
        })
        events.on(noted, 'test.points', async ({ id, payload }) => void (await effect('points', id, payload.note)), {
          transaction: true,
        })
        events.on(noted, 'test.notice', ({ payload }) => {
          seen.push(payload.note)
        })
      },
    })
    // More events than both the slots and one poll, so that only separate lanes leave a slot.
    await db.transactional(async () => {
      for (let n = 0; n < 120; n++) await events.publish(mailed, { note: `${n}` })
    })
    await begun.promise
    await events.publish(noted, { note: 'paid' })
    const done = async () => (await effects('points')).length === 1
    while (!(await done())) await new Promise(setImmediate)
    t.same([waiting, seen], [8, []], 'the notice waits for its lane')
    end.resolve()
    await events.idle()
    t.same(seen, ['paid'])
    t.same(await states(), { delivered: 121 })
  },
)

onDatabase(
  t,
  'K-013 a failing handler of one lane does not keep the handlers of the other from their attempt',
  async (t, at) => {
    const calls: string[] = []
    let isBroken = true
    const clock = manualClock(Date.now())
    const { db, events, pass, states } = await startEvents(t, at, {
      clock,
      handlers: (events) => {
        events.on(
          noted,
          'test.network',
          ({ payload }, { attempt }) => void calls.push(`network ${payload.note} ${attempt}`),
        )
        events.on(
          noted,
          'test.database',
          ({ payload }, { attempt }) => {
            calls.push(`database ${payload.note} ${attempt}`)
            if (isBroken) throw new Error('broken')
          },
          { transaction: true },
        )
      },
    })
    const id = await events.publish(noted, { note: 'a' }, { key: 'k' })
    await events.idle()
    t.same(calls.splice(0), ['database a 1', 'network a 1'])
    const [row] = await db.query('select status, lane, attempts, last_error from outbox_event where id = ?', [id])
    t.hasStrict(row, { status: 'pending', lane: 'database', attempts: 1, last_error: 'test.database: broken' })
    isBroken = false
    await pass(2_000)
    await events.idle()
    t.same([calls, await states()], [['database a 2'], { delivered: 1 }])
  },
)

onDatabase(t, 'K-013 a postponed event keeps its place, and is not counted as an attempt', async (t, at) => {
  const calls: string[] = []
  let isLimited = true
  const clock = manualClock(Date.now())
  const { db, events, pass, states } = await startEvents(t, at, {
    clock,
    config: { 'platform.events.retry.max-attempts': 1 },
    handlers: (events) =>
      events.on(noted, 'test.send', ({ payload }) => {
        calls.push(payload.note)
        if (payload.note === 'bad') throw new Error('broken')
        if (isLimited) throw new PostponedDelivery(5_000)
      }),
  })
  const queue = { key: 'address', order: 'publication' } as const
  for (const note of ['a', 'b', 'bad', 'c']) await events.publish(noted, { note }, queue)
  await events.idle()
  t.same(calls.splice(0), ['a'], 'the others wait')
  await pass(4_000)
  await events.idle()
  t.same(calls.splice(0), [])
  isLimited = false
  await pass(2_000)
  await events.idle()
  t.same(calls, ['a', 'b', 'bad', 'c'])
  t.same(await states(), { delivered: 4, failed: 1 }, 'a failed event does not block its successors')
  t.same(await db.query('select count(*) as n from outbox_stream'), [{ n: 0 }], 'publishers share no row')
})
