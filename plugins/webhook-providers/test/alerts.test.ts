/** Tests that queued messages reach a robot in their order, also if it or the rate limit of the product makes them wait. */
import { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { onDatabase, startMigrated } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { notification } from '@plinth/notification'
import t from 'tap'
import { alertProduct } from './fixtures/alert-product.ts'
import { alertConfig, type Received, startServices, through } from './fixtures/services.ts'

const minuteMs = 60_000
const numbers = (received: readonly Received[]) => received.map(({ body }) => Number(/Alert (\d+)/.exec(body)?.[1]))

onDatabase(t, 'N-031 alerts reach a robot once and in order, at its rate limit and after an outage', async (t, at) => {
  const services = await startServices(t)
  const clock = manualClock(Date.now())
  const config = { ...at.config, ...alertConfig(services, ['slack']), 'platform.http.port': 0 }
  const running = await startMigrated(alertProduct(config), { clock })
  t.teardown(() => running.stop('test ended'))
  const [db, bus, facade] = [running.service(database), running.service(events), running.service(notification)]
  const enqueue = (content: string) =>
    facade.enqueue({ content, attributes: through('slack') }, { channels: ['webhook'] })
  const back = {
    sqlite: 'next_at - ?',
    postgresql: `next_at - ? * interval '1 millisecond'`,
    mysql: 'next_at - interval ? * 1000 microsecond',
    mariadb: 'next_at - interval ? * 1000 microsecond',
  }
  /** Advances the time in steps. The clock of a database server cannot be moved, so stored times are moved back. */
  const pass = async (ms: number, stepMs: number) => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await clock.advance(stepMs)
      if (db.dialect !== 'sqlite') {
        const sql = `update outbox_event set next_at = ${back[db.dialect]} where next_at between ? and ?`
        await db.execute(sql, [stepMs, new Date(1), new Date(Date.UTC(9000, 0, 1))])
      }
      await bus.idle()
    }
  }
  const rows = () =>
    db.query<{ status: string; n: unknown }>(
      'select status, count(*) as n from notification_send_log group by status order by status',
    )

  for (let number = 1; number <= 20; number++) await enqueue(`Alert ${number}`)
  await bus.idle()
  t.equal(services.received.length, 1, 'the limit of Slack is one message per second')
  await pass(30_000, 1_000)
  const inOrder = Array.from({ length: 20 }, (_, index) => index + 1)
  t.same(numbers(services.received), inOrder)
  t.same(
    (await rows()).map(({ status, n }) => [status, Number(n)]),
    [['success', 20]],
  )

  services.received.length = 0
  services.answer('slack', { status: 503, body: 'down' })
  const { id } = await enqueue('Alert 21')
  await bus.idle()
  await pass(10 * minuteMs, 15_000)
  t.equal(await facade.progressOf(id), 'pending')
  const attempts = services.received.length
  t.ok(attempts >= 3 && attempts < 12, `${attempts} attempts`)
  services.recover()
  await pass(15 * minuteMs, 15_000)
  t.equal(await facade.progressOf(id), 'sent')
  t.equal(services.received.length, attempts + 1, 'once, when the robot is back')
})
