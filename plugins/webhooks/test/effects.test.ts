/** Tests the effect of each configuration key of webhooks. */
import { setTimeout as pause } from 'node:timers/promises'
import { database } from '@plinth/database'
import { assertKeyEffect, type KeyValues, manualClock, until } from '@plinth/dev/testing'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { defineProduct } from '@plinth/kernel'
import t from 'tap'
import { Delivery } from '../src/entities.ts'
import { configOf, outcomeOf, parcelSent, platform, startWebhooks } from './fixtures/product.ts'
import { type Respond, startReceiver } from './fixtures/receiver.ts'

async function sqlite() {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

async function start(config: KeyValues, respond?: Respond) {
  const receiver = await startReceiver(t, respond)
  return { receiver, ...(await startWebhooks(t, await sqlite(), { hosts: [receiver.host], config })) }
}

/** Waits until the number of requests stays the same. */
async function quietCount({ requests }: { readonly requests: readonly unknown[] }): Promise<number> {
  for (let before = -1, quiet = 0; quiet < 20; before = requests.length) {
    await pause(10)
    quiet = requests.length === before ? quiet + 1 : 0
  }
  return requests.length
}

t.test('a process polls for deliveries at the interval, if it sends', async (t) => {
  const oddMs = 1_234
  const polls = async (config: KeyValues) => {
    const clock = manualClock()
    const sleeps: number[] = []
    const { sleep } = clock
    clock.sleep = (ms, ...others) => {
      sleeps.push(ms)
      return sleep(ms, ...others)
    }
    const { db } = await startWebhooks(t, await sqlite(), { clock, config })
    for (let count = 0; count < 20; count++) await db.query('select 1 as one')
    return sleeps.includes(oddMs)
  }
  const interval = 'platform.webhooks.poll-interval'
  const [intervals] = await assertKeyEffect(t, 'platform.webhooks.poll-interval', {
    changed: `${oddMs}ms`,
    observe: polls,
  })
  t.match(intervals, { before: false, after: true })
  const [starts] = await assertKeyEffect(t, 'platform.webhooks.auto-startup', {
    changed: false,
    observe: (config) => polls({ [interval]: `${oddMs}ms`, ...config }),
  })
  t.match(starts, { before: true, after: false })
})

t.test('a process and an endpoint have a maximum number of requests', async (t) => {
  const observe = async (config: KeyValues) => {
    const waiting: (() => void)[] = []
    const { receiver, root, createEndpoint, publish } = await start(config, (_, response) => {
      waiting.push(() => response.destroy())
    })
    for (const name of ['one', 'two']) await createEndpoint(root, `${receiver.url}/${name}`)
    for (let count = 0; count < 3; count++) await publish()
    const requests = await quietCount(receiver)
    for (const end of waiting) end()
    return requests
  }
  const [total] = await assertKeyEffect(t, 'platform.webhooks.concurrency', { changed: 1, observe })
  t.match(total, { before: 6, after: 1 })
  const [each] = await assertKeyEffect(t, 'platform.webhooks.endpoint-concurrency', { changed: 1, observe })
  t.match(each, { before: 6, after: 2 })
})

t.test('the number of endpoints is limited', async (t) => {
  const [outcomes] = await assertKeyEffect(t, 'platform.webhooks.max-endpoints', {
    changed: 1,
    observe: async (config) => {
      const { receiver, root, createEndpoint } = await start(config)
      await createEndpoint(root, receiver.url)
      const content = { name: 'second', url: receiver.url, eventTypes: ['parcel.sent'] }
      return outcomeOf(await root('POST', '/endpoints', content))
    },
  })
  t.match(outcomes, { before: '200', after: '409 webhooks.too-many-endpoints' })
})

t.test('deliveries are removed after their retention', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.webhooks.retention', {
    changed: '4d',
    observe: async (config) => {
      const { receiver, root, createEndpoint, publish, settled, deliveries, clock, running } = await start(config)
      await createEndpoint(root, receiver.url)
      await publish()
      await settled(([row]) => row?.status === 'delivered')
      clock.shiftWallClock(5 * 86_400_000)
      const purge = running.scheduledTasks.find(({ name }) => name === 'webhooks.purge')
      await purge?.run(new AbortController().signal)
      return (await deliveries()).length
    },
  })
  t.match(counts, { before: 1, after: 0 })
})

t.test('secrets are encrypted with the key', async (t) => {
  const key = 'platform.webhooks.secret-key'
  const [one = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const [requests] = await assertKeyEffect(t, 'platform.webhooks.secret-key', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const receiver = await startReceiver(t)
      const [db, hosts] = [await sqlite(), [receiver.host]]
      const first = await startWebhooks(t, db, { hosts, config: { [key]: one } })
      await first.createEndpoint(first.root, receiver.url)
      await first.running.stop('another instance takes over')
      const product = defineProduct({ name: 'test', plugins: platform, config: configOf(db, { hosts, config }) })
      const second = await startMigrated(product, { clock: first.clock })
      t.teardown(() => second.stop('test ended'))
      await second.service(events).publish(parcelSent, { parcelId: 1 })
      await second.service(events).idle()
      const last = async () => (await second.service(database).fork().find(Delivery.entity, {}))[0]?.attemptLog.at(-1)
      await until(async () => ['succeeded', 'failed'].includes((await last())?.outcome ?? ''), 'an attempt has ended')
      const { outcome, reason } = (await last()) ?? {}
      return `${receiver.requests.length} ${outcome} ${reason}`
    },
  })
  t.match(requests, { before: '1 succeeded null', after: '0 failed secret-unusable' })
})
