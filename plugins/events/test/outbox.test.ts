import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { event, outboxDeliveryFailed } from '@plinth/events'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))
const other = event('test.other', Type.Object({ note: Type.String() }))

onEachDatabase(t, 'K-013 delivery', async (t, db) => {
  await t.test('A10 D.66 an event is delivered after the commit, and a rollback publishes nothing', async (t) => {
    const seen: string[] = []
    let isCommitted = false
    const product = await startEvents(t, db, {
      handlers: (events) =>
        events.on(noted, 'test.note', ({ payload, type, key, publishedAt }) => {
          seen.push(payload.note)
          t.equal(isCommitted, true)
          t.match({ type, key, publishedAt }, { type: 'test.noted', key: 'k', publishedAt: Date.UTC(2026, 0, 1) })
        }),
    })
    await rejectsWith(
      t,
      product.db.transactional(async () => {
        await product.events.publish(noted, { note: 'lost' }, { key: 'k' })
        throw new Error('rolled back')
      }),
      { message: 'rolled back' },
    )
    await product.db.transactional(async () => {
      await product.events.publish(noted, { note: 'kept' }, { key: 'k' })
      await new Promise((resolve) => setTimeout(resolve, 20))
      t.same(seen, [])
      isCommitted = true
    })
    await product.events.idle()
    t.same(seen, ['kept'])
    t.same(await product.states(), { delivered: 1 })
  })

  await t.test(
    'a retry calls only the handlers that have not succeeded; effects of a transaction happen once',
    async (t) => {
      const calls: string[] = []
      const failing = new Set(['second', 'third'])
      const product = await startEvents(t, db, {
        handlers: (events) => {
          events.on(other, 'first', () => void calls.push('first'))
          events.on(
            other,
            'second',
            async ({ id, payload }, { attempt }) => {
              calls.push(`second ${attempt}`)
              await product.effect('second', id, payload.note)
              if (failing.has('second')) throw new Error('second fails')
            },
            { transaction: true },
          )
          events.on(other, 'third', () => {
            calls.push('third')
            if (failing.has('third')) throw new Error('third fails')
          })
        },
      })
      const id = await product.events.publish(other, { note: 'a' })
      await product.events.idle()
      t.same(calls.splice(0), ['second 1', 'first', 'third'])
      t.same(await product.effects('second'), [], 'what it wrote is rolled back')
      const [row] = await product.db.query<{ last_error: string }>('select last_error from outbox_event where id = ?', [
        id,
      ])
      t.equal(row?.last_error, 'second: second fails; third: third fails')

      failing.delete('second')
      await product.pass(1_000)
      await product.events.idle()
      t.same(calls.splice(0), ['second 2', 'third'])
      failing.delete('third')
      await product.pass(2_000)
      await product.events.idle()
      t.same(calls, ['third'])
      t.same(await product.effects('second'), ['a'])
    },
  )

  await t.test('after the last attempt an event fails, blocks only its key, and an alert is published', async (t) => {
    const seen: string[] = []
    const alerts: object[] = []
    const lines: Record<string, unknown>[] = []
    const product = await startEvents(t, db, {
      logger: pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line)) }),
      config: { 'platform.events.retry.max-attempts': 3 },
      handlers: (events) => {
        events.on(noted, 'test.fail', ({ payload }) => {
          seen.push(payload.note)
          if (payload.note === 'bad') throw new Error('no')
        })
        events.on(outboxDeliveryFailed, 'test.alert', ({ payload }) => {
          alerts.push(payload)
          throw new Error('the alert fails too')
        })
      },
    })
    const id = await product.events.publish(noted, { note: 'bad' }, { key: 'blocked' })
    await product.events.publish(noted, { note: 'behind' }, { key: 'blocked' })
    await product.events.publish(noted, { note: 'free' }, { key: 'other' })
    await product.events.idle()
    // Events with different keys are delivered concurrently, so their order is not defined.
    t.same(seen.splice(0).sort(), ['bad', 'free'])
    for (let round = 0; round < 4; round++) {
      await product.pass(5_000)
      await product.events.idle()
    }
    t.same(seen.splice(0), ['bad', 'bad'])
    t.same(alerts[0], { eventId: id, type: 'test.noted', key: 'blocked', attempts: 3, reason: 'test.fail: no' })
    t.equal(alerts.length, 3, 'the alert is tried, given up and makes no alert of its own')
    assertMembers(t, lines, [
      {
        event: id,
        type: 'test.noted',
        attempts: 3,
        reason: 'test.fail: no',
        msg: 'all attempts to deliver an event failed; retry or skip it',
      },
      { type: outboxDeliveryFailed.id, attempts: 3, reason: 'test.alert: the alert fails too' },
    ])
    t.match(await product.states(), { failed: 2, pending: 1 })
  })

  await t.test(
    'an event without a handler is done when it is published, unless another process delivers it',
    async (t) => {
      const worker = await startEvents(t, db)
      const before = (await worker.states())['delivered'] ?? 0
      const failed = await worker.events.publish(noted, { note: 'a' }, { key: 'u' })
      t.same(await worker.db.query('select status, position from outbox_event where id = ?', [failed]), [
        { status: 'delivered', position: null },
      ])
      const web = await startEvents(t, db, { roles: ['web'] })
      const id = await web.events.publish(noted, { note: 'b' }, { key: 'u' })
      assertMembers(t, await web.db.query('select status from outbox_event where id = ?', [id]), [
        { status: 'pending' },
      ])
      await worker.events.idle()
      t.equal((await worker.states())['delivered'], before + 2)
      assertMembers(t, await worker.db.query('select attempts from outbox_event where id = ?', [id]), [{ attempts: 0 }])
    },
  )

  await t.test(
    'an event type that fails is logged once, and once more with the number of failures when it is delivered',
    async (t) => {
      const lines: { level: number; msg: string; type?: string; failures?: number; delayMs?: number }[] = []
      const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
      let isBroken = true
      const product = await startEvents(t, db, {
        logger,
        handlers: (events) =>
          events.on(noted, 'test.down', () => {
            if (isBroken) throw new Error('down')
          }),
      })
      for (let n = 0; n < 5; n++) await product.events.publish(noted, { note: 'a' })
      for (let round = 0; round < 3; round++) {
        await product.events.idle()
        await product.pass(5_000)
      }
      const said = (text: string) => lines.filter(({ msg }) => msg === text)
      const [failure] = said('an event will be delivered again')
      assertMembers(t, failure, { level: 40, type: 'test.noted', attempt: 1, reason: 'test.down: down' })
      t.ok(Number(failure?.delayMs) >= 500 && Number(failure?.delayMs) <= 1_000, `${failure?.delayMs} ms`)
      t.equal(said('an event will be delivered again').length, 1)
      isBroken = false
      await product.pass(20_000)
      await product.events.idle()
      t.equal(said('an event will be delivered again').length, 1)
      const [recovery, ...more] = said('a previously failed event was delivered')
      t.ok((recovery?.failures ?? 0) >= 10, `${recovery?.failures} failures`)
      t.equal(recovery?.type, 'test.noted')
      t.same(more, [])
    },
  )

  await t.test('an event that ended the process in each attempt fails without another attempt', async (t) => {
    const web = await startEvents(t, db, { roles: ['web'] })
    const [silent, known] = [
      await web.events.publish(other, { note: 'silent' }),
      await web.events.publish(other, { note: 'known' }),
    ]
    await web.db.execute('update outbox_event set attempts = 2 where id in (?, ?)', [silent, known])
    await web.db.execute('update outbox_event set last_error = ? where id = ?', ['test.end: disk full', known])
    const seen: string[] = []
    const alerts: { eventId: number; attempts: number; reason: string }[] = []
    const worker = await startEvents(t, db, {
      config: { 'platform.events.retry.max-attempts': 2 },
      handlers: (events) => {
        events.on(other, 'test.end', ({ payload }) => void seen.push(payload.note))
        events.on(outboxDeliveryFailed, 'test.alert', ({ payload }) => void alerts.push(payload))
      },
    })
    await worker.events.idle()
    t.same(seen, [])
    assertMembers(
      t,
      alerts.sort((one, next) => one.eventId - next.eventId),
      [
        { eventId: silent, attempts: 2, reason: 'The process ended during every attempt' },
        { eventId: known, attempts: 2, reason: 'test.end: disk full' },
      ],
    )
  })

  await t.test('a long reason is cut to the size of its column', async (t) => {
    const { events, db: database } = await startEvents(t, db, {
      handlers: (events) =>
        events.on(other, 'test.long', () => {
          throw new Error('x'.repeat(600))
        }),
    })
    const id = await events.publish(other, { note: 'long' })
    await events.idle()
    const [row] = await database.query<{ last_error: string }>('select last_error from outbox_event where id = ?', [id])
    t.equal(row?.last_error.length, 500)
  })
})
