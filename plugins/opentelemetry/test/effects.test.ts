/** Tests the effect of each configuration key of traces. */
import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { tracing } from '@plinth/kernel'
import t from 'tap'
import { startCollector } from './fixtures/collector.ts'
import { startTraced } from './fixtures/product.ts'

t.setTimeout(120_000)

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

t.test('spans go to the configured collector, with the configured headers and name', async (t) => {
  const collector = await startCollector(t)
  const sent = async (config: KeyValues) => {
    const before = collector.bodies.length
    const { order, running } = await startTraced(t, collector.url, config)
    await order(1)
    await running.stop('test ended')
    const after = collector.bodies.length
    return {
      count: after - before,
      authorization: collector.headers.at(-1)?.['x-key'],
      service: collector.spans().at(-1)?.service,
    }
  }
  await assertKeyEffect(t, 'platform.opentelemetry.endpoint', {
    compared: collector.url,
    changed: '',
    observe: async (config) => (await sent(config)).count > 0,
  })
  await assertKeyEffect(t, 'platform.opentelemetry.headers', {
    changed: ['x-key: value: with colon'],
    observe: async (config) => (await sent(config)).authorization,
  })
  t.equal(collector.headers.at(-1)?.['x-key'], 'value: with colon')
  await assertKeyEffect(t, 'platform.opentelemetry.service-name', {
    changed: 'other',
    observe: async (config) => (await sent(config)).service,
  })
  await assertKeyEffect(t, 'platform.opentelemetry.sampling-ratio', {
    compared: 0,
    changed: 1,
    observe: async (config) => (await sent(config)).count > 0,
  })
})

t.test('callers, hosts and links are those of the configuration', async (t) => {
  const collector = await startCollector(t)
  await assertKeyEffect(t, 'platform.opentelemetry.trusted-callers', {
    changed: ['127.0.0.1'],
    observe: async (config) => {
      const { order } = await startTraced(t, collector.url, config)
      return traceparent.includes((await order(1, { traceparent })).traceId)
    },
  })
  const traced = async (config: KeyValues) => (await startTraced(t, collector.url, config)).running.service(tracing)
  await assertKeyEffect(t, 'platform.opentelemetry.shown-to', {
    changed: ['*.example.com'],
    observe: async (config) => (await traced(config)).tracer?.isShownTo('api.example.com'),
  })
  await assertKeyEffect(t, 'platform.opentelemetry.link', {
    changed: 'https://tempo.example.com/trace/{{traceId}}',
    observe: async (config) => (await traced(config)).link(),
  })
})

t.test('an export ends after the configured time', async (t) => {
  const collector = await startCollector(t)
  collector.respond = () => {}
  await assertKeyEffect(t, 'platform.opentelemetry.export-timeout', {
    compared: '100ms',
    changed: '4s',
    observe: async (config) => {
      const { order, running } = await startTraced(t, collector.url, config)
      await order(1)
      const startedAt = performance.now()
      await running.stop('test ended')
      return performance.now() - startedAt > 2_500
    },
  })
})
