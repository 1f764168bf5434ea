/** Tests the order of the events of a key, and the cost of finding the next event. */

import { setTimeout as pause } from 'node:timers/promises'
import { databaseTime } from '@plinth/coordination'
import type { Database, Parameter } from '@plinth/database'
import { until } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { event } from '@plinth/events'
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { Backlog } from '../src/backlog.ts'
import { blockedEventTime } from '../src/entities.ts'
import { OutboxAdmin } from '../src/outbox-admin.ts'
import { OutboxStore } from '../src/outbox-store.ts'
import { OutboxWriter } from '../src/outbox-writer.ts'
import { dispatcherProcess } from './fixtures/dispatcher-process.ts'
import { startEvents } from './fixtures/product.ts'
import { countRowsRead, countRowsReadBy } from './fixtures/rows-read.ts'

const numbered = event('test.numbered', Type.Object({ key: Type.Integer(), n: Type.Integer() }))

const empty = async (db: Database) => {
  for (const table of ['outbox_event', 'outbox_delivery', 'outbox_stream']) await db.execute(`delete from ${table}`)
}

/**
 * Returns the number of lost events. These are events that come first for their key but are still marked as waiting.
 */
const stranded = async (db: Database) =>
  Number(
    (
      await db.query<{ n: number }>(
        `select count(*) as n from outbox_event e where e.status = 'pending' and e.next_at = ? and e.position =
           (select p.position from outbox_event p where p.stream_key = e.stream_key and p.position is not null
            order by p.position limit 1)`,
        [blockedEventTime],
      )
    )[0]?.n,
  )

onDatabase(t, 'K-013 concurrent publishing, delivery, failure, skip and replay', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, clock, events } = product
  let aside = 0

  const play = async (
    lanes: readonly (readonly { key: number; commits: boolean; lateMs: number }[])[],
    seed: number,
  ) => {
    await empty(db)
    const arrived: { key: number; place: number }[] = []
    let salt = seed
    const chance = () => {
      salt = (Math.imul(salt, 1_103_515_245) + 12_345) & 0x7fffffff
      return salt / 0x80000000
    }
    const start = () =>
      dispatcherProcess({
        db,
        clock,
        maxAttempts: 1,
        handlers: (registry) =>
          registry.add(
            numbered,
            'seen',
            async ({ id, payload }) => {
              await pause(chance() * 2)
              if (chance() < 0.1) throw new Error('by chance')
              const [row] = await db.query<{ position: number | null }>(
                'select position from outbox_event where id = ?',
                [id],
              )
              // If an operator skips an event during its delivery, the event has no position.
              if (row?.position != null) arrived.push({ key: payload.key, place: Number(row.position) })
            },
            {},
          ),
      })
    const processes = [start(), start()]
    let isOver = false
    const publishers = lanes.map(async (lane) => {
      for (const { key, commits, lateMs } of lane) {
        await db
          .transactional(async () => {
            await events.publish(numbered, { key, n: 0 }, { key: `k${key}` })
            await pause(lateMs)
            if (!commits) throw new Error('rolled back')
          })
          .catch(() => undefined)
        for (const { dispatcher } of processes) dispatcher.wake()
      }
    })
    const operator = async () => {
      while (true) {
        const [failed] = await db.query<{ id: number }>(`select id from outbox_event where status = 'failed' limit 1`)
        if (failed === undefined && isOver) return
        if (failed !== undefined) {
          const one = (await processes[0]?.store.read([{ id: Number(failed.id), lane: 'database' }], 1))?.[0]?.[0]
          if (one != null) await processes[0]?.store.skip(one)
          for (const { dispatcher } of processes) dispatcher.wake()
        }
        const [waits] = await db.query<{ id: number }>(
          `select id from outbox_event where status = 'pending' and next_at = ? order by id desc limit 1`,
          [blockedEventTime],
        )
        if (waits !== undefined) {
          aside += 1
          const one =
            chance() < 0.2
              ? (await processes[1]?.store.read([{ id: Number(waits.id), lane: 'database' }], 1))?.[0]?.[0]
              : null
          if (one != null) await processes[1]?.store.skip(one)
        }
        await pause(1)
      }
    }
    const watcher = async () => {
      while (!isOver) {
        const lost = await stranded(db)
        if (lost > 0) throw new Error(`${lost} events are first and wait all the same`)
        await pause(1)
      }
    }
    const others = Promise.all([operator(), watcher()])
    await Promise.all(publishers)
    const isDone = async () => {
      await Promise.all(processes.map(({ dispatcher }) => dispatcher.idle()))
      return (await db.query(`select id from outbox_event where status in ('pending', 'failed')`)).length === 0
    }
    // Continues after a timeout, because events that are never delivered are listed below.
    await Promise.race([until(isDone, 'all are delivered').catch(() => {}), others])
    isOver = true
    await others
    for (const { dispatcher } of processes) await dispatcher.drain(new AbortController().signal)
    const left = await db.query(`select id from outbox_event where status in ('pending', 'failed')`)
    if (left.length > 0) throw new Error(`${left.length} events were never delivered: ${JSON.stringify(left)}`)
    for (const key of [0, 1, 2]) {
      const places = arrived.filter((one) => one.key === key).map(({ place }) => place)
      if (places.some((place, n) => place <= (places[n - 1] ?? 0))) throw new Error(`${key} out of order: ${places}`)
    }
  }

  const step = fc.record({
    key: fc.integer({ min: 0, max: 2 }),
    commits: fc.integer({ min: 0, max: 9 }).map((n) => n > 1),
    lateMs: fc.integer({ min: 0, max: 4 }),
  })
  const lanes = fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { minLength: 4, maxLength: 4 })
  await fc.assert(fc.asyncProperty(lanes, fc.integer({ min: 1 }), play), { numRuns: 6, endOnFailure: true })
  t.ok(aside > 0, `${aside} times an event that waits was seen`)
})

onDatabase(t, 'K-013 a poll and a publication cost the same, however many events wait', async (t, at) => {
  const { db, clock, events } = await startEvents(t, at, { roles: ['web'] })
  await empty(db)
  const requested: (readonly [sql: string, parameters: readonly Parameter[]])[] = []
  const watched = {
    dialect: db.dialect,
    query: (...call: readonly [string, readonly Parameter[]]) => {
      requested.push(call)
      return db.query(...call)
    },
    execute: (...call: readonly [string, readonly Parameter[]]) => {
      requested.push(call)
      return db.execute(...call)
    },
    transactional: db.transactional.bind(db),
    statements: db.statements.bind(db),
    afterCommit: db.afterCommit.bind(db),
    newId: db.newId.bind(db),
  } as unknown as Database
  const time = databaseTime(db, clock)
  const store = new OutboxStore(watched, clock, time, () => 60_000)
  const writer = new OutboxWriter({
    db: watched,
    clock,
    time,
    committed: () => {},
    isUnheard: () => false,
    passed: () => {},
    laneOf: () => 'database',
  })
  const readInLook = async () => {
    requested.length = 0
    const look = await store.look()
    const [sql, parameters] = requested[0] as (typeof requested)[number]
    return { look, read: await countRowsRead(db, sql, parameters) }
  }
  const statementsOfPublish = async () => {
    requested.length = 0
    await writer.publish(numbered, { key: 0, n: 0 }, { key: 'long' })
    return requested.length
  }
  const few = await statementsOfPublish()
  t.equal((await store.look()).events.length, 1)

  // Half of the waiting events have the same key. The others wait behind failed events of 64 keys.
  for (let key = 0; key < 64; key++) await events.publish(numbered, { key, n: 0 }, { key: `failed ${key}` })
  await db.execute(`update outbox_event set status = 'failed' where stream_key <> 'long'`)
  const columns = 'type, payload, stream_key, status, attempts, created_at, next_at'
  let size = 1
  for (; size < 4_096; size *= 2) {
    await db.execute(
      `insert into outbox_event (id, position, ${columns})
       select 1000000 + position + ${size}, position + ${size}, ${columns} from outbox_event
       where stream_key = 'long' and position between 1 and ${size}`,
    )
  }
  await db.execute(
    `insert into outbox_event (id, position, ${columns})
     select 2000000 + position, position + 1, type, payload, concat('failed ', position % 64), status, attempts, created_at, next_at
     from outbox_event where stream_key = 'long' and position > 1`,
  )
  await db.execute(`update outbox_stream set last_position = ${size + 1}`)

  const first = await readInLook()
  t.ok(first.read < 2_000, `${first.read} rows are read while nobody has looked yet`)
  let looks = 1
  for (let isMore = true; isMore && looks < 200; looks++) isMore = (await store.look()).isMore
  t.ok(looks < 200, `after ${looks} looks all that wait are put aside`)
  const later = await readInLook()
  t.same(later.look.events.length, 1, 'the first of the long key')
  t.ok(later.read < 500, `${later.read} rows are read then`)
  t.equal(await statementsOfPublish(), few)
  t.equal(await stranded(db), 0)

  const lists = [
    { status: 'failed' },
    { status: 'skipped' },
    { type: 'test.none' },
    { type: 'test.numbered' },
    {},
  ] as const
  if (db.dialect === 'sqlite') {
    for (const column of ['status', 'type']) {
      await countRowsRead(db, `select id from outbox_event where ${column} = ? order by id desc limit 21`, ['x'])
    }
  } else {
    const admin = new OutboxAdmin({ db, store, backlog: new Backlog(db, clock), replayed: () => {} })
    const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
    for (const filter of lists) {
      const read = await countRowsReadBy(db, () => admin.list(filter, window))
      t.ok(read < 500, `${read} rows are read for a page of ${JSON.stringify(filter)}`)
    }
    const after = [Number.MAX_SAFE_INTEGER]
    const read = await countRowsReadBy(db, () => admin.list({ status: 'pending' }, { ...window, after }))
    t.ok(read < 500, `${read} rows are read for a page behind a cursor`)
  }
})
