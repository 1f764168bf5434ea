import databasePlugin from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import { definePlugin, defineProduct, omitUndefined } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import smsPlugin, { smsReceipt } from '@plinth/sms'
import t from 'tap'
import { twilioSignature } from '../src/drivers/twilio.ts'

const path = '/api/v1/sms/receipts/twilio'
const token = 'planted-token-4711'

t.test('a receipt of Twilio is accepted only with its signature, and published', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const receipts: unknown[] = []
  const listener = definePlugin({
    id: 'test.listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup: ({ services }) =>
      services.events.on(smsReceipt, 'test.receipt', ({ payload }) => void receipts.push(payload)),
  })
  const plugins = [databasePlugin, httpPlugin, eventsPlugin, outgoingHttp, smsPlugin, listener]
  const product = await startForTest(
    defineProduct({ name: 'sms', plugins, config: { ...db.config, 'platform.http.port': 0 } }),
    {
      set: {
        'platform.sms.twilio.auth-token': token,
        'platform.sms.twilio.status-callback': 'https://shop.example.com/base',
      },
    },
  )
  t.teardown(() => product.stop('test ended'))
  const post = (
    form: Record<string, string>,
    signature?: string,
    { type = 'application/x-www-form-urlencoded', query = '' } = {},
  ) =>
    product.service(http).inject({
      method: 'POST',
      url: `${path}${query}`,
      headers: omitUndefined({ 'content-type': type, 'x-twilio-signature': signature }),
      payload: new URLSearchParams(form).toString(),
    })
  const signed = (form: Record<string, string>) => twilioSignature(token, `https://shop.example.com/base${path}`, form)
  const delivered = { MessageSid: 'SM1', MessageStatus: 'delivered', To: '+8613800138000' }
  const failed = { MessageSid: 'SM2', MessageStatus: 'undelivered', ErrorCode: '30003' }
  const onTheWay = { MessageSid: 'SM3', MessageStatus: 'sent' }

  t.equal((await post(delivered)).statusCode, 403, 'unsigned')
  t.equal((await post(delivered, signed(failed))).statusCode, 403, 'signed for another form')
  t.equal(
    (await post(delivered, twilioSignature('other', `https://shop.example.com/base${path}`, delivered))).statusCode,
    403,
  )
  t.equal((await post({ ...delivered, padding: 'x'.repeat(20_000) })).statusCode, 413, 'no larger than a receipt is')
  for (const form of [delivered, failed, onTheWay]) t.equal((await post(form, signed(form))).statusCode, 204)
  const query = '?ref=order-1'
  const own = twilioSignature(token, `https://shop.example.com/base${path}${query}`, delivered)
  t.equal((await post(delivered, own, { query })).statusCode, 204, 'with the own reference')
  t.equal((await post(delivered, own, { query: '?ref=order-2' })).statusCode, 403, 'signed for another message')
  t.equal((await post(delivered, own)).statusCode, 403)
  await product.service(events).idle()
  t.same(receipts, [
    { driver: 'twilio', messageId: 'SM1', status: 'delivered', code: null, state: 'delivered' },
    { driver: 'twilio', messageId: 'SM2', status: 'failed', code: '30003', state: 'undelivered' },
    { driver: 'twilio', messageId: 'SM1', status: 'delivered', code: null, state: 'delivered', reference: 'order-1' },
  ])
})
