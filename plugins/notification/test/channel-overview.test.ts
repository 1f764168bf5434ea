import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onSqlite, type TestDatabase, watchStatements } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { notificationPreferences } from '@plinth/inbox'
import {
  ChannelError,
  definePlugin,
  key,
  type NotificationChannel,
  notificationChannel,
  omitUndefined,
  type Plugin,
  type RecipientKind,
} from '@plinth/kernel'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sitePlugin from '@plinth/site'
import t, { type Test } from 'tap'
import { channel, type Send } from './fixtures/channel.ts'
import { configuredSecret, rejectSend, startSendLog } from './fixtures/send-log-product.ts'

const root = '/api/v1/admin/notification/channels'
const later: Send = async () => ({ outcome: 'deferred', errorCode: 'acme.503', errorMessage: 'ACME is away' })
const mobile = { kind: 'mobile', number: '13800138000' } as const

interface Settings {
  readonly plugins?: readonly Plugin[]
  readonly config?: Readonly<Record<string, string | number | boolean>>
}

async function start(t: Test, at: TestDatabase, settings: Settings = {}) {
  const product = await startSendLog(t, at, settings)
  const ask = async (method: 'GET' | 'POST', path = '', { body, language = 'en' }: Asked = {}) => {
    const { running } = product
    const headers = { 'accept-language': language }
    const response = await running
      .service(http)
      .inject(omitUndefined({ method, url: `${root}${path}`, headers, payload: body }))
    return { status: response.statusCode, ...response.json() }
  }
  const row = async (code: string) => (await ask('GET')).data.find((one: { code: string }) => one.code === code)
  return { ...product, ask, row }
}
interface Asked {
  readonly body?: object
  readonly language?: string
}

/** Returns a channel like one of another company, with only the required members. */
const thirdParty = (code: string, more: Partial<NotificationChannel>, kinds: readonly RecipientKind[] = []) =>
  channel(code, kinds, {}, more).plugin

onDatabase(t, 'every channel is listed with its state, computed from the send log', async (t, at) => {
  const { sms, facade, clock, row, ask, list, running } = await start(t, at)
  const send = () => facade.send({ content: 'Hi', recipients: [mobile] }, { channels: ['sms'] })
  t.hasStrict(await row('pager'), { plugin: 'test.pager', isDefault: true, state: 'ready', lastSuccessAt: null })
  t.match(await row('sms'), { plugin: 'test.sms', isDefault: false, testField: 'mobile', verifiable: false })

  sms.behave = rejectSend
  await send()
  t.hasStrict(await row('sms'), { state: 'ready', lastFailureReason: 'Refused' }, 'one message may be refused')
  await send()
  await send()
  t.hasStrict(await row('sms'), { state: 'failing', failingSince: new Date(clock.now()).toISOString() })
  sms.behave = async () => ({ outcome: 'accepted' })
  const works = new Date(clock.now()).toISOString()
  await send()
  t.hasStrict(await row('sms'), { state: 'ready', failingSince: null, lastSuccessAt: works, lastFailureAt: works })

  await clock.advance(60_000)
  sms.behave = later
  const since = new Date(clock.now()).toISOString()
  await send()
  await clock.advance(60_000)
  await send()
  const newest = (await list('channel=sms')).items[0]
  const failing = { state: 'failing', failingSince: since, lastFailureReason: 'ACME is away', lastFailureId: newest.id }
  t.match(await row('sms'), { ...failing, lastSuccessAt: works })
  assertMembers(t, (await ask('GET', '/sms')).data, { ...failing, keys: [] })
  t.hasStrict(await row('pager'), { state: 'ready', lastFailureAt: null }, 'each has its own')
  t.hasStrict(await ask('GET', '/fax'), { code: '404', data: { reason: 'notification.channel-not-found' } })

  sms.isEnabled = false
  t.hasStrict(await row('sms'), { state: 'disabled', enabled: false })
  const written = { name: 'platform.notification.enabled', by: 'key', written: false, place: 'test' } as const
  await running.config.apply([written])
  t.hasStrict(await row('pager'), { state: 'disabled' })
})

onDatabase(t, 'the list reads the send log twice, however many channels and rows there are', async (t, at) => {
  const many = Array.from({ length: 60 }, (_, index) => channel(`way-${index}`).plugin)
  const { facade, ask, db } = await start(t, at, { plugins: many })
  for (let send = 0; send < 30; send++) await facade.send({ content: 'Hi' }, { channels: ['pager', 'way-1'] })
  await ask('GET')
  const { plansOf } = watchStatements(db, 'notification_send_log')
  const plans = await plansOf(() => ask('GET'))
  t.ok(plans.length <= 3, `${plans.length} statements`)
  for (const { sql, scans, indexes } of plans) {
    t.notOk(scans.includes('notification_send_log'), sql.slice(0, 200))
    t.ok(indexes.length > 0)
  }
  t.equal((await ask('GET')).data.length, 62)
})

onSqlite(t, 'the description of a channel: keys, pause, limit and services', async (t, at) => {
  const keys = ['platform.acme.room', 'platform.acme.token']
  let condition: ReturnType<NonNullable<NotificationChannel['condition']>> = { keys, missingKeys: keys.slice(0, 1) }
  const provider = { displayName: { en: 'Robot', 'zh-CN': '机器人' }, messageTypes: ['text'], attributes: [] }
  const acme = thirdParty('acme', {
    displayName: { en: 'ACME', 'zh-CN': '艾克米' },
    condition: (code) => (code === undefined ? condition : { keys: [], missingKeys: [], isOff: true }),
    providers: () => [{ ...provider, code: 'robot' }],
  })
  const plain = definePlugin({
    id: 'plain',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [notificationChannel],
    config: {
      'platform.plain.room': key.string({ title: 'Room', default: 'a' }),
      'platform.plain.own': key.string({ title: 'Own', default: '', state: true, sensitive: true, reload: 'live' }),
    },
    setup: ({ contribute }) =>
      contribute(notificationChannel, 'plain', {
        displayName: 'Plain',
        recipientKinds: [],
        traits: { idempotent: false },
        send: async () => ({ outcome: 'accepted' }),
      }),
  })
  const { ask, row, clock } = await start(t, at, { plugins: [acme, plain] })
  assertMembers(t, await row('acme'), { state: 'incomplete', missingKeys: ['platform.acme.room'] })
  const shown = keys.map((name, index) => ({ key: name, missing: index === 0 }))
  t.match((await ask('GET', '/acme')).data, { keys: shown })
  assertMembers(t, (await ask('GET', '/plain')).data, {
    plugin: 'plain',
    keys: [{ key: 'platform.plain.room', missing: false }],
  })
  t.notMatch((await ask('GET', '/plain')).data.keys, [{}, {}], 'what nobody sets is not shown')
  t.hasStrict(await row('acme.robot'), {
    state: 'disabled',
    channel: 'acme',
    provider: 'robot',
    displayName: 'ACME · Robot',
  })
  t.match((await ask('GET', '/acme.robot', { language: 'zh-CN' })).data, { displayName: /机器人/ })
  const until = (ms: number) => new Date(clock.now() + ms).toISOString()
  condition = { keys, missingKeys: [], restsForMs: 5000 }
  t.hasStrict(await row('acme'), { state: 'resting', until: until(5000) })
  condition = { keys, missingKeys: [], limitedForMs: 700 }
  t.hasStrict(await row('acme'), { state: 'limited', until: until(700) })
})

onSqlite(t, 'a channel checks whether it could send, and sends nothing', async (t, at) => {
  let verify: NonNullable<NotificationChannel['verify']> = async () => {}
  const acme = channel('acme', [], {}, { verify: (signal, provider) => verify(signal, provider) })
  const lacking = thirdParty('lacking', { condition: () => ({ keys: [], missingKeys: ['platform.acme.room'] }) })
  const { ask, audits, clock, lines } = await start(t, at, { plugins: [acme.plugin, lacking] })
  const requested = async (code: string, language = 'en') => (await ask('POST', `/${code}/verify`, { language })).data

  assertMembers(t, await requested('acme'), {
    verified: true,
    checked: ['configuration', 'connection'],
    failedCheck: null,
  })
  verify = async () => ['configuration', 'address', 'connection', 'credentials']
  assertMembers(t, await requested('acme'), {
    verified: true,
    checked: ['configuration', 'address', 'connection', 'credentials'],
  })
  assertMembers(t, await requested('pager'), { verified: true, checked: ['configuration'] }, 'it has no such hook')
  const missing = { verified: false, checked: [], failedCheck: 'configuration' }
  t.match(await requested('lacking'), { ...missing, reason: 'These keys have no value: platform.acme.room.' })
  t.match(await requested('lacking', 'zh-CN'), { ...missing, reason: '以下配置项尚未填写：platform.acme.room。' })

  verify = async () => {
    const reason = { en: 'The room is closed.', 'zh-CN': '房间已关闭。' }
    throw new ChannelError('credentials', reason, ['configuration', 'connection'], `401 ${configuredSecret}`)
  }
  const rejected = { verified: false, checked: ['configuration', 'connection'], failedCheck: 'credentials' }
  t.match(await requested('acme'), { ...rejected, reason: 'The room is closed.', detail: /^401 \*+$/ })
  t.match(await requested('acme', 'zh-CN'), { ...rejected, reason: '房间已关闭。' })
  verify = () => Promise.reject(new Error(`no room ${configuredSecret}`))
  t.match(await requested('acme'), { verified: false, failedCheck: null, reason: /^no room \*+$/ })

  let given: AbortSignal | undefined
  const began = Promise.withResolvers<void>()
  verify = (signal) => {
    given = signal
    began.resolve()
    return new Promise(() => {})
  }
  const hanging = requested('acme')
  await began.promise
  await clock.advance(10_000)
  t.match(await hanging, { verified: false, failedCheck: 'connection', reason: /within 10 seconds/ })
  t.ok(given?.aborted, 'and it is told to give up')

  t.strictSame(acme.sent, [])
  const recorded = audits.filter(({ action }) => action === 'notification-channel.verify')
  t.equal(recorded.length, 9)
  assertMembers(t, recorded[0], {
    subject: 'acme',
    summary: { verified: true, checked: ['configuration', 'connection'] },
  })
  t.notMatch(JSON.stringify([audits, lines]), configuredSecret)
})

onSqlite(t, 'checks and test messages of one user are limited', async (t, at) => {
  const { ask } = await start(t, at, { plugins: [rateLimit, memoryStore] })
  const codes: string[] = []
  for (let time = 0; time < 11; time++) codes.push((await ask('POST', '/pager/verify')).code)
  t.strictSame([codes.filter((code) => code === '200').length, codes.at(-1)], [10, '429'])
  for (let time = 0; time < 10; time++) await ask('POST', '/pager/test', { body: {} })
  t.hasStrict(await ask('POST', '/pager/test', { body: {} }), { code: '429' })
})

const preferences = (quietUntil: () => number) =>
  definePlugin({
    id: 'test.preferences',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [notificationPreferences],
    setup: ({ provide }) =>
      provide(notificationPreferences, {
        wanted: async (userIds) => new Set(userIds.filter((id) => id !== 8)),
        quietUntil: async (userIds) => new Map(userIds.map((id) => [id, quietUntil()])),
        switchOff: async () => {},
        readerFormats: async () => new Map(),
      } as Parameters<typeof provide>[1]),
  })

onSqlite(t, 'a test message is sent immediately and is in the send log', async (t, at) => {
  let quietUntil = 0
  const mail = channel('mail', ['user'])
  const social = channel('social')
  const robots = channel(
    'robots',
    [],
    {},
    {
      providers: () => [
        { code: 'chat', displayName: 'Chat', messageTypes: [], attributes: [], receiver: 'robots.chat.room' },
      ],
    },
  )
  const plugins = [sitePlugin, mail.plugin, social.plugin, robots.plugin, preferences(() => quietUntil)]
  const config = { 'platform.site.name': 'Tea House', 'platform.site.time-zone': 'Asia/Shanghai' }
  const { ask, sms, pager, audits, clock, request } = await start(t, at, { plugins, config })
  const test = async (code: string, body: object = {}, language = 'en') =>
    (await ask('POST', `/${code}/test`, { body, language })).data

  const sent = await test('sms', { mobile: '13800138000' })
  t.match(sent, { outcome: /^accepted$/, reason: null, skipped: false, logId: Number })
  assertMembers(t, sms.last(), { subject: 'Test message from Tea House', recipients: [mobile], locale: 'en' })
  t.match(sms.last()?.content, /^This is a test message from Tea House, sent on .*GMT\+8/)
  const logged = (await request('GET', `/api/v1/notification-send-logs/${sent.logId}`)).data
  assertMembers(t, logged, {
    channel: 'sms',
    status: /^success$/,
    subject: 'Test message from Tea House',
    recipients: [/8000$/],
  })
  await test('pager', {}, 'zh-CN')
  t.match(pager.last(), { subject: 'Tea House 的测试消息', locale: 'zh-CN' })

  sms.behave = rejectSend
  const rejected = await test('sms', { mobile: '13800138000' })
  t.match(rejected, { outcome: /^rejected$/, reason: /^Refused$/, hint: 'Check the key', errorCode: 'acme.403' })
  t.hasStrict((await request('GET', `/api/v1/notification-send-logs/${rejected.logId}`)).data, { status: 'failed' })
  sms.behave = later
  t.hasStrict(await test('sms', { mobile: '13800138000' }), { outcome: 'deferred', reason: 'ACME is away' })
  sms.isEnabled = false
  const off = { outcome: 'deferred', skipped: true, logId: null }
  t.match(await test('sms', { mobile: '1' }), { ...off, reason: /channel is disabled/ })
  t.match(await test('sms', { mobile: '1' }, 'zh-CN'), { ...off, reason: '该渠道已停用，消息未发送。' })

  t.match(await test('mail', { userId: 8 }), { ...off, reason: /has disabled messages on this channel/ })
  quietUntil = clock.now() + 60_000
  const quiet = { ...off, errorCode: 'notification.quiet-hours', reason: /quiet hours until/ }
  t.match(await test('mail', { userId: 7 }), quiet)
  t.strictSame(mail.sent, [])
  quietUntil = 0
  t.hasStrict(await test('mail', { userId: 7 }), { outcome: 'accepted' })
  assertMembers(t, mail.last()?.recipients, [{ kind: 'user', userId: 7 }])

  await test('social', { accountCode: 'shop', openId: 'o-1' })
  const kefu = { 'social.account-code': 'shop', 'social.message-type': 'official-kefu-text' }
  assertMembers(t, social.last(), { recipients: [{ kind: 'social-openid', openId: 'o-1' }], attributes: kefu })
  await test('robots.chat', { receiver: '-100' })
  t.match(robots.last()?.attributes, { 'robots.provider': 'chat', 'robots.chat.room': '-100' })

  for (const [code, field] of [
    ['sms', 'mobile'],
    ['mail', 'userId'],
    ['social', 'accountCode'],
    ['robots.chat', 'receiver'],
  ] as const) {
    const missing = { code: '400', data: { reason: 'notification.test-recipient-missing', field } }
    t.match(await ask('POST', `/${code}/test`, { body: {} }), missing)
  }
  t.hasStrict(await ask('POST', '/fax/test', { body: {} }), { code: '404' })
  const recorded = audits.filter(({ action }) => action === 'notification-channel.test')
  t.equal(recorded.length, 11)
  t.notMatch(JSON.stringify(recorded), '13800138000', 'the trail names no recipient')
})
