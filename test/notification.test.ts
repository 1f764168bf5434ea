/** Tests rules for notifications in the whole product. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { notification } from '@plinth/notification'
import t, { type Test } from 'tap'
import product from '../examples/quickstart/plinth.config.ts'

const root = join(import.meta.dirname, '..')

t.test('N-003 the quickstart has the eight channels of the document', async (t) => {
  const set = {
    'platform.database.sqlite.file': ':memory:',
    'platform.http.port': '0',
    'platform.http.overload.max-wait': '1m',
  }
  const running = await startForTest(product, { roles: ['cli'], set })
  t.teardown(() => running.stop('test ended'))
  const codes = running
    .service(notification)
    .channels()
    .map(({ code }) => code)
  const others = ['fcm', 'web-push']
  const eight = ['database', 'log', 'mail', 'memory', 'sms', 'social', 'webhook', 'websocket']
  t.same(codes, [...eight, ...others].sort())
  const paths = running
    .service(http)
    .routes.filter(({ plugin }) => plugin.startsWith('notification'))
    .map(({ path }) => path)
  t.ok(paths.length > 30)
  t.same(
    paths.filter((path) => !path.startsWith('/api/v1/')),
    [],
    'N-175 all of them are under /api/v1/',
  )
})

/** Starts the quickstart with an administrator as the caller. */
async function startQuickstart(t: Test, environment: Readonly<Record<string, string>> = {}) {
  const set = { 'platform.database.sqlite.file': ':memory:', 'platform.http.port': '0' }
  const running = await startForTest(product, { set, environment })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const root = { username: 'root', password: 'correct horse battery staple' }
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
  const { account } = await running.service(accounts).createAdministrator(root, origin)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: root })
  const authorization = `Bearer ${login.json().data.accessToken}`
  const call = async (method: 'GET' | 'POST', path: string, payload?: object, headers = {}) => {
    const body = payload === undefined ? {} : { payload }
    const response = await server.inject({
      method,
      url: `/api/v1/${path}`,
      headers: { authorization, ...headers },
      ...body,
    })
    return response.json()
  }
  return { call, userId: account?.id }
}

t.test('N-129 a message of an administrator with the same idempotency key is sent once', async (t) => {
  const { call, userId } = await startQuickstart(t)
  const send = (content: string, key: string) => {
    const message = { channels: ['database'], recipientUserIds: [userId], content }
    return call('POST', 'notifications/send', message, { 'idempotency-key': key })
  }
  const first = await send('Hi', 'release-42')
  assertMembers(t, first, { code: '200', data: [{ channel: 'database', success: true }] })
  t.same(await send('Hi', 'release-42'), first, 'the same answer')
  t.hasStrict(await send('Other', 'release-42'), { code: '422', data: { reason: 'idempotency.key-reused' } })
  t.hasStrict(await send('Hi', 'release-43'), { code: '200' })
  t.equal((await call('GET', 'notifications/inbox')).data.total, 2)
})

t.test('N-065 N-066 webhook settings that the back office stores override local settings immediately', async (t) => {
  const { call } = await startQuickstart(t, { PLATFORM_NOTIFICATION_CHANNELS_WEBHOOK_ENABLED: 'false' })
  const send = () => call('POST', 'notifications/send', { channels: ['webhook'], content: 'Hi' })
  t.hasStrict(await send(), { code: '503', data: { reason: 'notification.channel-disabled' } })
  const root = 'platform.notification.channels.webhook'
  const store = (key: string, value: string | boolean) =>
    call('POST', 'admin/system-config/changes', { changes: [{ key: `${root}.${key}`, action: 'set', value }] })
  t.hasStrict(await store('enabled', true), { code: '200' })
  t.match(await send(), { data: { result: { provider: 'dingtalk', errorCode: 'webhook.endpoint-missing' } } })
  t.hasStrict(await store('default-provider', 'slack'), { code: '200' })
  // Without a network, the message waits for its retry.
  const { data } = await send()
  t.equal((Array.isArray(data) ? data[0] : data.result).provider, 'slack')
})

t.test('N-002 no plugin imports a channel: senders know only the notification service', async (t) => {
  const sources = globSync('{dev,kernel,plugins/*,examples/*}/**/*.ts', {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist|test)$/.test(path),
  }).filter((file) => !file.includes('notification-channels/') && !/\.test\.ts$|plinth\.config\.ts$/.test(file))
  t.ok(sources.length > 300)
  // Imports of channels. The webhook channel is excluded, because it exports the contract of webhook providers.
  const imported = /from '@plinth\/notification-channels\/(?!webhook')/
  t.same(
    sources.filter((file) => imported.test(readFileSync(join(root, file), 'utf8'))),
    [],
  )
})
