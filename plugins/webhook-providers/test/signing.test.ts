import { manualClock, throwsWith } from '@plinth/dev/testing'
import { webhookProvider } from '@plinth/notification-channels/webhook'
import t from 'tap'
import { dingtalkSignature } from '../src/dingtalk.ts'
import { feishuSignature } from '../src/feishu.ts'
import { standardSignature } from '../src/generic.ts'
import { startServices, startWebhooks, through } from './fixtures/services.ts'

/**
 * Expected signatures, computed with node:crypto. Some were compared with openssl and with the vectors of the
 * specifications.
 */
t.test('N-052 the signatures of the test vectors', (t) => {
  const dingtalk = [
    ['D1', 'this is secret', 1700000000000, 'sSFWELbV2YwjdDQhWZwTcWlX5BWUx5J6TPpsZmuPii0='],
    ['D2', 'SECtest1234567890abcdef', 1577262236757, 'TNaZornzjuRWDK078tOKNl5erhg2oWMNES5xUydLxQc='],
    ['D3', 'SEC000000000000000000000', 1735689600000, '7wx6BiZ4chCrlLXkzkUGDIE+FVVUMYo+o/KLYIXTRM4='],
  ] as const
  for (const [name, secret, time, signature] of dingtalk) t.equal(dingtalkSignature(secret, time), signature, name)
  const feishu = [
    ['F1', 'demo', 1599360473, 'l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8='],
    ['F2', 'this is secret', 1700000000, 'OfGzRzoUICBOoc8wVra1e4A1hPfbZ9zqXozA8CWVUuY='],
    ['F3', 'test_secret_abc', 1735689600, 'xooLoOdfh2QIfIDco0qacVRfhjp2lBjf0CrHbOn1Cx0='],
  ] as const
  for (const [name, secret, time, signature] of feishu) t.equal(feishuSignature(secret, time), signature, name)
  const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const privateKey = `whsk_${Buffer.alloc(32, 7).toString('base64')}`
  const w1 = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampSeconds: 1614265330, body: '{"test": 2432232314}' }
  const signature1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
  const signature4 = 'v1a,2iFnCkcL0nCB7d0lgaT5vmGnQgJl4zcl9qd7UbPYvulcwR3MRYzjXT2JCSEV4dFH3XNALA4OW0zY5fFdGv9GBA=='
  const w2 = {
    id: 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W',
    timestampSeconds: 1700000000,
    body: '{"type":"notification.sent","data":{"id":1}}',
  }
  const w3 = { id: 'msg_u', timestampSeconds: 1700000000, body: '{"text":"你好 🎉"}' }
  t.equal(standardSignature({ secret: key, ...w1 }), signature1, 'W1')
  t.equal(standardSignature({ secret: key, ...w2 }), 'v1,2tpHyyCaU5rXF+VOW4ThR7dKNwxsDC1cpOGiTcXrBkc=', 'W2')
  t.equal(standardSignature({ secret: key, ...w3 }), 'v1,4DhHYMSR/nnFAtMxQ3wY1RtLGurMONntnVFFXUWJ064=', 'W3')
  t.equal(standardSignature({ secret: privateKey, ...w1 }), signature4, 'W4')
  t.equal(standardSignature({ secret: `${key} ${privateKey}`, ...w1 }), `${signature1} ${signature4}`, 'two keys')
  for (const secret of ['whsec_short', 'not base64 at all!', `whsec_${Buffer.alloc(65).toString('base64')}`]) {
    throwsWith(t, () => standardSignature({ secret, ...w1 }), { name: 'WebhookInputError' })
  }
  t.end()
})

t.test('N-052 N-058 signed by default, at the time of sending, and again for each attempt', async (t) => {
  const services = await startServices(t)
  const clock = manualClock(1_700_000_000_000)
  const { send, running } = await startWebhooks(t, services, { clock })
  await send(through('dingtalk'))
  await clock.advance(60_000)
  await send(through('dingtalk'))
  const [first, second] = services.received.map(({ url }) => new URL(url, services.url).searchParams)
  t.equal(
    first?.get('sign'),
    dingtalkSignature('SECding77aa88bb99cc00', 1_700_000_000_000),
    'decodes to the signature once',
  )
  t.equal(second?.get('timestamp'), '1700000060000')
  const copied = `${services.endpoint('dingtalk')}&sign=of-another-time&x=a%2bb&timestamp=1`
  await send(through('dingtalk', { 'webhook.endpoint': copied }))
  t.equal(
    new URL(services.last('dingtalk')?.url ?? '', services.url).search,
    `?access_token=ding-T0ken-5591ab&x=a%2bb&timestamp=1700000060000&sign=${encodeURIComponent(dingtalkSignature('SECding77aa88bb99cc00', 1_700_000_060_000))}`,
    'the signature of a copied address is replaced, and the rest of the address stays as it is written',
  )
  await send(through('feishu'))
  t.match(JSON.parse(services.last('feishu')?.body ?? ''), {
    sign: feishuSignature('feishuSecret0099887766', 1_700_000_060),
  })
  await send(through('generic'))
  const last = services.last('generic')
  const [headers, body] = [last?.headers ?? {}, last?.body ?? '']
  const id = String(headers['webhook-id'])
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  t.equal(headers['webhook-signature'], standardSignature({ secret, id, timestampSeconds: 1_700_000_060, body }))
  t.equal(JSON.parse(body).data.id, id, 'the id is that of the message, the same for every try')

  await running.config.apply([
    { by: 'key', name: 'platform.notification.channels.webhook.signing-enabled', written: false, place: 'row 1' },
  ])
  for (const code of ['dingtalk', 'feishu', 'generic', 'telegram']) await send(through(code))
  t.notMatch(services.last('dingtalk')?.url, 'sign')
  t.notMatch(services.last('feishu')?.body, 'sign')
  t.notOk('webhook-signature' in (services.last('generic')?.headers ?? {}))
  t.match(services.last('telegram')?.url, '/bot998877:', 'a token is no signature: it stays')
  t.ok(running.contributions(webhookProvider).size >= 16)
})
