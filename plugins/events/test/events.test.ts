import { assertMembers, manualClock, rejectsWith, throwsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { type Events, event, events as eventsRef, orderPaid, orderRefunded } from '@plinth/events'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String({ maxLength: 20 }) }))
const loose = event('test.loose', Type.Unknown())

onDatabase(t, 'K-013 publishing', async (t, at) => {
  await t.test('entities and tables agree', async (t) => {
    const { db } = await startEvents(t, at, { roles: ['web'] })
    const generator = db.fork().config.getExtension('@mikro-orm/schema-generator') as {
      getUpdateSchemaSQL(options: object): Promise<string>
    }
    const sql = await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })
    t.notMatch(sql, 'outbox_')
  })

  await t.test(
    'events of one transaction keep their order, awaited or not, and unknown events are marked as done',
    async (t) => {
      const seen: string[] = []
      const product = await startEvents(t, at, {
        handlers: (events) => events.on(noted, 'test.note', ({ payload }) => void seen.push(payload.note)),
      })
      const { db, events, states } = product
      const notes = Array.from({ length: 30 }, (_, n) => String(n))
      await db.transactional(() => Promise.all(notes.map((note) => events.publish(noted, { note }, { key: 'one' }))))
      await events.publish(loose, { of: 'nobody' })
      await events.idle()
      t.same(seen, notes)
      t.same(await states(), { delivered: 31 })
    },
  )

  await t.test('the order follows the commits: a later publisher of a key waits for the earlier one', async (t) => {
    const product = await startEvents(t, at, { roles: ['web'] })
    const { db, events } = product
    const steps: string[] = []
    const begun = Promise.withResolvers<void>()
    const isSecondHere = Promise.withResolvers<void>()
    const first = db.transactional(async () => {
      await events.publish(noted, { note: 'first' }, { key: 'two' })
      begun.resolve()
      await isSecondHere.promise
      await db.query('select count(*) as n from outbox_event')
      steps.push('first commits')
    })
    await begun.promise
    const second = db.transactional(async () => {
      await events.publish(noted, { note: 'second' }, { key: 'two' })
      steps.push('second has its place')
    })
    isSecondHere.resolve()
    await Promise.all([first, second])
    t.same(steps, ['first commits', 'second has its place'])
    const rows = await db.query<{ payload: string }>(
      "select payload from outbox_event where stream_key = 'two' order by position",
    )
    t.same(
      rows.map(({ payload }) => JSON.parse(payload).note),
      ['first', 'second'],
    )
  })

  await t.test('ids of the events of a key have the order of the commits', async (t) => {
    const { db, events } = await startEvents(t, at, { roles: ['web'] })
    const publish = (note: string) => events.publish(noted, { note }, { key: 'three' })
    const begun = Promise.withResolvers<void>()
    const isSecondHere = Promise.withResolvers<void>()
    const first = db.transactional(async () => {
      const before = await publish('first')
      begun.resolve()
      await isSecondHere.promise
      return [before, await publish('third')]
    })
    await begun.promise
    const second = db.transactional(() => publish('second'))
    // The second publisher waits for the key meanwhile.
    setTimeout(isSecondHere.resolve, 200)
    t.ok((await second) > Math.max(...(await first)), 'an event of a later commit has a larger id')
  })

  await t.test('transactions that publish under several keys in any order all commit', async (t) => {
    const { db, events } = await startEvents(t, at, { roles: ['web'] })
    const work = Array.from({ length: 4 }, (_, n) =>
      db.transactional(async () => {
        for (const key of n % 2 === 0 ? ['x', 'y'] : ['y', 'x']) await events.publish(loose, n, { key })
      }),
    )
    await Promise.all(work)
    const rows = await db.query<{ payload: string; stream_key: string }>(
      "select payload, stream_key from outbox_event where stream_key in ('x', 'y') order by stream_key, position",
    )
    const of = (key: string) => rows.filter((row) => row.stream_key === key).map(({ payload }) => payload)
    t.equal(of('x').length, 4)
    t.same(of('x'), of('y'), 'both keys tell the same order of commits')
  })

  await t.test('a worker delivers events of another process when it polls', async (t) => {
    const clock = manualClock()
    const seen: string[] = []
    const web = await startEvents(t, at, { clock, roles: ['web'] })
    const worker = await startEvents(t, at, {
      clock,
      roles: ['worker'],
      handlers: (events) => events.on(noted, 'test.note', ({ payload }) => void seen.push(payload.note)),
    })
    await worker.events.idle()
    seen.length = 0
    await web.events.publish(noted, { note: 'from afar' }, { key: 'far' })
    t.same(seen, [])
    await clock.advance(1_000)
    await worker.events.idle()
    t.same(seen, ['from afar'])
  })

  await t.test('old events are purged together with unused keys; failed events and their keys stay', async (t) => {
    const { running, db, events, clock } = await startEvents(t, at, {
      config: { 'platform.events.retry.max-attempts': 1, 'platform.events.retention': '1d' },
      handlers: (events) =>
        events.on(loose, 'test.fail', ({ payload }) => {
          if (payload === 'bad') throw new Error('no')
        }),
    })
    for (const table of ['outbox_event', 'outbox_stream']) await db.execute(`delete from ${table}`)
    const gone = await events.publish(loose, 'good', { key: 'gone' })
    await events.publish(loose, 'bad', { key: 'kept' })
    await events.publish(loose, 'behind', { key: 'kept' })
    const skipped = await events.publish(loose, 'bad')
    await events.idle()
    await db.execute(`update outbox_event set status = 'skipped', finished_at = ? where id = ?`, [
      new Date(clock.now()),
      skipped,
    ])
    for (const [id, eventId] of [gone, skipped].entries()) {
      const delivery = [id + 1, eventId, 'test.first', new Date(clock.now())] as const
      await db.execute(
        'insert into outbox_delivery (id, event_id, handler, delivered_at) values (?, ?, ?, ?)',
        delivery,
      )
    }
    clock.shiftWallClock(86_400_000)
    await events.publish(loose, 'young', { key: 'young' })
    await events.idle()
    clock.shiftWallClock(1)
    const purge = running.scheduledTasks.find(({ name }) => name === 'events.purge')
    await purge?.run(new AbortController().signal)
    const left = await db.query<{ payload: string }>('select payload from outbox_event order by id')
    t.same(left.map(({ payload }) => payload).slice(0, 2), ['"bad"', '"behind"'])
    t.equal(left.at(-1)?.payload, '"young"')
    t.equal(left.length, 3, 'skipped events are removed like delivered ones')
    t.same(await db.query('select id from outbox_delivery'), [], 'with the records of their handlers')
    t.same(await db.query('select stream_key from outbox_stream order by stream_key'), [
      { stream_key: 'kept' },
      { stream_key: 'young' },
    ])
  })

  await t.test('a key that is used again after a purge found it unused keeps its order', async (t) => {
    const { running, db, events, clock } = await startEvents(t, at, {
      config: { 'platform.events.retention': '1d', 'platform.events.retry.max-attempts': 1 },
      handlers: (events) =>
        events.on(loose, 'test.fail', ({ payload }) => {
          if (payload === 'bad') throw new Error('no')
        }),
    })
    await events.publish(loose, 'good', { key: 'again' })
    await events.idle()
    clock.shiftWallClock(86_400_001)
    const { execute } = db
    db.execute = async (sql, parameters) => {
      if (sql.startsWith('delete from outbox_stream')) {
        // Simulates another purge that removes the key first, and an event with this key that is published afterwards.
        db.execute = execute
        await db.execute(`delete from outbox_stream where stream_key = 'again'`)
        await events.publish(loose, 'bad', { key: 'again' })
      }
      return execute.call(db, sql, parameters)
    }
    const purge = running.scheduledTasks.find(({ name }) => name === 'events.purge')
    await purge?.run(new AbortController().signal)
    t.equal(db.execute, execute, 'the key was found unused')
    await events.publish(loose, 'behind', { key: 'again' })
    t.same(
      (
        await db.query<{ position: unknown }>(`select position from outbox_event where stream_key = 'again'
         order by position`)
      ).map(({ position }) => Number(position)),
      [1, 2],
    )
  })

  await t.test('D.66 a handler with its own schema gets no emitted event that violates it', async (t) => {
    const shorter = event('test.noted', Type.Object({ note: Type.String({ maxLength: 2 }) }))
    const [seen, own]: [string[], string[]] = [[], []]
    const { events } = await startEvents(t, at, {
      roles: ['web'],
      handlers: (bus: Events) => {
        bus.on(noted, 'test.same', ({ payload }) => {
          seen.push(payload.note)
          // A change that one handler makes to the payload must not be visible to the next handler.
          Object.assign(payload, { note: 'changed' })
        })
        bus.on(noted, 'test.second', ({ payload }) => void seen.push(payload.note))
        bus.on(shorter, 'test.own', ({ payload }) => void own.push(payload.note))
      },
    })
    events.emit(noted, { note: 'long' })
    events.emit(noted, { note: 'ok' })
    await events.idle()
    t.same(seen, ['long', 'long', 'ok', 'ok'])
    t.same(own, ['ok'])
  })

  await t.test('an event id has one schema: a second publisher with another schema is rejected', async (t) => {
    const changed = event('test.noted', Type.Object({ text: Type.String() }))
    const described = event('test.noted', Type.Object({ note: Type.String({ maxLength: 20, description: 'A note.' }) }))
    const expected = {
      code: 'PLINTH_EVENTS_SCHEMA',
      message: 'Event "test.noted" is published with two different schemas.',
    }
    const started = startEvents(t, at, { handlers: (events) => events.declarePublished(noted, described, changed) })
    assertMembers(t, ((await started.catch((error: unknown) => error)) as Error).cause, expected)
    const lines: { event?: string; handlers?: string[] }[] = []
    const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
    const { events } = await startEvents(t, at, {
      logger,
      handlers: (events) => {
        events.declarePublished(noted)
        events.on(changed, 'test.changed', () => {})
        events.on(described, 'test.described', () => {})
      },
    })
    await rejectsWith(t, events.publish(changed, { text: 'a' }), expected)
    throwsWith(t, () => events.emit(changed, { text: 'a' }), expected)
    t.same(
      lines.filter(({ handlers }) => handlers !== undefined).map(({ event, handlers }) => ({ event, handlers })),
      [{ event: 'test.noted', handlers: ['test.changed'] }],
      'a handler with another schema is logged at the start',
    )
  })

  await t.test('D.66 emitted events reach the handlers once after the commit, and are not stored', async (t) => {
    const seen: string[] = []
    const lines: string[] = []
    const logger = pino({ level: 'error' }, { write: (line) => void lines.push(line) })
    const { db, events, effect, effects } = await startEvents(t, at, {
      roles: ['web'],
      logger,
      handlers: (bus: Events) => {
        bus.on(noted, 'test.bad', () => {
          throw new Error('bad handler')
        })
        bus.on(noted, 'test.good', ({ id, payload, key }, { attempt }) => {
          seen.push(payload.note)
          t.match({ id, key, attempt }, { id: 0, key: undefined, attempt: 1 })
        })
        bus.on(loose, 'test.early', async () => void (await db.query('select id from not_yet_migrated')))
        bus.on(noted, 'test.exact', ({ payload }) => effect('emitted', 0, payload.note).then(() => {}), {
          transaction: true,
        })
      },
    })
    await db.execute('delete from outbox_event')
    await db
      .transactional(async () => {
        events.emit(noted, { note: 'rolled back' })
        throw new Error('no')
      })
      .catch(() => {})
    await db.transactional(async () => {
      events.emit(noted, { note: 'in' })
      t.same(seen, [])
    })
    events.emit(noted, { note: 'out' })
    await events.idle()
    t.same(seen, ['in', 'out'])
    t.same((await effects('emitted')).sort(), ['in', 'out'])
    t.equal(lines.length, 2)
    t.match(JSON.parse(lines[0] ?? ''), {
      type: 'test.noted',
      handler: 'test.bad',
      reason: 'bad handler',
      msg: 'a handler of an emitted event failed',
    })
    t.same(await db.query('select id from outbox_event'), [])
    events.emit(loose, {})
    await events.idle()
    t.equal(lines.length, 2, 'before the first migration, missing tables are not an error')
  })
})

t.test('invalid input is rejected with its field and changes nothing', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const { running, events, states } = await startEvents(t, at, {
    roles: ['web'],
    handlers: (events) => {
      events.on(noted, 'test.a', () => {})
      throwsWith(t, () => events.on(noted, 'test.a', () => {}), {
        code: 'PLINTH_EVENTS_HANDLER_TAKEN',
        message: 'Event "test.noted" already has a handler named "test.a".',
      })
      for (const name of ['', 'A', '.a', 'a'.repeat(129)]) {
        throwsWith(t, () => events.on(noted, name, () => {}), { code: 'PLINTH_EVENTS_HANDLER_NAME' })
      }
      events.on(noted, 'a'.repeat(128), () => {})
      throwsWith(t, () => events.on('test.noted' as never, 'test.b', () => {}), {
        code: 'PLINTH_EVENTS_EVENT',
        message:
          /^The event of the handler "test\.b" is the text "test\.noted", which was not created with event\(\)\./,
      })
      throwsWith(t, () => events.on(noted, 'test.b', null as never), {
        code: 'PLINTH_EVENTS_HANDLER',
        message: /^The handler "test\.b" of event "test\.noted" is null instead of a function\./,
      })
    },
  })
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const payloads = [{}, { note: 1 }, { note: 'x'.repeat(21) }, undefined, circle, { note: 1n }, 'x'] as never[]
  for (const payload of payloads) {
    await rejectsWith(t, events.publish(noted, payload), { code: 'PLINTH_EVENTS_PAYLOAD' })
    throwsWith(t, () => events.emit(noted, payload), { code: 'PLINTH_EVENTS_PAYLOAD' })
  }
  await rejectsWith(t, events.publish(noted, { note: 1 } as never), {
    message: 'The payload of "test.noted" does not match the schema: /note must be string.',
  })
  await rejectsWith(t, events.publish(noted, 'x' as never), { message: /schema: the whole must be object\./ })
  await rejectsWith(t, events.publish(loose, undefined), { message: /schema: it is undefined\./ })
  await rejectsWith(t, events.publish(loose, 'x'.repeat(2 ** 20)), { message: /larger than 1024 KiB/ })
  const isFull = await events.publish(loose, 'x'.repeat(2 ** 20 - 2), { key: 'k'.repeat(200) })
  t.ok(isFull > 0, 'the largest payload and the longest key are accepted')
  for (const key of ['', 'a\nb', '\ud800', 'k'.repeat(201)]) {
    await rejectsWith(t, events.publish(noted, { note: 'a' }, { key }), { code: 'PLINTH_EVENTS_KEY' })
  }
  for (const id of ['', 'A', 'a..b', 'a b', 'a'.repeat(129)]) {
    throwsWith(t, () => event(id, Type.Null()), { code: 'PLINTH_EVENTS_EVENT' })
  }
  t.same(await states(), { pending: 1 }, 'nothing of this is stored')
  t.equal(running.service(eventsRef), events)
})

t.test('A9 the neutral events of the mall contain the decided members', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const seen: unknown[] = []
  const { events } = await startEvents(t, at, {
    handlers: (events) => {
      events.on(orderPaid, 'test.paid', ({ type, payload }) => void seen.push([type, payload]))
      events.on(orderRefunded, 'test.refunded', ({ type, payload }) => void seen.push([type, payload]))
    },
  })
  const paid = { orderNo: 'o1', userId: 7, cashAmount: 1_000, currency: 'CNY', paidAt: 1_767_225_600_000 }
  const refunded = { refundNo: 'r1', orderNo: 'o1', userId: 7, refundAmount: 400, orderCashAmount: 1_000 }
  await events.publish(orderPaid, paid, { key: 'order:o1' })
  await events.publish(orderRefunded, refunded, { key: 'order:o1' })
  await events.idle()
  t.same(seen, [
    ['commerce.order.paid', paid],
    ['commerce.order.refunded', refunded],
  ])
  await rejectsWith(t, events.publish(orderPaid, { ...paid, cashAmount: 0.1 }), { code: 'PLINTH_EVENTS_PAYLOAD' })
})
