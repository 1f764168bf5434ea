/** Tests that a collector that is down, slow or rejects spans does not affect the product. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { until } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startTracing } from '../src/start-tracing.ts'
import { startCollector } from './fixtures/collector.ts'
import { startTraced } from './fixtures/product.ts'

t.setTimeout(120_000)

const lost = 'spans cannot be sent to the collector and are lost'

interface LogLine {
  readonly level: number
  readonly msg: string
  readonly reason?: string
}

/** Sends requests, and checks that the product warns once, works, and stops in time. */
async function assertUnaffected(t: Test, url: string, reason: RegExp) {
  const { order, lines, running } = await startTraced(t, url)
  const warnings = () => lines.map((line): LogLine => JSON.parse(line)).filter(({ msg }) => msg === lost)
  t.equal((await order(1)).code, '200')
  await until(() => warnings().length > 0, 'the product warns')
  for (let id = 2; id < 10; id++) t.equal((await order(id)).code, '200')
  t.match(warnings()[0]?.reason, reason)
  t.equal(warnings()[0]?.level, pino.levels.values['warn'])
  const startedAt = performance.now()
  await running.stop('test ended')
  t.ok(performance.now() - startedAt < 20_000, 'the stop does not wait for the collector')
  t.equal(warnings().length, 1, 'only the first of several failures is logged')
}

t.test('no collector listens', async (t) => {
  const collector = await startCollector(t)
  collector.close()
  await assertUnaffected(t, collector.url, /ECONNREFUSED|retryable/i)
})

t.test('the collector rejects the spans', async (t) => {
  const collector = await startCollector(t)
  collector.respond = (response) => void response.writeHead(400).end('no')
  await assertUnaffected(t, collector.url, /Bad Request/)
})

t.test('the collector accepts connections and never responds', async (t) => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await assertUnaffected(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, /./)
  await until(() => sockets.size === 0, 'all connections are closed')
  t.pass('the stop closes the connections')
})

t.test('after a failure, the product reports that spans are sent again', async (t) => {
  const collector = await startCollector(t)
  collector.respond = (response) => void response.writeHead(400).end('no')
  const { order, lines } = await startTraced(t, collector.url)
  await order(1)
  await until(() => lines.some((line) => line.includes(lost)), 'the product warns')
  collector.respond = collector.accept
  await order(2)
  await until(() => lines.some((line) => line.includes('spans are sent to the collector again')), 'the end is logged')
  t.pass()
})

t.test('spans that wait for the collector are limited', async (t) => {
  const collector = await startCollector(t)
  const { tracer, stop } = startTracing({
    endpoint: collector.url,
    headers: [],
    serviceName: 'test',
    exportTimeoutMs: 60_000,
    samplingRatio: () => 1,
    trustedCallers: () => [],
    shownTo: () => [],
    clock: systemClock,
    log: pino({ level: 'silent' }),
    redact: (text) => text,
  })
  for (let count = 0; count < 10_000; count++) tracer.begin('work').end()
  await stop()
  // The first 512 are a batch that is being sent.
  t.equal(collector.spans().length, 512 + 2_048)
})
