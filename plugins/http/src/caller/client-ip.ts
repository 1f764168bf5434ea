import type { IncomingHttpHeaders } from 'node:http'
import { AddressSet, addressNetwork, normalizeAddress } from './address-set.ts'

/** Headers that can name a client, in the order in which they are asked (decision B18). All but the first hold one address. */
export const clientHeaders = ['X-Forwarded-For', 'CF-Connecting-IP', 'X-Real-IP'] as const

export interface ClientIpRules {
  /** Addresses and CIDR ranges whose proxy headers are believed. */
  readonly trustedProxies: readonly string[]
  /** False ignores proxy headers entirely. */
  readonly trustForwardedHeaders: boolean
  /** Headers of trusted proxies that are believed about the client, in this order; others are as if they were not there. */
  readonly headers: readonly (typeof clientHeaders)[number][]
  /** Leading bits of an IPv6 address that make one caller. */
  readonly ipv6Prefix: number
}

/** The address at the other end of the connection. */
interface Peer {
  /** Normalised. */
  readonly address: string
  /** Whether its headers are believed. */
  readonly isProxy: boolean
}

/** The one place that judges addresses of callers. Its addresses are normalised and never a header verbatim; it never throws. */
export interface CallerAddresses {
  /** @param address remote address of the socket; absent when the connection is gone */
  peer(address: string | undefined): Peer
  client(peer: string | undefined, headers: IncomingHttpHeaders): string
  /** One text for all addresses that are one caller; how an address enters a key or a counter. */
  networkOf(address: string): string
}

/** The one that every proxy on the way adds to. */
const chainHeader = 'x-forwarded-for'
/** Nobody has a longer chain of proxies; an attacker's header must not cost more. */
const longestChain = 10
const rememberedTexts = 1024
const longestRememberedText = 256

/** For a connection that is already gone. */
const unknownPeer = '0.0.0.0'

/**
 * Who calls (document 1, "Declarative client identity"). Headers count only when they are listed in the rules and the
 * connecting peer is a trusted proxy. `X-Forwarded-For` is read from right to left: the first address that is not a
 * trusted proxy is the client; if all are trusted, the left-most. What is no address ends the walk at the last address
 * that a trusted proxy vouched for, so a forged left part never counts.
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
        // A chain decides also where its last hop is no address: whoever wrote that must not be able to choose the header.
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

/** The client of an `X-Forwarded-For` chain, or `undefined` when its right-most hop is no address. */
function lastVouched(chain: string, trusted: AddressSet): string | undefined {
  let vouched: string | undefined
  let end = chain.length
  for (let hops = 0; end > 0 && hops < longestChain; ) {
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

/** An address as proxies write it: alone, with a port, in brackets, in quotes. */
function normalizeHop(text: string): string | undefined {
  const bare = text.trim()
  const direct = normalizeAddress(bare)
  if (direct !== undefined) return direct
  const [, v6, v4] = /^"?(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?"?$/.exec(bare) ?? []
  return normalizeAddress(v6 ?? v4 ?? '')
}

const hasHop = (chain: string) => /[^\s,]/.test(chain)

/** Keeps the answers for recent short texts; the oldest goes when there are too many. */
function remember<T>(answer: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    if (known.has(text)) return known.get(text) as T
    const fresh = answer(text)
    if (text.length > longestRememberedText) return fresh
    if (known.size >= rememberedTexts) known.delete(known.keys().next().value as string)
    known.set(text, fresh)
    return fresh
  }
}
