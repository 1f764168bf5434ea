import { definePlugin, kernel, tracing } from '@plinth/kernel'
import { keys } from './config.ts'

/** Traces of the product, sent to a collector with OpenTelemetry. */
export default definePlugin({
  id: 'opentelemetry',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel },
  provides: [tracing],
  config: keys,
  configGroups: { opentelemetry: { en: 'Traces', 'zh-CN': '链路追踪' } },
  async setup({ services, config, clock, log, redact, roles, provide, onStop }) {
    const endpoint = config.get('platform.opentelemetry.endpoint')
    const link = () => config.get('platform.opentelemetry.link') || undefined
    // A command ends soon and serves nobody. Without a collector, OpenTelemetry is not loaded.
    if (endpoint === '' || roles.has('cli')) return provide(tracing, { tracer: undefined, link })
    const { startTracing } = await import('./start-tracing.ts')
    const { tracer, stop } = startTracing({
      endpoint,
      headers: config.get('platform.opentelemetry.headers'),
      serviceName: config.get('platform.opentelemetry.service-name') || services.kernel.product.name,
      exportTimeoutMs: config.get('platform.opentelemetry.export-timeout'),
      samplingRatio: config.derived(() => config.get('platform.opentelemetry.sampling-ratio')),
      trustedCallers: config.derived(() => config.get('platform.opentelemetry.trusted-callers')),
      shownTo: config.derived(() => config.get('platform.opentelemetry.shown-to')),
      clock,
      log,
      redact,
    })
    // The last plugin to stop is the first that was set up, so the spans of all other plugins are sent.
    onStop(stop)
    provide(tracing, { tracer, link })
  },
})
