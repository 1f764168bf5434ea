import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { startForTest } from '@plinth/dev/testing'
import { type DeliveryOutcome, definePlugin, defineProduct } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import smsPlugin, { type SmsMessage, sms, smsDriver } from '@plinth/sms'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { type Reply, startProviderStub } from './fixtures/company.ts'
import { aliyunSignature, readSignature, tencentSignature } from './fixtures/company-checks.ts'

const secret = 'planted-secret-4711'
const contentSid = `HX${'0a'.repeat(16)}`

async function start(t: Test, config: Record<string, string>) {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
  const broken = definePlugin({
    id: 'test.broken-driver',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [smsDriver],
    setup: ({ contribute }) =>
      contribute(smsDriver, 'broken', {
        displayName: 'Broken',
        isConfigured: () => true,
        send: async () => {
          throw new Error('out of order')
        },
      }),
  })
  const hosts = Object.values(config).flatMap((value) => (/^https?:/.test(value) ? [new URL(value).host] : []))
  const product = await startForTest(defineProduct({ name: 'sms', plugins: [smsPlugin, outgoingHttp, broken] }), {
    logger,
    set: {
      'platform.outgoing-http.allowed-hosts': JSON.stringify(hosts),
      'platform.outgoing-http.allow-http': 'true',
      ...config,
    },
  })
  t.teardown(() => product.stop('test ended'))
  const service = product.service(sms)
  const registered = { aliyun: 'SMS_1', tencent: '449739' }[config['platform.sms.driver'] ?? '']
  const send = (message: Partial<SmsMessage> = {}, signal = new AbortController().signal) =>
    service.send(
      {
        to: '+8613800138000',
        content: 'Hello',
        reference: 'message-1',
        ...(registered === undefined ? {} : { templateCode: registered }),
        ...message,
      },
      signal,
    )
  return { service, send, lines }
}

const drivers = {
  aliyun: (url: string) => ({
    'platform.sms.driver': 'aliyun',
    'platform.sms.aliyun.endpoint': url,
    'platform.sms.aliyun.access-key-id': 'key-id',
    'platform.sms.aliyun.access-key-secret': secret,
    'platform.sms.aliyun.sign-name': '签名',
  }),
  tencent: (url: string) => ({
    'platform.sms.driver': 'tencent',
    'platform.sms.tencent.endpoint': url,
    'platform.sms.tencent.secret-id': 'secret-id',
    'platform.sms.tencent.secret-key': secret,
    'platform.sms.tencent.app-id': '1400006666',
    'platform.sms.tencent.region': 'ap-beijing',
    'platform.sms.tencent.sign-name': '签名',
  }),
  twilio: (url: string) => ({
    'platform.sms.driver': 'twilio',
    'platform.sms.twilio.endpoint': url,
    'platform.sms.twilio.account-sid': 'AC123',
    'platform.sms.twilio.auth-token': secret,
    'platform.sms.twilio.from': '+15005550006',
  }),
}

t.test('the request to each company, and its message id', async (t) => {
  await t.test('Aliyun: signed parameters in the query, a domestic number without its country code', async (t) => {
    const company = await startProviderStub(t)
    const { send } = await start(t, drivers.aliyun(company.url))
    company.reply = { status: 200, body: '{"Code":"OK","Message":"OK","BizId":"biz-1","RequestId":"r"}' }
    const outcome = await send({ templateCode: 'SMS_1', params: { code: '123456' } })
    t.hasStrict(outcome, { outcome: 'accepted', provider: 'aliyun', messageId: 'biz-1' })
    const [asked] = company.asked
    const { pathname, searchParams } = new URL(asked?.path ?? '', company.url)
    t.equal(pathname, '/')
    t.same(Object.fromEntries(searchParams), {
      OutId: 'message-1',
      PhoneNumbers: '13800138000',
      SignName: '签名',
      TemplateCode: 'SMS_1',
      TemplateParam: '{"code":"123456"}',
    })
    t.match(asked?.headers, { 'x-acs-action': 'SendSms', 'x-acs-version': '2017-05-25', host: company.host })
    t.match(asked?.headers['authorization'], /^ACS3-HMAC-SHA256 Credential=key-id,SignedHeaders=host;/)
    if (asked === undefined) throw new Error('nothing was asked')
    t.equal(readSignature(asked), aliyunSignature(asked, secret), 'the company finds the same signature')
    t.not(readSignature(asked), aliyunSignature(asked, 'another-secret'))
    await send({ to: '+1 (415) 555-2671' })
    t.match(company.asked[1]?.path, /PhoneNumbers=14155552671/, 'abroad with the country, without the plus')
    const nonces = company.asked.map(({ headers }) => headers['x-acs-signature-nonce'])
    t.equal(new Set(nonces).size, 2, 'no nonce is used twice')
  })

  await t.test('Tencent Cloud: values by position, the number in E.164', async (t) => {
    const company = await startProviderStub(t)
    const { send } = await start(t, drivers.tencent(company.url))
    const status = '{"SerialNo":"serial-1","PhoneNumber":"+8613800138000","Fee":1,"Code":"Ok","Message":"send success"}'
    company.reply = { status: 200, body: `{"Response":{"SendStatusSet":[${status}],"RequestId":"r"}}` }
    const params = { code: '123456', minutes: '5' }
    const outcome = await send({ to: '13800138000', templateCode: '449739', params, signName: '另一个' })
    t.hasStrict(outcome, { outcome: 'accepted', provider: 'tencent', messageId: 'serial-1' })
    const [asked] = company.asked
    t.same(JSON.parse(asked?.body ?? ''), {
      PhoneNumberSet: ['+8613800138000'],
      SmsSdkAppId: '1400006666',
      SignName: '另一个',
      TemplateId: '449739',
      TemplateParamSet: ['123456', '5'],
      SessionContext: 'message-1',
    })
    t.equal(asked?.headers['content-type'], 'application/json; charset=utf-8', 'as it is signed')
    t.match(asked?.headers, { 'x-tc-action': 'SendSms', 'x-tc-version': '2021-01-11', 'x-tc-region': 'ap-beijing' })
    if (asked === undefined) throw new Error('nothing was asked')
    t.match(
      asked.headers['authorization'],
      /^TC3-HMAC-SHA256 Credential=secret-id\/\d{4}-\d\d-\d\d\/sms\/tc3_request, /,
    )
    t.equal(readSignature(asked), tencentSignature(asked, secret), 'the company finds the same signature')
    t.not(readSignature(asked), tencentSignature(asked, 'another-secret'))
    await send({ to: '13800138000' })
    t.match(company.asked[1]?.body, '"SignName":"签名"', 'that of the configuration')
  })

  await t.test('Twilio: a form, free text or a content template', async (t) => {
    const company = await startProviderStub(t)
    const { send } = await start(t, drivers.twilio(company.url))
    company.reply = { status: 201, body: '{"sid":"SM1","status":"queued"}' }
    t.hasStrict(await send({ content: 'x'.repeat(1_600) }), {
      outcome: 'accepted',
      provider: 'twilio',
      messageId: 'SM1',
    })
    await send({ templateCode: contentSid, params: { 1: 'Ada' } })
    t.hasStrict(await send({ content: 'x'.repeat(1_601) }), { outcome: 'rejected', errorCode: 'sms.content-too-long' })
    const [text, template] = company.asked.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))
    t.same(text, { To: '+8613800138000', From: '+15005550006', Body: 'x'.repeat(1_600) })
    t.match(template, { ContentSid: contentSid, ContentVariables: '{"1":"Ada"}' })
    t.equal(company.asked[0]?.path, '/2010-04-01/Accounts/AC123/Messages.json')
    t.equal(company.asked[0]?.headers['authorization'], `Basic ${Buffer.from(`AC123:${secret}`).toString('base64')}`)
  })
})

t.test('a number in any usual form is sent to the same number in E.164', async (t) => {
  const company = await startProviderStub(t)
  company.reply = { status: 201, body: '{"sid":"SM1","status":"queued"}' }
  const british = { ...drivers.twilio(company.url), 'platform.sms.country-code': '44' }
  const [{ send }, abroad, whatsapp] = [
    await start(t, british),
    await start(t, { ...british, 'platform.sms.country-code': '' }),
    await start(t, { ...british, 'platform.sms.twilio.from': 'whatsapp:+15005550006' }),
  ]
  const sentTo = async (by: typeof send, to: string) => {
    const { outcome, ...failure } = await by({ to })
    if (outcome !== 'accepted') return 'errorCode' in failure ? failure.errorCode : outcome
    return new URLSearchParams(company.asked.at(-1)?.body).get('To')
  }
  const numbers: Readonly<Record<string, string>> = {
    '07911 123456': '+447911123456',
    '+44 (0)7911 123456': '+447911123456',
    '+44 7911/123456': '+447911123456',
    'tel:+44-7911-123456': '+447911123456',
    '0044 7911 123456': '+447911123456',
    '447911123456': '+447911123456',
    '٠٧٩١١ ١٢٣٤٥٦': '+447911123456',
    '+49 (0) 30 123456': '+4930123456',
    '+39 06 698 12345': '+390669812345',
    '+1 (415) 555-2671': '+14155552671',
    '+44 7911 123456 ext. 7': 'sms.number-refused',
    '+44 7911 123456;x=1': 'sms.number-refused',
    '0791': 'sms.number-refused',
  }
  const sent: [string, string | null | undefined][] = []
  for (const number of Object.keys(numbers)) sent.push([number, await sentTo(send, number)])
  t.same(Object.fromEntries(sent), numbers)
  t.equal(await sentTo(abroad.send, '07911 123456'), 'sms.number-refused')
  t.equal(await sentTo(whatsapp.send, '07911 123456'), 'whatsapp:+447911123456')
})

t.test(
  'N-020 a template has the code of each company, and a message without one is sent as text or rejected',
  async (t) => {
    const company = await startProviderStub(t)
    company.reply = { status: 201, body: '{"sid":"SM1","Code":"OK","Response":{"SendStatusSet":[{"Code":"Ok"}]}}' }
    const { send } = await start(t, {
      ...drivers.aliyun(company.url),
      ...drivers.tencent(company.url),
      ...drivers.twilio(company.url),
      'platform.sms.templates': JSON.stringify({
        'order.shipped': { aliyun: 'SMS_7', tencent: '77', twilio: contentSid },
        partly: { aliyun: 'SMS_8', twilio: 'wrong' },
      }),
      'platform.sms.sign-names': JSON.stringify({
        Shop: { aliyun: '商城', tencent: '商城科技' },
        Other: { aliyun: '其他' },
      }),
    })
    const asked = async (driver: string, message: object) => {
      const outcome = await send({ ...message, driver })
      if (outcome.outcome !== 'accepted') return { rejected: outcome.errorCode }
      const { path = '', body = '' } = company.asked.at(-1) ?? {}
      if (driver === 'aliyun') {
        const query = new URL(path, company.url).searchParams
        return { code: query.get('TemplateCode'), sign: query.get('SignName') }
      }
      if (driver === 'tencent') {
        const { TemplateId: code, SignName: sign } = JSON.parse(body)
        return { code, sign }
      }
      const form = new URLSearchParams(body)
      return { code: form.get('ContentSid'), text: form.get('Body') }
    }
    const unmapped = { rejected: 'sms.template-unmapped' }
    const cases: readonly (readonly [message: object, aliyun: object, tencent: object, twilio: object])[] = [
      [
        { template: 'order.shipped', signName: 'Shop' },
        { code: 'SMS_7', sign: '商城' },
        { code: '77', sign: '商城科技' },
        { code: contentSid, text: null },
      ],
      [
        { templateCode: 'order.shipped', template: 'partly', signName: 'Other' },
        { code: 'SMS_7', sign: '其他' },
        { code: '77', sign: '签名' },
        { code: contentSid, text: null },
      ],
      [
        { template: 'partly', signName: 'Free' },
        { code: 'SMS_8', sign: 'Free' },
        unmapped,
        { code: null, text: 'Hello' },
      ],
      [{ template: 'unknown' }, unmapped, unmapped, { code: null, text: 'Hello' }],
      [{ template: 'constructor', signName: 'toString' }, unmapped, unmapped, { code: null, text: 'Hello' }],
      [{ templateCode: 'SMS_9' }, { code: 'SMS_9', sign: '签名' }, unmapped, { code: null, text: 'Hello' }],
      [
        { templateCode: '99', template: 'partly' },
        { code: 'SMS_8', sign: '签名' },
        { code: '99', sign: '签名' },
        { code: null, text: 'Hello' },
      ],
      [{ templateCode: `${contentSid}0` }, unmapped, unmapped, { code: null, text: 'Hello' }],
      [{}, unmapped, unmapped, { code: null, text: 'Hello' }],
    ]
    for (const [message, ...expected] of cases) {
      for (const [at, driver] of ['aliyun', 'tencent', 'twilio'].entries()) {
        t.same(await asked(driver, message), expected[at], `${driver}: ${JSON.stringify(message)}`)
      }
    }
    const { errorMessage, hint } = (await send({ driver: 'aliyun' })) as {
      errorMessage: string
      hint: string
    }
    t.equal(
      errorMessage,
      'The message has no template code of the SMS driver "aliyun", which sends registered templates only',
    )
    t.equal(hint, 'messages.sms.hints.template-unmapped')
  },
)

const directoryOf = (t: Test) => ({ 'platform.sms.file.directory': join(t.testdir(), 'sent') })

const response = (status: number, body: object | string): Reply => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const tencentStatus = (Code: string) => ({ Response: { SendStatusSet: [{ Code, Message: `said ${Code}` }] } })
const tencentError = (Code: string) => ({ Response: { Error: { Code, Message: `said ${Code}` }, RequestId: 'r' } })

/** Responses of the providers, with the outcome, code and hint that the product must derive from them. */
const failures: Record<
  keyof typeof drivers,
  readonly (readonly [Reply, DeliveryOutcome['outcome'], (string | undefined)?, string?])[]
> = {
  aliyun: [
    [
      response(200, { Code: 'isv.BUSINESS_LIMIT_CONTROL', Message: 'x' }),
      'rejected',
      'isv.BUSINESS_LIMIT_CONTROL',
      'too-frequent',
    ],
    [
      response(200, { Code: 'isv.MOBILE_NUMBER_ILLEGAL', Message: 'x' }),
      'rejected',
      'isv.MOBILE_NUMBER_ILLEGAL',
      'number-refused',
    ],
    [response(200, { Code: 'isv.TEMPLATE_MISSING_PARAMETERS', Message: 'x' }), 'rejected', undefined, 'params-refused'],
    [response(200, { Code: 'isv.SMS_SIGNATURE_ILLEGAL', Message: 'x' }), 'rejected', undefined, 'signature-refused'],
    [response(200, { Code: 'isv.AMOUNT_NOT_ENOUGH', Message: 'x' }), 'rejected', undefined, 'balance-empty'],
    [response(403, { Code: 'isp.RAM_PERMISSION_DENY', Message: 'x' }), 'rejected', undefined, 'permission-missing'],
    [response(200, { Code: 'isp.SYSTEM_ERROR', Message: 'x' }), 'deferred', 'isp.SYSTEM_ERROR', 'driver-busy'],
    [response(200, { Code: 'isv.NEVER_SEEN', Message: 'x' }), 'rejected', 'isv.NEVER_SEEN'],
  ],
  tencent: [
    [response(200, tencentStatus('LimitExceeded.DeliveryFrequencyLimit')), 'rejected', undefined, 'too-frequent'],
    [
      response(200, tencentStatus('FailedOperation.PhoneNumberInBlacklist')),
      'rejected',
      undefined,
      'recipient-blocked',
    ],
    [
      response(200, tencentStatus('FailedOperation.TemplateIncorrectOrUnapproved')),
      'rejected',
      undefined,
      'template-refused',
    ],
    [
      response(200, tencentError('AuthFailure.SignatureFailure')),
      'rejected',
      'AuthFailure.SignatureFailure',
      'credentials-refused',
    ],
    [response(200, tencentError('RequestLimitExceeded')), 'deferred', 'RequestLimitExceeded', 'driver-busy'],
    [response(200, tencentStatus('InternalError.Timeout')), 'unknown'],
    [response(200, { Response: { SendStatusSet: [] } }), 'unknown'],
  ],
  twilio: [
    [response(400, { code: 21211, message: 'x', status: 400 }), 'rejected', '21211', 'number-refused'],
    [response(400, { code: 21610, message: 'x', status: 400 }), 'rejected', '21610', 'recipient-blocked'],
    [response(401, { code: 20003, message: 'x', status: 401 }), 'rejected', '20003', 'credentials-refused'],
    [response(429, { code: 20429, message: 'x', status: 429 }), 'deferred', '20429', 'driver-busy'],
    [response(500, { code: 20500, message: 'x', status: 500 }), 'unknown', '500'],
  ],
}
/** Responses that any server could send, with the expected outcome. */
const garbage: readonly (readonly [Reply, DeliveryOutcome['outcome']])[] = [
  [response(200, ''), 'unknown'],
  [response(200, '<html>Bad Gateway</html>'), 'unknown'],
  [response(200, '{"Code":"O'), 'unknown'],
  [response(502, ''), 'unknown'],
  [response(503, ''), 'deferred'],
  [response(429, ''), 'deferred'],
  [response(404, 'not found'), 'rejected'],
]

for (const name of ['aliyun', 'tencent', 'twilio'] as const) {
  t.test(`${name}: every response has its outcome, and none contains the secret`, async (t) => {
    const company = await startProviderStub(t)
    const { send, lines } = await start(t, drivers[name](company.url))
    const outcomes: DeliveryOutcome[] = []
    for (const [reply, outcome, code, hint] of failures[name]) {
      company.reply = reply
      const found = await send()
      outcomes.push(found)
      t.match(found, { outcome, provider: name, ...(code === undefined ? {} : { providerCode: code }) })
      if (hint !== undefined) t.match(found, { errorCode: `sms.${hint}`, hint: `messages.sms.hints.${hint}` })
    }
    for (const [reply, outcome] of garbage) {
      company.reply = reply
      outcomes.push(await send())
      t.equal(outcomes.at(-1)?.outcome, outcome, JSON.stringify(reply))
    }
    // The server repeats the whole request in its response.
    company.reply = ({ path, headers, body }) => response(400, `${path} ${JSON.stringify(headers)} ${body}`)
    outcomes.push(await send())
    company.reply = 'hang'
    company.arrived = Promise.withResolvers()
    const given = new AbortController()
    const hanging = send({}, given.signal)
    await company.arrived.promise
    given.abort()
    outcomes.push(await hanging)
    t.hasStrict(outcomes.at(-1), { outcome: 'unknown', errorCode: 'sms.aborted' }, 'it may have been sent')
    t.notMatch(JSON.stringify(outcomes), secret)
    t.notMatch(lines.join('\n'), secret)
  })
}

t.test('without a server, with an invalid number and without a driver nothing is sent', async (t) => {
  const { send, service } = await start(t, { ...drivers.aliyun('http://127.0.0.1:9/') })
  t.hasStrict(await send(), { outcome: 'deferred', provider: 'aliyun' }, 'nobody listens')
  for (const to of ['', 'ada', '+0123456', '+123456789012345678']) {
    t.hasStrict(await send({ to }), { outcome: 'rejected', errorCode: 'sms.number-refused' }, to)
  }
  const abroad = await start(t, { 'platform.sms.driver': 'file', 'platform.sms.country-code': '', ...directoryOf(t) })
  const bare = await abroad.send({ to: '13800138000' })
  t.match(bare, { errorCode: 'sms.number-refused' })
  t.hasStrict(await send({ driver: 'pigeon' }), { outcome: 'rejected', errorCode: 'sms.driver-missing' })
  t.hasStrict(
    await send({ driver: 'tencent' }),
    { outcome: 'rejected', errorCode: 'sms.driver-missing' },
    'not filled in',
  )
  t.hasStrict(await send({ driver: 'broken' }), { outcome: 'unknown', errorCode: 'sms.driver-failed' })
  t.hasStrict(await send({}, AbortSignal.abort()), { outcome: 'deferred', errorCode: 'sms.aborted' })
  t.equal(service.isReady, true)
  t.same([...service.drivers].sort(), ['aliyun', 'broken', 'file', 'log'])
  const none = await start(t, {})
  t.equal(none.service.isReady, false)
  t.hasStrict(await none.send(), { outcome: 'rejected', errorCode: 'sms.driver-missing' })
})

t.test('the drivers for development: a file that only its owner can read, a line without the text', async (t) => {
  const at = directoryOf(t)
  const { send, lines } = await start(t, { 'platform.sms.driver': 'file', ...at })
  const directory = at['platform.sms.file.directory']
  t.hasStrict(await send({ params: { code: '482913' } }), { outcome: 'accepted', provider: 'file' })
  const [name = ''] = readdirSync(directory)
  t.hasStrict(JSON.parse(readFileSync(join(directory, name), 'utf8')), {
    to: '+8613800138000',
    params: { code: '482913' },
  })
  t.equal(statSync(join(directory, name)).mode & 0o777, 0o600)
  await send({ driver: 'log', content: 'Your code is 482913' })
  const line = lines.find((one) => one.includes('text message')) ?? ''
  t.match(line, '***8000')
  t.notMatch(line, '482913')
})
