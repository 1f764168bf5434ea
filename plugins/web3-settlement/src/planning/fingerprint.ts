import { hash } from 'node:crypto'
import { canonicalJson } from './canonical-json.ts'
import { type BlockingReason, stableMismatchesOf } from './reasons.ts'
import type { Transfer } from './transfers.ts'

/** Grows with the covered members: a fingerprint of another version never equals one of this. */
export const fingerprintVersion = 1

/** What a review was about. Addresses and hashes in lower case, amounts as integers. */
export interface ReviewedFacts {
  readonly outTradeNo: string
  readonly chainName: string | null
  readonly chainId: number | null
  readonly transactionHash: string | null
  readonly token: string | null
  readonly receiver: string | null
  readonly amount: bigint | null
  readonly requiredConfirmations: number | null
  readonly transfer: (Transfer & { readonly blockNumber: number; readonly blockHash: string }) | null
  readonly reasons: readonly BlockingReason[]
}

/**
 * Fingerprint of a review: SHA-256, lower-case hex, of the canonical JSON (RFC 8785) of the order's terms, the transfer with its
 * block and log index, and the stable mismatch codes (document 3, "Review fingerprint").
 *
 * Decision B46 joined hash, block number, log index and codes with bars. That text does not change when an order's amount or
 * receiver is changed after the review, nor when the chain replaces a block by another of the same height that has the
 * same log index, so both are covered here too. Confirmations, head, time and provider are not: they change with every block.
 */
export function reviewFingerprint(facts: ReviewedFacts): string {
  const { transfer } = facts
  // In their canonical order, which need not be made then.
  const covered = canonicalJson({
    amountRaw: facts.amount === null ? null : String(facts.amount),
    chainId: facts.chainId,
    chainName: facts.chainName?.toWellFormed() ?? null,
    mismatch: [...new Set(stableMismatchesOf(facts.reasons))].sort(),
    outTradeNo: facts.outTradeNo.toWellFormed(),
    receiver: facts.receiver,
    requiredConfirmations: facts.requiredConfirmations,
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
    v: fingerprintVersion,
  })
  return hash('sha256', covered)
}
