import database from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import http, { http as httpRef } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts, identity } from '@plinth/iam'
import { definePlugin, defineProduct, notificationChannel } from '@plinth/kernel'
import notification from '@plinth/notification'
import log from '@plinth/notification-channels/log'
import memory, { sentNotifications } from '@plinth/notification-channels/memory'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import t, { type Test } from 'tap'
import { channel } from './fixtures/channel.ts'

const down = definePlugin({
  id: 'test.down',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationChannel],
  setup({ contribute }) {
    contribute(notificationChannel, 'down', {
      displayName: { en: 'Broken', 'zh-CN': '故障' },
      recipientKinds: ['user'],
      traits: { idempotent: false },
      enabled: () => true,
      send: async () => ({
        outcome: 'deferred',
        errorCode: 'acme.503',
        errorMessage: 'Down',
        provider: 'acme',
        hint: 'Wait',
      }),
    })
  },
})

/** Channel that replaces the inbox. */
const inbox = channel('database', ['user'])

/** Admits every request, as an identity plugin admits a user who has the permission. */
const door = definePlugin({
  id: 'test.door',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: httpRef },
  setup({ services }) {
    services.http.guard({ name: 'test.door', stage: 'access', forRoute: () => () => {} })
  },
})

async function start(t: Test, set: Record<string, string> = {}) {
  const running = await startForTest(
    defineProduct({
      name: 'notices',
      plugins: [http, i18n, rateLimit, memoryStore, notification, log, memory, down, door, inbox.plugin],
      config: { 'platform.http.port': 0, 'platform.http.response-check': true },
    }),
    { set },
  )
  t.teardown(() => running.stop('test ended'))
  const call = async (method: 'GET' | 'POST', path: string, payload?: object, headers: Record<string, string> = {}) => {
    const body = payload === undefined ? {} : { payload }
    const url = `/api/v1/notifications/${path}`
    const response = await running.service(httpRef).inject({ method, url, headers, ...body })
    const { code, message, data } = response.json()
    return { status: response.statusCode, headers: response.headers, code, message, data }
  }
  return {
    call,
    send: (payload: object) => call('POST', 'send', payload),
    sent: running.service(sentNotifications),
    running,
  }
}

t.test('a send to a channel that needs recipients names the field that is empty', async (t) => {
  const { call } = await start(t)
  for (const body of [{}, { recipientUserIds: [] }]) {
    t.hasStrict(await call('POST', 'send', { channels: ['database'], content: 'x', ...body }), {
      status: 200,
      code: '400',
      message: 'The channel "database" requires a recipient. Choose at least one.',
      data: { reason: 'notification.recipient-missing', field: 'recipientUserIds', channel: 'database' },
    })
  }
  const { data } = await call('POST', 'send', { channels: ['database', 'memory'], content: 'x' })
  assertMembers(t, data, [{ success: false, errorCode: 'notification.recipient-missing' }, { success: true }])
  assertMembers(t, await call('POST', 'send', { channels: ['memory'], content: 'x', recipients: [7] }), {
    code: '400',
    data: { errors: [{ field: 'recipients', rule: 'additionalProperties' }] },
  })
})

t.test('C-002 N-030 N-032 N-129 POST send returns one result per channel, including failures', async (t) => {
  const { send, sent } = await start(t)
  const answer = await send({
    channels: ['memory', 'down', 'LOG', 'memory'],
    recipientUserIds: [7, 7, 8],
    template: 'order.paid',
    variables: { name: 'Ada', total: 12.5, gift: true, note: null },
    subject: 'Hello',
    content: 'World',
    locale: 'zh-CN',
  })
  t.hasStrict(answer, { status: 200, code: '200' })
  assertMembers(t, answer.data, [
    { channel: 'memory', success: true, errorCode: null, errorMessage: null },
    { channel: 'down', success: false, errorCode: 'acme.503', errorMessage: 'Down', provider: 'acme', hint: 'Wait' },
    { channel: 'log', success: true },
  ])
  t.equal(answer.data.length, 3)
  assertMembers(t, sent.messages, [
    {
      subject: 'Hello',
      content: 'World',
      template: 'order.paid',
      locale: 'zh-CN',
      variables: { name: 'Ada', total: 12.5, gift: true, note: null },
      recipients: [
        { kind: 'user', userId: 7 },
        { kind: 'user', userId: 8 },
      ],
    },
  ])
  t.equal(sent.messages[0]?.recipients.length, 2, 'N-131 duplicates of recipients count once')
})

t.test('N-130 B52 an empty channel list means the channel `database`', async (t) => {
  const { send } = await start(t)
  for (const body of [{ content: 'Hi', channels: [] }, { content: 'Hi' }]) {
    assertMembers(t, await send({ ...body, recipientUserIds: [7] }), {
      code: '200',
      data: [{ channel: 'database', success: true }],
    })
  }
})

t.test('N-019 N-180 administrators may set only listed attributes, without keys and addresses', async (t) => {
  const { send, sent } = await start(t)
  const attributes = {
    module: 'forum',
    targetRoute: '/forum/topics/7',
    'webhook.provider': 'slack',
    'social.to-user': 'oXy',
  }
  t.hasStrict(await send({ channels: ['memory'], content: 'Hi', attributes }), { code: '200' })
  t.match(sent.messages[0]?.attributes, { ...attributes, traceId: /./ })
  for (const name of ['webhook.secret', 'webhook.endpoint', 'webhook.payload', 'webhook.bark.device-key', 'anything']) {
    t.hasStrict(await send({ channels: ['memory'], content: 'Hi', attributes: { [name]: 'x' } }), {
      code: '400',
      data: { reason: 'notification.attribute-refused', attribute: name },
    })
  }
  t.equal(sent.messages.length, 1)
})

t.test('C-020 K-002 N-028 N-063 N-064 N-172 business failures have HTTP status 200, a code and a reason', async (t) => {
  const { send, call, sent } = await start(t, { 'platform.notification.channels.log.enabled': 'false' })
  const failures: [object, string, string][] = [
    [{ channels: ['memroy'], content: 'Hi' }, '400', 'notification.channel-unknown'],
    [{ channels: ['memory'] }, '400', 'notification.message-empty'],
    [{ channels: ['memory'], content: 5 }, '400', 'http.invalid-input'],
    [{ channels: ['memory'], content: 'Hi', recipientUserIds: ['7'] }, '400', 'http.invalid-input'],
    [{ channels: ['memory'], content: 'Hi', recipientUserIds: [7.5] }, '400', 'http.invalid-input'],
    [{ channels: ['down'], content: 'Hi', recipientUserIds: [7] }, '503', 'notification.delivery-failed'],
    [{ channels: ['down'], content: 'Hi' }, '400', 'notification.recipient-missing'],
    [{ channels: ['log'], content: 'Hi' }, '503', 'notification.channel-disabled'],
    // Messages with a start time are rejected, because this product has no plugin that stores messages for later.
    [{ channels: ['memory'], content: 'Hi', notBefore: '2030-01-01T00:00:00Z' }, '400', 'notification.no-queue'],
  ]
  for (const [body, code, reason] of failures) t.match(await send(body), { status: 200, code, data: { reason } })
  const unknown = await call('POST', 'send', { channels: ['memroy'], content: 'Hi' }, { 'accept-language': 'zh-CN' })
  t.equal(unknown.message, '没有渠道“memroy”，是否想用“memory”？')
  assertMembers(t, (await send({ channels: ['log', 'memory'], content: 'Hi' })).data, [
    { skipped: true },
    { success: true },
  ])
  t.equal(sent.messages.length, 1)

  const off = await start(t, { 'platform.notification.enabled': 'false' })
  for (const channels of [[], ['log', 'memory']]) {
    t.hasStrict(await off.send({ channels, content: 'Hi' }), {
      status: 200,
      code: '503',
      data: { reason: 'notification.disabled' },
    })
  }
})

t.test('C-022 C-023 C-024 R-061 the send route is limited', async (t) => {
  const { send, sent } = await start(t)
  const message = { channels: ['memory'], content: 'Hi' }
  for (let call = 1; call <= 30; call++) {
    const { code, headers } = await send(message)
    if (code !== '200' || headers['x-ratelimit-remaining'] !== String(30 - call))
      t.fail(`call ${call}`, { code, headers })
  }
  const denied = await send(message)
  t.match(denied, { status: 200, code: /^429$/, headers: { 'x-ratelimit-limit': '30', 'retry-after': /^\d+$/ } })
  t.equal(sent.messages.length, 30)
})

t.test('C-018 C-019 N-013 send-metadata lists the channels in the language of the request', async (t) => {
  const { call } = await start(t, { 'platform.notification.channels.memory.enabled': 'false' })
  const english = await call('GET', 'send-metadata', undefined, { 'accept-language': 'en' })
  t.hasStrict(english, { status: 200, code: '200' })
  t.same(english.data.channels, [
    {
      code: 'database',
      displayName: 'database',
      enabled: true,
      isDefault: false,
      recipientKinds: ['user'],
      providers: [],
    },
    { code: 'down', displayName: 'Broken', enabled: true, isDefault: false, recipientKinds: ['user'], providers: [] },
    { code: 'log', displayName: 'Log', enabled: true, isDefault: true, recipientKinds: [], providers: [] },
    { code: 'memory', displayName: 'Memory', enabled: false, isDefault: false, recipientKinds: [], providers: [] },
  ])
  const chinese = await call('GET', 'send-metadata', undefined, { 'accept-language': 'zh-CN,zh;q=0.9' })
  t.same(
    chinese.data.channels.map(({ displayName }: { displayName: string }) => displayName),
    ['database', '故障', '日志', '内存'],
  )
})

t.test('N-044 N-128 send-metadata describes social messages, and shows which field is sensitive', async (t) => {
  const { call } = await start(t)
  const { data } = await call('GET', 'send-metadata', undefined, { 'accept-language': 'zh-CN' })
  t.same(
    data.socialMessageTypes.map(({ code }: { code: string }) => code),
    ['official-template', 'official-kefu-text', 'miniapp-subscribe'],
  )
  t.match(data.socialMessageTypes[0], { displayName: '公众号模板消息' })
  const fields: { name: string; sensitive: boolean; required: boolean }[] = data.socialFields
  t.same(
    fields.filter(({ sensitive }) => sensitive).map(({ name }) => name),
    ['social.to-user'],
  )
  t.same(
    fields.filter(({ required }) => required).map(({ name }) => name),
    ['social.account-code', 'social.message-type'],
  )
  t.equal(fields.length, 10)
  t.ok(
    fields.every(({ name }) => data.attributes.includes(name)),
    'an administrator may give them',
  )
})

t.test('N-139 without a database there is no send log, and sends work', async (t) => {
  const { running, send } = await start(t)
  assertMembers(t, (await send({ channels: ['down', 'log'], content: 'Hi', recipientUserIds: [7] })).data, [
    {},
    { success: true },
  ])
  const answer = await running.service(httpRef).inject({ url: '/api/v1/notification-send-logs' })
  t.equal(answer.statusCode, 404)
})

t.test('N-132 A5 a sender reaches only users of their own data scope', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const running = await startForTest(
    defineProduct({
      name: 'notices',
      plugins: [database, http, i18n, iam, rateLimit, memoryStore, notification, log, memory],
      config: { ...db.config, 'platform.http.port': 0, 'platform.http.response-check': true },
    }),
  )
  t.teardown(() => running.stop('test ended'))
  const origin = { clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
  const system = { ...origin, name: 'test' }
  const users = running.service(accounts)
  const inject = running.service(httpRef).inject
  const tokenOf = async (userId: number) => {
    const attempt = { ...origin, method: 'test', identifier: 'x', setHeader() {} }
    return (await running.service(identity).openSession(userId, attempt)).accessToken
  }
  const post = async (token: string, url: string, payload: object) =>
    (await inject({ method: 'POST', url, payload, headers: { authorization: `Bearer ${token}` } })).json()
  const { account } = await users.createAdministrator({ username: 'admin', password: 'a long password 1' }, system)
  const admin = await tokenOf(account?.id ?? 0)
  const content = { code: 'sender', name: 'Sender', dataScope: 'org', permissions: ['notification:message:send'] }
  const roleId = (await post(admin, '/api/v1/admin/iam/roles', content)).data.id
  const sender = await users.create({ username: 'sender', orgId: 7, roleIds: [roleId] }, system)
  const mate = await users.create({ username: 'mate', orgId: 7 }, system)
  const other = await users.create({ username: 'other', orgId: 8 }, system)
  const send = async (token: string, recipientUserIds: number[]) =>
    post(token, '/api/v1/notifications/send', { channels: ['memory'], recipientUserIds, content: 'x' })

  const token = await tokenOf(sender.id)
  t.hasStrict(await send(token, [mate.id, other.id]), { code: '403', data: { reason: 'iam.out-of-scope' } })
  t.hasStrict(await send(token, [mate.id, 1]), { code: '403' }, 'nobody')
  t.same(running.service(sentNotifications).messages, [], 'refused as a whole')
  t.hasStrict(await send(token, [mate.id]), { code: '200' })
  t.hasStrict(await send(admin, [mate.id, other.id]), { code: '200' })
})
