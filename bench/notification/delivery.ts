/**
 * Compares three things in the same run: the notification service with direct calls of a channel, sends with and
 * without the send log, and one queued message to many inboxes with hand-written inserts of the same rows. `node
 * bench/notification/delivery.ts [--rounds 5] [--recipients 100000] [--database sqlite --database postgresql]`.
 */
import { parseArgs } from 'node:util'
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import inboxPlugin from '@plinth/inbox'
import { definePlugin, defineProduct, type NotificationChannel, notificationChannel } from '@plinth/kernel'
import notificationPlugin, { type Notification, notification } from '@plinth/notification'
import databaseChannel from '@plinth/notification-channels/database'
import memory from '@plinth/notification-channels/memory'
import { type OpenDatabase, onDatabases, settingsOf, settingsText } from '../databases.ts'
import { type Bar, barsText, sectionText } from '../kernel/report.ts'
import { inverse, ratio, type Spread, spread } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    recipients: { type: 'string', default: '100000' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql'] },
  },
})
const rounds = Number(values.rounds)
const recipients = Number(values.recipients)
const [sends, atATime, together] = [20_000, 200, 1_000]
const draft = { subject: 'Paid', content: 'Order 42 is paid', attributes: { module: 'mall' } }

const text = ({ median, min, max }: Spread) => `${median.toFixed(0)} (${min.toFixed(0)}..${max.toFixed(0)})`

/** Returns the number of calls per second, with a limited number of concurrent calls. */
async function perSecond(count: number, call: (index: number) => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let from = 0; from < count; from += atATime) {
    await Promise.all(Array.from({ length: atATime }, (_, index) => call(from + index)))
  }
  return (1_000 * count) / (performance.now() - start)
}

async function measureFacade(): Promise<void> {
  let direct: NotificationChannel | undefined
  const peek = definePlugin({
    id: 'bench.peek',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [notificationChannel],
    setup({ contribute }) {
      direct = {
        displayName: 'Memory',
        recipientKinds: [],
        traits: { idempotent: true },
        send: async (message) => ({ outcome: 'accepted', messageId: message.id }),
      }
      contribute(notificationChannel, 'peek', direct)
    },
  })
  const running = await startForTest(
    defineProduct({
      name: 'facade',
      plugins: [i18n, notificationPlugin, memory, peek],
      config: { 'platform.notification.default-channel': 'memory' },
    }),
  )
  const facade = running.service(notification)
  const message = { ...draft, id: 'm', variables: {}, recipients: [] }
  const signal = new AbortController().signal
  const figures = { facade: [] as number[], memory: [] as number[], direct: [] as number[] }
  for (let round = 0; round <= rounds; round++) {
    const one = await perSecond(sends, () => facade.send(draft, { channels: ['peek'] }))
    const two = await perSecond(sends, (index) =>
      (direct as NotificationChannel).send(message, { signal, idempotencyKey: String(index), attempt: 1 }),
    )
    const three = await perSecond(sends, () => facade.send(draft, { channels: ['memory'] }))
    // The first round is the warm-up and is not counted.
    if (round === 0) continue
    figures.facade.push(one)
    figures.direct.push(two)
    figures.memory.push(three)
  }
  await running.stop('done')
  const table = [
    ['candidate', 'sends/s'],
    ['facade, channel memory', text(spread(figures.memory))],
    ['facade, channel that does nothing', text(spread(figures.facade))],
    ['that channel directly', text(spread(figures.direct))],
  ]
  const cost = (1_000_000 / spread(figures.facade).median).toFixed(1)
  const notes = [`the facade costs ${cost} us a send: deadline, abort signals, message id, counting`]
  console.log(`${sectionText({ title: 'facade', tables: [table], notes, bars: [] })}\n`)
}

async function byHand(db: Database, userIds: readonly number[]): Promise<void> {
  const columns = ['id', 'content_id', 'user_id', 'owner_id', 'module', 'unread']
  const place = `(${columns.map(() => '?').join(', ')})`
  for (let from = 0; from < userIds.length; from += together) {
    const rows = userIds.slice(from, from + together).map((userId) => [db.newId(), 1, userId, userId, 'mall', true])
    const places = rows.map(() => place).join(', ')
    await db.execute(`insert into notification_inbox_item (${columns.join(', ')}) values ${places}`, rows.flat())
  }
}

async function measureOn(dialect: TestDialect, open: OpenDatabase): Promise<readonly Bar[]> {
  const at = await open()
  const running = await startForTest(
    defineProduct({
      name: 'delivery',
      plugins: [
        databasePlugin,
        http,
        i18n,
        iam,
        eventsPlugin,
        notificationPlugin,
        inboxPlugin,
        databaseChannel,
        memory,
      ],
      config: { ...at.config, 'platform.http.port': 0, 'platform.notification.default-channel': 'memory' },
    }),
  )
  const db = running.service(database)
  const facade: Notification = running.service(notification)
  const users = Array.from({ length: recipients }, (_, index) => ({ kind: 'user' as const, userId: index + 1 }))
  const userIds = users.map(({ userId }) => userId)
  const empty = async () => {
    for (const table of ['notification_inbox_item', 'notification_send_log']) await db.execute(`delete from ${table}`)
    if (db.dialect === 'postgresql') await db.execute('vacuum full notification_inbox_item')
  }
  const figures = { log: [] as number[], queue: [] as number[], hand: [] as number[] }
  for (let round = 0; round <= rounds; round++) {
    const log = await perSecond(sends / 10, () => facade.send(draft, { channels: ['memory'] }))
    await empty()
    const start = performance.now()
    await facade.enqueue({ ...draft, recipients: users }, { channels: ['database'] })
    await running.service(events).idle()
    const queue = (performance.now() - start) / 1_000
    const [items] = await db.query<{ n: unknown }>('select count(*) as n from notification_inbox_item')
    if (Number(items?.n) !== recipients) throw new Error(`${items?.n} items instead of ${recipients}`)
    await empty()
    const handStart = performance.now()
    await byHand(db, userIds)
    const hand = (performance.now() - handStart) / 1_000
    if (round === 0) continue
    figures.log.push(log)
    figures.queue.push(queue)
    figures.hand.push(hand)
  }
  const settings = settingsText(await settingsOf(db, dialect))
  await running.stop('done')
  const seconds = ({ median, min, max }: Spread) => `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`
  const table = [
    ['what', 'figure'],
    [`sends/s that are recorded before and after, ${atATime} at a time`, text(spread(figures.log))],
    [`s, ${recipients} inboxes by an enqueued message`, seconds(spread(figures.queue))],
    [`s, the same rows by hand, ${together} a statement`, seconds(spread(figures.hand))],
  ]
  const notes = [`${rounds} rounds; the enqueued message includes its events, parts, rows of the send log and counts`]
  console.log(`${sectionText({ title: `Delivery: ${dialect}`, settings, tables: [table], notes, bars: [] })}\n`)
  const measured = inverse(ratio(figures.queue, figures.hand))
  return [{ name: `${dialect}: enqueued message, rows by hand`, measured, bar: { atLeast: 0.5 }, unit: 'ratio' }]
}

await measureFacade()
console.log(`## Bars: delivery\n\n${barsText((await onDatabases(values.database, measureOn)).flat())}`)
