/** What keys of the event bus do that no other test is about. */
import { createDatabase } from '@plinth/database/testing'
import { event } from '@plinth/events'
import type { JsonValue } from '@plinth/kernel'
import { manualClock } from '@plinth/kernel/testing'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { startEvents } from './fixtures/product.ts'

const noted = event('test.noted', Type.Object({ note: Type.String() }))

async function start(t: Test, config: Readonly<Record<string, JsonValue>>, handle: () => Promise<void> | void) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, signal) => {
    sleeps.push(ms)
    return sleep(ms, signal)
  }
  const product = await startEvents(t, at, {
    clock,
    config,
    handlers: (events) => events.on(noted, 'test.note', handle),
  })
  const publish = (note: string, key = note) => product.events.publish(noted, { note }, { key })
  return { ...product, clock, sleeps, publish }
}

t.test('effect of platform.events.dispatcher.auto-startup: a worker delivers only with it', async (t) => {
  for (const isOn of [true, false]) {
    let ran = 0
    const { events, publish, states } = await start(t, { 'platform.events.dispatcher.auto-startup': isOn }, () => {
      ran += 1
    })
    await publish('one')
    if (isOn) await events.idle()
    t.match([ran, await states()], isOn ? [1, { delivered: 1 }] : [0, { pending: 1 }])
  }
})

t.test('effect of platform.events.dispatcher.concurrency: deliveries at a time', async (t) => {
  const ends: PromiseWithResolvers<void>[] = []
  const begun = [1, 2, 3].map(() => Promise.withResolvers<void>())
  let atOnce = 0
  let most = 0
  const { events, publish } = await start(t, { 'platform.events.dispatcher.concurrency': 2 }, async () => {
    const end = Promise.withResolvers<void>()
    most = Math.max(most, ++atOnce)
    begun[ends.length]?.resolve()
    ends.push(end)
    await end.promise
    atOnce -= 1
  })
  for (const note of ['a', 'b', 'c']) await publish(note)
  await begun[1]?.promise
  t.equal(ends.length, 2)
  ends[0]?.resolve()
  await begun[2]?.promise
  for (const end of ends) end.resolve()
  await events.idle()
  t.equal(most, 2)
})

t.test(
  'effects of platform.events.handler-deadline and platform.events.retry.{max-attempts,initial-delay,max-delay}',
  async (t) => {
    const signals: number[] = []
    const config = {
      'platform.events.handler-deadline': '3s',
      'platform.events.retry.max-attempts': 3,
      'platform.events.retry.initial-delay': '20s',
      'platform.events.retry.max-delay': '25s',
      'platform.events.dispatcher.lease': '1h',
    }
    const { clock, publish, db, states } = await start(t, config, () => {
      signals.push(clock.monotonic())
      return new Promise<void>(() => {})
    })
    await publish('stuck')
    const row = async () =>
      (await db.query<Record<string, unknown>>('select * from outbox_event'))[0] as Record<string, unknown>
    const until = async (holds: () => Promise<boolean> | boolean, ms: number) => {
      for (let looks = 0; looks < 2000 && !(await holds()); looks++) if (looks % 4 === 3) await clock.advance(ms)
    }
    await until(() => signals.length === 3, 500)
    const [first = 0, second = 0, third = 0] = signals
    t.ok(
      second - first >= 3_000 + 10_000 && second - first <= 3_000 + 32_000,
      `a first delay after ${second - first} ms`,
    )
    t.ok(third - second <= 3_000 + 27_000, `no longer than the longest: ${third - second} ms`)
    await until(async () => (await states())['failed'] === 1, 500)
    t.equal(signals.length, 3, JSON.stringify(await row()))
  },
)

t.test('effect of platform.events.dispatcher.poll-interval: how often a worker looks', async (t) => {
  const { sleeps, events } = await start(t, { 'platform.events.dispatcher.poll-interval': '4321ms' }, () => {})
  await events.idle()
  t.ok(
    sleeps.some((ms) => ms > 4000 && ms <= 4321),
    `${sleeps}`,
  )
})
