import { hash } from 'node:crypto'
import { type BlockingReason, permanentMismatchesOf } from './reasons.ts'
import type { Transfer } from './transfers.ts'

/** A value of JSON. It must not contain `undefined`, a bigint or an infinite number. */
type CanonicalValue =
  | string
  | number
  | boolean
  | null
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue }

/**
 * Returns canonical JSON (RFC 8785): members sorted by UTF-16 code units, no white space, numbers and strings as in
 * ECMAScript.
 *
 * @throws RangeError for infinite numbers and unpaired surrogates
 */
export function canonicalJson(value: CanonicalValue): string {
  return isSorted(value) ? JSON.stringify(value) : sortedJson(value)
}

/** True if all members are sorted. Then the result of `JSON.stringify` is canonical. */
function isSorted(value: CanonicalValue | undefined): boolean {
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
    sorted = isSorted(value[name]) && before <= name && sorted
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

/** Version of the fingerprint. It increases when a fingerprint includes other values. */
export const fingerprintVersion = 2
export type FingerprintVersion = 1 | 2

/** Values that a fingerprint includes. Addresses and hashes are in lower case. */
export interface ReviewedFacts {
  readonly outTradeNo: string
  readonly chainName: string | null
  readonly chainId: number | null
  readonly transactionHash: string | null
  readonly token: string | null
  readonly receiver: string | null
  readonly amount: bigint | null
  /** Only fingerprints of version 1 include it. */
  readonly requiredConfirmations: number | null
  readonly transfer: (Transfer & { readonly blockNumber: number; readonly blockHash: string }) | null
  readonly reasons: readonly BlockingReason[]
}

/**
 * Returns SHA-256, in lower-case hexadecimal, of a version prefix and canonical JSON. The JSON contains the terms of
 * the order, the transfer with its block and log index, and the stable mismatch codes (document 3 of the specification,
 * "Review fingerprint").
 *
 * Amount, receiver and block hash are included, so that a review does not match a changed payment, or another block
 * with the same number. Confirmations, head, time and provider are left out, because they may change while a review
 * remains valid.
 *
 * @param version 1 for reviews of earlier releases: includes the required confirmations and has no prefix
 */
export function reviewFingerprint(facts: ReviewedFacts, version: FingerprintVersion = fingerprintVersion): string {
  const { transfer } = facts
  const isFirst = version === 1
  const covered = canonicalJson({
    amountRaw: facts.amount === null ? null : String(facts.amount),
    chainId: facts.chainId,
    chainName: facts.chainName?.toWellFormed() ?? null,
    mismatch: [...new Set(permanentMismatchesOf(facts.reasons))].sort(),
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
