/** Tests the channel `web-push` against a push service that decrypts messages and checks the sender. */
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { Acceptance } from '../src/entities.ts'
import { outcomeOf, startPush, status } from './fixtures/product.ts'
import { type ReceivedPush, startPushService } from './fixtures/push-service.ts'

const nothingReceived: ReceivedPush = { path: '', headers: {}, message: {}, bytes: 0, status: 0 }

async function start(t: Test, config = {}) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  return { service, ...(await startPush(t, at, { service, config })) }
}

t.test('a message reaches the browser with its text, its address and its options', async (t) => {
  const { service, anna, ids, browse, send, clock, channel } = await start(t)
  const browser = await browse(anna, 'firefox', 'Firefox on Linux')
  const attributes = {
    event: 'mall.order.status-changed',
    orderNo: 'A 1',
    'push.collapse-key': 'order-1',
    'push.ttl': 60,
    'push.urgency': 'high',
  }
  assertMembers(t, await send('web-push', ids.anna, { attributes }), { success: true, providerCode: '201' })
  const [{ path, headers, message, bytes } = nothingReceived] = service.received
  t.equal(path, browser.path)
  const names = ['ttl', 'urgency', 'topic', 'content-encoding']
  t.same(
    names.map((name) => headers[name]),
    ['60', 'high', 'order-1', 'aes128gcm'],
  )
  t.same(message, {
    web_push: 8030,
    notification: {
      title: 'Order',
      body: 'Paid',
      navigate: 'https://shop.example.com/mall/orders/A%201',
      tag: 'order-1',
      data: { messageId: message.notification.data.messageId },
    },
  })
  t.ok(Number(bytes) < 500)

  await send('web-push', ids.anna, { subject: '', attributes: { 'push.collapse-key': 'a key with blanks' } })
  const [, second] = service.received
  t.equal(second?.message.notification.title, 'Shop', 'without a subject, the title is the name of the site')
  t.match(second?.headers['topic'], /^[\w-]{32}$/, 'the topic is a hash of the key')
  t.same([second?.headers['ttl'], second?.headers['urgency']], ['2419200', 'normal'])
  t.equal(second?.headers.authorization, headers.authorization, 'the token is used again')
  const recipients = [{ kind: 'user' as const, userId: ids.anna }]
  const replacement = { key: '0123456789abcdef0123456789abcdef', at: 1 }
  const replacing = { id: 'm', subject: 'New', content: '', recipients, variables: {}, attributes: {}, replacement }
  const signal = new AbortController().signal
  await channel('web-push').send(replacing, { signal, idempotencyKey: 'replacing', attempt: 1 })
  const { headers: sent, message: shown } = service.received.pop() ?? nothingReceived
  t.same([sent['topic'], shown.notification.tag], [replacement.key, replacement.key], 'a newer message replaces it')
  clock.shiftWallClock(11.5 * 3_600_000)
  await send('web-push', ids.anna)
  t.not(service.received[2]?.headers.authorization, headers.authorization, 'a token is replaced before its end')
  t.equal(service.received[2]?.status, 201)
})

t.test(
  'invalid attributes, and a message that is too large without its content, are rejected before sending',
  async (t) => {
    const { service, anna, ids, browse, send } = await start(t)
    await browse(anna, 'firefox')
    const found: unknown[] = []
    for (const draft of [
      { attributes: { 'push.ttl': -1 } },
      { attributes: { 'push.ttl': 2_419_201 } },
      { attributes: { 'push.urgency': 'critical' } },
      { attributes: { 'push.collapse-key': '' } },
      { attributes: { 'push.data': { count: 1 } } },
      { subject: 's'.repeat(4_000) },
    ]) {
      const result = await send('web-push', ids.anna, draft)
      found.push(`${result?.outcome} ${result?.errorCode}`)
    }
    const invalid = 'rejected push.attribute-invalid'
    t.same(found, [invalid, invalid, invalid, invalid, invalid, 'rejected push.too-large'])
    assertMembers(t, await send('web-push', ids.anna, { content: '中'.repeat(4_000) }), { success: true })
    t.equal(service.received.length, 1)
    const [{ bytes, message } = { bytes: 0, message: {} }] = service.received
    t.ok(bytes > 4_090 && bytes <= 4_096, 'the body fills the message')
    t.match(message.notification.body, /^中{1000,}…$/u)
  },
)

t.test('each response has its outcome; only a device that has ended is removed', async (t) => {
  const { service, anna, ids, browse, send, devices } = await start(t)
  const found: Record<string, unknown> = {}
  for (const [name, behaviour] of Object.entries({
    '201': status(201),
    '200': status(200),
    '404': status(404),
    '410': status(410),
    '413': status(413),
    '429 with seconds': status(429, undefined, { 'retry-after': '120' }),
    '429': status(429),
    '500': status(500),
    '503 with a day and more': status(503, undefined, { 'retry-after': '999999' }),
    '400': status(400),
    '401 of Mozilla': status(401, { errno: 109, message: 'https://secret.example/endpoint' }),
    '403 of Apple': status(403, { reason: 'BadJwtToken' }),
    '301': status(301, undefined, { location: 'http://127.0.0.1/' }),
  })) {
    const browser = await browse(anna, 'one')
    service.behaviours.set(browser.path, behaviour)
    const result = await send('web-push', ids.anna)
    const stored = (await devices()).find(({ id }) => id === browser.id)
    const wait = result?.retryAfterMs === undefined ? '' : ` ${result.retryAfterMs}`
    const error = result?.errorCode === null ? '' : ` ${result?.errorCode}`
    found[name] = `${result?.outcome}${error} (${result?.providerCode})${wait}: ${stored?.status}`
    await anna('DELETE', `push/devices/${browser.id}`)
  }
  t.same(found, {
    '201': 'accepted (201): active',
    '200': 'accepted (200): active',
    '404': 'rejected push.device-missing (undefined): gone',
    '410': 'rejected push.device-missing (undefined): gone',
    '413': 'rejected web-push.too-large (413): active',
    '429 with seconds': 'deferred web-push.throttled (429) 120000: active',
    '429': 'deferred web-push.throttled (429) 60000: active',
    '500': 'deferred web-push.unavailable (500) 60000: active',
    '503 with a day and more': 'deferred web-push.unavailable (503) 86400000: active',
    '400': 'rejected web-push.configuration (400): active',
    '401 of Mozilla': 'rejected web-push.configuration (401 109): active',
    '403 of Apple': 'rejected web-push.configuration (403 BadJwtToken): active',
    '301': 'rejected web-push.rejected (301): active',
  })
})

onEachDatabase(
  t,
  'a send reaches all devices of the user, and a retry only those that have not accepted',
  async (t, at) => {
    const service = await startPushService(t)
    const { anna, ben, ids, browse, send, devices, db, channel } = await startPush(t, at, { service })
    const [laptop, phone, tablet] = [
      await browse(anna, 'laptop'),
      await browse(anna, 'phone'),
      await browse(anna, 'tablet'),
    ]
    await browse(ben, 'other')
    t.same(await channel('web-push').reachable?.([ids.anna, ids.ben, 999]), new Set([ids.anna, ids.ben]))
    t.same(await channel('fcm').reachable?.([ids.anna]), new Set())

    service.behaviours.set(laptop.path, status(429))
    service.behaviours.set(phone.path, status(410))
    assertMembers(t, await send('web-push', ids.anna, {}, 'key-1'), {
      outcome: 'accepted',
      providerCode: '201',
      providerMessage: '1 accepted (201), 1 gone (410), 1 deferred (429)',
    })
    const paths = () => service.received.splice(0).map(({ path }) => path)
    t.same(paths().sort(), [laptop.path, phone.path, tablet.path].sort())
    service.behaviours.clear()
    // The facade adds the recipient to the key only for several recipients.
    assertMembers(t, await send('web-push', ids.anna, {}, 'key-1'), {
      outcome: 'accepted',
      providerMessage: '1 accepted (earlier), 1 accepted (201)',
    })
    t.same(paths(), [laptop.path], 'the tablet has accepted, and the phone has ended')
    await send('web-push', ids.anna, {}, 'key-1')
    t.same(paths(), [])
    t.equal(await db.fork().count(Acceptance.entity), 2)
    const times = (await devices()).map(({ id, lastSuccessAt }) => [id, lastSuccessAt !== null])
    t.same(new Map(times as [number, boolean][]).get(tablet.id), true)

    // All waits count, because a retry goes to all devices.
    service.behaviours.set(laptop.path, status(429, undefined, { 'retry-after': '10' }))
    service.behaviours.set(tablet.path, status(503, undefined, { 'retry-after': '30' }))
    assertMembers(t, await send('web-push', ids.anna), { outcome: 'deferred', retryAfterMs: 30_000 })
  },
)

t.test('only endpoints of allowed push services are registered', async (t) => {
  const { anna, service } = await start(t, {
    'platform.outgoing-http.allowed-hosts': [],
    'platform.push.web-push.hosts': ['fcm.googleapis.com', '*.notify.windows.com', '10.0.0.1', '169.254.169.254'],
  })
  const { keys } = service.open('any')
  const register = async (endpoint: string, changed: object = {}) =>
    anna('POST', 'push/devices/web-push', { endpoint, keys: { ...keys, ...changed } })
  const found: Record<string, string> = {}
  for (const endpoint of [
    'https://fcm.googleapis.com/fcm/send/abc',
    'https://wns2-par02p.notify.windows.com/w/?token=a',
    'http://fcm.googleapis.com/fcm/send/abc',
    'https://fcm.googleapis.com:8443/fcm/send/abc',
    'https://fcm.googleapis.com./fcm/send/abc',
    'https://user@fcm.googleapis.com/fcm/send/abc',
    'https://fcm.googleapis.com.evil.example/',
    'https://notify.windows.com/',
    'https://evilnotify.windows.com/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://0xa9fea9fe/',
    'https://localhost/',
    'file:///etc/passwd',
    'not a URL',
  ]) {
    const { code, data } = await register(endpoint)
    found[endpoint] = data.rule === undefined ? code : `${code} ${data.reason} ${data.field} ${data.rule}`
  }
  const rejected = (rule: string) => `400 push.endpoint-rejected endpoint ${rule}`
  t.same(found, {
    'https://fcm.googleapis.com/fcm/send/abc': '200',
    'https://wns2-par02p.notify.windows.com/w/?token=a': '200',
    'http://fcm.googleapis.com/fcm/send/abc': rejected('https'),
    'https://fcm.googleapis.com:8443/fcm/send/abc': rejected('host'),
    'https://fcm.googleapis.com./fcm/send/abc': rejected('host'),
    'https://user@fcm.googleapis.com/fcm/send/abc': rejected('url-refused'),
    'https://fcm.googleapis.com.evil.example/': rejected('host'),
    'https://notify.windows.com/': rejected('host'),
    'https://evilnotify.windows.com/': rejected('host'),
    'https://10.0.0.1/': rejected('address-refused'),
    'https://169.254.169.254/latest/meta-data/': rejected('address-refused'),
    'https://0xa9fea9fe/': rejected('address-refused'),
    'https://localhost/': rejected('host'),
    'file:///etc/passwd': rejected('https'),
    'not a URL': rejected('https'),
  })
  const valid = 'https://fcm.googleapis.com/fcm/send/abc'
  const offCurve = `B${'A'.repeat(85)}E`
  t.same(
    [
      outcomeOf(await register(valid, { p256dh: offCurve })),
      (await register(valid, { p256dh: 'short' })).code,
      (await register(valid, { auth: 'short' })).code,
    ],
    ['400 push.key-invalid', '400', '400'],
  )
})

t.test('an endpoint that is no longer allowed, or resolves to a private address, gets no request', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  const first = await startPush(t, at, { service })
  await first.browse(first.anna, 'laptop')
  await first.running.stop('next configuration')
  const results: unknown[] = []
  for (const config of [
    { 'platform.push.web-push.hosts': ['fcm.googleapis.com'] },
    { 'platform.outgoing-http.allowed-hosts': [] },
  ]) {
    const next = await startPush(t, at, { service, config, isSecond: true })
    const { outcome, errorCode } = (await next.send('web-push', next.ids.anna)) ?? {}
    results.push([outcome, errorCode, (await next.devices())[0]?.status])
    await next.running.stop('next configuration')
  }
  const expected = ['rejected', 'push.address-rejected', 'active']
  t.same(results, [expected, expected])
  t.same(service.received, [])
})
