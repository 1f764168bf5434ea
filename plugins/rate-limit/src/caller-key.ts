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
 * Addresses as they stand in keys: hashed, all addresses of one caller alike.
 *
 * @param networkOf one text for all addresses of one caller
 */
export const addressKeys = (networkOf: (address: string) => string): ((address: string) => string) =>
  remembered(10_000, (address) => sha256(networkOf(address)))

/** Who calls, by the first resolver that knows one. */
export async function identityOf(
  resolvers: readonly IdentityResolver[],
  request: Request,
): Promise<string | undefined> {
  for (const resolve of resolvers) {
    const identity = (await resolve(request))?.trim()
    if (identity) return identity
  }
  return undefined
}

/** The identity of the caller as it stands in a key: hashed. */
export const identityKey = async (resolvers: readonly IdentityResolver[], request: Request): Promise<string> =>
  sha256((await identityOf(resolvers, request)) ?? anonymous)
