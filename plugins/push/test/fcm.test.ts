/** Tests the channel `fcm` against documented requests and responses of FCM HTTP v1. */
import { setTimeout as pause } from 'node:timers/promises'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { createDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { isChannelError } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { startPush, status } from './fixtures/product.ts'
import { serviceAccountOf, startPushService } from './fixtures/push-service.ts'

const token = 'bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1'

async function start(t: Test, config = {}) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  const product = await startPush(t, at, { service, config })
  await product.anna('POST', 'push/devices/fcm', { token })
  return { service, ...product }
}

/** Body of an error with details, as FCM documents it. */
const failure = (code: number, errorCode: string | undefined, violation?: string, headers?: Record<string, string>) =>
  status(
    code,
    {
      error: {
        code,
        message: `about ${token}`,
        status: errorCode ?? 'NOT_FOUND',
        details: [
          ...(errorCode === undefined
            ? []
            : [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }]),
          ...(violation === undefined
            ? []
            : [
                {
                  '@type': 'type.googleapis.com/google.rpc.BadRequest',
                  fieldViolations: [{ field: violation, description: 'Invalid value' }],
                },
              ]),
        ],
      },
    },
    headers,
  )

t.test('the requests are those that Google documents', async (t) => {
  const { service, ids, send, clock } = await start(t)
  const attributes = {
    event: 'mall.order.status-changed',
    orderNo: '7',
    'push.collapse-key': 'order-7',
    'push.urgency': 'high',
    'push.ttl': 300,
    'push.data': { orderNo: '7' },
  }
  assertMembers(t, await send('fcm', ids.anna, { attributes }), { success: true, providerCode: '200' })
  const iat = Math.floor(clock.now() / 1000)
  t.same(service.assertions, [
    {
      grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      iss: 'push@shop-1.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      aud: `${service.url}/token`,
      iat,
      exp: iat + 3_600,
    },
  ])
  const [{ path, headers, message } = { path: '', headers: {}, message: {} }] = service.received
  t.equal(path, '/v1/projects/shop-1/messages:send')
  t.match(headers, { authorization: /^Bearer ya29\./, 'content-type': 'application/json' })
  t.same(message, {
    message: {
      token,
      notification: { title: 'Order', body: 'Paid' },
      data: { orderNo: '7', messageId: message.message.data.messageId, targetRoute: '/mall/orders/7' },
      android: { ttl: '300s', priority: 'HIGH', collapse_key: 'order-7' },
      apns: { headers: { 'apns-priority': '10', 'apns-collapse-id': 'order-7' } },
    },
  })

  assertMembers(t, await send('fcm', ids.anna, { content: 'x'.repeat(9_000) }), { success: true })
  const { notification, data } = service.received.at(1)?.message.message ?? {}
  t.equal(Buffer.byteLength(JSON.stringify({ notification, data })), 4_096, 'the content is cut')
  const tooMuch = { 'push.data': { blob: 'x'.repeat(4_090) } }
  t.hasStrict(await send('fcm', ids.anna, { attributes: tooMuch }), {
    outcome: 'rejected',
    errorCode: 'push.too-large',
  })
})

t.test('each error has its outcome; only a token that is no longer valid is removed', async (t) => {
  const { service, ids, send, anna, devices } = await start(t)
  const found: Record<string, unknown> = {}
  for (const [name, behaviour] of Object.entries({
    UNREGISTERED: failure(404, 'UNREGISTERED'),
    'INVALID_ARGUMENT of the token': failure(400, 'INVALID_ARGUMENT'),
    'INVALID_ARGUMENT, field message.token': failure(400, 'INVALID_ARGUMENT', 'message.token'),
    'INVALID_ARGUMENT of the message': failure(400, 'INVALID_ARGUMENT', 'message.data[0].value'),
    'BadRequest without FcmError': failure(400, undefined, 'message.android.ttl'),
    '404 without a code': status(404, { error: { code: 404, status: 'NOT_FOUND' } }),
    SENDER_ID_MISMATCH: failure(403, 'SENDER_ID_MISMATCH'),
    THIRD_PARTY_AUTH_ERROR: failure(401, 'THIRD_PARTY_AUTH_ERROR'),
    QUOTA_EXCEEDED: failure(429, 'QUOTA_EXCEEDED'),
    UNAVAILABLE: failure(503, 'UNAVAILABLE', undefined, { 'retry-after': '7' }),
    INTERNAL: failure(500, 'INTERNAL'),
    'an unknown code': failure(400, 'SOMETHING_NEW'),
    'no JSON': { status: 502, body: '<html>' },
  })) {
    const { id } = (await anna('POST', 'push/devices/fcm', { token })).data
    service.behaviours.set(token, behaviour)
    const result = await send('fcm', ids.anna)
    t.notMatch(JSON.stringify(result), token, `${name}: the result contains no token`)
    const stored = (await devices()).find((one) => one.id === id)
    const wait = result?.retryAfterMs === undefined ? '' : ` ${result.retryAfterMs}`
    found[name] = `${result?.outcome} ${result?.errorCode} (${result?.providerCode})${wait}: ${stored?.status}`
  }
  t.same(found, {
    UNREGISTERED: 'rejected push.device-missing (undefined): gone',
    'INVALID_ARGUMENT of the token': 'rejected push.device-missing (undefined): gone',
    'INVALID_ARGUMENT, field message.token': 'rejected push.device-missing (undefined): gone',
    'INVALID_ARGUMENT of the message': 'rejected fcm.message-invalid (400 INVALID_ARGUMENT): active',
    'BadRequest without FcmError': 'rejected fcm.message-invalid (400): active',
    '404 without a code': 'rejected fcm.configuration (404): active',
    SENDER_ID_MISMATCH: 'rejected fcm.configuration (403 SENDER_ID_MISMATCH): active',
    THIRD_PARTY_AUTH_ERROR: 'rejected fcm.configuration (401 THIRD_PARTY_AUTH_ERROR): active',
    QUOTA_EXCEEDED: 'deferred fcm.throttled (429 QUOTA_EXCEEDED) 60000: active',
    UNAVAILABLE: 'deferred fcm.unavailable (503 UNAVAILABLE) 7000: active',
    INTERNAL: 'deferred fcm.unavailable (500 INTERNAL) 60000: active',
    'an unknown code': 'rejected fcm.message-invalid (400 SOMETHING_NEW): active',
    'no JSON': 'deferred fcm.unavailable (502) 60000: active',
  })
})

onEachDatabase(t, '100 sends on two instances use one access token', async (t, at) => {
  const service = await startPushService(t)
  const clock = manualClock(Date.now())
  // The time of this test passes as fast as real time, so a busy machine needs more time to connect.
  const config = { 'platform.outgoing-http.connect-timeout': '2m', 'platform.outgoing-http.deadline': '5m' }
  const first = await startPush(t, at, { service, clock, config })
  const second = await startPush(t, at, { service, clock, config, isSecond: true })
  // An instance that waits for the token of the other one sleeps in between.
  let isOver = false
  const passTime = async () => {
    for (; !isOver; await pause(5)) await clock.advance(5)
  }
  const passing = passTime()
  t.teardown(async () => {
    isOver = true
    await passing
  })
  await first.anna('POST', 'push/devices/fcm', { token })
  const { anna } = first.ids
  const sends = Array.from({ length: 100 }, (_, index) =>
    (index % 2 === 0 ? first : second).send('fcm', anna, {}, `send-${index}`),
  )
  const outcomes = new Set((await Promise.all(sends)).map((one) => `${one?.outcome} ${one?.errorCode}`))
  t.same(outcomes, new Set(['accepted null']))
  t.equal(service.received.length, 100)
  t.equal(new Set(service.received.map(({ headers }) => headers.authorization)).size, 1)
  t.equal(service.tokenRequests, 1)

  clock.shiftWallClock(53 * 60_000)
  await first.send('fcm', anna)
  t.equal(service.tokenRequests, 1, 'the token is used until five minutes before its end')
  clock.shiftWallClock(3 * 60_000)
  await Promise.all([first.send('fcm', anna), second.send('fcm', anna)])
  t.equal(service.tokenRequests, 2, 'it is renewed once')

  service.validTokens.clear()
  t.hasStrict(await first.send('fcm', anna), { outcome: 'deferred', errorCode: 'fcm.unauthenticated' })
  t.hasStrict(await first.send('fcm', anna), { outcome: 'accepted' })
  t.hasStrict(await second.send('fcm', anna), { outcome: 'deferred' })
  t.hasStrict(await second.send('fcm', anna), { outcome: 'accepted' })
  t.equal(service.tokenRequests, 3, 'a revoked token is replaced once')
})

t.test('problems of the service account are reported with their member', async (t) => {
  const { service, running, channel } = await start(t)
  const account = serviceAccountOf(service)
  const checks = async () => channel('fcm').verify?.(new AbortController().signal)
  t.same(await checks(), ['configuration', 'connection', 'credentials'])
  service.tokenBehaviour = status(400, { error: 'invalid_grant', error_description: account.client_email })
  await running.stop('a new instance has no token')
  const found: unknown[] = []
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const next = await startPush(t, at, { service })
  await next.anna('POST', 'push/devices/fcm', { token })
  for (const [code, body] of [
    [400, { error: 'invalid_grant' }],
    [401, { error: 'invalid_client' }],
    [503, {}],
  ] as const) {
    service.tokenBehaviour = status(code, body)
    const { outcome, errorCode, providerCode } = (await next.send('fcm', next.ids.anna)) ?? {}
    const error = await Promise.resolve(next.channel('fcm').verify?.(new AbortController().signal)).catch(
      (thrown) => thrown,
    )
    found.push([outcome, errorCode, providerCode, isChannelError(error) && error.check])
  }
  t.same(found, [
    ['rejected', 'fcm.configuration', '400 invalid_grant', 'credentials'],
    ['rejected', 'fcm.configuration', '401 invalid_client', 'credentials'],
    ['deferred', 'fcm.token-unavailable', '503', 'connection'],
  ])
  const key = 'platform.push.fcm.service-account'
  const named: string[] = []
  for (const member of ['project_id', 'client_email', 'private_key', 'token_uri']) {
    const incomplete = Object.fromEntries(Object.entries(account).filter(([name]) => name !== member))
    const rejected = startPush(t, at, { service, config: { [key]: incomplete }, isSecond: true })
    const reason = await rejected.then(String, ({ message }: Error) => message)
    named.push(reason.match(/fcm\.service-account[^\n]*?(\w+_\w+)/)?.[1] ?? reason)
  }
  t.same(named, ['project_id', 'client_email', 'private_key', 'token_uri'], 'the missing member is named')
})
