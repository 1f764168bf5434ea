/**
 * Tests that a request and the webhook that another process sent are one trace, and that the trace id leads to the rows
 * that the request caused.
 */
import { fork } from 'node:child_process'
import { watchProcess } from '@plinth/dev/testing'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import t from 'tap'
import { startCollector } from '../plugins/opentelemetry/test/fixtures/collector.ts'
import { configOf, startWebhooks } from '../plugins/webhooks/test/fixtures/product.ts'
import { startReceiver } from '../plugins/webhooks/test/fixtures/receiver.ts'
import { tracedPlugins } from './fixtures/traced-product.ts'

t.setTimeout(600_000)

const skip = skipWithoutRedisProgram || everyDialect.find(({ dialect }) => dialect === 'postgresql')?.skip || false

t.test('a request and the webhook of another process are one trace', { skip }, async (t) => {
  const at = await createDatabase('postgresql')
  t.teardown(() => at.drop())
  const redis = await startRedis()
  t.teardown(() => redis.drop())
  const collector = await startCollector(t)
  const receiver = await startReceiver(t)
  const config = {
    ...redis.config,
    'platform.opentelemetry.endpoint': collector.url,
    'platform.opentelemetry.sampling-ratio': 1,
    'platform.opentelemetry.service-name': 'web',
  }
  const hosts = [receiver.host]
  const product = await startWebhooks(t, at, {
    config,
    hosts,
    plugins: tracedPlugins,
    roles: ['web'],
    isRealTime: true,
  })
  await product.createEndpoint(product.root, receiver.url)
  const worker = watchProcess(
    t,
    fork(
      new URL('fixtures/traced-process.ts', import.meta.url),
      [JSON.stringify(configOf(at, { hosts, config: { ...config, 'platform.opentelemetry.service-name': 'worker' } }))],
      { silent: true, execArgv: ['--disable-warning=ExperimentalWarning'] },
    ),
  )
  await worker.until(() => worker.messages.includes('started'), 'the worker has started')

  const login = await product.server.inject({
    method: 'POST',
    url: '/api/v1/auth/login',
    payload: { username: 'root', password: 'correct horse battery staple' },
  })
  const authorization = `Bearer ${login.json().data.accessToken}`
  const sent = await product.server.inject({
    method: 'POST',
    url: '/api/v1/parcels/7',
    headers: { authorization },
  })
  t.equal(sent.json().code, '200')
  const traceId = String(sent.headers['x-trace-id'])
  await product.settled((rows) => rows.length === 1 && rows[0]?.status === 'delivered')
  const [request] = receiver.requests
  t.equal(receiver.requests.length, 1)

  const spans = await collector.trace(traceId, 'POST /api/v1/parcels/:parcelId', 'webhook attempt', 'HTTP POST')
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  const path: string[] = []
  const sentSpan = spans.find(({ name }) => name === 'HTTP POST')
  for (let span = sentSpan; span !== undefined; span = byId.get(span.parentSpanId ?? '')) {
    path.unshift(`${span.service}: ${span.name}`)
  }
  t.strictSame(path, [
    'web: POST /api/v1/parcels/:parcelId',
    'web: handler',
    'web: transaction',
    'web: publish test.parcel.sent',
    'worker: deliver test.parcel.sent',
    'worker: transaction',
    'worker: webhook attempt',
    'worker: HTTP POST',
  ])
  t.equal(new Set(spans.map(({ pid }) => pid)).size, 2, 'two processes have sent spans')
  t.equal(request?.headers['traceparent'], `00-${traceId}-${sentSpan?.spanId}-01`, 'the receiver got the trace')

  // The trace id leads to the rows of the request.
  const found = async (url: string) =>
    (await product.server.inject({ method: 'GET', url, headers: { authorization } })).json().data.items
  const [event] = await found(`/api/v1/admin/events/outbox?traceId=${traceId}`)
  t.equal(event.traceId, traceId)
  t.equal(event.type, 'test.parcel.sent')
  const audits = await found(`/api/v1/admin/iam/audits?traceId=${traceId}`)
  t.strictSame(
    audits.map((row: { readonly action: string; readonly traceId: string }) => [row.action, row.traceId]),
    [['parcel.send', traceId]],
  )
  const deliveries = await found(`/api/v1/admin/webhooks/deliveries?traceId=${traceId}`)
  t.strictSame(
    deliveries.map((row: { readonly traceId: string }) => row.traceId),
    [traceId],
  )
  t.strictSame(await found(`/api/v1/admin/events/outbox?traceId=${'1'.repeat(32)}`), [])
  await worker.end('SIGTERM')
})
