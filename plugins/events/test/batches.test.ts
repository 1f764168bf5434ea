/** Events that are claimed and finished together. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Database } from '@plinth/database'
import { until } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { event, PostponedDelivery } from '@plinth/events'
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { StreamRow } from '../src/entities.ts'
import { dice } from './fixtures/dice.ts'
import { dispatcherProcess, type ProcessSettings } from './fixtures/dispatcher-process.ts'
import { startEvents } from './fixtures/product.ts'

const step = event('test.step', Type.Object({ n: Type.Integer() }))
const leaseMs = 3_000

type Product = Awaited<ReturnType<typeof startEvents>>
type Handler = (n: number, id: number) => unknown

const empty = async (db: Database) => {
  for (const table of ['outbox_event', 'outbox_delivery', 'outbox_stream', 'test_effect']) {
    await db.execute(`delete from ${table}`)
  }
}

/** Starts a process whose handler writes its effect in the transaction of the delivery, and then calls `then`. */
const startProcess = (
  { db, clock, effect }: Product,
  then: (step: Parameters<ProcessSettings['handlers']>[1]) => Handler,
  settings: Partial<ProcessSettings> = {},
) =>
  dispatcherProcess({
    db,
    clock,
    ...settings,
    handlers: (registry, moment) =>
      registry.add(
        step,
        'exact',
        async ({ id, payload, key }) => {
          await effect('exact', id, `${key ?? 'none'}/${payload.n}`)
          await then(moment)(payload.n, id)
        },
        { transaction: true },
      ),
  })

const drain = ({ dispatcher }: ReturnType<typeof dispatcherProcess>) => dispatcher.drain(new AbortController().signal)

const publishSteps = ({ db, events }: Product, count: number, key?: string) =>
  db.transactional(async () => {
    const ids: number[] = []
    for (let n = 0; n < count; n++) ids.push(await events.publish(step, { n }, key === undefined ? {} : { key }))
    return ids
  })

const numbered = (count: number, key = 'none') => Array.from({ length: count }, (_, n) => `${key}/${n}`)

const attemptsOf = async (db: Database) =>
  (await db.query<{ attempts: number }>('select attempts from outbox_event order by id')).map(({ attempts }) =>
    Number(attempts),
  )

const loseLease = (db: Database, id: number) =>
  db.execute(`update outbox_event set lease_token = 'other' where id = ?`, [id])

onEachDatabase(t, 'K-013 batches of events', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, clock, effects, states } = product
  // Publishes scheduled events by the clock of the test.
  const publisher = dispatcherProcess({ db, clock, handlers: () => {} })
  await drain(publisher)
  t.beforeEach(() => empty(db))

  await t.test('every event has its effect once, and those of a key in order, whatever fails', async (t) => {
    const seen = { crashes: 0, failures: 0, lost: 0 }
    const publication = fc.record({
      key: fc.option(fc.integer({ min: 0, max: 2 })),
      delayMs: fc.integer({ min: 0, max: 400 }),
    })

    const play = async (
      publications: readonly { readonly key: number | null; readonly delayMs: number }[],
      seed: number,
    ) => {
      await empty(db)
      const random = dice(seed)
      const happens = (kind: keyof typeof seen, share: number) => {
        const isSo = random() < share
        if (isSo) seen[kind] += 1
        return isSo
      }
      const start = () =>
        startProcess(
          product,
          (moment) => async (_, id) => {
            if (happens('lost', 0.06)) await loseLease(db, id)
            await moment(async () => {})
            if (happens('failures', 0.08)) throw new Error('by chance')
          },
          { dies: () => happens('crashes', 0.01), random },
        )
      const processes = [start(), start()]
      const waiting = [...publications.entries()]
      while (true) {
        const next = waiting.splice(0, 1 + Math.floor(random() * 30))
        await db.transactional(async () => {
          for (const [n, { key, delayMs }] of next) {
            const options = key === null ? (delayMs < 300 ? {} : { delayMs }) : { key: `k${key}` }
            await publisher.publish(step, { n }, options)
          }
        })
        await Promise.all(
          processes.map(async ({ dispatcher, crashed }, place) => {
            const end = await Promise.race([dispatcher.idle().then(() => 'idle'), crashed.then(() => 'crash')])
            if (end === 'crash') processes[place] = start()
          }),
        )
        const { pending = 0, scheduled = 0 } = await states()
        if (waiting.length === 0 && pending + scheduled === 0) break
        await clock.advance(Math.floor(random() * 1_000))
      }
      for (const one of processes) await Promise.race([drain(one), one.crashed])
      const notes = await effects('exact')
      const expected = publications.map(({ key }, n) => `${key === null ? 'none' : `k${key}`}/${n}`)
      if ([...notes].sort().join() !== [...expected].sort().join()) throw new Error(`${notes}, not ${expected}`)
      for (const key of ['k0/', 'k1/', 'k2/']) {
        const own = (all: readonly string[]) => all.filter((note) => note.startsWith(key)).join()
        if (own(notes) !== own(expected)) throw new Error(`${key} is out of order: ${own(notes)}`)
      }
    }

    const publications = fc.array(publication, { minLength: 20, maxLength: 80 })
    const settings = { numRuns: at.dialect === 'sqlite' ? 8 : 3, endOnFailure: true }
    await fc.assert(fc.asyncProperty(publications, fc.integer(), play), settings)
    const total = Object.values(seen).reduce((sum, count) => sum + count, 0)
    t.ok(total > 0, JSON.stringify(seen))
  })

  await t.test('events that are due together need few statements in addition to those of their handlers', async (t) => {
    await publishSteps(product, 32)
    await publishSteps(product, 16, 'k')
    const texts: string[] = []
    const count = (message: unknown) => void texts.push((message as { sql: string }).sql)
    const worker = startProcess(product, () => () => {})
    subscribe('plinth.database.statement', count)
    await worker.dispatcher.idle()
    unsubscribe('plinth.database.statement', count)
    await drain(worker)
    t.same(await states(), { delivered: 48 })
    const others = texts.filter((text) => !text.startsWith('insert into test_effect'))
    t.equal(texts.length - others.length, 48, 'each handler has written once')
    t.ok(others.length < 48, `${others.length} other statements`)
  })

  await t.test(
    'a process that is killed in a batch has no effect, and the next one delivers each event once',
    async (t) => {
      await publishSteps(product, 12)
      let dies = false
      const killed = startProcess(
        product,
        (moment) => (n) => {
          dies = n === 7
          return moment(async () => {})
        },
        { dies: () => dies },
      )
      killed.dispatcher.wake()
      await killed.crashed
      const before = (await effects('exact')).length
      t.ok(before < 12, `${before} events were delivered in other batches`)
      await clock.advance(leaseMs)
      const next = startProcess(product, () => () => {})
      await next.dispatcher.idle()
      await drain(next)
      t.same((await effects('exact')).sort(), numbered(12).sort())
      t.same(await states(), { delivered: 12 })
    },
  )

  await t.test('an event that ends the process takes no other event with it', async (t) => {
    await publishSteps(product, 8)
    for (let attempt = 0; attempt < 4; attempt++) {
      let dies = false
      const one = startProcess(
        product,
        (moment) => (n) => {
          dies = n === 2
          return moment(async () => {})
        },
        { dies: () => dies, maxAttempts: 3, slots: 1 },
      )
      await Promise.race([one.dispatcher.idle(), one.crashed])
      await Promise.race([drain(one), one.crashed])
      await clock.advance(leaseMs)
    }
    const done = (await effects('exact')).sort()
    t.same(
      done,
      numbered(8).filter((note) => note !== 'none/2'),
    )
    t.match(await states(), { failed: 1 })
  })

  await t.test('if the lease of one event is lost, the others are delivered once', async (t) => {
    const ids = await publishSteps(product, 8)
    let isLost = true
    const worker = startProcess(product, () => async (n, id) => {
      if (n !== 3 || !isLost) return
      await loseLease(db, id)
    })
    await worker.dispatcher.idle()
    t.same(
      (await effects('exact')).sort(),
      numbered(8).filter((note) => note !== 'none/3'),
    )
    t.same(await states(), { delivered: 7, pending: 1 })
    isLost = false
    await clock.advance(leaseMs)
    await worker.dispatcher.idle()
    await drain(worker)
    t.same((await effects('exact')).sort(), numbered(8))
    t.equal(ids.length, (await states())['delivered'])
  })

  await t.test('an event that fails undoes no other, and only later events of its key wait for it', async (t) => {
    await publishSteps(product, 6)
    await publishSteps(product, 6, 'a')
    await publishSteps(product, 6, 'b')
    let isBroken = true
    const calls: number[] = []
    const worker = startProcess(product, () => async (n, id) => {
      calls.push(n)
      const [row] = await db.query<{ stream_key: string | null }>('select stream_key from outbox_event where id = ?', [
        id,
      ])
      if (isBroken && n === 2 && row?.stream_key !== 'b') throw new Error('broken')
    })
    await worker.dispatcher.idle()
    const expected = [...numbered(6), ...numbered(6, 'a').slice(0, 2), ...numbered(6, 'b')]
    t.same((await effects('exact')).sort(), expected.filter((note) => note !== 'none/2').sort())
    const failed = await db.query<{ attempts: number }>(
      'select attempts from outbox_event where last_error is not null',
    )
    t.same(
      failed.map(({ attempts }) => Number(attempts)),
      [1, 1],
      'the call in the shared transaction is part of the attempt',
    )
    isBroken = false
    await clock.advance(1_000)
    await worker.dispatcher.idle()
    await drain(worker)
    t.same(await states(), { delivered: 18 })
    const notes = await effects('exact')
    t.same(
      notes.filter((note) => note.startsWith('a/')),
      numbered(6, 'a'),
    )
  })

  await t.test('a poll does not wait for a locked key, which could be a deadlock', async (t) => {
    // SQLite has one writer at a time, and no locks of rows.
    if (at.dialect === 'sqlite') return
    await publishSteps(product, 3, 'k')
    const locked = Promise.withResolvers<void>()
    const looked = Promise.withResolvers<void>()
    const holder = db.transactional(async () => {
      await db.query('select id from outbox_event where stream_key = ? order by position limit 1 for update', ['k'])
      locked.resolve()
      await looked.promise
    })
    await locked.promise
    let isOver = false
    const look = publisher.store.look().finally(() => {
      isOver = true
    })
    await until(() => isOver, 'the poll has ended', 10, 10_000).finally(looked.resolve)
    await holder
    t.same((await look).events, [{ key: 'k', lane: 'database' }])
    const worker = startProcess(product, () => () => {})
    await worker.dispatcher.idle()
    await drain(worker)
    t.same(await effects('exact'), numbered(3, 'k'))
  })

  await t.test('scheduled and delayed events join a batch when they are due', async (t) => {
    await publishSteps(product, 4)
    await db.transactional(async () => {
      for (const n of [4, 5]) await publisher.publish(step, { n }, { delayMs: 500 })
      for (const n of [6, 7]) await publisher.publish(step, { n }, { notBefore: clock.now() + 900 })
    })
    const worker = startProcess(product, () => () => {})
    await worker.dispatcher.idle()
    t.same((await effects('exact')).sort(), numbered(4))
    t.same(await states(), { delivered: 4, scheduled: 4 })
    await clock.advance(1_000)
    await worker.dispatcher.idle()
    await drain(worker)
    t.same((await effects('exact')).sort(), numbered(8))
    t.same(
      await attemptsOf(db),
      Array.from({ length: 8 }, () => 1),
    )
  })
})

onDatabase(t, 'K-013 a slow handler does not hold the other events of its batch', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, clock, states } = product
  const slow = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const calls: number[] = []
  const worker = dispatcherProcess({
    db,
    clock,
    handlers: (registry) =>
      registry.add(
        step,
        'slow',
        async ({ payload: { n } }) => {
          calls.push(n)
          if (n > 0) return
          begun.resolve()
          await slow.promise
        },
        { lane: 'database' },
      ),
  })
  await publishSteps(product, 30)
  worker.dispatcher.wake()
  await begun.promise
  await until(async () => {
    await clock.advance(100)
    return ((await states())['delivered'] ?? 0) === 29
  }, 'the others are delivered')
  t.same(
    calls.toSorted((a, b) => a - b),
    Array.from({ length: 30 }, (_, n) => n),
    'each handler was called once',
  )
  slow.resolve()
  await worker.dispatcher.idle()
  await drain(worker)
  t.same(await states(), { delivered: 30 })
  t.same(
    await attemptsOf(db),
    Array.from({ length: 30 }, () => 1),
    'a released event loses no attempt',
  )
})

onDatabase(t, 'K-013 a process that stops releases all events of a batch', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, states } = product
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const stopping = startProcess(
    product,
    () => async (n) => {
      if (n < 3) return
      begun.resolve()
      await stopped.promise
    },
    { slots: 1 },
  )
  await publishSteps(product, 6)
  stopping.dispatcher.wake()
  await begun.promise
  const drained = stopping.dispatcher.drain(AbortSignal.abort())
  stopped.reject(new Error('The handler ends with the process'))
  await drained
  t.same(await db.query('select id from outbox_event where lease_token is not null'), [], 'no event waits for a lease')
  const next = startProcess(product, () => () => {})
  await next.dispatcher.idle()
  await drain(next)
  t.same(await states(), { delivered: 6 })
  t.same((await product.effects('exact')).length, 6)
})

onDatabase(t, 'K-013 events of both lanes are delivered in batches of their lane', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, clock, effect, effects, states } = product
  const sent: string[] = []
  const worker = dispatcherProcess({
    db,
    clock,
    handlers(registry) {
      registry.add(step, 'exact', async ({ id, payload: { n } }) => void (await effect('exact', id, `${n}`)), {
        transaction: true,
      })
      registry.add(step, 'send', ({ key, payload: { n } }) => void sent.push(`${key ?? 'none'}/${n}`), {})
    },
  })
  await publishSteps(product, 20)
  await publishSteps(product, 10, 'k')
  await worker.dispatcher.idle()
  await drain(worker)
  t.same(await states(), { delivered: 30 })
  t.equal((await effects('exact')).length, 30)
  t.same(sent.toSorted(), [...numbered(20), ...numbered(10, 'k')].sort())
  t.same(
    sent.filter((note) => note.startsWith('k')),
    numbered(10, 'k'),
  )
  t.same(await db.query('select count(*) as n from outbox_delivery where handler = ?', ['send']), [{ n: 0 }])
})

onDatabase(t, 'K-013 each handler in a shared transaction sees what the one before wrote', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, clock, effect, effects, states } = product
  const stream = { streamKey: 'counter' }
  const worker = dispatcherProcess({
    db,
    clock,
    slots: 1,
    handlers(registry) {
      const inTransaction = { transaction: true }
      registry.add(
        step,
        'by-entity',
        () =>
          db.transactional(async (em) => {
            const row = await em.findOneOrFail(StreamRow, stream)
            row.lastPosition += 1
          }),
        inTransaction,
      )
      registry.add(
        step,
        'by-statement',
        async ({ id }) => {
          const row = await db.fork().findOneOrFail(StreamRow, stream)
          await effect('seen', id, `${row.lastPosition}`)
          await db.execute('update outbox_stream set last_position = last_position + 1 where stream_key = ?', [
            'counter',
          ])
        },
        inTransaction,
      )
    },
  })
  await publishSteps(product, 1, 'counter')
  await worker.dispatcher.idle()
  await publishSteps(product, 8)
  await worker.dispatcher.idle()
  await drain(worker)
  t.same(await states(), { delivered: 9 })
  t.same(
    await effects('seen'),
    Array.from({ length: 9 }, (_, n) => `${2 * (n + 1)}`),
    'no write of a handler is lost',
  )
})

onDatabase(t, 'K-013 a postponed event of both lanes does not keep the dispatcher busy', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, clock, effect, effects, states } = product
  let isPostponed = true
  const sent: number[] = []
  const worker = dispatcherProcess({
    db,
    clock,
    maxDelayMs: 60_000,
    handlers(registry) {
      registry.add(
        step,
        'exact',
        async ({ id, payload: { n } }) => {
          if (isPostponed) throw new PostponedDelivery(30_000)
          await effect('exact', id, `${n}`)
        },
        { transaction: true },
      )
      registry.add(step, 'send', ({ payload: { n } }) => void sent.push(n), {})
    },
  })
  await publishSteps(product, 3, 'k')
  let claims = 0
  const count = (message: unknown) => {
    if ((message as { sql: string }).sql.includes('attempts = attempts + 1')) claims += 1
  }
  subscribe('plinth.database.statement', count)
  let isIdle = false
  void worker.dispatcher.idle().then(() => {
    isIdle = true
  })
  await until(() => isIdle || claims > 20, 'the dispatcher waits, or is busy')
  unsubscribe('plinth.database.statement', count)
  t.ok(isIdle, 'the dispatcher waits')
  isPostponed = false
  await clock.advance(30_000)
  await worker.dispatcher.idle()
  await drain(worker)
  t.same(await states(), { delivered: 3 })
  t.same(await effects('exact'), ['0', '1', '2'])
  t.same(sent, [0, 1, 2])
})

onDatabase(t, 'K-013 a handler is told that its shared transaction took too long', async (t, at) => {
  const product = await startEvents(t, at, { roles: ['web'] })
  const { db, clock, effect, effects, states } = product
  const ended: string[] = []
  let calls = 0
  const worker = dispatcherProcess({
    db,
    clock,
    handlers: (registry) =>
      registry.add(
        step,
        'exact',
        async ({ id, payload: { n } }, { signal }) => {
          if (n === 1 && ++calls === 1) {
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
            ended.push('aborted')
            throw signal.reason
          }
          if (n === 1) ended.push('called again')
          await effect('exact', id, `${n}`)
        },
        { transaction: true },
      ),
  })
  await publishSteps(product, 12)
  await worker.dispatcher.idle()
  await drain(worker)
  t.same(ended, ['aborted', 'called again'])
  t.same(await states(), { delivered: 12 })
  t.equal((await effects('exact')).length, 12)
})
