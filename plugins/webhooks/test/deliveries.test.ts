import { once } from 'node:events'
import { freePort } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createReceiver, type WebhookEvent } from '@plinth-example/webhook-receiver'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { DeliveryStore } from '../src/delivery-store.ts'
import { outcomeOf, parcelSent, startWebhooks } from './fixtures/product.ts'
import { isSignedBy, type ReceivedRequest, type Respond, startReceiver, status } from './fixtures/receiver.ts'

const day = 86_400_000

/** Starts a product with a receiver and an endpoint of `root`. */
async function start(t: Test, at: TestDatabase, respond?: Respond, config = {}) {
  const receiver = await startReceiver(t, respond)
  const product = await startWebhooks(t, at, { hosts: [receiver.host], config })
  const endpoint = await product.createEndpoint(product.root, receiver.url)
  return { ...product, receiver, endpointId: endpoint.id, secret: endpoint.secret }
}

onEachDatabase(t, 'an event arrives once, with a signature that the public library accepts', async (t, at) => {
  const { receiver, publish, settled, secret, deliveries, clock } = await start(t, at)
  const parcelId = await publish()
  await settled(([row]) => row?.status === 'delivered')
  const [request] = receiver.requests as [ReceivedRequest]
  t.equal(receiver.requests.length, 1)
  const event = new Webhook(secret).verify(request.body, request.headers as Record<string, string>)
  const [row] = await deliveries()
  t.match(event, { type: 'parcel.sent', data: { parcelId, sequence: Number } })
  t.same(Object.keys(event as object), ['type', 'timestamp', 'data'])
  t.ok(Math.abs(Date.parse((event as { timestamp: string }).timestamp) - clock.now()) < 1000)
  t.equal(request.headers['webhook-id'], `msg_${row?.id}`)
  t.equal(request.headers['content-type'], 'application/json')
  t.equal(row?.attemptLog.length, 1)
  t.hasStrict(row?.attemptLog[0], { number: 1, outcome: 'succeeded', status: 204, reason: null })
  t.notOk(request.body.includes('userId'), 'nothing but the declared data')
})

onDatabase(t, 'the example receiver stores each event once', async (t, at) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const { root, createEndpoint, publish, settled } = await startWebhooks(t, at, { hosts: [`127.0.0.1:${port}`] })
  const { secret } = await createEndpoint(root, url)
  const stored = new Map<string, WebhookEvent>()
  const receiver = createReceiver({ secret, store: (id, event) => void stored.set(id, event) })
  receiver.listen(port, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  const parcelId = await publish()
  await settled(([row]) => row?.status === 'delivered')
  t.equal(stored.size, 1)
  t.hasStrict([...stored.values()][0], { type: 'parcel.sent', data: { parcelId } })
})

onDatabase(t, 'a later event has a larger sequence', async (t, at) => {
  const { receiver, publish, settled, db } = await start(t, at)
  for (let at = 0; at < 5; at++) await publish()
  await settled((rows) => rows.length === 5 && rows.every(({ status }) => status === 'delivered'))
  const data = receiver.requests.map(({ body }) => JSON.parse(body).data).sort((a, b) => a.parcelId - b.parcelId)
  t.ok(data.every(({ sequence }, at) => at === 0 || sequence > data[at - 1].sequence))
  const events = await db.query<{ id: unknown }>('select id from outbox_event where type = ? order by id', [
    parcelSent.id,
  ])
  t.same(
    data.map(({ sequence }) => sequence),
    events.map(({ id }) => Number(id)),
    'it does not depend on the time at which the event is handled',
  )
})

onDatabase(t, 'a retry keeps id and body, and has its own timestamp and signature', async (t, at) => {
  const { receiver, publish, attempted, passUntil, secret } = await start(t, at, status(500))
  await publish()
  await attempted()
  receiver.respond = status(200)
  await passUntil(6_000, ([row]) => row?.status === 'delivered')
  const [first, second] = receiver.requests as [ReceivedRequest, ReceivedRequest]
  t.equal(first.headers['webhook-id'], second.headers['webhook-id'])
  t.equal(first.body, second.body)
  t.not(first.headers['webhook-timestamp'], second.headers['webhook-timestamp'])
  t.ok(isSignedBy(first, secret) && isSignedBy(second, secret))
})

const endless: Respond = (_, response) => {
  response.writeHead(200)
  const write = () => {
    while (!response.destroyed && response.write('x'.repeat(10_000)));
  }
  response.on('drain', write)
  write()
}

onDatabase(t, 'each response has its outcome', async (t, at) => {
  const cases: readonly (readonly [string, Respond, object])[] = [
    ['200', status(200), { status: 'delivered', lastReason: null }],
    ['endless body', endless, { status: 'delivered', lastReason: null }],
    ['redirect', status(302, { location: 'http://169.254.169.254/' }), { status: 'pending', lastReason: 'redirect' }],
    ['404', status(404), { status: 'pending', lastReason: 'http-404' }],
    ['429', status(429), { status: 'pending', lastReason: 'throttled' }],
    ['no response', (_, response) => response.destroy(), { status: 'pending', lastReason: 'connection-lost' }],
    ['410', status(410), { status: 'failed', lastReason: 'gone' }],
  ]
  const { receiver, publish, attempted, deliveries, pass, endpoint, endpointId } = await start(t, at)
  for (const [name, respond, expected] of cases) {
    receiver.respond = respond
    receiver.requests.length = 0
    await publish()
    await attempted()
    t.hasStrict((await deliveries()).at(-1), expected, name)
    t.equal(receiver.requests.length, 1, `${name}: one request`)
    await pass(1_000)
  }
  t.hasStrict(await endpoint(endpointId), { status: 'suspended', statusReason: 'gone' })
})

onDatabase(t, 'a receiver can delay its next request, within bounds', async (t, at) => {
  const { receiver, publish, attempted, deliveries, clock } = await start(t, at)
  for (const [index, [asked, expected]] of [['3600', 3_600_000] as const, ['999999', day] as const].entries()) {
    receiver.respond = status(503, { 'retry-after': asked })
    await publish()
    await attempted()
    t.equal(((await deliveries())[index]?.nextAt.getTime() ?? 0) - clock.now(), expected)
    await clock.advance(301_000)
  }
})

onDatabase(t, 'an endpoint that never responds does not delay others', async (t, at) => {
  const { root, receiver, publish, settled, createEndpoint } = await start(t, at, () => undefined)
  await createEndpoint(root, `${receiver.url}/fast`)
  const waiting: (() => void)[] = []
  receiver.respond = (request, response) => {
    if (request.url?.endsWith('/fast')) response.writeHead(204).end()
    else waiting.push(() => response.destroy())
  }
  for (let at = 0; at < 40; at++) await publish()
  await settled((rows) => rows.filter(({ status }) => status === 'delivered').length === 40)
  t.equal(receiver.requests.filter(({ path }) => path === '/hooks').length, 4, 'as many as one endpoint may have')
  for (const end of waiting) end()
})

onDatabase(
  t,
  'a private address is never called, also for test events and after a change of the URL',
  async (t, at) => {
    const { root, receiver, publish, attempted, deliveries, createEndpoint, endpointId, endpoint } = await start(t, at)
    for (const url of [
      'http://127.0.0.2/',
      'http://[::1]/',
      'https://user:x@example.com/',
      'ftp://example.com/',
      'x',
    ]) {
      const answer = await root('POST', '/endpoints', { name: 'x', url, eventTypes: ['parcel.sent'] })
      t.equal(outcomeOf(answer), '400 webhooks.url-rejected', url)
      t.equal(answer.data.field, 'url')
    }
    const { version } = await endpoint(endpointId)
    t.equal(
      outcomeOf(await root('PUT', `/endpoints/${endpointId}`, { url: 'http://10.0.0.1/', version })),
      '400 webhooks.url-rejected',
    )
    // `localhost` passes the check of its form. Its address is checked when the request is sent.
    const other = await createEndpoint(root, `http://localhost:${receiver.port}/`)
    t.equal(outcomeOf(await root('POST', `/endpoints/${other.id}/test`, {})), '200')
    await attempted()
    t.hasStrict((await deliveries())[0], {
      status: 'pending',
      eventType: 'webhook.test',
      lastReason: 'address-refused',
    })
    await publish()
    await attempted()
    t.equal(receiver.requests.length, 1, 'only the allowed host')
  },
)

onDatabase(t, 'both secrets sign during a rotation, and the old one ends', async (t, at) => {
  const { root, receiver, publish, settled, endpointId, secret, pass, login, db } = await start(t, at)
  const rotate = (body: object) => root('POST', `/endpoints/${endpointId}/rotate-secret`, body)
  const rotated = await rotate({ graceSeconds: 3600 })
  const next: string = rotated.data.secret
  t.match(next, /^whsec_/)
  t.equal(outcomeOf(await rotate({ graceSeconds: 60 })), '409 webhooks.grace-running')
  await publish()
  await settled(([row]) => row?.status === 'delivered')
  const [request] = receiver.requests as [ReceivedRequest]
  for (const one of [secret, next]) {
    t.match(new Webhook(one).verify(request.body, request.headers as Record<string, string>), { type: 'parcel.sent' })
  }
  await pass(3_601_000)
  await publish()
  await settled((rows) => rows.length === 2 && rows[1]?.status === 'delivered')
  const [, later] = receiver.requests as [ReceivedRequest, ReceivedRequest]
  t.same(
    [secret, next].map((one) => isSignedBy(later, one)),
    [false, true],
  )
  const forced = await (await login('root'))('POST', `/endpoints/${endpointId}/rotate-secret`, { graceSeconds: 0 })
  t.equal(forced.data.previousValidUntil, null)
  const stored = JSON.stringify(await db.query('select secret_enc, previous_secret_enc from webhook_endpoint'))
  for (const one of [secret, next, forced.data.secret]) t.notOk(stored.includes(one.slice(6)), 'encrypted at rest')
  const shown = await (await login('root'))('GET', `/endpoints/${endpointId}`)
  t.notOk(shown.text.includes('secret_enc') || shown.text.includes('whsec_'), 'shown once')
})

onDatabase(t, 'a changed URL applies to waiting deliveries', async (t, at) => {
  const { root, receiver, publish, attempted, passUntil, endpoint, endpointId } = await start(t, at, status(500))
  await publish()
  await attempted()
  receiver.respond = status(200)
  const { version } = await endpoint(endpointId)
  const url = receiver.url.replace('/hooks', '/moved')
  t.equal((await root('PUT', `/endpoints/${endpointId}`, { url, version })).code, '200')
  await passUntil(6_000, ([row]) => row?.status === 'delivered')
  t.same(
    receiver.requests.map(({ path }) => path),
    ['/hooks', '/moved'],
  )
})

onDatabase(t, 'deliveries of a disabled endpoint are held, and sent again singly and by range', async (t, at) => {
  const { root, receiver, publish, settled, deliveries, endpointId, clock } = await start(t, at)
  t.equal((await root('POST', `/endpoints/${endpointId}/disable`, { note: 'moves to another host' })).code, '200')
  const from = new Date(clock.now() - 1_000).toISOString()
  for (let at = 0; at < 3; at++) await publish()
  await settled((rows) => rows.length === 3 && rows.every(({ status }) => status === 'held'))
  t.equal(receiver.requests.length, 0)
  const range = { from, to: new Date(clock.now() + 60_000).toISOString() }
  t.equal(outcomeOf(await root('POST', `/endpoints/${endpointId}/redeliver`, range)), '409 webhooks.endpoint-disabled')
  t.equal(outcomeOf(await root('POST', `/endpoints/${endpointId}/test`, {})), '409 webhooks.endpoint-disabled')
  const [first] = await deliveries()
  const outcome = outcomeOf(await root('POST', `/deliveries/${first?.id}/redeliver`))
  t.equal(outcome, '409 webhooks.endpoint-disabled')
  t.equal((await root('POST', `/endpoints/${endpointId}/enable`, {})).data.status, 'active')
  t.equal((await root('POST', `/deliveries/${first?.id}/redeliver`)).data.status, 'pending')
  await settled(([row]) => row?.status === 'delivered')
  t.equal(receiver.requests.length, 1, 'only the one that was asked for')
  t.same((await root('POST', `/endpoints/${endpointId}/redeliver`, range)).data, { redelivered: 2, isMore: false })
  await settled((rows) => rows.every(({ status }) => status === 'delivered'))
  t.same((await root('POST', `/endpoints/${endpointId}/redeliver`, range)).data, { redelivered: 0, isMore: false })
  t.equal((await root('POST', `/deliveries/${first?.id}/redeliver`)).code, '200')
  await settled(() => receiver.requests.length === 4, 'a delivered one can be sent again')
  const sent = receiver.requests.filter(({ headers }) => headers['webhook-id'] === `msg_${first?.id}`)
  t.equal(sent.length, 2, 'with the same id')
  const back = { from: range.to, to: range.from }
  t.equal(outcomeOf(await root('POST', `/endpoints/${endpointId}/redeliver`, back)), '400 webhooks.range-invalid')
})

onDatabase(t, 'deliveries of a deleted endpoint are held, and cannot be sent again', async (t, at) => {
  const { root, publish, attempted, deliveries, endpoint, endpointId, db, running } = await start(t, at, status(500))
  await publish()
  await attempted()
  const { version } = await endpoint(endpointId)
  t.equal((await root('DELETE', `/endpoints/${endpointId}?version=${version}`)).code, '200')
  const [row] = await deliveries()
  t.hasStrict(row, { status: 'held', leaseToken: null })
  t.equal(outcomeOf(await root('POST', `/deliveries/${row?.id}/redeliver`)), '404 webhooks.endpoint-unknown')
  t.equal((await deliveries())[0]?.status, 'held')
  // An event that was handled during the deletion.
  await db.execute("update webhook_delivery set status = 'pending', finished_at = ?", [null])
  const purge = running.scheduledTasks.find(({ name }) => name === 'webhooks.purge')
  await purge?.run(new AbortController().signal)
  const [held] = await deliveries()
  t.equal(held?.status, 'held')
  t.ok(held?.finishedAt)
})

onDatabase(t, 'deliveries are not held if their endpoint was enabled in the meantime', async (t, at) => {
  const { publish, attempted, deliveries, endpointId, db, clock } = await start(t, at, status(500))
  await publish()
  await attempted()
  await db.execute('update webhook_delivery set next_at = ?', [new Date(clock.now() - 1_000)])
  const events = { publish: async () => 0 }
  await new DeliveryStore({ db, events, random: () => 0 }).hold(endpointId)
  t.equal((await deliveries())[0]?.status, 'pending')
})

onDatabase(t, 'an endpoint that always fails is reported, and suspended after five days', async (t, at) => {
  const { receiver, publish, attempted, pass, endpoint, endpointId, db, login } = await start(t, at, status(500))
  const published = async () =>
    (await db.query<{ type: string }>("select type from outbox_event where type like 'webhooks.%' order by id")).map(
      ({ type }) => type,
    )
  const statuses: string[] = []
  for (let hour = 0; hour < 11; hour++) {
    await publish()
    await attempted()
    statuses.push((await endpoint(endpointId)).status)
    await pass(day / 2)
    await attempted()
  }
  t.same(statuses, [...Array(2).fill('active'), ...Array(8).fill('failing'), 'suspended'])
  t.same(await published(), ['webhooks.endpoint.failing', 'webhooks.endpoint.suspended'], 'each once')
  t.hasStrict(await endpoint(endpointId), { statusReason: 'failing' })
  const root = await login('root')
  t.equal((await root('GET', '/endpoints?status=suspended&count=exact')).data.total, 1)
  receiver.respond = status(200)
  t.hasStrict((await root('POST', `/endpoints/${endpointId}/enable`, {})).data, { status: 'active', failedAttempts: 0 })
})

onDatabase(t, 'a success ends the count of failures', async (t, at) => {
  const { receiver, publish, attempted, passUntil, endpoint, endpointId } = await start(t, at, status(500))
  await publish()
  await attempted()
  await passUntil(day + 10_000, ([row]) => row?.attempts === 2 && row.leaseToken === null)
  t.equal((await endpoint(endpointId)).status, 'failing')
  receiver.respond = status(200)
  await publish()
  await attempted()
  t.hasStrict(await endpoint(endpointId), { status: 'active', failedAttempts: 0, failingSince: null })
})
