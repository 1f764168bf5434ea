import type { IncomingHttpHeaders } from 'node:http'
import { AddressSet, normalizeAddress } from './address-set.ts'

export interface ClientIpRules {
  /** Addresses and CIDR ranges whose proxy headers are believed. */
  readonly trustedProxies: readonly string[]
  /** False ignores proxy headers entirely. */
  readonly trustForwardedHeaders: boolean
}

/** Answers the client's address: normalised, never a proxy header verbatim. Never throws. */
export type ClientIpResolver = (peer: string | undefined, headers: IncomingHttpHeaders) => string

/** Headers that hold exactly one address, asked in this order when there is no `X-Forwarded-For` (decision B18). */
const singleHeaders = ['cf-connecting-ip', 'x-real-ip'] as const

/** Nobody has a longer chain of proxies; an attacker's header must not cost more. */
const longestChain = 10
const rememberedTexts = 1024
const longestRememberedText = 256

/** For a connection that is already gone. */
const unknownPeer = '0.0.0.0'

/**
 * The product's one client-address resolver (document 1, "Declarative client identity"). Proxy headers count only when
 * the connecting peer is a trusted proxy. `X-Forwarded-For` is read from right to left: the first address that is not a
 * trusted proxy is the client; if all are trusted, the left-most. What is no address ends the walk at the last address
 * that a trusted proxy vouched for, so a forged left part never counts.
 */
export function createClientIpResolver(rules: ClientIpRules): ClientIpResolver {
  const trusted = new AddressSet(rules.trustedProxies)
  const peers = remember((peer) => {
    const address = normalizeAddress(peer) ?? unknownPeer
    return { address, isProxy: rules.trustForwardedHeaders && trusted.has(address) }
  })
  const chains = remember((text) => lastVouched(text, trusted))
  const singles = remember(normalizeHop)

  return (peer, headers) => {
    const { address, isProxy } = peers(peer ?? unknownPeer)
    if (!isProxy) return address
    const chain = headers['x-forwarded-for'] as string | undefined
    if (chain !== undefined && hasHop(chain)) return chains(chain) ?? address
    for (const name of singleHeaders) {
      const value = headers[name]
      const client = typeof value === 'string' ? singles(value) : undefined
      if (client !== undefined) return client
    }
    return address
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
