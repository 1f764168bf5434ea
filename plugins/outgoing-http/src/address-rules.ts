import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { OutgoingHttpError } from './contract.ts'

/** Addresses that the operator allows in addition to public ones. */
export interface AddressSettings {
  readonly allowedHosts: readonly string[]
  readonly allowedCidrs: readonly string[]
  readonly allowedPorts: readonly string[]
  readonly allowHttp: boolean
}

/**
 * Pattern for a host name, a wildcard such as `*.example.org`, an IPv4 address or an IPv6 address in brackets, each
 * with an optional port.
 */
export const hostRule = '^(?:\\*\\.)?(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(?::[1-9][0-9]{0,4})?$'

const maxOrigins = 1_000

const usualPorts = ['443', '8443', '80']

/** Ranges of private addresses. They are only allowed for hosts that the operator lists. */
const privateRanges: readonly string[] = ['private', 'uniqueLocal', 'loopback', 'carrierGradeNat']

/** All global unicast addresses of IPv6 (RFC 4291, section 2.4; IANA "IPv6 Global Unicast Address Space"). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
/** Address of the platform services in each Azure virtual machine. */
const azurePlatform = '168.63.129.16'

/**
 * Returns the kind of an address. IPv6 ranges that contain IPv4 addresses (NAT64, 6to4, Teredo) are not public.
 * IPv4-mapped addresses (`::ffff:0:0/96`) must be converted to IPv4 before the call.
 */
function kindOf(address: ipaddr.IPv4 | ipaddr.IPv6): 'public' | 'private' | 'special' {
  const range = address.range()
  if (privateRanges.includes(range)) return 'private'
  const isGlobal = address instanceof ipaddr.IPv4 ? address.toString() !== azurePlatform : address.match(globalUnicast)
  return range === 'unicast' && isGlobal ? 'public' : 'special'
}

const withoutDot = (host: string) => host.toLowerCase().replace(/\.$/, '')
/** Removes trailing dots and parses the host again. With a trailing dot, `127.0.0.1` would be treated as a name. */
function withoutTrailingDots(url: URL | null): URL | null {
  if (url === null || !url.hostname.endsWith('.')) return url
  const other = new URL(url)
  other.hostname = url.hostname.replace(/\.+$/, '')
  return other
}

const withoutBrackets = (host: string) => host.replace(/^\[(.*)\]$/, '$1')

interface AllowedHost {
  readonly host: string
  readonly port: string | undefined
}

/** An allowed address, split for the socket and the request line. */
export interface CheckedAddress {
  /** Origin as the URL standard serializes it, such as `https://example.com`, without a trailing dot in the host. */
  readonly origin: string
  readonly path: string
}

/** Decides to which addresses requests may be sent. Immutable: changed settings need a new instance. */
export class AddressRules {
  readonly #hosts: readonly AllowedHost[]
  readonly #cidrs: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][]
  readonly #ports: ReadonlySet<string>
  readonly #allowHttp: boolean
  readonly #allowed = new Set<string>()

  constructor({ allowedHosts, allowedCidrs, allowedPorts, allowHttp }: AddressSettings) {
    this.#hosts = allowedHosts.map((entry) => {
      const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(entry.includes(']') ? entry.replace('[', '') : entry) ?? []
      return { host: withoutDot(host.replace(']', '')), port }
    })
    this.#cidrs = allowedCidrs.map((range) => {
      const [address = '', prefix] = range.split('/')
      const parsed = ipaddr.process(address)
      // A range of IPv4-mapped addresses is a range of IPv4 addresses.
      const mapped = parsed.kind() === 'ipv4' && address.includes(':') ? 96 : 0
      const width = parsed.kind() === 'ipv4' ? 32 : 128
      return [parsed, prefix === undefined ? width : Math.max(0, Number(prefix) - mapped)]
    })
    this.#ports = new Set([...usualPorts, ...allowedPorts])
    this.#allowHttp = allowHttp
  }

  /**
   * Checks an address and returns it in the form of the URL standard. All forms of an IPv4 address become the dotted
   * form. A dot after the host is removed.
   *
   * @throws OutgoingHttpError if the address is not allowed
   */
  checked(address: string | URL): CheckedAddress {
    const url = withoutTrailingDots(address instanceof URL ? address : URL.parse(String(address)))
    if (url === null) throw new OutgoingHttpError('url-refused', 'The address is not a URL', undefined)
    const { protocol, origin, username, password, pathname, search } = url
    if (protocol !== 'https:' && protocol !== 'http:') {
      throw new OutgoingHttpError('url-refused', 'The address is neither https nor http', undefined)
    }
    if (username !== '' || password !== '') {
      throw new OutgoingHttpError('url-refused', 'The address holds a user name or a password', origin)
    }
    if (!this.#allowed.has(origin)) this.#checkOrigin(url)
    return { origin, path: pathname + search }
  }

  #checkOrigin({ protocol, origin, hostname, port: written }: URL): void {
    if (protocol === 'http:' && !this.#allowHttp) {
      const text = 'Unencrypted requests are not allowed; use https, or set platform.outgoing-http.allow-http'
      throw new OutgoingHttpError('url-refused', text, origin)
    }
    const port = written || (protocol === 'https:' ? '443' : '80')
    const literal = withoutBrackets(hostname)
    if (!this.#ports.has(port) && !this.#named(literal).some((entry) => entry.port === port)) {
      const text = `The port ${port} is not allowed; see platform.outgoing-http.allowed-ports`
      throw new OutgoingHttpError('port-refused', text, origin)
    }
    if (isIP(literal) !== 0 && !this.allows(literal, literal)) throw this.rejection(origin)
    if (this.#allowed.size === maxOrigins) this.#allowed.clear()
    this.#allowed.add(origin)
  }

  /** Returns whether a request to the host may connect to the address. */
  allows(host: string, address: string): boolean {
    if (!ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    const kind = kindOf(parsed)
    if (kind === 'public') return true
    if (kind === 'private' && this.#named(withoutDot(host)).length > 0) return true
    return this.#cidrs.some(([range, prefix]) => range.kind() === parsed.kind() && parsed.match(range, prefix))
  }

  rejection(origin: string | undefined): OutgoingHttpError {
    const text =
      'The host has an address that is not public; see platform.outgoing-http.allowed-hosts and allowed-cidrs'
    return new OutgoingHttpError('address-refused', text, origin)
  }

  #named(host: string): readonly AllowedHost[] {
    return this.#hosts.filter((entry) =>
      entry.host.startsWith('*.') ? host.endsWith(entry.host.slice(1)) : entry.host === host,
    )
  }
}
