/** Events with a delivery time. */

import { assertMembers, manualClock, rejectsWith } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { event } from '@plinth/events'
import t from 'tap'
import { Type } from 'typebox'
import { Backlog } from '../src/backlog.ts'
import { OutboxAdmin } from '../src/outbox-admin.ts'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))
const hourMs = 3_600_000

onDatabase(t, 'K-013 an event waits for its time, however late, and blocks no other event', async (t, at) => {
  const seen: string[] = []
  // The clock of a database server cannot be moved, so the clock of the process starts at the same time.
  const clock = manualClock(Date.now())
  const { db, events, pass, states } = await startEvents(t, at, {
    clock,
    handlers: (events) => events.on(noted, 'test.note', ({ payload }) => void seen.push(payload.note)),
  })
  const tomorrow = clock.now() + 24 * hourMs
  const late = await events.publish(noted, { note: 'tomorrow' }, { notBefore: tomorrow })
  await events.publish(noted, { note: 'in an hour' }, { delayMs: hourMs })
  await events.publish(noted, { note: 'past' }, { notBefore: clock.now() - 1 })
  await events.publish(noted, { note: 'now' })
  await events.idle()
  t.same(seen.splice(0).sort(), ['now', 'past'])
  t.same(await states(), { scheduled: 2, delivered: 2 })

  const window = {
    orderBy: [{ property: 'id', direction: 'asc' }] as const,
    size: 10,
    offset: 0,
    count: 'exact' as const,
  }
  const admin = new OutboxAdmin({ db, store: undefined as never, backlog: new Backlog(db, clock), replayed: () => {} })
  const listed = await admin.list({ status: 'scheduled' }, window)
  t.equal(listed.items.length, 2)
  t.equal(listed.items[0]?.notBefore?.getTime(), tomorrow)
  t.match((await admin.backlog()).counts, { scheduled: 2, pending: 0, delivered: 2 })

  await pass(hourMs - 60_000)
  await events.idle()
  t.same(seen, [], 'not before')
  await pass(60_001)
  await events.idle()
  t.same(seen, ['in an hour'])
  await admin.replay(late)
  await events.idle()
  t.same(seen, ['in an hour', 'tomorrow'], 'an operator need not wait')
  t.same(await states(), { delivered: 4 })
})

onDatabase(t, 'K-013 a scheduled event is delivered again after a failure, and can be skipped', async (t, at) => {
  let tries = 0
  const clock = manualClock(Date.now())
  const { db, events, pass, states } = await startEvents(t, at, {
    clock,
    handlers: (events) =>
      events.on(noted, 'test.note', () => {
        if (++tries === 1) throw new Error('not yet')
      }),
  })
  const id = await events.publish(noted, { note: 'a' }, { delayMs: hourMs })
  const other = await events.publish(noted, { note: 'b' }, { delayMs: hourMs })
  const [row] = await db.query<{ status: string }>('select status from outbox_event where id = ?', [other])
  t.equal(row?.status, 'scheduled')
  await db.execute(`update outbox_event set status = 'skipped' where id = ?`, [other])
  await pass(hourMs + 1)
  await events.idle()
  assertMembers(t, await db.query('select status, attempts from outbox_event where id = ?', [id]), [
    { status: 'pending', attempts: 1 },
  ])
  await pass(2_000)
  await events.idle()
  t.same(await states(), { delivered: 1, skipped: 1 })
  t.equal(tries, 2)

  const reasons: readonly (readonly [options: object, reason: string])[] = [
    [{ notBefore: clock.now() + 1, key: 'k' }, 'an event with an ordering key cannot be delayed'],
    [{ notBefore: 1.5 }, 'it is out of range'],
    [{ notBefore: Number.NaN }, 'it is out of range'],
    [{ delayMs: 11 * 366 * 24 * hourMs }, 'it is out of range'],
    [{ delayMs: 1, notBefore: clock.now() + 1 }, 'it has both notBefore and delayMs'],
  ]
  for (const [options, reason] of reasons) {
    await rejectsWith(t, events.publish(noted, { note: 'c' }, options), {
      code: 'PLINTH_EVENTS_NOT_BEFORE',
      message: `Event "test.noted" was published with an invalid time: ${reason}.`,
    })
  }
})
