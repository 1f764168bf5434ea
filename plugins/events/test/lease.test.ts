import { assertMembers, manualClock, until } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { event } from '@plinth/events'
import t from 'tap'
import { Type } from 'typebox'
import { Backlog } from '../src/backlog.ts'
import { OutboxAdmin } from '../src/outbox-admin.ts'
import { dispatcherProcess, type ProcessSettings } from './fixtures/dispatcher-process.ts'
import { startEvents } from './fixtures/product.ts'

const work = event('test.work', Type.Object({ note: Type.String() }))
const leaseMs = 3_000
const noDeadline = { handlerDeadlineMs: 3_600_000 }

onEachDatabase(t, 'K-013 leases', async (t, at) => {
  const start = async () => {
    const product = await startEvents(t, at, { roles: ['web'] })
    for (const table of ['outbox_event', 'outbox_delivery', 'test_effect']) {
      await product.db.execute(`delete from ${table}`)
    }
    return product
  }

  await t.test('a process that was suspended longer than its lease changes nothing', async (t) => {
    const { db, clock, events, effect, effects } = await start()
    const frozen = manualClock(clock.now())
    const begun = Promise.withResolvers<void>()
    const wakeUp = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const asleep = dispatcherProcess({
      db,
      clock: frozen,
      databaseClock: clock,
      ...noDeadline,
      handlers: (registry) =>
        registry.add(
          work,
          'exact',
          async () => {
            begun.resolve()
            await wakeUp.promise
            ended.resolve()
          },
          {},
        ),
    })
    await events.publish(work, { note: 'a' }, { key: 'k' })
    asleep.dispatcher.wake()
    await begun.promise

    await clock.advance(leaseMs)
    const awake = dispatcherProcess({
      db,
      clock,
      handlers: (registry) =>
        registry.add(
          work,
          'exact',
          async ({ id, payload }) => {
            await effect('exact', id, payload.note)
            throw new Error('not yet')
          },
          { transaction: true },
        ),
    })
    await awake.dispatcher.idle()
    const row = () => db.query('select attempts, last_error, status from outbox_event')
    const before = await row()
    assertMembers(
      t,
      before,
      [{ attempts: 2, last_error: 'exact: not yet', status: 'pending' }],
      'taken over after the lease',
    )
    wakeUp.resolve()
    await ended.promise
    await asleep.dispatcher.drain(new AbortController().signal)
    t.same(await row(), before)
    t.same(await effects('exact'), [])
    await awake.dispatcher.drain(new AbortController().signal)
  })

  await t.test(
    'a process that was suspended checks that it still owns the event before it calls a handler',
    async (t) => {
      const { db, clock, events, states } = await start()
      const frozen = manualClock(clock.now())
      const begun = Promise.withResolvers<void>()
      const thaws = Promise.withResolvers<void>()
      const calls: string[] = []
      const handlers =
        (name: string, first: () => Promise<void>) => (registry: Parameters<ProcessSettings['handlers']>[0]) => {
          registry.add(work, 'first', first, {})
          registry.add(work, 'second', () => void calls.push(name), {})
        }
      const asleep = dispatcherProcess({
        db,
        clock: frozen,
        databaseClock: clock,
        ...noDeadline,
        handlers: handlers('frozen', async () => {
          begun.resolve()
          await thaws.promise
          throw new Error('what it waited for is gone')
        }),
      })
      await events.publish(work, { note: 'a' })
      asleep.dispatcher.wake()
      await begun.promise
      await clock.advance(leaseMs)
      const awake = dispatcherProcess({ db, clock, handlers: handlers('awake', async () => {}) })
      await awake.dispatcher.idle()
      t.same(calls, ['awake'])
      // Simulates a suspended host. When it resumes, its timers and its monotonic clock continue as if no time had
      // passed.
      frozen.shiftWallClock(leaseMs)
      thaws.resolve()
      await asleep.dispatcher.drain(new AbortController().signal)
      t.same(calls, ['awake'])
      t.same(await states(), { delivered: 1 })
      await awake.dispatcher.drain(new AbortController().signal)
    },
  )

  await t.test('writes of such a process in a transaction are rolled back', async (t) => {
    const { db, clock, events, effect, effects } = await start()
    await events.publish(work, { note: 'a' })
    const late = dispatcherProcess({
      db,
      clock,
      ...noDeadline,
      handlers: (registry) =>
        registry.add(
          work,
          'exact',
          async ({ id }) => {
            await effect('exact', id, 'late')
            // Simulates another process that took over the event meanwhile.
            await db.execute('update outbox_event set lease_token = ? where id = ?', ['other', id])
          },
          { transaction: true },
        ),
    })
    await late.dispatcher.idle()
    t.same(await effects('exact'), [])
    await late.dispatcher.drain(new AbortController().signal)
  })

  await t.test('an event that another process tried after it was read is not claimed', async (t) => {
    const { db, clock, events } = await start()
    const { store, dispatcher } = dispatcherProcess({ db, clock, handlers: () => {} })
    await dispatcher.drain(new AbortController().signal)
    const id = await events.publish(work, { note: 'a' })
    const [[read] = []] = await store.read([{ id, lane: 'network' }], 1)
    if (read === undefined) throw new Error('no event')
    const [claim] = await store.claim([read], leaseMs)
    if (claim === undefined) throw new Error('no claim')
    await store.retry(claim, read.lane, 0, 'not yet')
    t.same(await store.claim([read], leaseMs), [])
    assertMembers(t, await store.claim([{ ...read, attempts: 1 }], leaseMs), [{ id, key: null }])
  })

  await t.test('the work of a completed handler is not repeated by another process', async (t) => {
    const handlers =
      (
        effect: (handler: string, id: number, note: string) => Promise<unknown>,
        name: string,
        others: { readonly before?: () => Promise<void>; readonly after?: () => Promise<void> } = {},
      ) =>
      (registry: Parameters<ProcessSettings['handlers']>[0]) => {
        registry.add(work, 'before', async () => others.before?.(), {})
        registry.add(work, 'exact', async ({ id }) => void (await effect('exact', id, name)), { transaction: true })
        if (others.after !== undefined) registry.add(work, 'after', others.after, {})
      }

    await t.test('a process that read the event before another process tried it', async (t) => {
      const { db, clock, events, effect, effects, states } = await start()
      const late = dispatcherProcess({ db, clock, handlers: handlers(effect, 'late') })
      const claim = late.store.claim.bind(late.store)
      const hasRead = Promise.withResolvers<void>()
      const goesOn = Promise.withResolvers<void>()
      late.store.claim = async (...of) => {
        hasRead.resolve()
        await goesOn.promise
        return claim(...of)
      }
      await events.publish(work, { note: 'a' }, { key: 'k' })
      late.dispatcher.wake()
      await hasRead.promise
      const before = () => Promise.reject(new Error('not yet'))
      const early = dispatcherProcess({ db, clock, handlers: handlers(effect, 'early', { before }) })
      await early.dispatcher.idle()
      await early.dispatcher.drain(new AbortController().signal)
      await clock.advance(100)
      goesOn.resolve()
      await late.dispatcher.idle()
      t.same(await effects('exact'), ['early'])
      t.same(await states(), { delivered: 1 })
      assertMembers(t, await db.query('select attempts from outbox_event'), [{ attempts: 2 }])
      await late.dispatcher.drain(new AbortController().signal)
    })

    await t.test('a process that stopped and returned the event', async (t) => {
      const { db, clock, events, effect, effects, states } = await start()
      const begun = Promise.withResolvers<void>()
      const after = () => {
        begun.resolve()
        return new Promise<void>(() => {})
      }
      const stopping = dispatcherProcess({ db, clock, handlers: handlers(effect, 'stopping', { after }) })
      await events.publish(work, { note: 'a' })
      stopping.dispatcher.wake()
      await begun.promise
      await stopping.dispatcher.drain(AbortSignal.abort())
      const next = dispatcherProcess({ db, clock, handlers: handlers(effect, 'next') })
      await next.dispatcher.idle()
      t.same(await effects('exact'), ['stopping'])
      t.same(await states(), { delivered: 1 })
      await next.dispatcher.drain(new AbortController().signal)
    })

    await t.test('a process that was killed while an operator replays the event', async (t) => {
      const { db, clock, events, effect, effects, states } = await start()
      let dies = false
      const killed = dispatcherProcess({
        db,
        clock,
        dies: () => dies,
        handlers: (registry, step) =>
          handlers(effect, 'killed', {
            after: () => {
              dies = true
              return step(async () => {})
            },
          })(registry),
      })
      const id = await events.publish(work, { note: 'a' })
      killed.dispatcher.wake()
      await killed.crashed
      const next = dispatcherProcess({ db, clock, handlers: handlers(effect, 'next') })
      const replayed = () => next.dispatcher.wake()
      await new OutboxAdmin({ db, store: next.store, backlog: new Backlog(db, clock), replayed }).replay(id)
      await next.dispatcher.idle()
      t.same(await effects('exact'), ['killed'])
      t.same(await states(), { delivered: 1 })
      await next.dispatcher.drain(new AbortController().signal)
    })
  })

  await t.test('a slow handler keeps its lease, and its signal aborts when the lease is lost', async (t) => {
    const { db, clock, events } = await start()
    const begun = Promise.withResolvers<AbortSignal>()
    const finish = Promise.withResolvers<void>()
    // The dispatcher also sleeps on this clock, so only the sleeps of the lease keeper are counted.
    let keeperSleeps = 0
    const watched = {
      ...clock,
      sleep: (ms: number, signal?: AbortSignal) => {
        if (ms === leaseMs / 3) keeperSleeps++
        return clock.sleep(ms, signal)
      },
    }
    const slow = dispatcherProcess({
      db,
      clock: watched,
      ...noDeadline,
      handlers: (registry) =>
        registry.add(
          work,
          'slow',
          async (_, { signal }) => {
            begun.resolve(signal)
            await Promise.race([finish.promise, new Promise((resolve) => signal.addEventListener('abort', resolve))])
          },
          {},
        ),
    })
    const id = await events.publish(work, { note: 'a' })
    slow.dispatcher.wake()
    const signal = await begun.promise
    const leaseEnd = async () => {
      const rows = await db
        .fork()
        .getKysely<{ outbox_event: { id: number; next_at: unknown } }>()
        .selectFrom('outbox_event')
        .select('next_at')
        .where('id', '=', id)
        .execute()
      return JSON.stringify(rows)
    }
    let before = await leaseEnd()
    for (let third = 0; third < 9; third++) {
      const seen = keeperSleeps
      await clock.advance(leaseMs / 3)
      // The renewal is a statement in a real database, which takes time. When it is done, the lease keeper sleeps
      // again.
      await until(() => keeperSleeps !== seen, 'the keeper sleeps again', 0)
      const renewed = await leaseEnd()
      t.not(renewed, before, 'the lease is renewed')
      before = renewed
      t.same((await slow.store.look()).events, [], 'nobody else finds it')
    }
    t.equal(signal.aborted, false)

    await db.execute("update outbox_event set lease_token = 'other' where id = ?", [id])
    const lost = new Promise((resolve) => signal.addEventListener('abort', resolve))
    await clock.advance(leaseMs / 3)
    await lost
    t.match(signal.reason, { name: 'LeaseLostError' })
    finish.resolve()
    await slow.dispatcher.drain(new AbortController().signal)
  })

  await t.test('A10 an event that ends the process at every attempt becomes failed', async (t) => {
    const { db, clock, events, states } = await start()
    await events.publish(work, { note: 'poison' }, { key: 'k' })
    let deaths = 0
    for (let attempt = 0; attempt < 4; attempt++) {
      let dies = false
      const one = dispatcherProcess({
        db,
        clock,
        maxAttempts: 3,
        dies: () => dies,
        handlers: (registry, step) =>
          registry.add(
            work,
            'deadly',
            async () => {
              dies = true
              deaths += 1
              await step(async () => {})
            },
            {},
          ),
      })
      await Promise.race([one.dispatcher.idle(), one.crashed])
      await clock.advance(leaseMs)
    }
    t.equal(deaths, 3)
    t.same(await states(), { delivered: 1, failed: 1 }, 'failed, with an alert that nobody wanted to see')
  })

  await t.test('a process that always has events of its own also finds those of other processes', async (t) => {
    const { db, clock, events } = await start()
    let links = 0
    let isFound = false
    // Upper limit in milliseconds. It is far above the duration of one poll.
    const most = 2_000
    const chain = event('test.chain', Type.Null())
    const busy = dispatcherProcess({
      db,
      clock,
      handlers(registry, _, publish) {
        registry.add(
          chain,
          'chain',
          async () => {
            links += 1
            if (!isFound && links < most) await publish(chain, null, { key: 'chain' })
          },
          {},
        )
        registry.add(
          work,
          'other',
          () => {
            isFound = true
          },
          {},
        )
      },
    })
    await events.publish(chain, null, { key: 'chain' })
    const idle = busy.dispatcher.idle()
    await until(() => links >= 5, 'the links are followed', 0)
    await events.publish(work, { note: 'from afar' })
    while (!isFound && links < most) {
      const before = links
      await clock.advance(50)
      await until(() => isFound || links >= before + 5, 'five events more', 0)
    }
    t.ok(isFound, `found after ${links} events`)
    await idle
    await busy.dispatcher.drain(new AbortController().signal)
  })

  await t.test(
    'a handler that exceeds its deadline has failed; draining waits and then returns the event',
    async (t) => {
      const { db, clock, events, states } = await start()
      const attempts: number[] = []
      let begun = Promise.withResolvers<void>()
      const stuck = dispatcherProcess({
        db,
        clock,
        handlerDeadlineMs: 1_000,
        initialDelayMs: 10,
        maxDelayMs: 10,
        handlers: (registry) =>
          registry.add(
            work,
            'stuck',
            (_, { attempt }) => {
              attempts.push(attempt)
              begun.resolve()
              return new Promise(() => {})
            },
            {},
          ),
      })
      const id = await events.publish(work, { note: 'a' })
      stuck.dispatcher.wake()
      await begun.promise
      begun = Promise.withResolvers()
      const idle = stuck.dispatcher.idle()
      await clock.advance(1_000)
      await idle
      const error = async () =>
        (await db.query<{ last_error: string }>('select last_error from outbox_event where id = ?', [id]))[0]
          ?.last_error
      t.equal(await error(), 'stuck: Handler "stuck" did not finish within 1000 ms')

      await clock.advance(10)
      stuck.dispatcher.wake()
      await begun.promise
      const stop = new AbortController()
      let isDrained = false
      const drained = stuck.dispatcher.drain(stop.signal).then(() => {
        isDrained = true
      })
      await new Promise(setImmediate)
      t.equal(isDrained, false)
      stop.abort()
      await drained
      t.same(attempts, [1, 2])
      const next = dispatcherProcess({
        db,
        clock,
        handlers: (registry) =>
          registry.add(
            work,
            'stuck',
            (_, { attempt }) => {
              attempts.push(attempt)
            },
            {},
          ),
      })
      await next.dispatcher.idle()
      t.same(attempts, [1, 2, 2], 'the next process begins at once, and the stop counts for no attempt')
      t.same(await states(), { delivered: 1 })
      await next.dispatcher.drain(stop.signal)
    },
  )
})
