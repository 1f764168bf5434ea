/** The sources without a product: signatures, traps and states. */
import { createHmac } from 'node:crypto'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { isReceiptRejected, type ReceiptRequest, type ReceiptSource } from '../src/contract.ts'
import { maxLocalPartLength, referenceInReturnPath, returnPathOf } from '../src/return-path.ts'
import { receiptOfSms } from '../src/sms-receipts.ts'
import { createMailgunSource } from '../src/sources/mailgun.ts'
import { createPostmarkSource } from '../src/sources/postmark.ts'
import { createReturnedMailSource } from '../src/sources/returned-mail.ts'
import { createSesSource } from '../src/sources/ses.ts'
import { createAliyunSource } from '../src/sources/sms-pushes.ts'
import { canonicalText } from '../src/sources/sns-signature.ts'
import { createCertificate, secrets, topicArn } from './fixtures/product.ts'
import { certificateUrl, dsn, feedbackReport, signSns, snsRequest } from './fixtures/providers.ts'

const { key, cert } = createCertificate()
const other = createCertificate()
const clock = { now: () => Date.now() }
const reference = `${'a'.repeat(39)}b`

const requestOf = (body: string | object, more: Partial<ReceiptRequest> = {}): ReceiptRequest => ({
  headers: {},
  secret: undefined,
  ...more,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})

/** Returns the receipts of a request, or the reason of its rejection. */
async function outcomeOf(source: ReceiptSource, request: ReceiptRequest) {
  try {
    return (await source.receive(request)).receipts.map(({ state, bounce }) =>
      [state, bounce].filter(Boolean).join(' '),
    )
  } catch (error) {
    if (!isReceiptRejected(error)) throw error
    return error.reason
  }
}

interface Answer {
  readonly status: number
  readonly body?: string
}
/** A source for Amazon SES whose requests a function answers. It records their addresses. */
function sesSource(
  answer: (url: string) => Answer | undefined = () => ({ status: 200, body: cert }),
  allowsVersion1 = false,
) {
  const urls: string[] = []
  const source = createSesSource({
    topicArns: () => [topicArn],
    allowsVersion1: () => allowsVersion1,
    clock,
    http: {
      async request({ url, maxResponseBytes = 0 }) {
        urls.push(String(url))
        const given = answer(String(url))
        if (given === undefined) throw new Error('no connection')
        const { status, body = '' } = given
        return { status, headers: {}, body: body.slice(0, maxResponseBytes), truncated: body.length > maxResponseBytes }
      },
    },
  })
  return { source, urls }
}

const delivery = JSON.stringify({ eventType: 'Delivery', delivery: {}, mail: { messageId: 'x' } })
const sns = (more: Readonly<Record<string, string>> = {}) => ({
  MessageId: 'b1f3a2c4-0000-4000-8000-000000000001',
  Timestamp: new Date().toISOString(),
  Message: delivery,
  ...more,
})
const snsBody = (more?: Readonly<Record<string, string>>, changes?: Readonly<Record<string, string>>, signer = key) =>
  requestOf(snsRequest(sns(more), signer, changes).body)

t.test('a message of Amazon SNS counts only with a signature of Amazon for a configured topic', async (t) => {
  const { source, urls } = sesSource()
  t.same(await outcomeOf(source, snsBody()), ['delivered'])
  t.same(await outcomeOf(source, snsBody({ Subject: 'Amazon SES Email Event Notification' })), ['delivered'])
  t.same(urls, [certificateUrl], 'the certificate is fetched once')
  t.same(await outcomeOf(source, snsBody({ Message: 'Successfully validated SNS topic for Amazon SES' })), [])

  const rows: readonly (readonly [name: string, request: ReceiptRequest, reason: string])[] = [
    ['another key', snsBody({}, {}, other.key), 'signature'],
    ['a changed body', snsBody({}, { Message: delivery.replace('"x"', '"y"') }), 'signature'],
    ['an added subject', snsBody({}, { Subject: 'added' }), 'signature'],
    ['no signature', snsBody({}, { Signature: '' }), 'signature'],
    ['signature version 1', snsBody({ SignatureVersion: '1' }), 'signature'],
    ['signature version 3', snsBody({ SignatureVersion: '3' }), 'signature'],
    ['a topic of somebody else', snsBody({ TopicArn: topicArn.replace('123456789012', '999999999999') }), 'topic'],
    ['raw message delivery', requestOf(delivery), 'topic'],
    ['no JSON', requestOf('{'), 'body'],
    ['an old message', snsBody({ Timestamp: new Date(Date.now() - 25 * 3_600_000).toISOString() }), 'stale'],
    ['a message of the future', snsBody({ Timestamp: new Date(Date.now() + 3_600_000).toISOString() }), 'stale'],
    ['no time', snsBody({ Timestamp: 'today' }), 'stale'],
  ]
  for (const [name, request, reason] of rows) t.equal(await outcomeOf(source, request), reason, name)
  t.same(urls, [certificateUrl], 'nothing else is fetched')
})

t.test('the signed text of Amazon SNS ends with a line feed', async (t) => {
  const message = { ...sns(), Type: 'Notification', TopicArn: topicArn }
  t.equal(canonicalText(message).slice(-1), '\n')
  const { createSign } = await import('node:crypto')
  const Signature = createSign('RSA-SHA256').update(canonicalText(message).slice(0, -1)).sign(key, 'base64')
  const request = requestOf({ ...message, SignatureVersion: '2', SigningCertURL: certificateUrl, Signature })
  t.equal(await outcomeOf(sesSource().source, request), 'signature')
  const right = { ...message, SignatureVersion: '2', SigningCertURL: certificateUrl }
  t.same(await outcomeOf(sesSource().source, requestOf({ ...right, Signature: signSns(right, key) })), ['delivered'])
})

t.test('version 1 of the signature is accepted by a setting', async (t) => {
  t.same(await outcomeOf(sesSource(undefined, true).source, snsBody({ SignatureVersion: '1' })), ['delivered'])
  t.equal(
    await outcomeOf(sesSource(undefined, true).source, snsBody({ SignatureVersion: '1' }, {}, other.key)),
    'signature',
  )
})

t.test('a certificate is only fetched from Amazon SNS in the region of the topic', async (t) => {
  const { source, urls } = sesSource()
  const addresses = [
    'https://s3.amazonaws.com/bucket/SimpleNotificationService-1.pem',
    'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com:444/SimpleNotificationService-1.pem',
    'https://user@sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem',
    'http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com/x?.pem',
    'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem?x=1',
    'https://sns.eu-west-1.amazonaws.com/a/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-../1.pem',
  ]
  for (const SigningCertURL of addresses) {
    t.equal(await outcomeOf(source, snsBody({ SigningCertURL })), 'certificate', SigningCertURL)
  }
  t.same(urls, [], 'no request is sent')

  const answers: readonly (readonly [name: string, answer: Answer | undefined, reason: string])[] = [
    ['a redirect', { status: 302 }, 'certificate'],
    ['an unknown file', { status: 404 }, 'certificate'],
    ['another file', { status: 200, body: '<html>' }, 'certificate'],
    ['a large file', { status: 200, body: cert + ' '.repeat(20_000) }, 'certificate'],
    ['the certificate of another key', { status: 200, body: other.cert }, 'signature'],
    ['an error of Amazon', { status: 503 }, 'unavailable'],
    ['no connection', undefined, 'unavailable'],
  ]
  for (const [name, answer, reason] of answers)
    t.equal(await outcomeOf(sesSource(() => answer).source, snsBody()), reason, name)

  const late = createSesSource({
    topicArns: () => [topicArn],
    allowsVersion1: () => false,
    clock: { now: () => Date.now() + 60 * 86_400_000 },
    http: { request: async () => ({ status: 200, headers: {}, body: cert, truncated: false }) },
  })
  t.equal(await outcomeOf(late, snsBody()), 'certificate', 'an expired certificate')
})

t.test('a subscription is stored only for a configured topic and an address of Amazon SNS', async (t) => {
  const { source, urls } = sesSource()
  const url = `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topicArn}&Token=1`
  const confirmation = (more: Readonly<Record<string, string>> = {}) =>
    snsBody({ Type: 'SubscriptionConfirmation', Token: '1', SubscribeURL: url, Message: 'Confirm', ...more })
  t.same(await source.receive(confirmation()), { receipts: [], confirmation: { subject: topicArn, url } })
  const foreign = topicArn.replace('mail-events', 'other')
  t.equal(await outcomeOf(source, confirmation({ TopicArn: foreign })), 'topic')
  for (const SubscribeURL of [
    url.replace('sns.eu-west-1.amazonaws.com', 'evil.example'),
    url.replace('https:', 'http:'),
    url.replace('mail-events', 'other'),
    url.replace('amazonaws.com/', 'amazonaws.com:8443/'),
    url.replace('ConfirmSubscription', 'Publish'),
  ]) {
    t.equal(await outcomeOf(source, confirmation({ SubscribeURL })), 'body', SubscribeURL)
  }
  t.same(await outcomeOf(source, snsBody({ Type: 'UnsubscribeConfirmation', Token: '1', SubscribeURL: url })), [])
  t.same(urls, [certificateUrl], 'no subscription is confirmed without an operator')
})

t.test('Amazon SES: the class of the status and the suppression list decide about a bounce', async (t) => {
  const { source } = sesSource()
  const stateOf = (event: object) => outcomeOf(source, snsBody({ Message: JSON.stringify({ mail: {}, ...event }) }))
  const bounce = (bounceType: string, bounceSubType: string, status = '5.3.0') => ({
    notificationType: 'Bounce',
    bounce: { bounceType, bounceSubType, bouncedRecipients: [{ status }] },
  })
  t.same(await stateOf(bounce('Transient', 'General', '5.1.1')), ['bounced hard'])
  t.same(await stateOf(bounce('Transient', 'General')), ['bounced soft'])
  t.same(await stateOf(bounce('Undetermined', 'Undetermined')), ['bounced soft'])
  t.same(await stateOf(bounce('Permanent', 'NoEmail')), ['bounced hard'])
  t.same(await stateOf(bounce('Permanent', 'OnAccountSuppressionList')), ['failed'])
  t.same(await stateOf({ eventType: 'Complaint', complaint: { complaintSubType: 'OnAccountSuppressionList' } }), [
    'failed',
  ])
  t.same(await stateOf({ eventType: 'Reject', reject: { reason: 'Bad content' } }), ['failed'])
  t.same(await stateOf({ eventType: 'Rendering Failure', failure: { errorMessage: 'x' } }), ['failed'])
  t.same(await stateOf({ eventType: 'DeliveryDelay', deliveryDelay: { delayType: 'MailboxFull' } }), ['delayed'])
  t.same(await stateOf({ eventType: 'Open', open: {} }), [])
})

t.test('Mailgun: only a rejection by the server of the recipient proves a wrong address', async (t) => {
  const source = createMailgunSource({ signingKey: () => secrets.mailgun, clock })
  const stateOf = (event: object, seconds = Math.floor(Date.now() / 1_000)) => {
    const [timestamp, token] = [String(seconds), 'c'.repeat(50)]
    const signature = createHmac('sha256', secrets.mailgun)
      .update(timestamp + token)
      .digest('hex')
    return outcomeOf(source, requestOf({ signature: { timestamp, token, signature }, 'event-data': event }))
  }
  const failed = (reason: string, code: number, severity = 'permanent') =>
    stateOf({ event: 'failed', severity, reason, 'delivery-status': { code } })
  t.same(await failed('bounce', 550), ['bounced hard'])
  t.same(await failed('bounce', 498), ['bounced soft'])
  t.same(await failed('generic', 550), ['bounced soft'])
  t.same(await failed('suppress-bounce', 605), ['failed'])
  t.same(await failed('suppress-complaint', 607), ['failed'])
  t.same(await failed('greylisted', 450, 'temporary'), ['delayed'])
  t.same(await stateOf({ event: 'opened' }), [])
  t.equal(await stateOf({ event: 'delivered' }, Math.floor(Date.now() / 1_000) - 90_000), 'stale')
  t.equal(await stateOf({ event: 'delivered' }, Number.NaN), 'stale')
  t.equal(await outcomeOf(source, requestOf({ 'event-data': { event: 'delivered' } })), 'body')
})

t.test('Postmark: bounces with long ids are distinct', async (t) => {
  const source = createPostmarkSource(() => secrets.postmark)
  const idOf = async (id: string) => {
    const body = `{"RecordType":"Bounce","ID":${id},"Type":"HardBounce","MessageID":"message-${id}"}`
    return (await source.receive(requestOf(body, { secret: secrets.postmark }))).receipts[0]?.id
  }
  // The number of the documented example, and the next one. Both become the same number in JavaScript.
  const [one, other] = ['4323372036854775807', '4323372036854775808']
  t.not(await idOf(one), await idOf(other))
  t.equal(await idOf(one), await idOf(one), 'a repetition has the same id')
})

t.test('Postmark: each documented type of a bounce has its state', async (t) => {
  const source = createPostmarkSource(() => secrets.postmark)
  const types: Readonly<Record<string, readonly string[]>> = {
    'bounced hard': ['HardBounce', 'BadEmailAddress'],
    'bounced soft': ['SoftBounce'],
    delayed: ['Transient', 'DnsError'],
    failed: [
      'Blocked',
      'DMARCPolicy',
      'ManuallyDeactivated',
      'VirusNotification',
      'SMTPApiError',
      'TemplateRenderingFailed',
    ],
    complained: ['SpamComplaint', 'SpamNotification'],
    '': [
      'AutoResponder',
      'AddressChange',
      'ChallengeVerification',
      'Subscribe',
      'Unsubscribe',
      'OpenRelayTest',
      'Unknown',
    ],
  }
  for (const [state, names] of Object.entries(types)) {
    for (const Type of names) {
      const request = requestOf(
        { RecordType: 'Bounce', ID: 1, Type },
        { headers: { 'x-receipt-secret': secrets.postmark } },
      )
      t.same(await outcomeOf(source, request), state === '' ? [] : [state], Type)
    }
  }
  for (const more of [
    {},
    { secret: '' },
    { secret: secrets.aliyun },
    { headers: { authorization: 'Basic !' } },
    { headers: { authorization: `Bearer ${secrets.postmark}` } },
  ]) {
    t.equal(await outcomeOf(source, requestOf({ RecordType: 'Delivery' }, more)), 'secret')
  }
  t.equal(
    await outcomeOf(
      createPostmarkSource(() => ''),
      requestOf({}, { secret: '' }),
    ),
    'secret',
    'an empty secret',
  )
})

t.test('a push of Alibaba Cloud is a list with a time of China', async (t) => {
  const source = createAliyunSource(() => secrets.aliyun)
  const entry = {
    biz_id: '1',
    out_id: reference,
    success: 'true',
    report_time: '2026-11-30 08:00:00',
    err_code: 'DELIVERED',
  }
  const body = [
    { ...entry, phone_number: '1' },
    { ...entry, phone_number: '2', success: false },
  ]
  const { receipts } = await source.receive(requestOf(body, { secret: secrets.aliyun }))
  assertMembers(t, receipts, [
    { state: 'delivered', reference, at: Date.parse('2026-11-30T00:00:00Z') },
    { state: 'bounced', bounce: 'soft' },
  ])
  t.not(receipts[0]?.id, receipts[1]?.id, 'a batch has one id for all of its numbers')
  const many = Array.from({ length: 1_001 }, () => entry)
  for (const body of [{}, [1], many])
    t.equal(await outcomeOf(source, requestOf(body, { secret: secrets.aliyun })), 'body')
})

t.test('a receipt of Twilio has the state of its status and code', (t) => {
  const stateOf = (state: string, code: string | null = null) => {
    const status = state === 'delivered' ? ('delivered' as const) : ('failed' as const)
    const receipt = receiptOfSms({ driver: 'twilio', messageId: 'SM1', status, code, state })
    return [receipt.state, receipt.bounce].filter(Boolean).join(' ')
  }
  t.equal(stateOf('delivered'), 'delivered')
  t.equal(stateOf('undelivered', '30005'), 'bounced hard')
  t.equal(stateOf('undelivered', '30006'), 'bounced hard')
  t.equal(stateOf('undelivered', '30003'), 'bounced soft')
  t.equal(stateOf('failed', '30008'), 'failed')
  const earlier = receiptOfSms({ driver: 'twilio', messageId: 'SM1', status: 'failed', code: '30003' })
  t.hasStrict(earlier, { state: 'bounced', bounce: 'soft', reference: undefined })
  t.end()
})

const pathKey = Buffer.alloc(32, 5)
/** Changes the last character of a token. */
const withWrongMac = (address: string) => address.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))

t.test('a return path proves the mail that was returned', (t) => {
  const address = `${'b'.repeat(maxLocalPartLength)}@mail.example.com`
  const own = returnPathOf(address, pathKey, reference)
  t.equal(own.indexOf('@'), 64, 'the local part has at most 64 octets')
  t.equal(referenceInReturnPath(own, pathKey), reference)
  t.equal(referenceInReturnPath(`<${own.toUpperCase()}>`, pathKey), reference, 'servers may change the case')
  for (const one of ['0'.repeat(40), 'f'.repeat(40)]) {
    t.equal(referenceInReturnPath(returnPathOf(address, pathKey, one), pathKey), one)
  }
  t.equal(referenceInReturnPath(own, Buffer.alloc(32, 6)), 'forged')
  t.equal(referenceInReturnPath(withWrongMac(own), pathKey), 'forged')
  t.equal(referenceInReturnPath(`b+${'z'.repeat(47)}@example.com`, pathKey), 'forged', 'no reference is that large')
  t.equal(referenceInReturnPath('noreply@example.com', pathKey), undefined)
  t.end()
})

const returned = createReturnedMailSource({ secret: () => secrets['returned-mail'], key: async () => pathKey })
const reportOf = (raw: string) =>
  Promise.resolve(returned.receive(requestOf(raw, { secret: secrets['returned-mail'] }))).then(
    ({ receipts }) => receipts,
  )
const failed = ['failed', '5.1.1', 'smtp; 550 5.1.1 unknown'] as const

t.test('a returned mail finds its send by token, envelope id, or the ids of the returned mail', async (t) => {
  const at = Date.now()
  const mail = { id: 'r1', at }
  const token = returnPathOf('bounce@shop.example', pathKey, reference)
  const [own, foreign] = [`<${reference}@shop.example>`, `<${'c'.repeat(40)}@shop.example>`]
  const found = async (raw: string) => (await reportOf(raw)).map((receipt) => receipt.reference)
  t.same(await found(dsn(failed, { ...mail, to: token })), [reference], 'only the token')
  t.same(await found(dsn(failed, { ...mail, to: token, messageId: foreign })), [reference], 'the token comes first')
  t.same(await found(`Delivered-To: ${token}\r\n${dsn(failed, mail)}`), [reference], 'in another header')
  t.same(
    await found(dsn(failed, { ...mail, envelopeId: reference, messageId: foreign })),
    [reference],
    'the envelope id',
  )
  t.same(await found(dsn(failed, { ...mail, messageId: own })), [reference], 'only the returned mail')
  const headersOnly = dsn(failed, { ...mail, messageId: own }).replace('message/rfc822', 'text/rfc822-headers')
  t.same(await found(headersOnly), [reference], 'only the returned headers')
  t.same(await found(`In-Reply-To: ${own}\r\n${dsn(failed, mail)}`), [reference], 'In-Reply-To')
  t.same(await found(`References: <x@y> ${own}\r\n${dsn(failed, mail)}`), [reference], 'References')
  t.same(await found(dsn(failed, mail)), [undefined], 'never by address and time')
  t.same(
    await found(dsn(failed, { ...mail, messageId: '<other@example.com>' })),
    [undefined],
    'a mail of somebody else',
  )
  const forged = withWrongMac(token)
  t.same(await found(dsn(failed, { ...mail, to: forged, messageId: own })), [], 'a forged token changes nothing')
})

t.test('a returned mail has the state of its recipient', async (t) => {
  const mail = { id: 'r2', at: Date.now(), messageId: `<${reference}@shop.example>` }
  const stateOf = async (action: string, status: string, more = {}) => {
    const [receipt] = await reportOf(dsn([action, status, 'smtp; text'], { ...mail, ...more }))
    return receipt && [receipt.state, receipt.bounce].filter(Boolean).join(' ')
  }
  const rows: readonly (readonly [action: string, status: string, state: string | undefined])[] = [
    ['failed', '5.1.1', 'bounced hard'],
    ['failed', '5.1.10', 'bounced hard'],
    ['failed', '5.2.2', 'bounced soft'],
    ['failed', '5.3.4', 'bounced soft'],
    ['failed', '5.7.1', 'bounced soft'],
    ['failed', '4.4.7', 'bounced soft'],
    ['failed', 'none', 'bounced soft'],
    ['delayed', '4.4.1', 'delayed'],
    ['delivered', '2.0.0', 'delivered'],
    ['relayed', '2.0.0', 'sent'],
    ['expanded', '2.0.0', 'sent'],
    ['unheard-of', '2.0.0', undefined],
  ]
  for (const [action, status, state] of rows) t.equal(await stateOf(action, status), state, `${action} ${status}`)
  const forwarded = { originalRecipient: 'ada@example.com', finalRecipient: 'ada@other.example' }
  t.equal(await stateOf('failed', '5.1.1', forwarded), 'bounced soft', 'the address to which it was forwarded is wrong')
  const direct = { originalRecipient: 'Ada@example.com', finalRecipient: 'ada@example.com' }
  t.equal(await stateOf('failed', '5.1.1', direct), 'bounced hard')
})

t.test('a mail that is not a report changes nothing, and a broken one is rejected', async (t) => {
  const about = { id: 'r3', at: Date.now(), messageId: `<${reference}@shop.example>` }
  assertMembers(t, await reportOf(feedbackReport('abuse', about)), [{ state: 'complained', reference }])
  t.same(await reportOf(feedbackReport('not-spam', about)), [])
  const away = `From: ada@example.com\r\nAuto-Submitted: auto-replied\r\nIn-Reply-To: ${about.messageId}\r\n\r\nI am away.`
  t.same(await reportOf(away), [], 'an answering machine')
  t.same(await reportOf(''), [])
  const nested = Array.from(
    { length: 60 },
    (_, depth) => `--b${depth}\r\nContent-Type: multipart/mixed; boundary=b${depth + 1}\r\n\r\n`,
  )
  const deep = `Content-Type: multipart/mixed; boundary=b0\r\n\r\n${nested.join('')}`
  t.equal(await outcomeOf(returned, requestOf(deep, { secret: secrets['returned-mail'] })), 'body', 'too many levels')
  const lines = dsn(failed, about) + '\n'.repeat(50_001)
  t.equal(await outcomeOf(returned, requestOf(lines, { secret: secrets['returned-mail'] })), 'body', 'too many lines')
  const many = Array.from(
    { length: 80 },
    () => 'Final-Recipient: rfc822;a@b\r\nAction: failed\r\nStatus: 5.0.0\r\n\r\n',
  ).join('')
  const long = dsn(failed, about).replace(
    '--B1\r\ncontent-type: message/rfc822',
    `${many}--B1\r\ncontent-type: message/rfc822`,
  )
  t.equal((await reportOf(long)).length, 50, 'at most 50 recipients')
  t.equal(await outcomeOf(returned, requestOf(dsn(failed, about))), 'secret')
})
