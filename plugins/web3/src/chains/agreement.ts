import type { ChainObservation, ProviderAttempt, ProviderFault } from '../contract.ts'

interface Vote<Value> {
  readonly providerId: string
  readonly value: Value
  readonly content: string
}

/** Collects what providers report, until enough of them agree. */
export class ProviderVotes<Value> {
  readonly #needed: number
  readonly #all: (Vote<Value> | ProviderAttempt)[] = []

  /** @param needed number of providers that must agree, 1 or more */
  constructor(needed: number) {
    this.#needed = needed
  }

  /** @param content text of the value for comparison: providers agree if their texts are equal */
  said(providerId: string, value: Value, content: string): void {
    this.#all.push({ providerId, value, content })
  }

  failed(providerId: string, fault: ProviderFault): void {
    this.#all.push({ providerId, fault })
  }

  get isSingle(): boolean {
    return this.#needed <= 1
  }

  /** Returns the values of agreeing providers, in the order of the queries; undefined if too few agree. */
  agreed(): readonly Value[] | undefined {
    const votes = this.#all.filter((one) => 'content' in one)
    for (const { content } of votes) {
      const same = votes.filter((other) => other.content === content)
      if (same.length >= this.#needed) return same.map(({ value }) => value)
    }
    return undefined
  }

  attempts(): readonly ProviderAttempt[] {
    return this.#all.map((one) =>
      'fault' in one ? one : { providerId: one.providerId, fault: 'unconfirmed' as const },
    )
  }
}

/**
 * Adds what a provider reports. When enough providers agree, returns the facts of the first one, with the lowest of the
 * block heights that these providers report.
 *
 * @param now milliseconds since the epoch
 */
export function addVoteAndAgree(
  votes: ProviderVotes<ChainObservation> | undefined,
  providerId: string,
  response: Omit<ChainObservation, 'providerId' | 'observedAt'> | ProviderFault,
  now: number,
): ChainObservation | undefined {
  if (votes === undefined) return undefined
  if (typeof response === 'string') {
    votes.failed(providerId, response)
    return undefined
  }
  votes.said(providerId, { ...response, providerId, observedAt: now }, votes.isSingle ? '' : comparedTextOf(response))
  const agreed = votes.agreed()
  const [first] = agreed ?? []
  if (agreed === undefined || first === undefined) return undefined
  const lowest = (name: 'head' | 'safeNumber' | 'finalizedNumber') =>
    first[name] === undefined ? {} : { [name]: Math.min(...agreed.map((one) => one[name] ?? 0)) }
  return { ...first, ...lowest('head'), ...lowest('safeNumber'), ...lowest('finalizedNumber') }
}

/**
 * Returns the text by which providers are compared. It contains no heights and no pending transactions, because correct
 * providers differ there.
 */
function comparedTextOf({
  receipt,
  transaction,
  canonicalBlockHash,
  blockTime,
}: Omit<ChainObservation, 'providerId' | 'observedAt'>) {
  if (receipt === null) return 'not mined'
  const { from, to, value } = transaction ?? {}
  return JSON.stringify([receipt, canonicalBlockHash, blockTime, from, to, String(value)])
}
