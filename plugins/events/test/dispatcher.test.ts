import { manualClock, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import t from 'tap'
import { Backlog, deliveryMetrics } from '../src/backlog.ts'
import type { Deliverer, Outcome } from '../src/deliverer.ts'
import { Dispatcher } from '../src/dispatcher.ts'
import { eventLabels, OutboxAdmin } from '../src/outbox-admin.ts'
import type { DueEvents, OutboxStore } from '../src/outbox-store.ts'
import { startEvents } from './fixtures/product.ts'

const nothing: DueEvents = { events: [], isMore: false, nextInMs: undefined }

/** Returns a dispatcher for an outbox. The test defines the results of the outbox. */
function dispatcherOver(look: () => Promise<DueEvents>, deliver: () => Promise<Outcome> = async () => 'delivered') {
  const clock = manualClock()
  const lines: { level: number; msg: string; failures?: number }[] = []
  const looks: number[] = []
  const dispatcher = new Dispatcher({
    store: {
      look: () => {
        looks.push(clock.monotonic())
        return look()
      },
      read: async (hints: readonly { readonly id: number }[]) =>
        hints.map(({ id }) => [{ id, status: 'pending', streamKey: null, lane: 'database', attempts: 0 }]),
    } as unknown as OutboxStore,
    deliverer: { batchSize: 32, deliver: (events: readonly object[]) => events.map(deliver) } as unknown as Deliverer,
    slots: { database: 2, network: 2 },
    pollIntervalMs: () => 1_000,
    clock,
    log: pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) }),
  })
  dispatcher.start()
  t.teardown(() => dispatcher.drain(AbortSignal.abort()))
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) await clock.advance(Math.min(100, left))
  }
  return { clock, dispatcher, lines, looks, pass }
}

t.test('polls that find nothing become less frequent, at most 5 s apart, until something happens', async (t) => {
  const { dispatcher, looks, pass } = dispatcherOver(async () => nothing)
  await pass(60_000)
  t.ok(looks.length >= 12 && looks.length <= 16, `${looks.length} looks in a minute`)
  const gaps = looks.slice(1).map((at, n) => at - (looks[n] ?? 0))
  t.equal(gaps[0], 1_000)
  t.ok(Math.max(...gaps) <= 5_100, `${gaps}`)
  looks.length = 0
  dispatcher.wake({ id: 1, lane: 'database' })
  await pass(1_200)
  t.equal(looks.length, 1, 'within the interval after something was delivered')
})

t.test('the loop wakes at the time at which an event is due', async (t) => {
  let nextInMs: number | undefined
  const { dispatcher, looks, pass } = dispatcherOver(async () => ({ ...nothing, nextInMs }))
  await pass(30_000)
  nextInMs = 2_300
  await dispatcher.idle()
  looks.length = 0
  await pass(1_000)
  nextInMs = undefined
  await pass(2_000)
  t.ok(looks.length >= 2, `looks at ${looks}`)
})

t.test('an event that is found again while it is claimed is tried again afterwards', async (t) => {
  const begun = Promise.withResolvers<void>()
  const claimed = Promise.withResolvers<Outcome>()
  let attempts = 0
  const { clock, dispatcher, looks } = dispatcherOver(
    async () => ({ ...nothing, events: attempts < 2 ? [{ id: 1, lane: 'database' }] : [] }),
    async () => {
      attempts += 1
      begun.resolve()
      return attempts === 1 ? claimed.promise : 'delivered'
    },
  )
  await begun.promise
  const idle = dispatcher.idle()
  await until(() => looks.length >= 2, 'the event is found again', 0)
  await clock.advance(0)
  claimed.resolve('postponed')
  await idle
  t.equal(attempts, 2)
})

t.test(
  'a failed read or write is logged once, and once more with the number of failures when it works again',
  async (t) => {
    const messages = {
      look: ['the outbox cannot be read; trying again', 'the outbox can be read again'],
      deliver: [
        'the outcome of a delivery cannot be written; trying again',
        'outcomes of deliveries can be written again',
      ],
    }
    for (const problem of ['look', 'deliver'] as const) {
      let isBroken = true
      const fail = async () => {
        if (isBroken) throw new Error('disk full')
      }
      const { lines, pass } = dispatcherOver(
        async () => {
          if (problem === 'look') await fail()
          return { ...nothing, events: [1, 2].map((id) => ({ id, lane: 'database' as const })) }
        },
        async () => {
          if (problem === 'deliver') await fail()
          return 'delivered'
        },
      )
      await pass(10_000)
      t.equal(lines.length, 1, `${problem}: ${JSON.stringify(lines)}`)
      isBroken = false
      await pass(10_000)
      t.same(
        lines.map(({ msg }) => msg),
        messages[problem],
      )
      t.ok((lines[1]?.failures ?? 0) >= 5, `${lines[1]?.failures} failures`)
    }
  },
)

t.test('metrics name only known events, and are returned without the backlog if the database fails', async (t) => {
  const registry = new Registry()
  let isBroken = true
  const open = async () => {
    if (isBroken) throw new Error('no database')
    return new Map([['failed', 2]])
  }
  const oldestPendingMs = async () => {
    await open()
    return new Map([['network', 61_000]])
  }
  const count = deliveryMetrics(
    registry,
    { open, oldestPendingMs } as unknown as Backlog,
    (type) => type === 'shop.paid',
  )
  count('shop.paid', 'delivered')
  count('stranger.came', 'failed')
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('platform_'))
  const deliveries = [
    'platform_events_deliveries_total{type="shop.paid",outcome="delivered"} 1',
    'platform_events_deliveries_total{type="other",outcome="failed"} 1',
  ]
  t.same(await lines(), deliveries)
  isBroken = false
  t.same(await lines(), [
    ...deliveries,
    'platform_events_outbox_events{status="failed"} 2',
    'platform_events_oldest_pending_seconds{lane="network"} 61',
  ])
})

t.test('one call replays at most a thousand events, and counts stop at ten thousand', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const { db } = await startEvents(t, at, { roles: ['web'] })
  await db.execute(
    `insert into outbox_event (id, type, payload, status, attempts, next_at, created_at)
     with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 10500)
     select n, 'test.' || (n % 2), '{}', 'failed', 1, 0, 0 from numbers`,
  )
  const clock = manualClock()
  const backlog = new Backlog(db, clock)
  const reported: string[] = []
  const store = {} as OutboxStore
  const admin = new OutboxAdmin({ db, store, backlog, replayed: () => reported.push('replayed') })
  t.match(await admin.backlog(), { counts: { failed: 10_000, pending: 0 }, counted: 'capped' })
  const labels = eventLabels(db)
  const caller = { locale: 'en' } as Parameters<typeof labels.byIds>[1]
  t.same(await labels.byIds(['7', 'none', '8'], caller), [
    { id: 7, name: 'test.1' },
    { id: 8, name: 'test.0' },
  ])
  const found = await labels.search('test.1', caller)
  t.same(found.slice(0, 2), [
    { id: 10_499, name: 'test.1' },
    { id: 10_497, name: 'test.1' },
  ])
  t.ok(found.length < 100, 'only the newest events are suggested')
  t.same(await admin.replayAll({ type: 'test.1' }), { affected: 1_000, isMore: true, results: [] })
  t.ok(reported.length > 0)
  t.match(await admin.backlog(), { counts: { failed: 9_500, pending: 1_000 }, counted: 'exact' })
  const states = [...(await backlog.open())]
  t.same(states, [
    ['scheduled', 0],
    ['pending', 1_000],
    ['failed', 9_500],
  ])
  t.same(
    [...(await backlog.oldestPendingMs())],
    [
      ['database', clock.now()],
      ['network', 0],
    ],
  )
  let calls = 1
  for (let isMore = true; isMore; calls++) isMore = (await admin.replayAll({ type: 'test.1' })).isMore
  t.equal(calls, 6)
  t.match(await admin.backlog(), { counts: { failed: 5_250, pending: 5_250 } })
  t.same([...(await backlog.open())], states, 'what metrics read is kept for a while')
  await clock.advance(15_000)
  t.same(
    [...(await backlog.open())],
    [
      ['scheduled', 0],
      ['pending', 5_250],
      ['failed', 5_250],
    ],
  )
})
