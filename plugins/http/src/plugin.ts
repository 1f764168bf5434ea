import { charts } from '@plinth/admin'
import { definePlugin, healthCheck, optional } from '@plinth/kernel'
import { manifestEntries, nodeEnvironmentOf, startSummary, upgradeSteps } from '@plinth/kernel/host'
import { Registry } from 'prom-client'
import { AddressSet } from './caller/address-set.ts'
import { type ClientIpRules, createCallerAddressResolver } from './caller/client-ip.ts'
import { createForwarding } from './caller/forwarding.ts'
import { commands, operationSteps, requires, routeEntries } from './commands.ts'
import { keys } from './config.ts'
import { health, http, metrics } from './contract.ts'
import { createReadiness, healthRoutes, metricsRoute } from './health.ts'
import { createHttpService } from './http-service.ts'
import { createRequestDurations, measureDatabase, measureProcess, requestCharts } from './metrics.ts'
import { checkPort, Listener } from './server/listener.ts'
import { createTranslate, messages } from './texts.ts'

/**
 * Milliseconds that remain for open requests between the end of the drain delay and the drain deadline. If the deadline
 * is shorter than twice this time, half of the deadline remains.
 */
const closingMs = 2_000

/**
 * The HTTP server. Plugins add routes during setup. The server listens when all plugins are ready. A process with only
 * the role `worker` serves at most health checks and metrics.
 */
export default definePlugin({
  id: 'http',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires,
  provides: [http, metrics, health],
  contributes: [healthCheck, manifestEntries, startSummary, upgradeSteps, optional(charts)],
  config: keys,
  configGroups: {
    http: { en: 'HTTP server', 'zh-CN': 'HTTP 服务' },
    'rate-limit': { en: 'Rate limits', 'zh-CN': '限流' },
  },
  messages,
  commands,
  setup({ services, config, clock, log, roles, provide, provideEach, contribute, onReady, onDrain, onStop }) {
    const registry = new Registry()
    const hasMetrics = config.get('platform.http.metrics.enabled')
    if (hasMetrics) measureProcess(registry)
    if (hasMetrics && services.database !== undefined) measureDatabase(registry, services.database)
    let isDraining = false
    let isAccessLogged = config.get('platform.http.access-log')
    config.onChange('platform.http.access-log', (value) => {
      isAccessLogged = value
    })
    let isCompressing = config.get('platform.http.compression.enabled')
    config.onChange('platform.http.compression.enabled', (value) => {
      isCompressing = value
    })
    const translate = createTranslate(services.i18n)
    const clientIpRules: ClientIpRules = {
      trustedProxies: config.get('platform.rate-limit.annotation.client-ip.trusted-proxies'),
      trustForwardedHeaders: config.get('platform.rate-limit.annotation.client-ip.trust-forwarded-headers'),
      headers: config.get('platform.rate-limit.annotation.client-ip.headers') as ClientIpRules['headers'],
      ipv6Prefix: config.get('platform.rate-limit.annotation.client-ip.ipv6-prefix'),
    }
    const addresses = createCallerAddressResolver(clientIpRules)
    const readiness = createReadiness(() => services.kernel.contributions(healthCheck), {
      deadlineMs: config.get('platform.http.readiness-deadline'),
      clock,
      log,
      storedValuesBehind: (plugins, reason) => services.kernel.storedValuesBehind(plugins, reason),
    })
    provide(health, readiness)
    const metricsReaders = new AddressSet(config.get('platform.http.metrics.allowed-clients'))
    const probes = [
      ...healthRoutes({ readiness, isDraining: () => isDraining, translate }),
      ...(hasMetrics ? [metricsRoute(registry, metricsReaders)] : []),
    ]
    const service = createHttpService(probes, {
      site: services.site ?? { title: services.kernel.product.name, url: '' },
      product: services.kernel.product,
      plugins: services.kernel.plugins,
      bodyLimit: config.get('platform.http.body-limit'),
      requestTimeoutMs: config.get('platform.http.request-timeout'),
      sendTimeoutMs: config.get('platform.http.send-timeout'),
      maxConnections: config.get('platform.http.max-connections'),
      overload: {
        maxRequests: config.get('platform.http.overload.max-requests'),
        maxWaiting: config.get('platform.http.overload.max-waiting'),
        maxWaitMs: config.get('platform.http.overload.max-wait'),
      },
      isResponseChecked: config.get('platform.http.response-check'),
      onIgnoredQuery: nodeEnvironmentOf(process.env['NODE_ENV']).isProduction
        ? undefined
        : ({ plugin, method, path }, names) =>
            log.warn(
              { plugin, method, path, names: names.slice(0, 8) },
              'ignored query parameters that are not declared',
            ),
      hasDocs: config.get('platform.http.docs.enabled'),
      isAccessLogged: () => isAccessLogged,
      isDraining: () => isDraining,
      isCompressing: () => isCompressing,
      hasMetrics,
      clientIpRules,
      addresses,
      contextPath: config.get('platform.http.context-path'),
      forwarding: createForwarding(addresses, config.get('platform.http.context-path')),
      localeOf: (header) => services.i18n?.negotiate(header) ?? 'en',
      translate,
      durationsOf: hasMetrics ? createRequestDurations(registry) : undefined,
      clock,
      tracer: services.tracing?.tracer,
      log,
      logOf: (plugin) => services.kernel.logOf(plugin),
    })
    provideEach(http, (consumer) => service.serverFor(consumer.id))
    contribute(manifestEntries, 'routes', () => routeEntries(service.serverFor('http').routes))
    contribute(upgradeSteps, 'routes', (recorded) => operationSteps(service.serverFor('http').routes, recorded))
    provide(metrics, registry)
    if (hasMetrics) for (const chart of requestCharts) contribute(charts, chart.id, chart)
    // A server compiles a schema when its route is first used. `plinth doctor` compiles all schemas to find invalid
    // ones.
    if (roles.has('cli')) {
      contribute(healthCheck, 'http.schemas', () => service.checkSchemas())
      contribute(healthCheck, 'http.port', async () => {
        const [host, port] = [config.get('platform.http.host'), config.get('platform.http.port')]
        return { warnings: await checkPort(host, port, config.get('platform.http.context-path')) }
      })
    }

    let listener: Listener | undefined
    contribute(startSummary, 'http', () => {
      const url = listener?.url
      if (url === undefined) return []
      const server = { label: 'HTTP API', place: `${url}/` }
      if (!roles.has('web') || !config.get('platform.http.docs.enabled')) return [server]
      return [server, { label: 'API reference', place: `${url}/docs`, page: 'usual' }]
    })
    onReady(async () => {
      const workerPort = config.get('platform.http.worker-port')
      const door = roles.has('web')
        ? { app: await service.app(), port: config.get('platform.http.port') }
        : roles.has('worker') && workerPort !== undefined
          ? { app: await service.probesApp(), port: workerPort }
          : undefined
      if (door === undefined) return
      listener = new Listener(door.app, log)
      service.setListener(listener)
      await listener.listen(config.get('platform.http.host'), door.port)
    })
    onDrain(async (signal, deadlineMs) => {
      isDraining = true
      const wantedMs = config.get('platform.http.drain-delay')
      const delayMs = Math.min(wantedMs, deadlineMs - Math.min(closingMs, deadlineMs / 2))
      if (delayMs < wantedMs) {
        const fix = 'Raise platform.kernel.drain-deadline, or shorten platform.http.drain-delay.'
        log.warn(
          { wantedMs, delayMs, deadlineMs, fix },
          'the drain deadline is shorter than the drain delay and ends it early',
        )
      }
      if (listener !== undefined && delayMs > 0) await clock.sleep(delayMs, signal)
      await listener?.close(signal)
    })
    onStop(async () => {
      await listener?.close(AbortSignal.abort())
      await service.close()
    })
  },
})
