/** Document 3, "Web3 settlement records". Only the executor sets `settling` and `settled`. */
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

/** Stable codes (document 3, "Errors" 5), in the order of reports. */
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

/** Why an operator must decide although nothing blocks. These codes may change. */
export const reviewCauses = [
  'match-context-missing',
  'several-matching-transfers',
  'named-by-another-order',
  'transfer-before-order',
  'payer-mismatch',
] as const
export type ReviewCause = (typeof reviewCauses)[number]

/** Another user may have paid (decision F.4). Only an operator can settle despite these causes. */
export const payerCauses: readonly ReviewCause[] = ['named-by-another-order', 'transfer-before-order', 'payer-mismatch']

/** Independent of order and chain. */
const attemptObstacles = ['saver-not-active', 'second-person-required', 'approval-rejected', 'retries-used-up'] as const
export type AttemptObstacle = (typeof attemptObstacles)[number]

/** In the order of reports. */
export const attemptReasons = [...blockingReasons, ...reviewCauses, ...attemptObstacles] as const
export type AttemptReason = BlockingReason | ReviewCause | AttemptObstacle

/**
 * New blocks cannot change these mismatches, so fingerprints cover only them. If they covered a temporary one, such as
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

/** Disappear when the chain has processed the payment. */
const passing: ReadonlySet<BlockingReason> = new Set([
  'transaction-hash-missing',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
])

/** Only time can resolve these. An attempt without other reasons is repeated. */
export const retriedReasons: ReadonlySet<AttemptReason> = new Set([
  'order-update-conflict',
  'chain-not-configured',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
  'applier-not-available',
  'rpc-query-failed',
])

/** After these reasons the review can still be settled. */
const survivedReasons: ReadonlySet<AttemptReason> = new Set([
  ...retriedReasons,
  ...payerCauses,
  ...attemptObstacles,
  'several-matching-transfers',
  // The transaction may return to its block.
  'review-fingerprint-mismatched',
  'transfer-removed',
])

export const staysCandidate = (reasons: readonly AttemptReason[]): boolean =>
  reasons.every((reason) => survivedReasons.has(reason))

interface Findings {
  readonly reasons: readonly BlockingReason[]
  readonly causes: readonly ReviewCause[]
  /** A permanent problem of the order. */
  readonly isHashMalformed: boolean
}

/** The most severe result decides. */
export function stateOf({ reasons, causes, isHashMalformed }: Findings): CandidateState {
  const has = (reason: BlockingReason) => reasons.includes(reason)
  if (has('rpc-query-failed')) return 'failed'
  if (isHashMalformed || reasons.some((reason) => !passing.has(reason))) return 'blocked'
  if (has('transaction-hash-missing') || has('chain-transaction-not-mined')) return 'pending'
  if (has('chain-confirmations-insufficient')) return 'confirming'
  return causes.length > 0 ? 'review_required' : 'ready'
}
