import { lookup } from 'node:dns'
import { metrics } from '@plinth/http'
import { definePlugin, kernel, type ManifestEntries, optional, type Plugin, tracing } from '@plinth/kernel'
import { manifestEntries, unwrapOptional } from '@plinth/kernel/host'
import { OutgoingHttpClient } from './client.ts'
import { keys } from './config.ts'
import { type OutgoingHttp, OutgoingHttpError, outgoingHttp } from './contract.ts'
import { outgoingMetrics } from './metrics.ts'
import { tracedClient } from './traced-client.ts'

/** Sends all HTTP requests whose address a user can choose. */
export default definePlugin({
  id: 'outgoing-http',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel, metrics: optional(metrics), tracing: optional(tracing) },
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
      const limited = restrictToHosts(allowedHostsOf(plugins, consumer.id), client)
      const counted = measured?.measuring(limited, consumer) ?? limited
      const tracer = services.tracing?.tracer
      return tracer === undefined ? counted : tracedClient(counted, tracer)
    })
    contribute(manifestEntries, 'outgoing-hosts', () => hostEntries(plugins))
  },
})

/** Any host, because an operator can configure any address. */
const anyHost = ['*']

/** Returns the hosts that a plugin may contact. Code that is not a plugin may contact any host. */
const allowedHostsOf = (plugins: readonly Plugin[], id: string): readonly string[] =>
  plugins.find((plugin) => plugin.id === id)?.outgoingHosts ?? anyHost

/** Returns the hosts of all plugins that require this client, for the manifest. */
const hostEntries = (plugins: readonly Plugin[]): ManifestEntries =>
  new Map(
    plugins
      .filter(({ requires = {} }) =>
        Object.values(requires).some((need) => unwrapOptional(need).id === outgoingHttp.id),
      )
      .map(({ id }) => [id, allowedHostsOf(plugins, id)]),
  )

const matches = (host: string, declared: string) =>
  declared === '*' || (declared.startsWith('*.') ? host.endsWith(declared.slice(1)) : host === declared)

/** Returns a client that rejects hosts which the plugin does not declare in `outgoingHosts`. */
function restrictToHosts(hosts: readonly string[], client: OutgoingHttp): OutgoingHttp {
  if (hosts.includes('*')) return client
  const check = (url: string | URL) => {
    client.check(url)
    const { hostname, origin } = new URL(url)
    const host = hostname.replace(/\.+$/, '')
    if (hosts.some((declared) => matches(host, declared))) return
    const text = `The plugin does not declare this host in outgoingHosts (declared: ${hosts.join(', ') || 'none'})`
    throw new OutgoingHttpError('host-undeclared', text, origin)
  }
  return {
    check,
    async request(request) {
      check(request.url)
      return client.request(request)
    },
    async stream(request) {
      check(request.url)
      return client.stream(request)
    },
    async reach(request) {
      check(request.url)
      return client.reach(request)
    },
  }
}
