/** States of a settlement candidate (document 3, "Web3 settlement records"). Only the executor gives `settling` and `settled`. */
export const candidateStates = [
  'pending',
  'confirming',
  'review_required',
  'ready',
  'settling',
  'settled',
  'blocked',
  'failed',
] as const
export type CandidateState = (typeof candidateStates)[number]

/** Stable codes of what blocks a settlement (document 3, "Errors" 5), in the order in which they are reported. */
export const blockingReasons = [
  'order-not-found',
  'order-not-settleable',
  'order-update-conflict',
  'provider-not-web3',
  'local-order-already-paid',
  'local-order-not-settleable',
  'chain-not-configured',
  'chain-id-mismatch',
  'transaction-hash-missing',
  'chain-transaction-not-mined',
  'chain-transaction-failed',
  'chain-confirmations-insufficient',
  'transfer-missing',
  'receiver-address-mismatch',
  'token-contract-mismatch',
  'amount-mismatch',
  'transaction-already-exists',
  'review-fingerprint-mismatched',
  'applier-not-available',
  'transfer-removed',
  'rpc-query-failed',
] as const
export type BlockingReason = (typeof blockingReasons)[number]

/** Why a plan without a blocking reason asks for a person. They are not part of the stable codes. */
export const reviewCauses = [
  'match-context-missing',
  'several-matching-transfers',
  'named-by-another-order',
  'transfer-before-order',
  'payer-mismatch',
] as const
export type ReviewCause = (typeof reviewCauses)[number]

/** Causes that say that the payment may be somebody else's (decision F.4). Only a person settles in spite of them. */
export const payerCauses: readonly ReviewCause[] = ['named-by-another-order', 'transfer-before-order', 'payer-mismatch']

/** Why an attempt did not start, where neither the order nor the chain is the reason. */
const attemptObstacles = ['saver-not-active', 'second-person-required', 'approval-rejected', 'retries-used-up'] as const
export type AttemptObstacle = (typeof attemptObstacles)[number]

/** Every reason that an attempt to settle can have, in the order in which they are reported. */
export const attemptReasons = [...blockingReasons, ...reviewCauses, ...attemptObstacles] as const
export type AttemptReason = BlockingReason | ReviewCause | AttemptObstacle

/**
 * Mismatches that stay as they are while blocks are added. Only these are covered by a fingerprint: with a code that passes
 * by itself, such as too few confirmations, a review that was saved early could never be settled.
 */
const stableMismatches: ReadonlySet<BlockingReason> = new Set([
  'chain-id-mismatch',
  'chain-transaction-failed',
  'transfer-missing',
  'receiver-address-mismatch',
  'token-contract-mismatch',
  'amount-mismatch',
  'transfer-removed',
])

export const stableMismatchesOf = (reasons: readonly BlockingReason[]): readonly BlockingReason[] =>
  reasons.filter((reason) => stableMismatches.has(reason))

/** What time mends: the order waits for it. */
const passing: ReadonlySet<BlockingReason> = new Set([
  'transaction-hash-missing',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
])

/** Reasons that only waiting can change. An attempt that ends with nothing else is made again automatically. */
export const retriedReasons: ReadonlySet<AttemptReason> = new Set([
  'order-update-conflict',
  'chain-not-configured',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
  'applier-not-available',
  'rpc-query-failed',
])

/** Reasons after which the review can still be settled, automatically or by a person. */
const survivedReasons: ReadonlySet<AttemptReason> = new Set([
  ...retriedReasons,
  ...payerCauses,
  ...attemptObstacles,
  'several-matching-transfers',
  // The transaction may return to the block of the review.
  'review-fingerprint-mismatched',
  'transfer-removed',
])

/** True while no reason ends the review as a candidate for settlement. */
export const staysCandidate = (reasons: readonly AttemptReason[]): boolean =>
  reasons.every((reason) => survivedReasons.has(reason))

/** What was found out about a candidate. */
interface Findings {
  readonly reasons: readonly BlockingReason[]
  readonly causes: readonly ReviewCause[]
  /** The order names something that is no transaction hash: no waiting mends that. */
  readonly isHashMalformed: boolean
}

/** The state that follows from all findings; the gravest decides. */
export function stateOf({ reasons, causes, isHashMalformed }: Findings): CandidateState {
  const has = (reason: BlockingReason) => reasons.includes(reason)
  if (has('rpc-query-failed')) return 'failed'
  if (isHashMalformed || reasons.some((reason) => !passing.has(reason))) return 'blocked'
  if (has('transaction-hash-missing') || has('chain-transaction-not-mined')) return 'pending'
  if (has('chain-confirmations-insufficient')) return 'confirming'
  return causes.length > 0 ? 'review_required' : 'ready'
}
