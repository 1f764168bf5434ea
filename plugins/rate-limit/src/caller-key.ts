import { isIPv6 } from 'node:net'
import type { GuardHandler } from '@plinth/http'
import type { IdentityResolver } from './contract.ts'
import { sha256 } from './request-rules.ts'

type Request = Parameters<GuardHandler>[0]

/** Callers that nobody knows share one quota. */
const anonymous = 'anonymous'

/**
 * Remembers what was made of a text, such as of the address of a client that keeps calling.
 *
 * @param most texts that are remembered; the oldest goes first
 */
export function remembered(most: number, make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const kept = known.get(text)
    if (kept !== undefined) return kept
    const made = make(text)
    if (known.size >= most) known.delete(known.keys().next().value as string)
    known.set(text, made)
    return made
  }
}

/**
 * Addresses as they may stand in a key: hashed, of IPv6 addresses only a prefix where so many share one host.
 *
 * @param ipv6Prefix bits that are kept; 128 keeps all
 */
export const addressKeys = (ipv6Prefix: number): ((address: string) => string) =>
  remembered(10_000, (address) =>
    sha256(ipv6Prefix < 128 && isIPv6(address) ? ipv6Network(address, ipv6Prefix) : address),
  )

/** The network of an IPv6 address, such as `2001:db8:0:0:0:0:0:0/64`: one text for all of its addresses. */
export function ipv6Network(address: string, prefix: number): string {
  const groups = ipv6Groups(address)
  const masked = groups.map((group, index) => {
    const bits = Math.min(16, Math.max(0, prefix - 16 * index))
    return group & (0xffff << (16 - bits)) & 0xffff
  })
  return `${masked.map((group) => group.toString(16)).join(':')}/${prefix}`
}

/** The eight groups of a valid address without zone, as `request.clientIp` has it. */
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

/** The hashed identity of the caller, by the first resolver that knows one. */
export async function identityKey(resolvers: readonly IdentityResolver[], request: Request): Promise<string> {
  for (const resolve of resolvers) {
    const identity = (await resolve(request))?.trim()
    if (identity) return sha256(identity)
  }
  return sha256(anonymous)
}
