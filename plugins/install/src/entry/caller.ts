import { isIP } from 'node:net'
import { AddressSet, type HttpRequest } from '@plinth/http'
import type { Principal } from '@plinth/iam'

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
function isLoopbackHost(host: string): boolean {
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

/** What is known of whoever calls. */
export interface Caller {
  /** User name of an administrator, or what acts without a user. */
  readonly operator: string
  readonly clientIp: string
  /** The other end of the connection: the client itself, or the last proxy before us. */
  readonly peerIp: string
  /** Header `Host`. */
  readonly host: string
  /** Host that the caller called, as a trusted proxy tells it. */
  readonly calledHost: string
  readonly userAgent: string
  readonly traceId: string
  readonly locale: string
  readonly isHttps: boolean
  /** Path that stands before the product's own: empty, or `/shop`. */
  readonly prefix: string
  /** The caller sits at this very machine, with no proxy in between as far as can be told. */
  readonly isLocal: boolean
  /** Knows the install token, or sits at this machine: may be told what strangers are not. */
  readonly isProven: boolean
}

/** Whoever installs has no user yet. */
export const installerName = 'install'

/** Nobody calls over HTTP: a command of the program. */
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
/** Headers that proxies write: nobody needs them who calls without one. */
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
 * Whether the caller sits at this machine. Everything that speaks of a proxy, or of a page from elsewhere, says no. A
 * proxy on this very machine that adds nothing, speaks HTTP/1.1 and writes a loopback host cannot be told apart: where one
 * is, a token must be configured.
 */
function isLocal({ headers, raw, peerIp }: Request): boolean {
  if (!loopback.has(peerIp) || !isLoopbackHost(headers.host ?? '')) return false
  // What nginx speaks to a server unless it is told otherwise; browsers and command lines have not for decades.
  if (raw.httpVersion === '1.0') return false
  if (Object.keys(headers).some((name) => proxyHeader.test(name))) return false
  return [headers.origin, headers.referer].every((page) => page === undefined || isLoopbackPage(page))
}

const isLoopbackPage = (address: string) => isLoopbackHost(URL.parse(address)?.host ?? '')
