/**
 * States of a review (document 3 of the specification, "Web3 settlement records"). Only the executor sets `settling`
 * and `settled`.
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

/**
 * Stable codes of reasons that block a settlement, in the order in which results list them (document 3 of the
 * specification, "Errors" 5).
 */
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

/** Codes that tell why an operator must decide although nothing blocks the settlement. These codes may change. */
export const reviewCauses = [
  'match-context-missing',
  'several-matching-transfers',
  'named-by-another-order',
  'transfer-before-order',
  'payer-mismatch',
] as const
export type ReviewCause = (typeof reviewCauses)[number]

/** Causes that suggest that another user may have paid. Only an operator can settle despite these causes. */
export const payerCauses: readonly ReviewCause[] = ['named-by-another-order', 'transfer-before-order', 'payer-mismatch']

/**
 * Reasons against an attempt that do not depend on order and chain. `handler-failed`: the handler of the order's scene, or
 * the database, threw an error, and the settlement was rolled back.
 */
const attemptObstacles = [
  'handler-failed',
  'saver-not-active',
  'second-person-required',
  'approval-rejected',
  'retries-used-up',
] as const
export type AttemptObstacle = (typeof attemptObstacles)[number]

/** All reasons why an attempt can fail, in the order in which results list them. */
export const attemptReasons = [...blockingReasons, ...reviewCauses, ...attemptObstacles] as const
export type AttemptReason = BlockingReason | ReviewCause | AttemptObstacle

/**
 * Mismatches that new blocks cannot change. Only these are part of a fingerprint. If a fingerprint included a temporary
 * one, such as too few confirmations, an early review could never be settled.
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

export const permanentMismatchesOf = (reasons: readonly BlockingReason[]): readonly BlockingReason[] =>
  reasons.filter((reason) => stableMismatches.has(reason))

/** Reasons that disappear when the chain has processed the payment. */
const passing: ReadonlySet<BlockingReason> = new Set([
  'transaction-hash-missing',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
])

/** Reasons that only time can resolve. If an attempt has no other reasons, it is repeated. */
export const temporaryReasons: ReadonlySet<AttemptReason> = new Set([
  'order-update-conflict',
  'chain-not-configured',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
  'applier-not-available',
  'rpc-query-failed',
  'handler-failed',
])

/** Reasons after which the review can still be settled. */
const survivedReasons: ReadonlySet<AttemptReason> = new Set([
  ...temporaryReasons,
  ...payerCauses,
  ...attemptObstacles,
  'several-matching-transfers',
  // Not permanent, because a reorganisation may bring the transaction back to its block.
  'review-fingerprint-mismatched',
  'transfer-removed',
])

export const remainsCandidate = (reasons: readonly AttemptReason[]): boolean =>
  reasons.every((reason) => survivedReasons.has(reason))

interface Findings {
  readonly reasons: readonly BlockingReason[]
  readonly causes: readonly ReviewCause[]
  /** True if the hash of the order is malformed, which is a permanent problem. */
  readonly isHashMalformed: boolean
}

/** Returns the state for reasons and causes. The most severe one determines the state. */
export function candidateStateOf({ reasons, causes, isHashMalformed }: Findings): CandidateState {
  const has = (reason: BlockingReason) => reasons.includes(reason)
  if (has('rpc-query-failed')) return 'failed'
  if (isHashMalformed || reasons.some((reason) => !passing.has(reason))) return 'blocked'
  if (has('transaction-hash-missing') || has('chain-transaction-not-mined')) return 'pending'
  if (has('chain-confirmations-insufficient')) return 'confirming'
  return causes.length > 0 ? 'review_required' : 'ready'
}
