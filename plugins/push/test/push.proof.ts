/** Kills processes between the acceptance of one device and the response of another. */
import { fork } from 'node:child_process'
import { database } from '@plinth/database'
import { startForTest, until, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { notification } from '@plinth/notification'
import t from 'tap'
import { pushConfig, pushProduct } from './fixtures/product.ts'
import { startPushService } from './fixtures/push-service.ts'

const program = new URL('fixtures/sender-process.ts', import.meta.url)
const kills = 10
const password = 'correct horse battery staple'

onEachDatabase(t, 'a device that accepted a message before a kill does not get it again', async (t, at) => {
  const service = await startPushService(t)
  const config = {
    ...pushConfig(at, service),
    'platform.notification.send-deadline': '5m',
    'platform.events.dispatcher.lease': '1s',
    'platform.events.dispatcher.poll-interval': '50ms',
    'platform.events.retry.initial-delay': '10ms',
    'platform.events.retry.max-delay': '50ms',
  }
  const web = await startForTest(pushProduct(config), { roles: ['web'] })
  t.teardown(() => web.stop('test ended'))
  const server = web.service(http)
  const system = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
  const { account } = await web.service(accounts).createAdministrator({ username: 'root', password }, system)
  const payload = { username: 'root', password }
  const { data } = (await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json()
  const call = async (method: 'GET' | 'POST', url: string, body: object) =>
    (
      await server.inject({ method, url, payload: body, headers: { authorization: `Bearer ${data.accessToken}` } })
    ).json()
  const [laptop, phone] = [service.open('laptop'), service.open('phone')]
  for (const { subscription } of [laptop, phone]) await call('POST', '/api/v1/push/devices/web-push', subscription)
  const recipients = [{ kind: 'user' as const, userId: account?.id as number }]
  const db = web.service(database)
  const statuses = async () =>
    db.query<{ id: number; status: string }>('select id, status from notification_send_log order by id')
  const start = () => {
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: service.certFile }
    return watchProcess(t, fork(program, [JSON.stringify(config)], { silent: true, env }))
  }

  for (let kill = 0; kill < kills; kill++) {
    service.behaviours.set(phone.path, 'hang')
    service.received.length = 0
    const victim = start()
    await web
      .service(notification)
      .enqueue({ subject: `Order ${kill}`, content: 'Paid', recipients }, { channels: ['web-push'] })
    const accepted = async () => (await db.query('select id from push_acceptance')).length
    await victim.until(
      async () => service.received.length === 2 && (await accepted()) === 2 * kill + 1,
      'one device has accepted',
    )
    await victim.end('SIGKILL')
    service.behaviours.clear()
    const next = start()
    await until(
      async () => (await statuses()).at(-1)?.status === 'unknown',
      'the next process finds the send',
      50,
      60_000,
    )
    t.equal(service.received.length, 2, 'nothing is sent again by itself')
    await next.end('SIGTERM')
    const id = (await statuses()).at(-1)?.id
    const retried = await call('POST', `/api/v1/notification-send-logs/${id}/retry`, {})
    t.equal(retried.code, '200')
    t.same(
      service.received.map(({ path }) => path).sort(),
      [laptop.path, phone.path, phone.path].sort(),
      `kill ${kill}`,
    )
  }
  const successes = async () => (await statuses()).filter(({ status }) => status === 'success').length
  await until(async () => (await successes()) === kills, 'all retries are recorded')
  const rows = Object.groupBy(await statuses(), ({ status }) => status)
  t.same([rows['success']?.length, rows['retried']?.length], [kills, kills])
})
