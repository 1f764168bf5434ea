/** The requests of providers at a running product, and the work of operators. */
import { createDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { health } from '@plinth/http'
import { definePlugin, sendReference } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { receiptSource } from '../src/contract.ts'
import { StoredReceipt } from '../src/entities.ts'
import { allSources, createCertificate, secrets, startOutside, startReceipts, topicArn } from './fixtures/product.ts'
import { dsn, providersWith, snsRequest, type TestProvider } from './fixtures/providers.ts'

const { key, cert } = createCertificate()
const providers = providersWith(key)
const provider = (name: string) => providers[name] as TestProvider
const json = { 'content-type': 'application/json' }

async function sqlite(t: Test) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return at
}

t.test('a request that is not proven is not stored', async (t) => {
  const outside = await startOutside(t, (_request, response) => response.end(cert))
  const config = { ...allSources, 'platform.delivery-receipts.tencent.secret': '' }
  const at = await sqlite(t)
  const { post, stored, send, logOf, settle, clock, lines, running } = await startReceipts(t, at, {
    outside: outside.plugin,
    config,
  })
  const statusOf = async (...[request]: Parameters<typeof post>) => (await post(request)).status
  const path = '/api/v1/delivery-receipts'
  t.equal(await statusOf({ path: `${path}/acme`, body: '{}' }), 404, 'unknown source')
  t.equal(await statusOf({ path: `${path}/tencent/${secrets.tencent}`, body: '[]' }), 503, 'not configured')
  t.equal(await statusOf({ path: `${path}/postmark`, body: '{}' }), 401)
  t.equal(await statusOf({ path: `${path}/postmark/${secrets.postmark}`, headers: json, body: '{' }), 401, 'no JSON')
  const large = JSON.stringify({ text: 'x'.repeat(270_000) })
  t.equal(await statusOf({ path: `${path}/postmark/${secrets.postmark}`, headers: json, body: large }), 413)
  const mail = 'x'.repeat(1_048_577)
  t.equal(await statusOf({ path: `${path}/returned-mail/${secrets['returned-mail']}`, body: mail }), 413)
  t.same(await stored(), [])

  // The signature of Mailgun covers only time and token, so a captured one must not sign another event.
  const reference = await send('mail', { provider: 'smtp' })
  const about = { reference, messageId: '', id: 'token', at: clock.now() }
  const valid = provider('mailgun').request('delivered', about)
  t.equal(await statusOf(valid), 200)
  t.equal(await statusOf({ ...valid, body: valid.body.replace('"delivered"', '"complained"') }), 401)
  t.equal(await statusOf(valid), 200, 'a repetition')
  await settle()
  t.hasStrict(await logOf(reference), { deliveryState: 'delivered', complainedAt: null })
  t.equal((await stored()).length, 1)

  const warnings = async () =>
    (await running.service(health).outcomes()).flatMap((outcome) => Object(outcome).warnings ?? [])
  t.notMatch(await warnings(), /delivery-receipts/)
  for (let count = 0; count < 20; count++) await post({ path: `${path}/resend`, headers: json, body: '{}' })
  t.match((await warnings()).join(), /delivery-receipts\/resend are rejected/)
  await clock.advance(3_700_000)
  t.notMatch((await warnings()).join(), /delivery-receipts\/resend are rejected/, 'an hour later')
  t.notOk(
    lines.some((line) => Object.values(secrets).some((secret) => line.includes(secret))),
    'no log has a secret',
  )
})

t.test('a push with several messages applies those that are known', async (t) => {
  const outside = await startOutside(t, (_request, response) => response.end(cert))
  const { post, stored, send, logOf, settle, clock } = await startReceipts(t, await sqlite(t), {
    outside: outside.plugin,
  })
  const first = await send('sms', { provider: 'aliyun', messageId: 'batch-1' })
  const second = await send('sms', { provider: 'aliyun', outcome: 'unknown' })
  const { request } = provider('aliyun')
  const entryOf = (reference: string, number: number) => {
    const [entry] = JSON.parse(request('delivered', { reference, messageId: 'batch-1', id: '', at: clock.now() }).body)
    return { ...entry, phone_number: `1380013800${number}` }
  }
  const body = JSON.stringify([entryOf(first, 1), entryOf(second, 2), { ...entryOf('', 3), biz_id: 'other' }])
  const path = `/api/v1/delivery-receipts/aliyun/${secrets.aliyun}`
  t.same(await post({ path, headers: json, body }), { status: 200, body: '{"code":0,"msg":"success"}' })
  await settle()
  t.same(
    (await stored()).map(({ status }) => status),
    ['applied', 'applied', 'waiting'],
  )
  t.hasStrict(await logOf(first), { deliveryState: 'delivered', status: 'success' })
  t.hasStrict(await logOf(second), { deliveryState: 'delivered', status: 'success', outcome: 'accepted' })
})

onEachDatabase(t, 'an operator confirms a subscription, and lists receipts by state and send', async (t, at) => {
  let confirmStatus = 403
  const outside = await startOutside(t, (request, response) => {
    if (request.url?.startsWith('/SimpleNotificationService')) return response.end(cert)
    response.statusCode = confirmStatus
    response.end('<ConfirmSubscriptionResponse/>')
  })
  const product = await startReceipts(t, at, { outside: outside.plugin })
  const { post, call, confirmations, send, settle, clock, db } = product
  const url = `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topicArn}&Token=secret-token`
  const Timestamp = new Date(clock.now()).toISOString()
  const message = {
    Type: 'SubscriptionConfirmation',
    MessageId: 'c-1',
    Timestamp,
    Token: 'secret-token',
    Message: 'Confirm',
  }
  const confirmation = snsRequest({ ...message, SubscribeURL: url }, key)
  for (let count = 0; count < 2; count++) t.equal((await post(confirmation)).status, 200)
  const called = () => outside.urls.filter((one) => one.includes('ConfirmSubscription'))
  t.same(called(), [], 'nothing is confirmed without an operator')
  const { items } = (await call('GET', '/subscriptions')).data
  t.equal(items.length, 1)
  t.hasStrict(items[0], { source: 'ses', subject: topicArn, status: 'waiting' })
  t.notMatch(JSON.stringify(items), /secret-token/)
  const confirm = () => call('POST', `/subscriptions/${items[0].id}/confirm`, {})
  t.hasStrict(await confirm(), { code: '503', data: { reason: 'delivery-receipts.confirmation-failed' } })
  t.equal((await confirmations())[0]?.status, 'waiting')
  confirmStatus = 200
  t.equal((await confirm()).code, '200')
  t.equal((await confirmations())[0]?.status, 'confirmed')
  t.same(called(), [url, url])

  const reference = await send('mail', { provider: 'smtp' })
  const ses = provider('ses')
  await post(ses.request('delivered', { reference, messageId: 'm1', id: 'r1', at: clock.now() }))
  await post(ses.request('hard', { reference, messageId: 'm1', id: 'r2', at: clock.now() }))
  await post(ses.request('delivered', { reference: 'e'.repeat(40), messageId: 'm2', id: 'r3', at: clock.now() }))
  await settle()
  const log = await product.logOf(reference)
  t.hasStrict(log, {
    status: 'success',
    deliveryState: 'bounced',
    bounceKind: 'hard',
    deliveryDetail: 'Permanent General 5.1.1',
  })
  t.ok(log.deliveredAt !== null && log.bouncedAt !== null, 'a late bounce shows both')
  const listed = async (query: string) =>
    (await call('GET', `/receipts?${query}`)).data.items.map((row: { receiptId: string }) => row.receiptId).sort()
  t.same(await listed('source=ses'), ['r1', 'r2', 'r3'])
  t.same(await listed('state=bounced'), ['r2'])
  t.same(await listed('status=waiting'), ['r3'])
  t.same(await listed(`sendLogId=${log.id}`), ['r1', 'r2'])
  const [row] = await db.fork().find(StoredReceipt.entity, { receiptId: 'r2' })
  t.hasStrict((await call('GET', `/receipts/${row?.id}`)).data, { state: 'bounced', bounce: 'hard', sendLogId: log.id })
  t.equal((await call('GET', '/receipts/1')).data.reason, 'delivery-receipts.receipt-unknown')
})

t.test('a source of another plugin is called like the own ones, and addresses in its texts are masked', async (t) => {
  const outside = await startOutside(t, (_request, response) => response.end())
  const acme = definePlugin({
    id: 'acme.receipts',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [receiptSource],
    setup: ({ contribute }) =>
      contribute(receiptSource, 'acme', {
        displayName: 'Acme',
        isConfigured: () => true,
        reports: [{ channel: 'pager' }],
        receive: ({ body }) => ({
          receipts: [
            {
              id: 'a1',
              channel: 'pager',
              reference: body.toString(),
              state: 'bounced',
              bounce: 'hard',
              at: 0,
              detail: '550 <ada@example.com> unknown',
            },
          ],
        }),
      }),
  })
  const at = await sqlite(t)
  const { post, stored, settle, clock } = await startReceipts(t, at, { outside: outside.plugin, others: [acme] })
  const body = sendReference('pager')
  t.equal(
    (await post({ path: '/api/v1/delivery-receipts/acme', headers: { 'content-type': 'text/plain' }, body })).status,
    200,
  )
  await settle()
  const [row] = await stored()
  t.hasStrict(row, { source: 'acme', bounce: 'hard', detail: '550 <***@example.com> unknown', reference: body })
  t.ok(Math.abs((row?.occurredAt.getTime() ?? 0) - clock.now()) < 60_000, 'an impossible time is replaced')
})

t.test('a returned mail with a token resolves a lost response', async (t) => {
  const outside = await startOutside(t, (_request, response) => response.end())
  const { post, send, logOf, settle, clock, mail, stored } = await startReceipts(t, await sqlite(t), {
    outside: outside.plugin,
  })
  const reference = await send('mail', { outcome: 'unknown' })
  const body = dsn(['failed', '5.1.1', 'smtp; 550 5.1.1 <ada@example.com>'], {
    id: 'd1',
    at: clock.now(),
    envelopeId: reference,
  })
  const path = `/api/v1/delivery-receipts/returned-mail/${secrets['returned-mail']}`
  t.equal((await post({ path, headers: { 'content-type': 'message/rfc822' }, body })).status, 200)
  await settle()
  t.hasStrict(await logOf(reference), { status: 'success', deliveryState: 'bounced', bounceKind: 'hard' })
  t.equal(mail.sends, 1)
  const uncorrelated = dsn(['failed', '5.1.1', 'smtp; 550'], { id: 'd2', at: clock.now() })
  await post({ path, headers: { 'content-type': 'message/rfc822' }, body: uncorrelated })
  await settle()
  t.equal((await stored()).at(-1)?.status, 'unknown', 'a report without an own id never finds a send')
  // Anyone can return a mail. A search for addresses in this text would take minutes.
  const long = dsn(['failed', '5.1.1', `smtp; ${'a'.repeat(500_000)}`], { id: 'd3', at: clock.now() })
  const begin = performance.now()
  t.equal((await post({ path, headers: { 'content-type': 'message/rfc822' }, body: long })).status, 200)
  t.ok(performance.now() - begin < 10_000, 'a long text is read within seconds')
})
