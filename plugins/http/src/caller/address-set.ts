import { BlockList, isIP, SocketAddress } from 'node:net'

/** Usual network length of one IPv6 connection, bits. A caller with one address has 2^64 of them. */
export const usualIpv6Prefix = 64

/**
 * Returns one text for all addresses of one caller. For an IPv4 address (also inside IPv6) it is the address. For an
 * IPv6 address it is the network, such as `2001:db8:0:0:0:0:0:0/64`, without a zone. Other texts are returned
 * unchanged. Never throws.
 *
 * @param ipv6Prefix leading bits to keep, 0 to 128; 128 keeps all
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

/** An address may end in the dotted form of IPv4. */
function groupsOf(text: string): number[] {
  if (!text.includes('.')) return [Number.parseInt(text, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}

/**
 * Returns one spelling for each IP address: no zone, no brackets, lower case, shortest form. IPv4 inside IPv6
 * (`::ffff:192.0.2.1`) becomes plain IPv4, so that one host has one text. Returns `undefined` for texts that `net.isIP`
 * rejects, such as `127.1`, `010.0.0.1` or a host name. Never throws.
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

/** A set of IP addresses and CIDR ranges. `has` requires normalised addresses. */
export class AddressSet {
  /** Pairs of network and mask. Most lookups are for IPv4 with few ranges, where a loop is faster than `BlockList`. */
  readonly #v4: { readonly network: number; readonly mask: number }[] = []
  readonly #v6 = new BlockList()

  /** @throws RangeError for a text that is not an address or range */
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
    // A range of IPv4-mapped addresses is a range of IPv4 addresses.
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

/** Returns the 32 bits of a valid dotted IPv4 address, as a signed integer. */
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
