/** Tests that built-in channels report to operators whether they can send. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import databasePlugin from '@plinth/database'
import { assertMembers, manualClock, startForTest, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import { defineProduct, type JsonValue, omitUndefined, type Plugin } from '@plinth/kernel'
import mailPlugin from '@plinth/mail'
import notificationPlugin from '@plinth/notification'
import logChannel from '@plinth/notification-channels/log'
import mailChannel from '@plinth/notification-channels/mail'
import memoryChannel from '@plinth/notification-channels/memory'
import smsChannel from '@plinth/notification-channels/sms'
import socialChannel from '@plinth/notification-channels/social'
import webhookChannel from '@plinth/notification-channels/webhook'
import outgoingHttp from '@plinth/outgoing-http'
import sharedStore from '@plinth/shared-store'
import smsPlugin from '@plinth/sms'
import socialPlugin from '@plinth/social'
import systemConfig from '@plinth/system-config'
import discord from '@plinth/webhook-providers/discord'
import generic from '@plinth/webhook-providers/generic'
import telegram from '@plinth/webhook-providers/telegram'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startMailServer } from '../../mail/test/fixtures/mail-server.ts'
import { testChannelPlugin } from '../../notification/test/fixtures/channel.ts'
import { startProviderStub } from '../../sms/test/fixtures/company.ts'
import { startWechat } from './fixtures/wechat.ts'

const secret = 'planted-secret-4711'
const all = ['configuration', 'address', 'connection', 'credentials']

interface Started {
  readonly config: Readonly<Record<string, JsonValue>>
  readonly plugins: readonly Plugin[]
}

async function start(t: Test, { config, plugins }: Started) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
  const clock = manualClock()
  const platform = [databasePlugin, httpPlugin, i18n, testChannelPlugin, outgoingHttp, notificationPlugin, logChannel]
  const product = defineProduct({
    name: 'channels',
    plugins: [...platform, ...plugins],
    config: { ...at.config, 'platform.http.port': 0, 'platform.http.response-check': true, ...config },
  })
  const running = await startForTest(product, { logger, clock })
  t.teardown(() => running.stop('test ended'))
  const ask = async (method: 'GET' | 'POST', path: string, language: string, payload?: object) => {
    const answer = await running.service(http).inject(
      omitUndefined({
        method,
        url: `/api/v1/admin/notification/channels${path}`,
        headers: { 'accept-language': language },
        payload,
      }),
    )
    t.notMatch(answer.body, secret)
    t.notMatch(lines.join(''), secret, 'no line of the log holds the secret')
    return answer.json().data
  }
  return {
    clock,
    verify: (code: string, language = 'en') => ask('POST', `/${code}/verify`, language),
    test: (code: string, body: object) => ask('POST', `/${code}/test`, 'en', body),
    one: (code: string) => ask('GET', `/${code}`, 'en'),
  }
}

/** Starts a local service whose responses the test defines. */
async function service(t: Test) {
  const asked: string[] = []
  const it = { asked, status: 200, body: '{}', port: 0, hangs: false }
  const server = createServer(async (request: IncomingMessage, response) => {
    await request.toArray()
    asked.push(`${request.method} ${request.url}`)
    if (!it.hangs) response.writeHead(it.status, { 'content-type': 'application/json' }).end(it.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  it.port = (server.address() as AddressInfo).port
  return Object.assign(it, { close: () => new Promise<void>((resolve) => server.close(() => resolve())) })
}

t.test('mail: the server accepts the sign-in, or gives the reason', async (t) => {
  let rejects = false
  const server = await startMailServer(t, {
    onAuth: ({ username }, _session, done) =>
      rejects
        ? done(Object.assign(new Error(`No, ${secret}`), { responseCode: 535 }))
        : done(null, { user: username ?? '' }),
  })
  const credentials = { 'platform.mail.smtp.username': 'shop', 'platform.mail.smtp.password': secret }
  const plugins = [mailPlugin, mailChannel]
  const { verify, one, test } = await start(t, { plugins, config: { ...server.config, ...credentials } })
  assertMembers(t, await verify('mail'), { verified: true, checked: ['configuration', 'connection', 'credentials'] })
  t.strictSame(server.received, [])
  assertMembers(t, await one('mail'), {
    state: 'ready',
    missingKeys: [],
    testField: 'email',
    plugin: 'notification-channels.mail',
  })
  t.ok((await one('mail')).keys.some(({ key }: { key: string }) => key === 'platform.mail.smtp.host'))
  const sent = await test('mail', { email: 'ada@example.com' })
  t.match(sent, { outcome: /^accepted$/, provider: 'smtp', logId: Number })
  assertMembers(t, server.received, [{ to: ['ada@example.com'] }])

  rejects = true
  const rejected = { verified: false, failedCheck: 'credentials', checked: ['configuration', 'connection'] }
  t.match(await verify('mail'), { ...rejected, reason: 'The SMTP server does not accept the sign-in', detail: /^535/ })
  t.match(await verify('mail', 'zh-CN'), { ...rejected, reason: 'SMTP 服务器拒绝登录' })
  await server.stop()
  const away = { verified: false, failedCheck: 'connection', reason: /could not be reached/ }
  t.match(await verify('mail'), away)

  const bare = await start(t, { plugins, config: { 'platform.mail.driver': 'smtp' } })
  const missing = ['platform.mail.from', 'platform.mail.smtp.host']
  t.hasStrict(await bare.one('mail'), { state: 'incomplete', missingKeys: missing })
  t.match(await bare.verify('mail'), {
    verified: false,
    failedCheck: 'configuration',
    reason: /platform\.mail\.smtp\.host/,
  })
})

t.test('sms: the account at Twilio is checked, for other providers only the configuration', async (t) => {
  const company = await startProviderStub(t)
  const account = {
    'platform.outgoing-http.allowed-hosts': [company.host],
    'platform.outgoing-http.allow-http': true,
    'platform.sms.driver': 'twilio',
    'platform.sms.twilio.endpoint': company.url,
    'platform.sms.twilio.account-sid': 'AC1',
    'platform.sms.twilio.auth-token': secret,
    'platform.sms.twilio.from': '+15005550006',
  }
  const plugins = [smsPlugin, smsChannel]
  const { verify } = await start(t, { plugins, config: account })
  company.reply = { status: 200, body: '{"sid":"AC1"}' }
  assertMembers(t, await verify('sms'), { verified: true, checked: ['configuration', 'connection', 'credentials'] })
  assertMembers(t, company.asked, [{ method: 'GET', path: '/2010-04-01/Accounts/AC1.json' }])
  company.reply = { status: 401, body: `{"code":20003,"message":"${secret}"}` }
  t.match(await verify('sms'), { verified: false, failedCheck: 'credentials', reason: /does not know the access key/ })
  t.match(await verify('sms', 'zh-CN'), { reason: /短信服务商不认识/ })
  company.reply = { status: 503, body: '' }
  t.match(await verify('sms'), { verified: false, failedCheck: 'connection' })

  const aliyun = {
    'platform.sms.driver': 'aliyun',
    'platform.sms.aliyun.access-key-id': 'AK',
    'platform.sms.aliyun.access-key-secret': secret,
  }
  const other = await start(t, { plugins, config: aliyun })
  assertMembers(t, await other.verify('sms'), { verified: true, checked: ['configuration'] })
  const half = await start(t, { plugins, config: { 'platform.sms.driver': 'tencent' } })
  const missing = ['secret-id', 'secret-key', 'app-id'].map((name) => `platform.sms.tencent.${name}`)
  t.hasStrict(await half.one('sms'), { state: 'incomplete', missingKeys: missing })
})

t.test('social: WeChat issues a token to every account', async (t) => {
  const wechat = await startWechat(t)
  const config = {
    ...wechat.config,
    'platform.notification.channels.social.enabled': true,
    'platform.system-config.master-key': Buffer.alloc(32, 7).toString('base64'),
  }
  const plugins = [sharedStore, systemConfig, socialPlugin, socialChannel]
  const { verify, one } = await start(t, { plugins, config })
  wechat.tokenResponse = '{"errcode":40125,"errmsg":"invalid appsecret"}'
  const rejected = { verified: false, failedCheck: 'credentials', reason: /^The account "shop": / }
  t.match(await verify('social'), { ...rejected, detail: '40125 invalid appsecret' })
  t.match(await verify('social', 'zh-CN'), { reason: /^账号“shop”：/ })
  wechat.tokenResponse = undefined
  assertMembers(t, await verify('social'), { verified: true, checked: ['configuration', 'connection', 'credentials'] })
  t.strictSame(wechat.posts, [])
  t.hasStrict(await one('social'), { testField: 'openId', state: 'ready' })
})

const webhooks = 'platform.notification.channels.webhook'

t.test('webhook: configuration, address, connection, and the account if the service offers a check', async (t) => {
  const robot = await service(t)
  const base = `http://127.0.0.1:${robot.port}`
  const { verify, one, test, clock } = await start(t, {
    plugins: [webhookChannel, generic, telegram, discord],
    config: {
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${robot.port}`],
      [`${webhooks}.enabled`]: true,
      [`${webhooks}.default-provider`]: 'generic',
      [`${webhooks}.providers.generic.endpoint`]: `${base}/${secret}`,
      [`${webhooks}.providers.telegram.endpoint`]: base,
      [`${webhooks}.providers.telegram.secret`]: `42:${secret}`,
      [`${webhooks}.providers.discord.endpoint`]: `http://10.1.2.3:${robot.port}/api/webhooks/1/${secret}`,
    },
  })
  const connected = { verified: true, checked: ['configuration', 'address', 'connection'] }
  t.match(await verify('webhook.generic'), connected)
  t.match(await verify('webhook'), connected, 'the channel: what it would use')
  t.strictSame(robot.asked, [], 'nothing was asked, less posted')

  robot.body = '{"ok":true,"result":{"id":42,"is_bot":true}}'
  t.match(await verify('webhook.telegram'), { verified: true, checked: all })
  t.strictSame(robot.asked.splice(0), [`GET /bot42:${secret}/getMe`])
  Object.assign(robot, { status: 401, body: `{"ok":false,"error_code":401,"description":"${secret}"}` })
  const unknown = { verified: false, failedCheck: 'credentials', checked: ['configuration', 'address', 'connection'] }
  t.match(await verify('webhook.telegram'), { ...unknown, reason: /does not accept the address or the token/ })
  t.match(await verify('webhook.telegram', 'zh-CN'), unknown)
  Object.assign(robot, { status: 503, body: '' })
  t.match(await verify('webhook.telegram'), { verified: false, failedCheck: 'connection' })
  robot.hangs = true
  robot.asked.splice(0)
  const hanging = verify('webhook.telegram')
  await until(() => robot.asked.length > 0, 'the robot has the request')
  await clock.advance(8_000)
  t.match(await hanging, { verified: false, failedCheck: 'connection', reason: /did not respond in time/ })
  robot.hangs = false

  const rejected = { verified: false, checked: ['configuration'], failedCheck: 'address' }
  t.match(await verify('webhook.discord'), { ...rejected, reason: /not allowed to call the address/ })

  Object.assign(robot, { status: 200, body: '{}', asked: robot.asked })
  t.match(await one('webhook.telegram'), { testField: 'receiver', provider: 'telegram' })
  robot.body = '{"ok":true,"result":{"message_id":7}}'
  t.hasStrict(await test('webhook.telegram', { receiver: '-100' }), { outcome: 'accepted', provider: 'telegram' })
  t.hasStrict(await test('webhook.generic', {}), { outcome: 'accepted', provider: 'generic' })
  t.match(await one('webhook.generic'), { state: /^ready$/, lastSuccessAt: String })
  await robot.close()
  const gone = { verified: false, failedCheck: 'connection', checked: ['configuration', 'address'] }
  t.match(await verify('webhook.generic'), { ...gone, reason: /could not be reached/, detail: /ECONNREFUSED/ })
})

t.test('webhook: a failed provider is paused if there is another one', async (t) => {
  const config = {
    'platform.outgoing-http.allow-http': true,
    'platform.outgoing-http.allowed-hosts': ['127.0.0.1:9'],
    [`${webhooks}.enabled`]: true,
    [`${webhooks}.default-provider`]: 'generic',
    [`${webhooks}.providers-order`]: ['generic'],
    [`${webhooks}.providers.generic.endpoint`]: 'http://127.0.0.1:9/',
  }
  const plugins = [webhookChannel, generic]
  const chosen = await start(t, { plugins, config: { ...config, [`${webhooks}.strategy`]: 'failover' } })
  t.match(await chosen.test('webhook', {}), { outcome: /^deferred$/, skipped: false, logId: Number })
  const until = new Date(chosen.clock.now() + 60_000).toISOString()
  for (const code of ['webhook', 'webhook.generic'])
    t.hasStrict(await chosen.one(code), { state: 'resting', until }, code)
  await chosen.clock.advance(60_000)
  t.match(await chosen.one('webhook.generic'), { state: /^failing$/, until: null, failingSince: String })

  const single = await start(t, { plugins, config })
  t.hasStrict(await single.test('webhook', {}), { outcome: 'deferred' })
  t.hasStrict(await single.one('webhook.generic'), { state: 'failing', until: null }, 'it is asked again at once')
})

t.test('webhook: missing values are reported by name', async (t) => {
  const { verify, one } = await start(t, {
    plugins: [webhookChannel, generic, telegram],
    config: {
      [`${webhooks}.default-provider`]: 'generic',
      [`${webhooks}.providers.telegram.secret`]: '42:abc',
      [`${webhooks}.providers.telegram.enabled`]: false,
    },
  })
  const key = `${webhooks}.providers.generic.endpoint`
  for (const code of ['webhook', 'webhook.generic']) {
    assertMembers(t, await one(code), { state: 'incomplete', missingKeys: [key] }, code)
    t.match(await verify(code), {
      verified: false,
      failedCheck: 'configuration',
      reason: `These keys have no value: ${key}.`,
    })
  }
  t.hasStrict(await one('webhook.telegram'), { state: 'disabled' })
  t.match(await verify('webhook.telegram'), { failedCheck: 'configuration', reason: /is disabled/ })
})

t.test('log and memory: without a service only the configuration is checked', async (t) => {
  const { verify, test } = await start(t, { plugins: [memoryChannel], config: {} })
  for (const code of ['log', 'memory']) {
    assertMembers(t, await verify(code), { verified: true, checked: ['configuration'] })
    t.match(await test(code, {}), { outcome: /^accepted$/, logId: Number })
  }
})
