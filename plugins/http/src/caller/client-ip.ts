import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import { AddressSet, addressNetwork, normalizeAddress } from './address-set.ts'

/**
 * Headers that can contain the client address, in order of precedence (decision B18). Only `X-Forwarded-For` can
 * contain several addresses.
 */
export const clientHeaders = ['X-Forwarded-For', 'CF-Connecting-IP', 'X-Real-IP'] as const

export interface ClientIpRules {
  /** Addresses and CIDR ranges of proxies whose headers are trusted. */
  readonly trustedProxies: readonly string[]
  /** If false, all headers of proxies are ignored. */
  readonly trustForwardedHeaders: boolean
  /** Headers of trusted proxies that are read for the client address, in this order. */
  readonly headers: readonly (typeof clientHeaders)[number][]
  /** Number of leading bits of an IPv6 address that identify a caller. */
  readonly ipv6Prefix: number
}

interface Peer {
  readonly address: string
  readonly isProxy: boolean
}

/**
 * Resolves the addresses of callers. All other code uses this interface and does not read the headers of proxies
 * itself. The results are normalised. No method throws.
 */
export interface CallerAddressResolver {
  /** @param address remote address of the socket; undefined if the connection has already closed */
  peer(address: string | undefined): Peer
  client(peer: string | undefined, headers: IncomingHttpHeaders): string
  /** Returns one string for all addresses of a caller, for keys and counters. */
  networkOf(address: string): string
}

/** Each proxy appends the address of its peer to this header. */
const chainHeader = 'x-forwarded-for'
/** Limits the cost of a forged header. Real proxy chains are shorter. */
const maxChainLength = 10
const maxCachedTexts = 1024
const maxCachedTextLength = 256

/** Address that is used if the connection has already closed. */
const unknownPeer = '0.0.0.0'

/**
 * Resolves client addresses (document 1 of the specification, "Declarative client identity"). A header is read only if
 * the rules list it and a trusted proxy sent the request. `X-Forwarded-For` is read from right to left: the client is
 * the first address that is not a trusted proxy, or else the leftmost address. At an invalid entry, reading stops and
 * the last valid address is the client. So entries that a client forges have no effect.
 */
export function createCallerAddressResolver(rules: ClientIpRules): CallerAddressResolver {
  const trusted = new AddressSet(rules.trustedProxies)
  const trustedHeaders = rules.headers.map((name) => name.toLowerCase())
  const peerOf = cached((peer): Peer => {
    const address = normalizeAddress(peer) ?? unknownPeer
    return { address, isProxy: rules.trustForwardedHeaders && trusted.has(address) }
  })
  const clientOfChain = cached((text) => clientInChain(text, trusted))
  const addressIn = cached(normalizeHop)

  return {
    peer: (address) => peerOf(address ?? unknownPeer),
    client(peer, headers) {
      const { address, isProxy } = peerOf(peer ?? unknownPeer)
      if (!isProxy) return address
      for (const name of trustedHeaders) {
        const value = headers[name]
        if (typeof value !== 'string') continue
        // If `X-Forwarded-For` is present, it decides, even if it has an invalid entry. Otherwise a client could send
        // an invalid entry to choose a later header.
        if (name === chainHeader) {
          if (hasHop(value)) return clientOfChain(value) ?? address
          continue
        }
        const client = addressIn(value)
        if (client !== undefined) return client
      }
      return address
    },
    networkOf: (address) => addressNetwork(address, rules.ipv6Prefix),
  }
}

/** Returns the client address in the header, or `undefined` if the rightmost entry is not an address. */
function clientInChain(chain: string, trusted: AddressSet): string | undefined {
  let client: string | undefined
  let end = chain.length
  for (let hops = 0; end > 0 && hops < maxChainLength; ) {
    const comma = chain.lastIndexOf(',', end - 1)
    const text = chain.slice(comma + 1, end).trim()
    end = comma
    if (text === '') continue
    hops++
    const hop = normalizeHop(text)
    if (hop === undefined) return client
    client = hop
    if (!trusted.has(hop)) return client
  }
  return client
}

/** Normalises an address that is plain, has a port, or is in brackets or quotes. */
function normalizeHop(text: string): string | undefined {
  const bare = text.trim()
  const direct = normalizeAddress(bare)
  if (direct !== undefined) return direct
  const [, v6, v4] = /^"?(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?"?$/.exec(bare) ?? []
  return normalizeAddress(v6 ?? v4 ?? '')
}

const hasHop = (chain: string) => /[^\s,]/.test(chain)

/** Caches the results for short texts. */
function cached<T>(compute: (text: string) => T): (text: string) => T {
  const known = new LRUCache<string, { readonly result: T }>({
    max: maxCachedTexts,
    memoMethod: (text) => ({ result: compute(text) }),
  })
  return (text) => (text.length > maxCachedTextLength ? compute(text) : known.memo(text).result)
}
