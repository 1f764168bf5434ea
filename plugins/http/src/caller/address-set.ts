import { BlockList, isIP, SocketAddress } from 'node:net'

/**
 * One spelling for each IP address: no zone, no brackets, lower case, shortest form, and IPv4 inside IPv6
 * (`::ffff:192.0.2.1`) as plain IPv4, so that one host is one text. `undefined` for what `net.isIP` refuses, such as
 * `127.1`, `010.0.0.1` or a host name. Never throws.
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

/** A set of IP addresses and CIDR ranges. Questions are asked with normalised addresses. */
export class AddressSet {
  /** Pairs of network and mask: most questions are about IPv4 and few ranges, where a loop beats `BlockList`. */
  readonly #v4: { readonly network: number; readonly mask: number }[] = []
  readonly #v6 = new BlockList()

  /** Throws a RangeError for a text that is no address or range. */
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

/** The 32 bits of a valid dotted IPv4 address, as a signed integer. */
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
