import databasePlugin from '@plinth/database'
import { notificationChannelCases } from '@plinth/dev/conformance'
import { assertMembers, type ManualClock, manualClock, startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import { definePlugin, defineProduct, type JsonValue, notificationChannel } from '@plinth/kernel'
import notificationPlugin, { notification } from '@plinth/notification'
import smsChannel from '@plinth/notification-channels/sms'
import outgoingHttp from '@plinth/outgoing-http'
import smsPlugin, { sms } from '@plinth/sms'
import t, { type Test } from 'tap'
import { testChannelPlugin } from '../../notification/test/fixtures/channel.ts'
import { type ReceivedRequest, startProviderStub } from '../../sms/test/fixtures/company.ts'

const secret = 'planted-token-4711'
const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [notificationChannel] })

const twilio = (url: string) => ({
  'platform.outgoing-http.allowed-hosts': [new URL(url).host],
  'platform.outgoing-http.allow-http': true,
  'platform.sms.driver': 'twilio',
  'platform.sms.twilio.endpoint': url,
  'platform.sms.twilio.account-sid': 'AC1',
  'platform.sms.twilio.auth-token': secret,
  'platform.sms.twilio.from': '+15005550006',
})
let taking = 0
/** Response with which the service accepts messages and the account query. */
const taken = ({ method }: Pick<ReceivedRequest, 'method'>) =>
  method === 'GET'
    ? { status: 200, body: JSON.stringify({ sid: 'AC1', status: 'active' }) }
    : { status: 201, body: JSON.stringify({ sid: `SM${++taking}`, status: 'queued' }) }

t.test('N-009 N-013 the channel obeys its contract', async (t) => {
  const create = async () => {
    const company = await startProviderStub(t)
    company.reply = taken
    const config = twilio(company.url)
    const product = await startForTest(
      defineProduct({ name: 'sms', plugins: [owner, outgoingHttp, smsPlugin, smsChannel], config }),
    )
    const channel = product.contributions(notificationChannel).get('sms')
    if (channel === undefined) throw new Error('no channel')
    const delivered = () =>
      company.asked
        .filter(({ method, status }) => method === 'POST' && status !== 503)
        .map(({ body }) => {
          const form = new URLSearchParams(body)
          return {
            content: form.get('Body') ?? '',
            recipients: [{ kind: 'mobile' as const, number: form.get('To') ?? '' }],
          }
        })
    return { channel, company, delivered, stop: () => product.stop('test ended') }
  }
  const cases = notificationChannelCases(create, {
    secrets: [secret],
    recipients: [
      { kind: 'mobile', number: '+8613800138000' },
      { kind: 'mobile', number: '+8613800138001' },
    ],
    carriesSubject: false,
    recipientsAs: 'each',
    maxContentLength: 1_600,
    nextHop: {
      fail: ({ company }) => {
        company.reply = { status: 503, body: '' }
      },
      hang: ({ company }) => {
        company.reply = 'hang'
      },
      recover: ({ company }) => {
        company.reply = taken
      },
      echo: ({ company }) => {
        company.reply = ({ headers }) => ({
          status: 400,
          body: JSON.stringify({ code: 21_211, message: `${'x'.repeat(290)} ${headers['authorization']}` }),
        })
      },
    },
  })
  for (const { name, run } of cases) t.test(name, run)
})

async function start(t: Test, config: Readonly<Record<string, JsonValue>>, clock?: ManualClock) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const plugins = [
    databasePlugin,
    httpPlugin,
    i18n,
    testChannelPlugin,
    outgoingHttp,
    smsPlugin,
    notificationPlugin,
    smsChannel,
  ]
  const settings = { ...at.config, 'platform.http.port': 0, 'platform.notification.default-channel': 'sms', ...config }
  const product = await startForTest(defineProduct({ name: 'sms', plugins, config: settings }), clock && { clock })
  t.teardown(() => product.stop('test ended'))
  const logs = async () =>
    (await product.service(http).inject({ method: 'GET', url: '/api/v1/notification-send-logs?channel=sms' })).json()
      .data
  return { product, facade: product.service(notification), logs }
}

t.test('N-009 N-010 a send through the channel is in the send log, a direct call of the service is not', async (t) => {
  const company = await startProviderStub(t)
  company.reply = taken
  const { product, facade, logs } = await start(t, twilio(company.url))
  const message = { to: '+8613800138000', content: 'direct', reference: 'r' }
  t.hasStrict(await product.service(sms).send(message, AbortSignal.timeout(60_000)), { outcome: 'accepted' })
  t.equal((await logs()).items.length, 0)
  const recipients = [{ kind: 'mobile' as const, number: '13800138000' }]
  const [result] = await facade.send({ content: 'logged', recipients }, { channels: ['sms'] })
  t.match(result, { success: true, provider: 'twilio', messageId: /^SM/ })
  assertMembers(t, (await logs()).items, [
    { channel: 'sms', status: 'success', provider: 'twilio', recipients: ['mobile:***8000'] },
  ])
  company.reply = { status: 400, body: '{"code":21610,"message":"unsubscribed"}' }
  const rejected = { success: false, providerCode: '21610', hint: /^The recipient has unsubscribed/ }
  assertMembers(t, await facade.send({ content: 'x', recipients }), [rejected], 'the hint is a text for operators')
  const attributes = { 'sms.provider': 'log', 'sms.template-code': 'T1', 'sms.sign-name': 'Shop' }
  assertMembers(t, await facade.send({ content: 'x', recipients, attributes }), [{ success: true, provider: 'log' }])
  t.equal(company.asked.length, 3)
})

t.test('B42 the channel is enabled only while the service can send', async (t) => {
  const company = await startProviderStub(t)
  company.reply = taken
  const config = { ...twilio(company.url), 'platform.notification.channels.sms.enabled': false }
  const off = await start(t, config)
  const { facade } = await start(t, {})
  const draft = { content: 'x', recipients: [{ kind: 'mobile' as const, number: '13800138000' }] }
  const skipped = [{ success: false, skipped: true, errorCode: 'notification.channel-disabled' }]
  t.match(await off.facade.send(draft), skipped)
  assertMembers(t, await facade.send(draft), [
    { success: false, skipped: true, errorCode: 'notification.channel-disabled' },
  ])
})

t.test('N-009 a message goes through the next driver if one fails, but not if the recipient is rejected', async (t) => {
  const company = await startProviderStub(t)
  const key = 'platform.notification.channels.sms'
  const order = {
    // The SMS service has no driver of its own here. The list of drivers for the channel is sufficient.
    ...twilio(company.url),
    'platform.sms.driver': '',
    [`${key}.drivers-order`]: ['tencent', 'twilio', 'log'],
  }
  const draft = { content: 'x', recipients: [{ kind: 'mobile' as const, number: '13800138000' }] }
  const busy = { status: 503, body: '' }
  const unsubscribed = { status: 400, body: '{"code":21610,"message":"unsubscribed"}' }

  const { facade } = await start(t, { ...order, [`${key}.strategy`]: 'failover', [`${key}.driver-rest`]: '0s' })
  company.reply = taken
  assertMembers(t, await facade.send(draft), [{ success: true, provider: 'twilio' }])
  company.reply = busy
  assertMembers(t, await facade.send(draft), [{ success: true, provider: 'log' }], 'the next driver')
  company.reply = unsubscribed
  const rejected = [{ success: false, outcome: 'rejected', provider: 'twilio', providerCode: '21610' }]
  t.match(await facade.send(draft), rejected, 'nobody writes through another company to who has unsubscribed')
  assertMembers(t, await facade.send({ ...draft, attributes: { 'sms.provider': 'log' } }), [
    { success: true, provider: 'log' },
  ])
  company.reply = busy
  const named = { ...draft, attributes: { 'sms.provider': 'twilio' } }
  assertMembers(
    t,
    await facade.send(named),
    [{ success: false, outcome: 'deferred' }],
    'a named driver leaves no choice',
  )

  const clock = manualClock()
  const resting = await start(t, { ...order, [`${key}.strategy`]: 'failover' }, clock)
  const asked = company.asked.length
  for (let count = 0; count < 3; count++) assertMembers(t, await resting.facade.send(draft), [{ provider: 'log' }])
  t.equal(company.asked.length, asked + 1, 'the one that failed rests')
  company.reply = taken
  assertMembers(t, await resting.facade.send(draft), [{ provider: 'log' }], 'as long as its rest lasts')
  await clock.advance(60_001)
  assertMembers(t, await resting.facade.send(draft), [{ provider: 'twilio' }], 'and is the first again after it')

  const turns = await start(t, { ...order, [`${key}.strategy`]: 'round-robin' })
  const providers: unknown[] = []
  for (let count = 0; count < 4; count++) providers.push((await turns.facade.send(draft))[0]?.provider)
  t.same(providers, ['twilio', 'log', 'twilio', 'log'])
})

t.test('N-009 N-020 fail-over uses the template code of the company that sends', async (t) => {
  const company = await startProviderStub(t)
  company.reply = ({ path }) => (path.startsWith('/2010') ? taken({ method: 'POST' }) : { status: 503, body: '' })
  const key = 'platform.notification.channels.sms'
  const { facade } = await start(t, {
    ...twilio(company.url),
    'platform.sms.driver': '',
    'platform.sms.aliyun.endpoint': company.url,
    'platform.sms.aliyun.access-key-id': 'AK',
    'platform.sms.aliyun.access-key-secret': secret,
    'platform.sms.templates': { 'order.shipped': { aliyun: 'SMS_7' } },
    [`${key}.strategy`]: 'failover',
    [`${key}.drivers-order`]: ['aliyun', 'twilio'],
  })
  const draft = {
    content: 'Your order A1',
    variables: { no: 'A1' },
    recipients: [{ kind: 'mobile' as const, number: '13800138000' }],
  }
  const bodies = () => company.asked.map(({ path, body }) => `${path} ${body}`).splice(0)
  const provider = async (more: object) => (await facade.send({ ...draft, ...more }))[0]?.provider
  for (const more of [{}, { template: 'other' }, { attributes: { 'sms.template-code': '449739' } }]) {
    t.equal(await provider(more), 'twilio', `${JSON.stringify(more)}: no code at the first company`)
  }
  t.equal(bodies().length, 3, 'the first company is not asked')
  t.equal(await provider({ template: 'order.shipped' }), 'twilio')
  const [first = '', second = ''] = bodies().slice(3)
  t.match(first, /TemplateCode=SMS_7/, 'it did not rest for the messages that it cannot send')
  t.match(second, /Body=Your\+order\+A1/)
  t.notMatch(second, /SMS_7|ContentSid|order\.shipped/)
})
