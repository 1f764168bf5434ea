import { createHash } from 'node:crypto'
import databasePlugin, { database } from '@plinth/database'
import { applyLiveValues, assertKeyEffect, assertMembers, startForTest, until } from '@plinth/dev/testing'
import { createDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import notificationPlugin, { type MessageDraft, notification } from '@plinth/notification'
import socialChannel from '@plinth/notification-channels/social'
import outgoingHttp from '@plinth/outgoing-http'
import sharedStore, { sharedStore as sharedStoreRef } from '@plinth/shared-store'
import socialPlugin, { social } from '@plinth/social'
import systemConfig from '@plinth/system-config'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { testChannelPlugin } from '../../notification/test/fixtures/channel.ts'
import { accountSecret, startWechat } from './fixtures/wechat.ts'

const openId = 'oPlanted-open-id-4711'

const isOn = { 'platform.notification.channels.social.enabled': true }

async function start(
  t: Test,
  at: TestDatabase,
  config: Record<string, JsonValue>,
  channel: typeof isOn | object = isOn,
) {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
  const plugins = [
    databasePlugin,
    httpPlugin,
    i18n,
    sharedStore,
    systemConfig,
    outgoingHttp,
    testChannelPlugin,
    socialPlugin,
    notificationPlugin,
    socialChannel,
  ]
  const settings = {
    ...at.config,
    'platform.http.port': 0,
    'platform.http.response-check': true,
    'platform.notification.default-channel': 'social',
    ...channel,
    'platform.system-config.master-key': Buffer.alloc(32, 7).toString('base64'),
    ...config,
  }
  const product = await startForTest(defineProduct({ name: 'social', plugins, config: settings }), { logger })
  t.teardown(() => product.stop('test ended'))
  const facade = product.service(notification)
  const send = async (draft: MessageDraft) => {
    const [result] = await facade.send(draft, { channels: ['social'] })
    if (result === undefined) throw new Error('no result')
    return result
  }
  const get = async (url: string) => (await product.service(http).inject({ method: 'GET', url })).json().data
  return { product, send, get, lines, db: product.service(database), service: product.service(social) }
}

const template: MessageDraft = {
  subject: 'Order',
  template: 'T1',
  locale: 'zh-CN',
  variables: { thing1: 'Tea', number2: 3 },
  recipients: [
    { kind: 'social-openid', openId },
    { kind: 'social-openid', openId: 'oAnother' },
  ],
  attributes: { 'social.account-code': 'shop', 'social.message-type': 'official-template' },
}
const withAttributes = (attributes: Record<string, string>, more: MessageDraft = {}): MessageDraft => ({
  ...template,
  ...more,
  attributes: { ...template.attributes, ...attributes },
})

t.test('messages of the channel social', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const wechat = await startWechat(t)
  const { send, get, lines, db, product } = await start(t, at, wechat.config)
  const posted = () => wechat.posts.at(-1)

  await t.test('N-034 N-035 missing required values are reported by name', async (t) => {
    const missing = await send({ ...template, attributes: { 'social.message-type': 'official-template' } })
    t.match(missing, { success: false, errorCode: 'social.account-code-missing' })
    const typeless = await send({ ...template, attributes: { 'social.account-code': 'shop' } })
    t.match(typeless, { success: false, errorCode: 'social.message-type-missing' })
    const unknown = await send(withAttributes({ 'social.message-type': 'fax' }))
    t.match(unknown, { errorCode: 'social.message-type-unknown' })
    t.match(unknown.errorMessage, /official-template, official-kefu-text, miniapp-subscribe/)
    t.match(await send(withAttributes({ 'social.account-code': 'other' })), { errorCode: 'social.account-unknown' })
    t.match(await send({ ...template, recipients: [] }), { errorCode: 'social.recipient-missing' })
    const { template: _, ...bare } = template
    t.match(await send({ ...bare, content: 'x' }), { errorCode: 'social.template-missing' })
    t.match(await send({ ...template, variables: { number2: 'three' } }), { errorCode: 'social.data-refused' })
    t.equal(wechat.posts.length, 0, 'and nothing was sent')
  })

  await t.test('N-036 N-037 N-038 N-040 N-041 an official template', async (t) => {
    const result = await send(withAttributes({ 'social.url': 'https://shop.example.com/1', 'social.page': 'never' }))
    t.match(result, { success: true, messageId: '9007199254740993123', provider: 'wechat' })
    t.equal(posted()?.path, '/cgi-bin/message/template/send')
    const { client_msg_id: clientId, ...body } = posted()?.body ?? {}
    t.same(body, {
      touser: openId,
      template_id: 'T1',
      url: 'https://shop.example.com/1',
      data: { thing1: { value: 'Tea' }, number2: { value: '3' } },
    })
    t.match(clientId, /^[0-9a-f]{32}$/)
    const objects: unknown = { thing1: { value: 'Tea', color: '#ff0000' }, number2: { value: 3 }, thing3: { a: [1] } }
    await send(withAttributes({}, { variables: objects as NonNullable<MessageDraft['variables']> }))
    t.same(posted()?.body.data, { thing1: { value: 'Tea' }, number2: { value: '3' }, thing3: { value: '{"a":[1]}' } })
    const usual = wechat.answer
    wechat.answer = '{"errcode":0,"errmsg":"ok"}'
    const { messageId } = await send(template)
    const digest = createHash('sha256').update(messageId).digest('hex')
    t.equal(posted()?.body.client_msg_id, digest.slice(0, 32), 'the id of the message, in the 32 characters of WeChat')
    wechat.answer = usual
    await send(
      withAttributes({ 'social.client-message-id': 'mine', 'social.to-user': 'oNamed', 'social.template-id': 'T2' }),
    )
    t.match(posted()?.body, { client_msg_id: 'mine', touser: 'oNamed', template_id: 'T2' })
  })

  await t.test('N-039 N-040 a subscribe message of a mini program', async (t) => {
    const more = {
      'social.message-type': 'miniapp-subscribe',
      'social.page': 'index?a=1',
      'social.miniprogram-state': 'trial',
    }
    await send(withAttributes({ ...more, 'social.url': 'https://never.example.com' }))
    t.equal(posted()?.path, '/cgi-bin/message/subscribe/send')
    t.same(posted()?.body, {
      touser: openId,
      template_id: 'T1',
      page: 'index?a=1',
      miniprogram_state: 'trial',
      lang: 'zh_CN',
      data: { thing1: { value: 'Tea' }, number2: { value: '3' } },
    })
    for (const [tag, lang] of Object.entries({
      'zh-TW': 'zh_TW',
      'zh-HK': 'zh_HK',
      en: 'en_US',
      'en-GB': 'en_US',
      fr: undefined,
    })) {
      await send(withAttributes({ ...more, 'social.lang': tag }))
      t.equal(posted()?.body.lang, lang, tag)
    }
  })

  await t.test('N-040 a customer service text', async (t) => {
    const kefu = { 'social.message-type': 'official-kefu-text', 'social.kf-account': 'ada@shop' }
    await send(withAttributes(kefu, { content: '你好' }))
    t.equal(posted()?.path, '/cgi-bin/message/custom/send')
    const text = {
      touser: openId,
      msgtype: 'text',
      text: { content: '你好' },
      customservice: { kf_account: 'ada@shop' },
    }
    t.same(posted()?.body, text)
  })

  await t.test(
    'N-012 N-042 N-181 every message is a row of the outbound log; open id, token and secret appear nowhere',
    async (t) => {
      const { items } = await get('/api/v1/admin/social/messages?size=200')
      t.equal(items.filter(({ outcome }: { outcome: string }) => outcome === 'accepted').length, wechat.posts.length)
      const accepted = items.find(({ outcome }: { outcome: string }) => outcome === 'accepted')
      t.match(accepted, { accountCode: 'shop', messageType: 'official-kefu-text', toUser: '***4711' })
      const rejected = await get('/api/v1/admin/social/messages?outcome=rejected&accountCode=other')
      assertMembers(t, rejected.items, [{ accountCode: 'other', outcome: 'rejected' }])
      await get('/api/v1/notification-send-logs')
      const tables = ['social_outbound', 'notification_send_log']
      const rows = await Promise.all(tables.map((table) => db.query(`select * from ${table}`)))
      const columns = Object.keys(rows[1]?.[0] ?? {})
      t.notMatch(columns.join(), /secret|token/, 'the notification module has no place for secrets')
      const everything = JSON.stringify(rows) + lines.join('\n')
      for (const secret of [openId, accountSecret, 'planted-token']) t.notMatch(everything, secret)
    },
  )

  await t.test('an expired WeChat token is replaced once; a second rejection ends the attempt', async (t) => {
    const [issued, sent] = [wechat.tokens.length, wechat.posts.length]
    for (const token of wechat.tokens) wechat.ended.add(token)
    const results = await Promise.all([send(template), send(template), send(template)])
    t.same(
      results.map(({ success }) => success),
      [true, true, true],
    )
    t.equal(wechat.tokens.length, issued + 1, 'one token for all of them')
    wechat.answer = '{"errcode":40001,"errmsg":"invalid credential"}'
    const rejected = await send(template)
    t.match(rejected, { success: false, errorCode: 'social.account-refused', providerCode: '40001' })
    t.equal(wechat.tokens.length, issued + 2, 'fetched once more')
    t.equal(wechat.posts.length, sent + 6 + 2, 'and sent once more, not for ever')
    wechat.answer = 'hang'
    const given = new AbortController()
    const hanging = product.service(notification).send(template, { channels: ['social'], signal: given.signal })
    await until(() => wechat.posts.length === sent + 9, 'WeChat has the request')
    given.abort()
    assertMembers(t, await hanging, [{ success: false, outcome: 'unknown' }])
    t.notMatch(lines.join('\n'), 'planted-token')
  })
})

t.test('N-043 the channel is disabled until it is enabled', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const wechat = await startWechat(t)
  const { send, product } = await start(t, at, wechat.config, {})
  const [results] = await assertKeyEffect(t, 'platform.notification.channels.social.enabled', {
    changed: true,
    async observe(values) {
      await applyLiveValues(product, values)
      const { success, skipped, errorCode } = await send(template)
      return { success, skipped, errorCode, posts: wechat.posts.length }
    },
  })
  const off = { success: false, skipped: true, errorCode: 'notification.channel-disabled', posts: 0 }
  t.match(results, { before: off, after: { success: true, posts: 1 } })
})

t.test('messages go from the configured accounts to the configured address', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const [wechat, other] = [await startWechat(t), await startWechat(t)]
  const hosts = 'platform.outgoing-http.allowed-hosts'
  const config = { ...wechat.config, [hosts]: [...wechat.config[hosts], ...other.config[hosts]] }
  const { 'platform.social.accounts': accounts, ...withoutAccounts } = config
  const [outcomes] = await assertKeyEffect(t, 'platform.social.accounts', {
    changed: accounts,
    async observe(values) {
      const { send, product } = await start(t, at, { ...withoutAccounts, ...values })
      const { success, errorCode } = await send(template)
      await product.stop('observed')
      return success ? 'sent' : errorCode
    },
  })
  t.match(outcomes, { before: 'social.account-unknown', after: 'sent' })
  const [posts] = await assertKeyEffect(t, 'platform.social.endpoint', {
    compared: config['platform.social.endpoint'],
    changed: other.config['platform.social.endpoint'],
    async observe(values) {
      for (const { posts } of [wechat, other]) posts.length = 0
      const { send, product } = await start(t, at, { ...config, ...values })
      await send(template)
      await product.stop('observed')
      return [wechat, other].map(({ posts }) => posts.length > 0)
    },
  })
  assertMembers(t, posts, { before: [true, false], after: [false, true] })
})

t.test('a shared access token can be read only with the key with which it was stored', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const wechat = await startWechat(t)
  const [key = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const { send, product } = await start(t, at, { ...wechat.config, 'platform.social.token-key': key })
  t.match(await send(template), { success: true })
  const [issued] = await assertKeyEffect(t, 'platform.social.token-key', {
    changed: other,
    async observe(values) {
      await applyLiveValues(product, values)
      const before = wechat.tokens.length
      t.match(await send(template), { success: true })
      return wechat.tokens.length - before
    },
  })
  t.match(issued, { before: 0, after: 1 })
})

t.test('two instances share one token; a wrong secret is reported', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const wechat = await startWechat(t)
  const gate = Promise.withResolvers<void>()
  wechat.gate = gate.promise
  const [one, two] = [await start(t, at, wechat.config), await start(t, at, wechat.config)]
  const sends = [one.send(template), one.send(template), two.send(template), two.send(template)]
  gate.resolve()
  t.same(
    (await Promise.all(sends)).map(({ success }) => success),
    [true, true, true, true],
  )
  t.equal(wechat.tokens.length, 1)
  const shared = await one.product.service(sharedStoreRef).get('social.access-token:wx1')
  t.notMatch(shared, 'planted-token', 'it is stored encrypted')
  const accounts = {
    shop: { appId: 'wx1', secret: 'another-secret' },
    second: { appId: 'wx2', secret: 'wrong-secret-77' },
  }
  const three = await start(t, at, { ...wechat.config, 'platform.social.accounts': accounts })
  const rejected = await three.send(withAttributes({ 'social.account-code': 'second' }))
  t.match(rejected, { success: false, errorCode: 'social.account-refused', providerCode: '40125' })
  wechat.tokenResponse = '<html>'
  t.hasStrict(await three.send(withAttributes({ 'social.account-code': 'second' })), { outcome: 'deferred' })
  t.notMatch(three.lines.join('\n'), 'wrong-secret-77')
})
