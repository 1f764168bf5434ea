import { isIP } from 'node:net'
import { AddressSet, type HttpRequest } from '@plinth/http'
import type { Principal } from '@plinth/iam'

/** The parts of a request that decide whether its host is accepted. */
interface CalledHost {
  /** Header `Host` of the connection to this product. */
  readonly host: string
  /** Host that the browser called, as a trusted proxy reports it. Without such a report, the header `Host`. */
  readonly calledHost: string
}

interface HostRules {
  /** `platform.site.url`, or empty if it is not known yet. */
  readonly siteUrl: string
  /** True if an operator has configured the trusted proxies and the peer is one of them. */
  readonly isNamedProxy: boolean
}

/**
 * Returns whether a product without an install token may respond to this host (decision E6). In an attack by DNS
 * rebinding, a name of another site points to this machine. For the browser, its page then has the same origin as the
 * product, so only the called name reveals the attack. `localhost` and IP addresses cannot be redirected, and the
 * operator owns the host of the site.
 * The page can set `X-Forwarded-Host` but not `Host`. By default, the local machine and its network are trusted
 * proxies. Therefore the host that a proxy reports is only used if an operator has configured the proxies. Otherwise
 * the header `Host` decides.
 */
export function isOwnHost({ host, calledHost }: CalledHost, { siteUrl, isNamedProxy }: HostRules): boolean {
  if (isNamedProxy) return hostnameOf(calledHost) !== undefined
  const name = hostnameOf(host)
  if (name === undefined) return false
  return isThisMachine(name) || isIP(name) !== 0 || name === siteHost(siteUrl)
}

/** True for `localhost`, names below it, and addresses of the loopback interface. */
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
 * Returns the host without port, brackets and trailing dot, in lower case. An abbreviated address such as `127.1` is a
 * name.
 */
function hostnameOf(host: string): string | undefined {
  const [, address, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(host) ?? []
  if (Number(port ?? 0) > 65_535) return undefined
  if (address !== undefined) return isIP(address) === 6 ? address : undefined
  return name?.toLowerCase().replace(/\.$/, '') || undefined
}

/** Facts about the caller. */
export interface Caller {
  /** User name of an administrator, or the name of an actor without a user. */
  readonly operator: string
  readonly clientIp: string
  /** The other end of the connection: the client itself, or the last proxy. */
  readonly peerIp: string
  /** Header `Host`. */
  readonly host: string
  /** Host that the caller called, as a trusted proxy reports it. */
  readonly calledHost: string
  readonly userAgent: string
  readonly traceId: string
  readonly locale: string
  readonly isHttps: boolean
  /** Path in front of the paths of the product: empty, or for example `/shop`. */
  readonly prefix: string
  /** The caller is on this machine, and no proxy was detected. */
  readonly isLocal: boolean
  /** The caller has sent a valid install token or is on this machine, so it may receive more details. */
  readonly isProven: boolean
}

/** Name of the actor during an installation, when no user exists yet. */
export const installerName = 'install'

/** Caller of a command of the program, which does not use HTTP. */
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
/** Headers that proxies set. A caller without a proxy does not need them. */
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
    operator: principal?.username ?? installerName,
    userAgent: headers['user-agent'] ?? '',
    prefix: request.contextPath,
    isLocal: isNear,
    isProven: isNear,
  }
}

/**
 * Returns whether the caller is on this machine. Any sign of a proxy or of a page of another site makes it false. A
 * proxy on this machine is not detected if it adds no header, uses HTTP/1.1 and sends a loopback host. With such a
 * proxy, a token must be configured.
 */
function isLocal({ headers, raw, peerIp }: Request): boolean {
  if (!loopback.has(peerIp) || !isLoopbackHost(headers.host ?? '')) return false
  // Default of nginx for upstream servers. Browsers and command line tools do not use HTTP/1.0.
  if (raw.httpVersion === '1.0') return false
  if (Object.keys(headers).some((name) => proxyHeader.test(name))) return false
  return [headers.origin, headers.referer].every((page) => page === undefined || isLoopbackPage(page))
}

const isLoopbackPage = (address: string) => isLoopbackHost(URL.parse(address)?.host ?? '')
