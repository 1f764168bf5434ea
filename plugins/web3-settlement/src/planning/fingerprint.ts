import { hash } from 'node:crypto'
import { type BlockingReason, stableMismatchesOf } from './reasons.ts'
import type { Transfer } from './transfers.ts'

/** Values of canonical JSON: no `undefined`, bigint or infinite numbers. */
type CanonicalValue =
  | string
  | number
  | boolean
  | null
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue }

/**
 * Returns canonical JSON (RFC 8785): members sorted by UTF-16 code units, no white space, numbers and strings in the
 * form of ECMAScript.
 *
 * @throws RangeError for a number that is not finite and for a string with a lone surrogate, which have no canonical
 * form
 */
export function canonicalJson(value: CanonicalValue): string {
  return isSorted(value) ? JSON.stringify(value) : sortedJson(value)
}

/** True if all members are already sorted at every level. Normal JSON is then canonical. */
function isSorted(value: CanonicalValue): boolean {
  if (typeof value === 'string') return assertWellFormed(value)
  if (typeof value === 'number') return assertFinite(value)
  if (typeof value !== 'object' || value === null) return true
  let sorted = true
  if (isList(value)) {
    for (const item of value) sorted = isSorted(item) && sorted
    return sorted
  }
  let before = ''
  for (const name in value) {
    assertWellFormed(name)
    sorted = isSorted(value[name] as CanonicalValue) && before <= name && sorted
    before = name
  }
  return sorted
}

function sortedJson(value: CanonicalValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(sortedJson).join(',')}]`
  const members = Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${sortedJson(member)}`)
  return `{${members.join(',')}}`
}

function assertWellFormed(text: string): true {
  if (!text.isWellFormed()) throw new RangeError('A text with a lone surrogate has no canonical form')
  return true
}

function assertFinite(number: number): true {
  if (!Number.isFinite(number)) throw new RangeError(`${number} has no canonical form`)
  return true
}

/** `Array.isArray` does not narrow readonly arrays. */
const isList = (value: object): value is readonly CanonicalValue[] => Array.isArray(value)

/** Version of new fingerprints. It increases when the covered members change. */
export const fingerprintVersion = 2
export type FingerprintVersion = 1 | 2

/** Facts of a review. Addresses and hashes are lower case, amounts are integers. */
export interface ReviewedFacts {
  readonly outTradeNo: string
  readonly chainName: string | null
  readonly chainId: number | null
  readonly transactionHash: string | null
  readonly token: string | null
  readonly receiver: string | null
  readonly amount: bigint | null
  /** Covered by version 1 only. */
  readonly requiredConfirmations: number | null
  readonly transfer: (Transfer & { readonly blockNumber: number; readonly blockHash: string }) | null
  readonly reasons: readonly BlockingReason[]
}

/**
 * Returns the fingerprint of a review: SHA-256, lower-case hex, of a version prefix and the canonical JSON (RFC 8785)
 * of the order's terms, the transfer with its block and log index, and the stable mismatch codes (document 3, "Review
 * fingerprint").
 *
 * Decision B46 joins hash, block number, log index and codes with bars. That text does not change if the amount or the
 * receiver of an order changes after the review, or if another block of the same height with the same log index
 * replaces the block. This fingerprint covers both. It does not cover confirmations, required confirmations, head, time
 * and provider, because a review must stay valid while they change.
 *
 * @param version 1 for a review that an earlier release has stored: it covers the required confirmations, and has no
 * prefix
 */
export function reviewFingerprint(facts: ReviewedFacts, version: FingerprintVersion = fingerprintVersion): string {
  const { transfer } = facts
  const isFirst = version === 1
  const covered = canonicalJson({
    amountRaw: facts.amount === null ? null : String(facts.amount),
    chainId: facts.chainId,
    chainName: facts.chainName?.toWellFormed() ?? null,
    mismatch: [...new Set(stableMismatchesOf(facts.reasons))].sort(),
    outTradeNo: facts.outTradeNo.toWellFormed(),
    receiver: facts.receiver,
    ...(isFirst ? { requiredConfirmations: facts.requiredConfirmations } : {}),
    token: facts.token,
    transactionHash: facts.transactionHash,
    transfer:
      transfer === null
        ? null
        : {
            blockHash: transfer.blockHash,
            blockNumber: transfer.blockNumber,
            from: transfer.from,
            logIndex: transfer.logIndex,
            to: transfer.to,
            token: transfer.token,
            value: String(transfer.value),
          },
    ...(isFirst ? { v: 1 } : {}),
  })
  return hash('sha256', isFirst ? covered : `v2|${covered}`)
}
