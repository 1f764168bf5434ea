import type { IncomingHttpHeaders } from 'node:http'
import { AddressSet, addressNetwork, normalizeAddress } from './address-set.ts'

/**
 * Headers that can contain the client address, in order of precedence (decision B18). All but the first contain one
 * address.
 */
export const clientHeaders = ['X-Forwarded-For', 'CF-Connecting-IP', 'X-Real-IP'] as const

export interface ClientIpRules {
  /** Addresses and CIDR ranges whose proxy headers are trusted. */
  readonly trustedProxies: readonly string[]
  /** False ignores proxy headers entirely. */
  readonly trustForwardedHeaders: boolean
  /** Client headers that are read from trusted proxies, in this order. Others are ignored. */
  readonly headers: readonly (typeof clientHeaders)[number][]
  /** Number of leading bits of an IPv6 address that identify one caller. */
  readonly ipv6Prefix: number
}

interface Peer {
  /** Normalised. */
  readonly address: string
  readonly isProxy: boolean
}

/**
 * The only component that resolves addresses of callers. Its addresses are normalised and never a raw header. It never
 * throws.
 */
export interface CallerAddresses {
  /** @param address remote address of the socket; undefined after the connection has closed */
  peer(address: string | undefined): Peer
  client(peer: string | undefined, headers: IncomingHttpHeaders): string
  /** Returns one text for all addresses of one caller, for use in keys and counters. */
  networkOf(address: string): string
}

/** Each proxy appends to this header. */
const chainHeader = 'x-forwarded-for'
/** Limits the cost of a forged header. Real proxy chains are shorter. */
const maxChainLength = 10
const rememberedTexts = 1024
const maxRememberedTextLength = 256

/** For a connection that has already closed. */
const unknownPeer = '0.0.0.0'

/**
 * Resolves the client address (document 1, "Declarative client identity"). A header is only read if the rules list it
 * and the connecting peer is a trusted proxy. `X-Forwarded-For` is read from right to left. The client is the first
 * address that is not a trusted proxy; if all are trusted, the left-most. Reading stops at an invalid entry, and the
 * last valid address is the client. Thus a forged left part has no effect.
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
        // A chain applies even if its last hop is not an address. Otherwise its author could choose which header
        // applies.
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

/** Returns the client of an `X-Forwarded-For` chain, or `undefined` if its right-most hop is not an address. */
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

/** Normalises an address as proxies write it: alone, with a port, in brackets or in quotes. */
function normalizeHop(text: string): string | undefined {
  const bare = text.trim()
  const direct = normalizeAddress(bare)
  if (direct !== undefined) return direct
  const [, v6, v4] = /^"?(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?"?$/.exec(bare) ?? []
  return normalizeAddress(v6 ?? v4 ?? '')
}

const hasHop = (chain: string) => /[^\s,]/.test(chain)

/** Caches the results for recent short texts. The oldest one is removed when the cache is full. */
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
