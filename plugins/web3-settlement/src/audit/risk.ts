import { type BlockingReason, blockingReasons } from '../planning/reasons.ts'

/** Levels of risk in ascending order. */
export const riskLevels = ['none', 'low', 'medium', 'high'] as const
export type RiskLevel = (typeof riskLevels)[number]

/** Actions that the audit can suggest (document 3 of the specification, "Compensation plan actions"). */
export const suggestedActions = [
  'mark-resolved',
  'wait-confirmations',
  'recheck-later',
  'manual-compensation',
  'manual-review',
] as const
export type SuggestedAction = (typeof suggestedActions)[number]

/** Reason for a risk: a blocking reason, or the fact that the payment moved to another block or position. */
export type RiskReason = BlockingReason | 'transfer-moved'

type Risk = Exclude<RiskLevel, 'none'>
type Advice = Exclude<SuggestedAction, 'mark-resolved'>

/** Risk and suggested action of each reason. Reasons that only concern unpaid orders are left out. */
const meanings: Partial<Record<RiskReason, readonly [Risk, Advice]>> = {
  'transfer-removed': ['high', 'manual-compensation'],
  'chain-transaction-not-mined': ['high', 'manual-compensation'],
  'chain-transaction-failed': ['high', 'manual-compensation'],
  'transfer-missing': ['high', 'manual-compensation'],
  'transaction-hash-missing': ['high', 'manual-review'],
  'chain-id-mismatch': ['high', 'manual-review'],
  'receiver-address-mismatch': ['high', 'manual-review'],
  'token-contract-mismatch': ['high', 'manual-review'],
  'amount-mismatch': ['high', 'manual-review'],
  'chain-confirmations-insufficient': ['medium', 'wait-confirmations'],
  'rpc-query-failed': ['low', 'recheck-later'],
  'chain-not-configured': ['low', 'recheck-later'],
  'transfer-moved': ['low', 'recheck-later'],
}

/** All reasons in the order of document 3 of the specification. */
export const riskReasons: readonly RiskReason[] = [
  ...blockingReasons.filter((reason) => meanings[reason] !== undefined),
  'transfer-moved',
]

/**
 * Actions by precedence: if several reasons apply, the first of their actions is suggested. A possible loss of money
 * comes first.
 */
const precedence: readonly Advice[] = ['manual-compensation', 'manual-review', 'wait-confirmations', 'recheck-later']

export interface RiskAssessment {
  readonly riskReasons: readonly RiskReason[]
  readonly riskLevel: RiskLevel
  readonly risky: boolean
  readonly suggestedAction: SuggestedAction
  /** The risk may disappear with time. */
  readonly retryable: boolean
  readonly needsManualReview: boolean
  /** Money may have to be moved. */
  readonly needsFundReview: boolean
  /** The transaction or its block has left the chain, or is in another block. */
  readonly chainReorgSuspected: boolean
}

/** Reasons that only a reorganisation of the chain can explain. */
const reorganised: readonly RiskReason[] = ['transfer-removed', 'chain-transaction-not-mined', 'transfer-moved']

export function assessRisk({ reasons }: { readonly reasons: readonly RiskReason[] }): RiskAssessment {
  const found = riskReasons.filter((reason) => reasons.includes(reason))
  const meant = found.map((reason) => meanings[reason]).filter((meaning) => meaning !== undefined)
  const riskLevel = riskLevels.findLast((level) => meant.some(([risk]) => risk === level)) ?? 'none'
  const suggestedAction = precedence.find((action) => meant.some(([, advice]) => advice === action)) ?? 'mark-resolved'
  return {
    riskReasons: found,
    riskLevel,
    risky: riskLevel !== 'none',
    suggestedAction,
    retryable: suggestedAction === 'wait-confirmations' || suggestedAction === 'recheck-later',
    needsManualReview: suggestedAction === 'manual-compensation' || suggestedAction === 'manual-review',
    needsFundReview: suggestedAction === 'manual-compensation',
    chainReorgSuspected: reorganised.some((reason) => found.includes(reason)),
  }
}
