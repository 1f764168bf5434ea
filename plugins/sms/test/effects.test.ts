/** Tests the effect of each configuration key of SMS, as seen by the servers of the providers. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assertKeyEffect, type KeyValues, startForTest } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import smsPlugin, { type SmsMessage, sms } from '@plinth/sms'
import t from 'tap'
import { startProviderStub } from './fixtures/company.ts'
import { aliyunSignature, readSignature, tencentSignature } from './fixtures/company-checks.ts'

const secret = 'planted-secret-4711'
const contentSid = `HX${'0a'.repeat(16)}`
const company = await startProviderStub(t)
company.reply = { status: 201, body: '{"sid":"SM1","Code":"OK","Response":{"SendStatusSet":[{"Code":"Ok"}]}}' }

const account: KeyValues = {
  'platform.sms.aliyun.endpoint': company.url,
  'platform.sms.aliyun.access-key-id': 'key-id',
  'platform.sms.aliyun.access-key-secret': secret,
  'platform.sms.aliyun.sign-name': 'Sign',
  'platform.sms.tencent.endpoint': company.url,
  'platform.sms.tencent.secret-id': 'secret-id',
  'platform.sms.tencent.secret-key': secret,
  'platform.sms.tencent.app-id': '1400006666',
  'platform.sms.tencent.sign-name': 'Sign',
  'platform.sms.twilio.endpoint': company.url,
  'platform.sms.twilio.account-sid': 'AC123',
  'platform.sms.twilio.auth-token': secret,
  'platform.sms.twilio.from': '+15005550006',
}

/** Sends a message through a driver. Returns the outcome and the request that the provider received. */
const sendBy =
  (driver: string | undefined, message: Partial<SmsMessage> = {}) =>
  async (values: KeyValues) => {
    const config = {
      'platform.outgoing-http.allowed-hosts': [company.host, `localhost:${company.host.split(':')[1]}`],
      'platform.outgoing-http.allow-http': true,
      ...account,
      ...values,
    }
    const product = await startForTest(defineProduct({ name: 'sms', plugins: [smsPlugin, outgoingHttp], config }))
    t.teardown(() => product.stop('test ended'))
    company.asked.length = 0
    const outcome = await product.service(sms).send(
      {
        to: '+8613800138000',
        content: 'Hello',
        reference: 'message-1',
        ...(driver === undefined ? {} : { driver }),
        ...({ aliyun: { templateCode: 'SMS_1' }, tencent: { templateCode: '449739' } }[driver ?? ''] ?? {}),
        ...message,
      },
      new AbortController().signal,
    )
    const [asked] = company.asked
    return { ...outcome, request: asked, errorCode: 'errorCode' in outcome ? outcome.errorCode : '' }
  }

/** Returns one part of the request that the provider received. */
const partOf =
  (driver: string, part: (request: (typeof company.asked)[number]) => unknown) => async (values: KeyValues) => {
    const { request } = await sendBy(driver)(values)
    return request === undefined ? 'no request' : part(request)
  }
const otherUrl = company.url.replace('127.0.0.1', 'localhost')

t.test('Aliyun is called with the configured account', async (t) => {
  const query = ({ path }: { path: string }) => new URL(path, company.url).searchParams
  const proofs = [
    await assertKeyEffect(t, 'platform.sms.aliyun.endpoint', {
      compared: company.url,
      changed: otherUrl,
      observe: partOf('aliyun', ({ headers }) => headers.host?.split(':')[0]),
    }),
    await assertKeyEffect(t, 'platform.sms.aliyun.sign-name', {
      compared: 'One',
      changed: 'Other',
      observe: partOf('aliyun', (request) => query(request).get('SignName')),
    }),
    await assertKeyEffect(t, 'platform.sms.aliyun.access-key-id', {
      compared: 'one-id',
      changed: 'other-id',
      observe: partOf('aliyun', ({ headers }) => /Credential=([\w-]+)/.exec(headers.authorization ?? '')?.[1]),
    }),
    await assertKeyEffect(t, 'platform.sms.aliyun.access-key-secret', {
      compared: secret,
      changed: 'other-secret',
      observe: partOf('aliyun', (request) => readSignature(request) === aliyunSignature(request, secret)),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before, after]),
    [
      ['127.0.0.1', 'localhost'],
      ['One', 'Other'],
      ['one-id', 'other-id'],
      [true, false],
    ],
  )
})

t.test('Tencent Cloud is called with the configured account', async (t) => {
  const proofs = [
    await assertKeyEffect(t, 'platform.sms.tencent.endpoint', {
      compared: company.url,
      changed: otherUrl,
      observe: partOf('tencent', ({ headers }) => headers.host?.split(':')[0]),
    }),
    await assertKeyEffect(t, 'platform.sms.tencent.region', {
      changed: 'ap-beijing',
      observe: partOf('tencent', ({ headers }) => headers['x-tc-region']),
    }),
    await assertKeyEffect(t, 'platform.sms.tencent.sign-name', {
      compared: 'One',
      changed: 'Other',
      observe: partOf('tencent', ({ body }) => JSON.parse(body).SignName),
    }),
    await assertKeyEffect(t, 'platform.sms.tencent.app-id', {
      compared: '1400000001',
      changed: '1400000002',
      observe: partOf('tencent', ({ body }) => JSON.parse(body).SmsSdkAppId),
    }),
    await assertKeyEffect(t, 'platform.sms.tencent.secret-id', {
      compared: 'one-id',
      changed: 'other-id',
      observe: partOf('tencent', ({ headers }) => /Credential=([\w-]+)/.exec(headers.authorization ?? '')?.[1]),
    }),
    await assertKeyEffect(t, 'platform.sms.tencent.secret-key', {
      compared: secret,
      changed: 'other-secret',
      observe: partOf('tencent', (request) => readSignature(request) === tencentSignature(request, secret)),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before, after]),
    [
      ['127.0.0.1', 'localhost'],
      ['ap-guangzhou', 'ap-beijing'],
      ['One', 'Other'],
      ['1400000001', '1400000002'],
      ['one-id', 'other-id'],
      [true, false],
    ],
  )
})

t.test('Twilio is called with the configured account', async (t) => {
  const form = ({ body }: { body: string }) => new URLSearchParams(body)
  const basic = ({ headers }: (typeof company.asked)[number]) =>
    Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
  const proofs = [
    await assertKeyEffect(t, 'platform.sms.twilio.endpoint', {
      compared: company.url,
      changed: otherUrl,
      observe: partOf('twilio', ({ headers }) => headers.host?.split(':')[0]),
    }),
    await assertKeyEffect(t, 'platform.sms.twilio.account-sid', {
      compared: 'AC1',
      changed: 'AC2',
      observe: partOf('twilio', ({ path }) => path),
    }),
    await assertKeyEffect(t, 'platform.sms.twilio.auth-token', {
      compared: 'one-token',
      changed: 'other-token',
      observe: partOf('twilio', basic),
    }),
    await assertKeyEffect(t, 'platform.sms.twilio.from', {
      compared: '+15005550006',
      changed: '+15005550007',
      observe: partOf('twilio', (request) => form(request).get('From')),
    }),
    await assertKeyEffect(t, 'platform.sms.twilio.status-callback', {
      changed: 'https://shop.example.com/base',
      observe: partOf('twilio', (request) => form(request).get('StatusCallback')),
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before, after]),
    [
      ['127.0.0.1', 'localhost'],
      ['/2010-04-01/Accounts/AC1/Messages.json', '/2010-04-01/Accounts/AC2/Messages.json'],
      ['AC123:one-token', 'AC123:other-token'],
      ['+15005550006', '+15005550007'],
      [null, 'https://shop.example.com/base/api/v1/sms/receipts/twilio?ref=message-1'],
    ],
  )
})

t.test('the driver, the country, templates and signatures are used as configured', async (t) => {
  const [drivers] = await assertKeyEffect(t, 'platform.sms.driver', { changed: 'log', observe: sendBy(undefined) })
  t.hasStrict(drivers, { before: { errorCode: 'sms.driver-missing' }, after: { provider: 'log' } })
  const [numbers] = await assertKeyEffect(t, 'platform.sms.country-code', {
    changed: '49',
    observe: async (values) => {
      const { request } = await sendBy('twilio', { to: '1701234567' })(values)
      return new URLSearchParams(request?.body).get('To')
    },
  })
  t.same([numbers?.before, numbers?.after], ['+861701234567', '+491701234567'])
  const [templates] = await assertKeyEffect(t, 'platform.sms.templates', {
    changed: { 'order.shipped': { twilio: contentSid } },
    observe: async (values) => {
      const { request } = await sendBy('twilio', { template: 'order.shipped' })(values)
      return new URLSearchParams(request?.body).get('ContentSid')
    },
  })
  t.match(templates, { before: null, after: contentSid })
  const [signs] = await assertKeyEffect(t, 'platform.sms.sign-names', {
    changed: { Shop: { tencent: 'Registered' } },
    observe: async (values) =>
      JSON.parse((await sendBy('tencent', { signName: 'Shop' })(values)).request?.body ?? '{}').SignName,
  })
  t.same([signs?.before, signs?.after], ['Shop', 'Registered'])
  const at = t.testdir()
  const [directories] = await assertKeyEffect(t, 'platform.sms.file.directory', {
    compared: join(at, 'one'),
    changed: join(at, 'other'),
    observe: async (values) => {
      await sendBy('file')({ 'platform.sms.driver': 'file', ...values })
      return readdirSync(at)
    },
  })
  t.same([directories?.before, directories?.after], [['one'], ['one', 'other']])
})
