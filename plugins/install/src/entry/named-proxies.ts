import { AddressSet, type ClientIpRules } from '@plinth/http'
import type { ConfigAdmin } from '@plinth/kernel'

const key = 'platform.rate-limit.annotation.client-ip.trusted-proxies'

/**
 * Whether an address belongs to a proxy that an operator has named. The default trusts whole networks, in which browsers
 * are as well as proxies.
 */
export function namedProxies(
  { trustedProxies, trustForwardedHeaders }: ClientIpRules,
  { explain }: Pick<ConfigAdmin, 'explain'>,
): (peer: string) => boolean {
  const isNamed = trustForwardedHeaders && explain(key)?.effective.source !== 'default'
  const proxies = new AddressSet(trustedProxies)
  return (peer) => isNamed && proxies.has(peer)
}
