import { BlockList, isIP, SocketAddress } from 'node:net'

/** Default length in bits of the IPv6 network that identifies one caller. Such a network has 2^64 addresses. */
export const usualIpv6Prefix = 64

/**
 * Returns one string for all addresses of a caller: the address for IPv4, the network for IPv6, such as
 * `2001:db8:0:0:0:0:0:0/64`. Text that is not an address is returned unchanged. Never throws.
 *
 * @param ipv6Prefix number of leading bits to keep, 0 to 128; 128 keeps the whole address
 */
export function addressNetwork(address: string, ipv6Prefix: number): string {
  const normal = normalizeAddress(address) ?? address
  if (ipv6Prefix >= 128 || !normal.includes(':') || normalizeAddress(normal) === undefined) return normal
  const masked = ipv6Groups(normal).map((group, index) => {
    const bits = Math.min(16, Math.max(0, ipv6Prefix - 16 * index))
    return group & (0xffff << (16 - bits)) & 0xffff
  })
  return `${masked.map((group) => group.toString(16)).join(':')}/${ipv6Prefix}`
}

function ipv6Groups(address: string): number[] {
  const [head = '', tail = ''] = address.split('::')
  const read = (text: string) => (text === '' ? [] : text.split(':').flatMap(groupsOf))
  const [front, back] = [read(head), read(tail)]
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
}

function groupsOf(text: string): number[] {
  if (!text.includes('.')) return [Number.parseInt(text, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}

/**
 * Returns the canonical form of an IP address: no zone, no brackets, lower case, shortest form. IPv4 inside IPv6
 * (`::ffff:192.0.2.1`) becomes plain IPv4. Returns `undefined` for text that `net.isIP` rejects, such as `127.1` or a
 * host name. Never throws.
 */
export function normalizeAddress(text: string): string | undefined {
  const family = isIP(text)
  if (family === 4) return text
  if (family === 0) return undefined
  const zone = text.indexOf('%')
  const address = zone === -1 ? text : text.slice(0, zone)
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  const embedded = canonical.startsWith('::ffff:') ? canonical.slice(7) : ''
  return isIP(embedded) === 4 ? embedded : canonical
}

/** A set of IP addresses and CIDR ranges. The argument of `has` must come from `normalizeAddress`. */
export class AddressSet {
  /** IPv4 ranges. Most lookups compare an IPv4 address with few ranges, and then a loop is faster than `BlockList`. */
  readonly #v4: { readonly network: number; readonly mask: number }[] = []
  readonly #v6 = new BlockList()

  /** @throws RangeError if an entry is neither an address nor a CIDR range */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#add(range)
  }

  has(address: string): boolean {
    if (address.includes(':')) return this.#v6.check(address, 'ipv6')
    const bits = v4Bits(address)
    for (const { network, mask } of this.#v4) {
      if ((bits & mask) === network) return true
    }
    return false
  }

  #add(range: string): void {
    const [text = '', length, ...rest] = range.split('/')
    const address = normalizeAddress(text)
    const isV4 = address !== undefined && !address.includes(':')
    // A range of IPv4-mapped IPv6 addresses is stored as an IPv4 range, so its prefix is 96 bits shorter.
    const shift = isV4 && text.includes(':') ? 96 : 0
    const width = isV4 ? 32 : 128
    const prefix = length === undefined ? width : /^\d{1,3}$/.test(length) ? Number(length) - shift : -1
    if (address === undefined || rest.length > 0 || prefix < 0 || prefix > width) {
      throw new RangeError(`Not an IP address or CIDR range: ${range}`)
    }
    if (!isV4) {
      this.#v6.addSubnet(address, prefix, 'ipv6')
      return
    }
    const mask = prefix === 0 ? 0 : (-1 << (32 - prefix)) | 0
    this.#v4.push({ network: v4Bits(address) & mask, mask })
  }
}

/** Returns a valid dotted IPv4 address as a signed 32-bit integer. */
function v4Bits(address: string): number {
  let bits = 0
  let octet = 0
  for (let i = 0; i < address.length; i++) {
    const digit = address.charCodeAt(i) - 48
    if (digit >= 0) octet = octet * 10 + digit
    else {
      bits = (bits << 8) | octet
      octet = 0
    }
  }
  return (bits << 8) | octet
}
