import { normalizeAddress } from './address-set.ts'

/** Bits of an IPv6 address that a usual connection has: whoever has one address has 2^64 of them. */
export const usualIpv6Prefix = 64

/**
 * One text for all addresses of one caller: an IPv4 address itself (also inside IPv6), of an IPv6 address its network, such
 * as `2001:db8:0:0:0:0:0:0/64`, without a zone. What is no address is answered as it is. Never throws.
 *
 * @param ipv6Prefix leading bits that are kept, 0 to 128; 128 keeps all
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

/** The eight groups of a normalised address. */
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
