/** Tests the effect of each configuration key of the event bus. */

import { assertKeyEffect, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { type EventLane, event } from '@plinth/events'
import t from 'tap'
import { Type } from 'typebox'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))

async function start(
  config: KeyValues,
  handle: (signal: AbortSignal) => Promise<void> | void,
  lane: EventLane = 'database',
) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, ...others) => {
    sleeps.push(ms)
    return sleep(ms, ...others)
  }
  const product = await startEvents(t, at, {
    clock,
    config,
    handlers: (events) => events.on(noted, 'test.note', (_event, { signal }) => handle(signal), { lane }),
  })
  const publish = (note: string) => product.events.publish(noted, { note }, { key: note })
  return { ...product, clock, sleeps, publish }
}

t.test('a worker delivers only where the dispatcher starts', async (t) => {
  const [states] = await assertKeyEffect(t, 'platform.events.dispatcher.auto-startup', {
    changed: false,
    observe: async (config) => {
      const { events, publish, states } = await start(config, () => {})
      await publish('one')
      await events.idle()
      return states()
    },
  })
  t.match(states, { before: { delivered: 1 }, after: { pending: 1 } })
})

t.test('some events are delivered at the same time, and a lease protects each', async (t) => {
  /** Publishes four events whose handlers run until the end of the test. */
  const observeLane = (lane: EventLane) => async (config: KeyValues) => {
    const end = Promise.withResolvers<void>()
    const first = Promise.withResolvers<void>()
    let begun = 0
    const { clock, db, events, publish } = await start(
      config,
      () => {
        begun++
        first.resolve()
        return end.promise
      },
      lane,
    )
    for (const note of [...'abcdefghij']) await publish(note)
    await first.promise
    for (let count = 0; count < 10; count++) {
      await db.query('select 1 as one')
      await clock.advance(0)
    }
    const atOnce = begun
    const rows = await db.query<{ next_at: string | number }>('select next_at from outbox_event order by next_at')
    const leasedUntil = Math.max(...rows.map(({ next_at }) => new Date(next_at).getTime()))
    end.resolve()
    await events.idle()
    return { atOnce, leaseMs: leasedUntil - clock.now(), begun }
  }
  const observe = observeLane('database')
  const [concurrency] = await assertKeyEffect(t, 'platform.events.dispatcher.concurrency', { changed: 2, observe })
  t.match(concurrency, { before: { atOnce: 4, begun: 10 }, after: { atOnce: 2, begun: 10 } })
  const network = { changed: 3, observe: observeLane('network') }
  const [others] = await assertKeyEffect(t, 'platform.events.dispatcher.network-concurrency', network)
  t.match(others, { before: { atOnce: 8, begun: 10 }, after: { atOnce: 3, begun: 10 } })
  const [leases] = await assertKeyEffect(t, 'platform.events.dispatcher.lease', { changed: '7s', observe })
  t.match(leases, { before: { leaseMs: 30_000 }, after: { leaseMs: 7_000 } })
})

t.test('a handler is cancelled at its deadline', async (t) => {
  const [aborted] = await assertKeyEffect(t, 'platform.events.handler-deadline', {
    changed: '3s',
    observe: async (config) => {
      const begun = Promise.withResolvers<AbortSignal>()
      const end = Promise.withResolvers<void>()
      const { clock, publish } = await start(config, (signal) => {
        begun.resolve(signal)
        return end.promise
      })
      await publish('stuck')
      const signal = await begun.promise
      await clock.advance(3_000)
      const { aborted } = signal
      end.resolve()
      return aborted
    },
  })
  t.match(aborted, { before: false, after: true })
})

t.test('a failed event is retried as configured', async (t) => {
  /** Counts the attempts of a failing handler within some time. */
  const attemptsWithin = (ms: number, others: KeyValues) => async (config: KeyValues) => {
    let attempts = 0
    const { clock, events, publish } = await start({ ...others, ...config }, () => {
      attempts++
      throw new Error('no')
    })
    await publish('bad')
    for (let step = 0; step < 20; step++) {
      await events.idle()
      await clock.advance(ms / 20)
    }
    await events.idle()
    return attempts
  }
  const quick = { 'platform.events.retry.max-delay': '1s' }
  const [attempts] = await assertKeyEffect(t, 'platform.events.retry.max-attempts', {
    compared: 2,
    changed: 3,
    observe: attemptsWithin(60_000, quick),
  })
  t.match(attempts, { before: 2, after: 3 })
  const isRetried = (ms: number, others: KeyValues) => async (config: KeyValues) =>
    (await attemptsWithin(ms, others)(config)) > 1
  const [first] = await assertKeyEffect(t, 'platform.events.retry.initial-delay', {
    changed: '5m',
    observe: isRetried(60_000, {}),
  })
  t.match(first, { before: true, after: false })
  const [longest] = await assertKeyEffect(t, 'platform.events.retry.max-delay', {
    changed: '1s',
    observe: isRetried(60_000, { 'platform.events.retry.initial-delay': '5m' }),
  })
  t.match(longest, { before: false, after: true })
})

t.test('a worker polls at the interval', async (t) => {
  const [polls] = await assertKeyEffect(t, 'platform.events.dispatcher.poll-interval', {
    changed: '4321ms',
    observe: async (config) => {
      const { sleeps, events } = await start(config, () => {})
      await events.idle()
      return sleeps.some((ms) => ms > 4000 && ms <= 4321)
    },
  })
  t.match(polls, { before: false, after: true })
})

t.test('a delivered event is stored as long as its retention', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.events.retention', {
    changed: '1d',
    observe: async (config) => {
      const { running, db, events, clock, publish } = await start(config, () => {})
      await publish('old')
      await events.idle()
      clock.shiftWallClock(2 * 86_400_000)
      const purge = running.scheduledTasks.find(({ name }) => name === 'events.purge')
      await purge?.run(new AbortController().signal)
      return (await db.query('select id from outbox_event')).length
    },
  })
  t.match(counts, { before: 1, after: 0 })
})
