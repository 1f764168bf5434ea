import type { SettlementPlan } from '../planning/plan.ts'
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

type Risk = Exclude<RiskLevel, 'none'>
type Advice = Exclude<SuggestedAction, 'mark-resolved'>

/**
 * What each reason means for an order that is paid already. Those that are about an order that waits for its payment are not here:
 * they say nothing about one that has it.
 */
const meanings: Partial<Record<BlockingReason, readonly [Risk, Advice]>> = {
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
}

/** Reasons that an audit can find, in the order of the document. */
export const riskReasons = blockingReasons.filter((reason) => meanings[reason] !== undefined)

/** The first that any reason asks for decides: money that may be gone comes before everything else. */
const precedence: readonly Advice[] = ['manual-compensation', 'manual-review', 'wait-confirmations', 'recheck-later']

export interface RiskAssessment {
  readonly riskReasons: readonly BlockingReason[]
  readonly riskLevel: RiskLevel
  readonly risky: boolean
  readonly suggestedAction: SuggestedAction
  /** Time may mend it. */
  readonly retryable: boolean
  /** A person has to look at it. */
  readonly needsManualReview: boolean
  /** Money may have to move. */
  readonly needsFundReview: boolean
  /** The transaction, or the block that it was in, is gone from the chain. */
  readonly chainReorgSuspected: boolean
}

/** What a plan of an order that is paid already says about the payment. */
export function assessRisk({ reasons }: Pick<SettlementPlan, 'reasons'>): RiskAssessment {
  const found = reasons.filter((reason) => meanings[reason] !== undefined)
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
    chainReorgSuspected: found.includes('transfer-removed') || found.includes('chain-transaction-not-mined'),
  }
}
