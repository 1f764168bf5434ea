/** Tests the spans of a request, which traces callers may continue, and that no span contains a secret. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { events } from '@plinth/events'
import { maskedValue } from '@plinth/kernel'
import t from 'tap'
import { type CollectedSpan, startCollector } from './fixtures/collector.ts'
import { orderPlaced, startTraced } from './fixtures/product.ts'

t.setTimeout(120_000)

const traceparent = (traceId: string, flags = '01') => `00-${traceId}-00f067aa0ba902b7-${flags}`
const foreign = '4bf92f3577b34da6a3ce929d0e0e4736'

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`no span ${name}`)
  return found
}

t.test('a request, its guard, handler, transaction, event and delivery are one trace', async (t) => {
  const collector = await startCollector(t)
  const { order, db } = await startTraced(t, collector.url)
  const { code, traceId } = await order(1, {}, '?token=secret-in-query')
  t.equal(code, '200')
  t.match(traceId, /^[0-9a-f]{32}$/)
  const spans = await collector.trace(traceId, 'POST /api/v1/orders', 'deliver test.order.placed')
  const parentOf = (name: string) => spans.find(({ spanId }) => spanId === named(spans, name).parentSpanId)?.name
  t.equal(parentOf('POST /api/v1/orders'), undefined)
  t.equal(parentOf('guard test.guard'), 'POST /api/v1/orders')
  t.equal(parentOf('handler'), 'POST /api/v1/orders')
  t.equal(parentOf('transaction'), 'handler')
  t.equal(parentOf('publish test.order.placed'), 'transaction')
  t.equal(parentOf('deliver test.order.placed'), 'publish test.order.placed')
  const request = named(spans, 'POST /api/v1/orders')
  t.equal(request.service, 'shop')
  t.strictSame(
    request.attributes,
    {
      'http.request.method': 'POST',
      'url.path': '/api/v1/orders',
      'http.response.status_code': 200,
      'http.route': '/api/v1/orders',
    },
    'the attributes have no query',
  )
  const [row] = await db.query<{ traceparent: string }>('select traceparent from outbox_event', [])
  t.equal(row?.traceparent.split('-')[1], traceId, 'the event stores the trace')
})

t.test('a caller that is not trusted decides neither the trace nor whether it is sampled', async (t) => {
  const collector = await startCollector(t)
  const { order, db } = await startTraced(t, collector.url)
  const { traceId } = await order(1, { traceparent: traceparent(foreign), 'x-trace-id': 'chosen-by-caller' })
  t.not(traceId, foreign)
  const spans = await collector.trace(traceId, 'POST /api/v1/orders')
  const request = named(spans, 'POST /api/v1/orders')
  t.equal(request.links?.[0]?.traceId, foreign, 'the trace has a link to the trace of the caller')
  t.equal(request.attributes['plinth.caller_trace_id'], 'chosen-by-caller')
  const invalid = [
    '',
    '00',
    traceparent('0'.repeat(32)),
    traceparent(foreign).replace('00f067aa0ba902b7', '0'.repeat(16)),
    traceparent(foreign).replace('00-', 'ff-'),
    traceparent(foreign).toUpperCase(),
    `${traceparent(foreign)}-more`,
    `${traceparent(foreign)}${'0'.repeat(5_000)}`,
    `${traceparent(foreign)}, ${traceparent(foreign)}`,
    "00-'; drop table outbox_event; --",
  ]
  for (const value of invalid) {
    const answer = await order(2, { traceparent: value })
    t.equal(answer.code, '200', value.slice(0, 80))
    t.match(answer.traceId, /^(?!4bf92f)[0-9a-f]{32}$/)
    const own = named(await collector.trace(answer.traceId, 'POST /api/v1/orders'), 'POST /api/v1/orders')
    t.notOk(own.links?.length, 'there is no link to an invalid trace')
  }
  const rows = await db.query<{ traceparent: string }>('select traceparent from outbox_event', [])
  t.ok(rows.every(({ traceparent }) => /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/.test(traceparent)))
})

t.test('a caller cannot have its requests sampled, and unsampled requests have a trace id', async (t) => {
  const collector = await startCollector(t)
  const { order, running } = await startTraced(t, collector.url, { 'platform.opentelemetry.sampling-ratio': 0 })
  const first = await order(1, { traceparent: traceparent(foreign) })
  t.match(first.traceId, /^(?!4bf92f)[0-9a-f]{32}$/)
  await running.service(events).idle()
  await running.stop('test ended')
  t.strictSame(collector.spans(), [], 'nothing was sent until the end')
})

t.test('the trace of a trusted caller continues', async (t) => {
  const collector = await startCollector(t)
  const config = {
    'platform.opentelemetry.sampling-ratio': 0,
    'platform.opentelemetry.trusted-callers': ['127.0.0.0/8', '::1'],
  }
  const { order } = await startTraced(t, collector.url, config)
  t.equal((await order(1, { traceparent: traceparent(foreign) })).traceId, foreign)
  const spans = await collector.trace(foreign, 'POST /api/v1/orders', 'deliver test.order.placed')
  t.equal(named(spans, 'POST /api/v1/orders').parentSpanId, '00f067aa0ba902b7')
  const unsampled = foreign.replace('4bf', '5bf')
  t.equal((await order(2, { traceparent: traceparent(unsampled, '00') })).traceId, unsampled)
  t.not((await order(3, { traceparent: traceparent('0'.repeat(32)) })).traceId, '0'.repeat(32))
})

t.test('a late delivery is a new trace that refers to the trace of the event', async (t) => {
  const collector = await startCollector(t)
  const { db, running, order } = await startTraced(t, collector.url)
  const { traceId } = await order(1)
  await running.service(events).idle()
  const late = new Date(Date.now() - 600_000)
  await db.execute(`update outbox_event set status = 'pending', finished_at = null, next_at = ?, created_at = ?`, [
    new Date(0),
    late,
  ])
  const { traceId: second } = await order(2)
  await running.service(events).idle()
  await collector.trace(second, 'deliver test.order.placed')
  const linked = () => collector.spans().filter(({ links = [] }) => links.some((link) => link.traceId === traceId))
  t.equal(linked().length, 1)
  t.equal(linked()[0]?.name, 'deliver test.order.placed')
  t.not(linked()[0]?.traceId, traceId)
})

t.test('an event that is published outside of a trace begins a trace when it is delivered', async (t) => {
  const collector = await startCollector(t)
  const { db, running } = await startTraced(t, collector.url)
  await running.service(events).publish(orderPlaced, { orderId: 1 }, {})
  await running.service(events).idle()
  await running.stop('test ended')
  const delivery = named(collector.spans(), 'deliver test.order.placed')
  t.equal(delivery.parentSpanId, undefined)
  t.notOk(collector.spans().some(({ name }) => name.startsWith('publish')))
  t.ok(db)
})

t.test('no span contains a secret of the query, a header, the body, an error or the configuration', async (t) => {
  const collector = await startCollector(t)
  const { send, running, lines } = await startTraced(t, collector.url)
  const secrets = ['secret-in-query', 'secret-in-header', 'secret-in-body', 'configured-secret-7391']
  const { code, traceId } = await send('POST', '/api/v1/failures?token=secret-in-query', {
    headers: { authorization: 'Bearer secret-in-header', cookie: 'session=secret-in-header' },
    payload: { orderId: 1, note: 'secret-in-body' },
  })
  t.equal(code, '500')
  const spans = await collector.trace(traceId, 'POST /api/v1/failures', 'handler', `read ${maskedValue}`)
  t.equal(named(spans, 'handler').attributes['error.type'], 'Error')
  t.equal(named(spans, 'handler').status.code, 2)
  t.equal(named(spans, 'POST /api/v1/failures').status.code, 2)
  t.equal(
    named(spans, `read ${maskedValue}`).parentSpanId,
    named(spans, 'handler').spanId,
    'spans of other code are in the trace',
  )
  await running.stop('test ended')
  for (const secret of secrets) {
    t.notOk(
      collector.bodies.some((body) => body.includes(secret)),
      `no span contains ${secret}`,
    )
  }
  t.ok(
    lines.some((line) => line.includes(traceId) && line.includes('request failed')),
    'the log line of the error has the trace id',
  )
})

t.test('outgoing requests contain the trace only if the caller or the operator allows it', async (t) => {
  const collector = await startCollector(t)
  const received: (string | undefined)[] = []
  const server = createServer(({ headers }, response) => {
    received.push(headers['traceparent'] as string | undefined)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/secret-path?token=secret`
  const open = {
    'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${port}`],
    'platform.outgoing-http.allowed-ports': [String(port)],
  }
  const hidden = await startTraced(t, collector.url, open)
  await hidden.send('POST', '/api/v1/calls', { payload: { url, showsTrace: false } })
  const shown = await hidden.send('POST', '/api/v1/calls', { payload: { url, showsTrace: true } })
  const listed = await startTraced(t, collector.url, { ...open, 'platform.opentelemetry.shown-to': ['127.0.0.1'] })
  const allowed = await listed.send('POST', '/api/v1/calls', { payload: { url, showsTrace: false } })
  t.strictSame(
    received.map((value) => value?.split('-')[1]),
    [undefined, shown.traceId, allowed.traceId],
  )
  const spans = await collector.trace(shown.traceId, 'HTTP GET')
  t.strictSame(named(spans, 'HTTP GET').attributes, {
    'http.request.method': 'GET',
    'server.address': '127.0.0.1',
    'http.response.status_code': 200,
  })
  t.equal(received[1]?.split('-')[2], named(spans, 'HTTP GET').spanId)
})

t.test('the API of OpenTelemetry has the current span, and none after the product has stopped', async (t) => {
  const collector = await startCollector(t)
  const first = await startTraced(t, collector.url)
  const answer = await first.send('GET', '/api/v1/active')
  t.equal(answer.data, answer.traceId)
  await first.running.stop('test ended')
  const second = await startTraced(t, collector.url)
  const again = await second.send('GET', '/api/v1/active')
  t.equal(again.data, again.traceId, 'a product that starts later in the same process registers again')
})
