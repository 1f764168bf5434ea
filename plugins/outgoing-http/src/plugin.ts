import { lookup } from 'node:dns'
import { metrics } from '@plinth/http'
import { definePlugin, kernel, manifestEntries, optional } from '@plinth/kernel'
import { OutgoingHttpClient } from './client.ts'
import { keys } from './config.ts'
import { outgoingHttp } from './contract.ts'
import { hostEntries, hostsOf, limitedTo } from './declared-hosts.ts'
import { outgoingMetrics } from './metrics.ts'

/** Sends all HTTP requests whose address a user can choose. */
export default definePlugin({
  id: 'outgoing-http',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel, metrics: optional(metrics) },
  provides: [outgoingHttp],
  contributes: [manifestEntries],
  config: keys,
  configGroups: { 'outgoing-http': { en: 'Outgoing requests', 'zh-CN': '出站请求' } },
  setup({ services, config, clock, provideEach, contribute, onStop }) {
    const settings = config.derived(() => ({
      allowedHosts: config.get('platform.outgoing-http.allowed-hosts'),
      allowedCidrs: config.get('platform.outgoing-http.allowed-cidrs'),
      allowedPorts: config.get('platform.outgoing-http.allowed-ports'),
      allowHttp: config.get('platform.outgoing-http.allow-http'),
      deadlineMs: config.get('platform.outgoing-http.deadline'),
      connectTimeoutMs: config.get('platform.outgoing-http.connect-timeout'),
      headerTimeoutMs: config.get('platform.outgoing-http.header-timeout'),
      bodyTimeoutMs: config.get('platform.outgoing-http.body-timeout'),
      maxResponseBytes: config.get('platform.outgoing-http.max-response-size'),
    }))
    const client = new OutgoingHttpClient({ settings, clock, lookup })
    onStop(() => client.stop())
    for (const name of ['allowed-hosts', 'allowed-cidrs', 'allowed-ports', 'allow-http', 'connect-timeout'] as const) {
      config.onChange(`platform.outgoing-http.${name}`, () => client.reload())
    }
    const measured = services.metrics && outgoingMetrics(services.metrics)
    if (measured !== undefined) onStop(measured.stop)
    const { plugins } = services.kernel
    provideEach(outgoingHttp, (consumer) => {
      const limited = limitedTo(hostsOf(plugins, consumer.id), client)
      return measured?.measuring(limited, consumer) ?? limited
    })
    contribute(manifestEntries, 'outgoing-hosts', () => hostEntries(plugins))
  },
})
