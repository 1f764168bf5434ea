import { isIP } from 'node:net'

/** What the judgement of a called host needs to know of a request. */
interface CalledHost {
  /** Header `Host`, as it reached us. */
  readonly host: string
  /** Host that the browser called as a trusted proxy says; the header `Host` where none says anything. */
  readonly calledHost: string
}

interface HostRules {
  /** `platform.site.url`; empty when it is not known yet. */
  readonly siteUrl: string
  /** Whether an operator has named the trusted proxies, and the peer is one of them. */
  readonly isNamedProxy: boolean
}

/**
 * Whether a product without an install token may answer under this host (decision E6). A page whose name was led to this
 * machine (DNS rebinding) is of the same origin as the product for a browser, and only the name that it was called by
 * gives it away. Nobody can lead `localhost` or an address elsewhere, and the host of the site is the operator's.
 *
 * The page can write `X-Forwarded-Host`, and by default its own machine and network are trusted proxies; but it cannot
 * write `Host`. So what a proxy names counts when the proxy calls us by a host of the list itself, or when an operator has
 * named the proxies.
 */
export function isOwnHost({ host, calledHost }: CalledHost, { siteUrl, isNamedProxy }: HostRules): boolean {
  if (isNamedProxy) return hostnameOf(calledHost) !== undefined
  const name = hostnameOf(host)
  if (name === undefined) return false
  return isThisMachine(name) || isIP(name) !== 0 || name === siteHost(siteUrl)
}

/** `localhost`, the names below it, and addresses of the loopback interface. */
export function isLoopbackHost(host: string): boolean {
  const name = hostnameOf(host)
  if (name === undefined) return false
  return isThisMachine(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

const isThisMachine = (name: string) => name === 'localhost' || name.endsWith('.localhost')

function siteHost(url: string): string | undefined {
  return URL.canParse(url) ? hostnameOf(new URL(url).host) : undefined
}

/** Without port, brackets and the dot of the root, in lower case. An address must be written as one: `127.1` is a name. */
function hostnameOf(host: string): string | undefined {
  const [, address, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(host) ?? []
  if (Number(port ?? 0) > 65_535) return undefined
  if (address !== undefined) return isIP(address) === 6 ? address : undefined
  return name?.toLowerCase().replace(/\.$/, '') || undefined
}
