/** Proves that a burst of alerts reaches each robot in order and at most once, although the process is killed. */
import { fork } from 'node:child_process'
import { database } from '@plinth/database'
import { until, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase, startMigrated } from '@plinth/dev/testing/database'
import { notification } from '@plinth/notification'
import t from 'tap'
import { alertProduct } from './fixtures/alert-product.ts'
import { samples } from './fixtures/samples.ts'
import { alertConfig, startServices, through } from './fixtures/services.ts'

const worker = new URL('fixtures/alert-worker.ts', import.meta.url)
const alerts = 20
const codes = Object.keys(samples)

onEachDatabase(
  t,
  'N-031 K-018 a burst of alerts at the rate limits of all providers survives a kill',
  async (t, at) => {
    const services = await startServices(t)
    const config = {
      ...at.config,
      ...alertConfig(services, codes),
      'platform.http.port': 0,
      'platform.events.dispatcher.lease': '1s',
      'platform.events.dispatcher.poll-interval': '50ms',
    }
    const web = await startMigrated(alertProduct(config), { roles: ['web'] })
    t.teardown(() => web.stop('test ended'))
    const db = web.service(database)
    const facade = web.service(notification)
    for (let number = 1; number <= alerts; number++) {
      for (const code of codes) {
        const draft = { subject: `Alert ${number} of ${code}`, content: `Alert ${number}`, attributes: through(code) }
        await facade.enqueue(draft, { channels: ['webhook'] })
      }
    }
    const start = () => watchProcess(t, fork(worker, [JSON.stringify(config)], { silent: true }))
    const victim = start()
    await victim.until(() => services.received.length >= 5 * codes.length, 'the burst is under way')
    await victim.end('SIGKILL')

    const heir = start()
    const count = async (status: string) =>
      Number(
        (await db.query<{ n: unknown }>(`select count(*) as n from notification_send_log where status ${status}`))[0]
          ?.n,
      )
    await heir.until(() => services.received.length >= (alerts - 1) * codes.length, 'most alerts have arrived')
    await heir.until(
      async () => (await count(`in ('success', 'unknown')`)) === alerts * codes.length,
      'all have an outcome',
    )
    await until(async () => (await count(`in ('waiting', 'sending', 'failed')`)) === 0, 'none is left')

    for (const code of codes) {
      const arrived = services.received
        .filter((one) => one.code === code)
        .map(({ body, url }) => Number(/Alert[ +]*(\d+)/.exec(`${decodeURIComponent(url)} ${body}`)?.[1]))
      t.same(
        arrived,
        [...new Set(arrived)].sort((a, b) => a - b),
        `${code}: once and in order`,
      )
      t.ok(arrived.length >= alerts - 1, `${code}: ${arrived.length} arrived`)
    }
    const unknown = await count(`= 'unknown'`)
    t.ok(unknown <= codes.length, `${unknown} sends were under way when the process died`)
    await heir.end('SIGTERM')
  },
)
