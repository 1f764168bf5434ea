/**
 * States of an order that may be settled (document 3, "Web3 settlement records"). Only the executor sets `settling` and
 * `settled`.
 */
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

/** Stable codes of obstacles (document 3, "Errors" 5), in the order in which they are reported. */
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

/** Why an operator must decide, although no blocking reason applies. These codes may change. */
export const reviewCauses = [
  'match-context-missing',
  'several-matching-transfers',
  'named-by-another-order',
  'transfer-before-order',
  'payer-mismatch',
] as const
export type ReviewCause = (typeof reviewCauses)[number]

/** Causes that suggest that another user paid (decision F.4). Only an operator can settle despite them. */
export const payerCauses: readonly ReviewCause[] = ['named-by-another-order', 'transfer-before-order', 'payer-mismatch']

/** Obstacles that depend neither on the order nor on the chain. */
const attemptObstacles = ['saver-not-active', 'second-person-required', 'approval-rejected', 'retries-used-up'] as const
export type AttemptObstacle = (typeof attemptObstacles)[number]

/** All reasons of an attempt to settle, in the order in which they are reported. */
export const attemptReasons = [...blockingReasons, ...reviewCauses, ...attemptObstacles] as const
export type AttemptReason = BlockingReason | ReviewCause | AttemptObstacle

/**
 * Mismatches that new blocks cannot change. Fingerprints cover only these. If they covered a temporary reason, such as
 * too few confirmations, an early review could never be settled.
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

/** Reasons that disappear when the chain has processed the payment. */
const passing: ReadonlySet<BlockingReason> = new Set([
  'transaction-hash-missing',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
])

/** Reasons that only time can resolve. An attempt without other reasons is repeated automatically. */
export const retriedReasons: ReadonlySet<AttemptReason> = new Set([
  'order-update-conflict',
  'chain-not-configured',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
  'applier-not-available',
  'rpc-query-failed',
])

/** Reasons after which the review can still be settled, automatically or by an operator. */
const survivedReasons: ReadonlySet<AttemptReason> = new Set([
  ...retriedReasons,
  ...payerCauses,
  ...attemptObstacles,
  'several-matching-transfers',
  // The transaction may return to the block that the review saw.
  'review-fingerprint-mismatched',
  'transfer-removed',
])

/** True if the review can still be settled later despite these reasons. */
export const staysCandidate = (reasons: readonly AttemptReason[]): boolean =>
  reasons.every((reason) => survivedReasons.has(reason))

/** Results of the checks that decide the state. */
interface Findings {
  readonly reasons: readonly BlockingReason[]
  readonly causes: readonly ReviewCause[]
  /** True if the order contains an invalid transaction hash, a permanent problem. */
  readonly isHashMalformed: boolean
}

/** Returns the state. The most severe result decides. */
export function stateOf({ reasons, causes, isHashMalformed }: Findings): CandidateState {
  const has = (reason: BlockingReason) => reasons.includes(reason)
  if (has('rpc-query-failed')) return 'failed'
  if (isHashMalformed || reasons.some((reason) => !passing.has(reason))) return 'blocked'
  if (has('transaction-hash-missing') || has('chain-transaction-not-mined')) return 'pending'
  if (has('chain-confirmations-insufficient')) return 'confirming'
  return causes.length > 0 ? 'review_required' : 'ready'
}
