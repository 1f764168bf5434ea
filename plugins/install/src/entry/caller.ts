import { isIP } from 'node:net'
import { AddressSet, type HttpRequest } from '@plinth/http'
import type { Principal } from '@plinth/iam'

interface CalledHost {
  /** Header `Host` of the connection to this product. */
  readonly host: string
  /** Host in the address bar of the browser, as reported by a trusted proxy. Without a proxy, the header `Host`. */
  readonly calledHost: string
}

interface HostRules {
  /** Value of `platform.site.url`, or empty if unknown. */
  readonly siteUrl: string
  /** True if the connection comes from a proxy that an operator has configured as trusted. */
  readonly isNamedProxy: boolean
}

/**
 * Returns whether a product without an install token may respond to this host (decision E6). In a DNS rebinding attack,
 * a name of another site resolves to this machine. The browser then treats the page of the attacker as a page of this
 * product, and only the host name reveals the attack. `localhost`, IP addresses and the configured site name are safe,
 * because an attacker cannot redirect them. A page can set `X-Forwarded-Host`. So this header is only used if an
 * operator has configured the proxies.
 */
export function isProductHost({ host, calledHost }: CalledHost, { siteUrl, isNamedProxy }: HostRules): boolean {
  if (isNamedProxy) return hostnameOf(calledHost) !== undefined
  const name = hostnameOf(host)
  if (name === undefined) return false
  return isThisMachine(name) || isIP(name) !== 0 || name === siteHost(siteUrl)
}

/** True for `localhost`, its subdomains, and loopback addresses. */
function isLoopbackHost(host: string): boolean {
  const name = hostnameOf(host)
  if (name === undefined) return false
  return isThisMachine(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

const isThisMachine = (name: string) => name === 'localhost' || name.endsWith('.localhost')

function siteHost(url: string): string | undefined {
  return URL.canParse(url) ? hostnameOf(new URL(url).host) : undefined
}

/**
 * Returns the host name in lower case, without port, brackets and trailing dot. An abbreviated address such as `127.1`
 * counts as a name.
 */
function hostnameOf(host: string): string | undefined {
  const [, address, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(host) ?? []
  if (Number(port ?? 0) > 65_535) return undefined
  if (address !== undefined) return isIP(address) === 6 ? address : undefined
  return name?.toLowerCase().replace(/\.$/, '') || undefined
}

export interface Caller {
  /** User name, or the name of an actor that is not a user. */
  readonly operator: string
  readonly clientIp: string
  /** Address at the other end of the connection: the client or the last proxy. */
  readonly peerIp: string
  /** Value of the header `Host`. */
  readonly host: string
  /** Host that the browser called, as reported by a trusted proxy. */
  readonly calledHost: string
  readonly userAgent: string
  readonly traceId: string
  readonly locale: string
  readonly isHttps: boolean
  /** Path prefix of the product, for example `/shop`, or empty. */
  readonly prefix: string
  /** True if the caller is on this machine and no proxy was detected. */
  readonly isLocal: boolean
  /** True if the caller has sent a valid install token or is on this machine. Such a caller may see more details. */
  readonly isProven: boolean
}

/** Name of the actor while no user exists. */
export const installerActorName = 'install'

/** Returns the caller for a command, which does not use HTTP. */
export const commandCaller = (locale: string): Caller => ({
  operator: 'cli',
  clientIp: '',
  peerIp: '',
  host: '',
  calledHost: '',
  userAgent: '',
  traceId: '',
  prefix: '',
  locale,
  isHttps: true,
  isLocal: true,
  isProven: true,
})

type RequestFact = 'clientIp' | 'peerIp' | 'calledHost' | 'traceId' | 'locale' | 'isHttps' | 'contextPath'
type Request = Pick<HttpRequest, 'headers' | 'raw' | RequestFact>

const loopback = new AddressSet(['127.0.0.0/8', '::1/128'])
/** Matches headers that only proxies set. */
const proxyHeader =
  /^(?:forwarded|via|x-forwarded-.+|x-real-ip|x-client-ip|x-original-.+|x-envoy-.+|true-client-ip|cf-.+)$/

export function callerOf(request: Request & { readonly principal?: Principal | undefined }): Caller {
  const { clientIp, peerIp, calledHost, traceId, locale, isHttps, headers, principal } = request
  const isNear = isLocal(request)
  return {
    clientIp,
    peerIp,
    calledHost,
    traceId,
    locale,
    isHttps,
    host: headers.host ?? '',
    operator: principal?.username ?? installerActorName,
    userAgent: headers['user-agent'] ?? '',
    prefix: request.contextPath,
    isLocal: isNear,
    isProven: isNear,
  }
}

/**
 * Returns whether the caller is on this machine. Returns false for any sign of a proxy or of a page of another site. A
 * proxy on this machine is not detected if it adds no headers, uses HTTP/1.1 and sends a loopback host. Behind such a
 * proxy, an install token must be set.
 */
function isLocal({ headers, raw, peerIp }: Request): boolean {
  if (!loopback.has(peerIp) || !isLoopbackHost(headers.host ?? '')) return false
  // nginx uses HTTP/1.0 for upstream servers by default. Browsers and command-line tools do not.
  if (raw.httpVersion === '1.0') return false
  if (Object.keys(headers).some((name) => proxyHeader.test(name))) return false
  return [headers.origin, headers.referer].every((page) => page === undefined || isLoopbackPage(page))
}

const isLoopbackPage = (address: string) => isLoopbackHost(URL.parse(address)?.host ?? '')
