import { type BlockingReason, blockingReasons } from '../planning/reasons.ts'

/** From the least to the gravest (decision B48). */
export const riskLevels = ['none', 'low', 'medium', 'high'] as const
export type RiskLevel = (typeof riskLevels)[number]

/** What a compensation plan may advise (document 3, "Compensation plan actions"). */
export const suggestedActions = [
  'mark-resolved',
  'wait-confirmations',
  'recheck-later',
  'manual-compensation',
  'manual-review',
] as const
export type SuggestedAction = (typeof suggestedActions)[number]

/** Reasons that an audit can report: a blocking reason, or a payment that a reorganisation has moved to another block or place. */
export type RiskReason = BlockingReason | 'transfer-moved'

type Risk = Exclude<RiskLevel, 'none'>
type Advice = Exclude<SuggestedAction, 'mark-resolved'>

/**
 * What each reason means for an order that is paid already. Those that are about an order that waits for its payment are not here:
 * they say nothing about one that has it.
 */
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

/** Reasons that an audit can find, in the order of the document. */
export const riskReasons: readonly RiskReason[] = [
  ...blockingReasons.filter((reason) => meanings[reason] !== undefined),
  'transfer-moved',
]

/** The first that any reason asks for decides: money that may be gone comes before everything else. */
const precedence: readonly Advice[] = ['manual-compensation', 'manual-review', 'wait-confirmations', 'recheck-later']

export interface RiskAssessment {
  readonly riskReasons: readonly RiskReason[]
  readonly riskLevel: RiskLevel
  readonly risky: boolean
  readonly suggestedAction: SuggestedAction
  /** Time may mend it. */
  readonly retryable: boolean
  /** A person has to look at it. */
  readonly needsManualReview: boolean
  /** Money may have to move. */
  readonly needsFundReview: boolean
  /** The transaction, or the block that it was in, is gone from the chain, or it is in another block now. */
  readonly chainReorgSuspected: boolean
}

/** Reasons that only a reorganisation explains. */
const reorganised: readonly RiskReason[] = ['transfer-removed', 'chain-transaction-not-mined', 'transfer-moved']

/** What a plan of an order that is paid already says about the payment. */
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
