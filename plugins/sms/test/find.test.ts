/** Drivers ask their provider about a message, without sending. */
import { startForTest } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import smsPlugin, { sms } from '@plinth/sms'
import t, { type Test } from 'tap'
import { type Reply, startProviderStub } from './fixtures/company.ts'

const sentAt = Date.parse('2026-11-30T20:00:00Z')
const sent = { to: '138 0013 8000', reference: 'message-1', sentAt }

async function start(t: Test, config: (url: string) => Readonly<Record<string, string>>) {
  const stub = await startProviderStub(t)
  const product = await startForTest(defineProduct({ name: 'sms', plugins: [smsPlugin, outgoingHttp] }), {
    set: {
      'platform.outgoing-http.allowed-hosts': JSON.stringify([stub.host]),
      'platform.outgoing-http.allow-http': 'true',
      ...config(stub.url),
    },
  })
  t.teardown(() => product.stop('test ended'))
  const find = (reply: Reply | object) => {
    stub.reply =
      reply === 'hang' || 'status' in (reply as object)
        ? (reply as Reply)
        : { status: 200, body: JSON.stringify(reply) }
    return product.service(sms).find(sent, new AbortController().signal)
  }
  return { stub, find, service: product.service(sms) }
}

t.test('Alibaba Cloud is asked with QuerySendDetails', async (t) => {
  const { stub, find, service } = await start(t, (url) => ({
    'platform.sms.aliyun.endpoint': url,
    'platform.sms.aliyun.access-key-id': 'key-id',
    'platform.sms.aliyun.access-key-secret': 'planted-secret-4711',
  }))
  // Alibaba Cloud, "QuerySendDetails".
  const detail = (SendStatus: number, OutId = 'message-1', ErrCode = 'DELIVERED') => ({
    Code: 'OK',
    TotalCount: '2',
    SmsSendDetailDTOs: {
      SmsSendDetailDTO: [
        { PhoneNum: '13800138000', OutId: 'other', SendStatus: 2, ErrCode: 'UNDELIV' },
        { PhoneNum: '13800138000', OutId, SendStatus, ErrCode, SendDate: '2026-12-01 04:00:00' },
      ],
    },
  })
  t.same(await find(detail(3)), { provider: 'aliyun', state: 'delivered', detail: 'DELIVERED' })
  const [request] = stub.asked
  const query = Object.fromEntries(new URL(request?.path ?? '', stub.url).searchParams)
  t.same(
    query,
    { PhoneNumber: '13800138000', SendDate: '20261201', PageSize: '50', CurrentPage: '1' },
    'the day in China',
  )
  t.equal(request?.headers['x-acs-action'], 'QuerySendDetails')
  t.same(await find(detail(1)), { provider: 'aliyun', state: 'sent', detail: 'DELIVERED' })
  t.same(await find(detail(2, 'message-1', 'UNDELIV')), { provider: 'aliyun', state: 'bounced', detail: 'UNDELIV' })
  t.equal(await find(detail(3, 'message-2')), undefined, 'a message of another send')
  t.equal(await find(detail(9)), undefined)
  for (const reply of [{ Code: 'isv.BUSINESS_LIMIT_CONTROL' }, { status: 500, body: '' }, { status: 200, body: '<' }]) {
    t.equal(await find(reply), undefined)
  }
  const signal = new AbortController().signal
  t.equal(await service.find({ ...sent, to: 'nobody' }, signal), undefined)
})

t.test('Tencent Cloud is asked with the operation that keeps its results', async (t) => {
  const { stub, find } = await start(t, (url) => ({
    'platform.sms.tencent.endpoint': url,
    'platform.sms.tencent.secret-id': 'secret-id',
    'platform.sms.tencent.secret-key': 'planted-secret-4711',
    'platform.sms.tencent.app-id': '1400006666',
  }))
  // Tencent Cloud, "PullSmsSendStatusByPhoneNumber".
  const pulled = (ReportStatus: string, SessionContext = 'message-1') => ({
    Response: {
      PullSmsSendStatusSet: [
        { SerialNo: 'other', ReportStatus: 'FAIL', Description: 'UNDELIV', SessionContext: 'other' },
        { SerialNo: '2640:1', ReportStatus, Description: 'DELIVRD', SessionContext, PhoneNumber: '+8613800138000' },
      ],
      RequestId: 'a0aabda6',
    },
  })
  t.same(await find(pulled('SUCCESS')), {
    provider: 'tencent',
    messageId: '2640:1',
    state: 'delivered',
    detail: 'DELIVRD',
  })
  const [request] = stub.asked
  t.equal(request?.headers['x-tc-action'], 'PullSmsSendStatusByPhoneNumber')
  t.same(JSON.parse(request?.body ?? ''), {
    BeginTime: sentAt / 1_000 - 60,
    Offset: 0,
    Limit: 100,
    PhoneNumber: '+8613800138000',
    SmsSdkAppId: '1400006666',
  })
  t.hasStrict(await find(pulled('FAIL')), { state: 'bounced' })
  t.equal(await find(pulled('SUCCESS', 'message-2')), undefined)
  t.equal(await find({ Response: { Error: { Code: 'AuthFailure' } } }), undefined)
})

t.test('a driver without such a request is not asked', async (t) => {
  const { stub, find } = await start(t, (url) => ({
    'platform.sms.twilio.endpoint': url,
    'platform.sms.twilio.account-sid': 'AC1',
    'platform.sms.twilio.auth-token': 'planted-secret-4711',
    'platform.sms.twilio.from': '+15005550006',
  }))
  t.equal(await find({}), undefined)
  t.same(stub.asked, [])
})
