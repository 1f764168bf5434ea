import type { IncomingHttpHeaders } from 'node:http'
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
export interface CallerAddresses {
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
const rememberedTexts = 1024
const maxRememberedTextLength = 256

/** Address that is used if the connection has already closed. */
const unknownPeer = '0.0.0.0'

/**
 * Resolves client addresses (document 1, "Declarative client identity"). A header is read only if the rules list it and
 * a trusted proxy sent the request. `X-Forwarded-For` is read from right to left: the client is the first address that
 * is not a trusted proxy, or else the leftmost address. At an invalid entry, reading stops and the last valid address
 * is the client. So entries that a client forges have no effect.
 */
export function createCallerAddresses(rules: ClientIpRules): CallerAddresses {
  const trusted = new AddressSet(rules.trustedProxies)
  const believed = rules.headers.map((name) => name.toLowerCase())
  const peers = remember((peer): Peer => {
    const address = normalizeAddress(peer) ?? unknownPeer
    return { address, isProxy: rules.trustForwardedHeaders && trusted.has(address) }
  })
  const chains = remember((text) => lastVouched(text, trusted))
  const singles = remember(normalizeHop)

  return {
    peer: (address) => peers(address ?? unknownPeer),
    client(peer, headers) {
      const { address, isProxy } = peers(peer ?? unknownPeer)
      if (!isProxy) return address
      for (const name of believed) {
        const value = headers[name]
        if (typeof value !== 'string') continue
        // The first header that is present decides, even if it has an invalid entry. Otherwise a client could send an
        // invalid entry to choose a later header.
        if (name === chainHeader) {
          if (hasHop(value)) return chains(value) ?? address
          continue
        }
        const client = singles(value)
        if (client !== undefined) return client
      }
      return address
    },
    networkOf: (address) => addressNetwork(address, rules.ipv6Prefix),
  }
}

/** Returns the client address in the header, or `undefined` if the rightmost entry is not an address. */
function lastVouched(chain: string, trusted: AddressSet): string | undefined {
  let vouched: string | undefined
  let end = chain.length
  for (let hops = 0; end > 0 && hops < maxChainLength; ) {
    const comma = chain.lastIndexOf(',', end - 1)
    const text = chain.slice(comma + 1, end).trim()
    end = comma
    if (text === '') continue
    hops++
    const hop = normalizeHop(text)
    if (hop === undefined) return vouched
    vouched = hop
    if (!trusted.has(hop)) return vouched
  }
  return vouched
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

/** Caches the results for short texts. A full cache drops its oldest entry. */
function remember<T>(response: (text: string) => T): (text: string) => T {
  const known = new Map<string, { readonly result: T }>()
  return (text) => {
    const earlier = known.get(text)
    if (earlier !== undefined) return earlier.result
    const result = response(text)
    if (text.length > maxRememberedTextLength) return result
    if (known.size >= rememberedTexts) {
      const [oldest] = known.keys()
      if (oldest !== undefined) known.delete(oldest)
    }
    known.set(text, { result })
    return result
  }
}
