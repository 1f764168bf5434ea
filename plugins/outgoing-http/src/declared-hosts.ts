import { type ManifestEntries, type Plugin, refOf } from '@plinth/kernel'
import { type OutgoingHttp, OutgoingHttpError, outgoingHttp } from './contract.ts'

/** Addresses that the operator configures may have any host. */
const anyHost = ['*']

/** Returns the hosts that a plugin may contact. Code that started the product is no plugin and may contact any host. */
export const hostsOf = (plugins: readonly Plugin[], id: string): readonly string[] =>
  plugins.find((plugin) => plugin.id === id)?.outgoingHosts ?? anyHost

/** Returns the hosts of all plugins that require this client, for the manifest. */
export const hostEntries = (plugins: readonly Plugin[]): ManifestEntries =>
  new Map(
    plugins
      .filter(({ requires = {} }) => Object.values(requires).some((need) => refOf(need).id === outgoingHttp.id))
      .map(({ id }) => [id, hostsOf(plugins, id)]),
  )

const matches = (host: string, declared: string) =>
  declared === '*' || (declared.startsWith('*.') ? host.endsWith(declared.slice(1)) : host === declared)

/** Returns a client that rejects hosts which the plugin did not declare in `outgoingHosts`. */
export function limitedTo(hosts: readonly string[], client: OutgoingHttp): OutgoingHttp {
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
    async reach(request) {
      check(request.url)
      return client.reach(request)
    },
  }
}
