import { type ChainFactCheck, chainFactChecks } from './checked-facts.ts'
import { type FingerprintVersion, fingerprintVersion, reviewFingerprint } from './fingerprint.ts'
import {
  addressOf,
  amountOf,
  hashTextOf,
  hasText,
  isLong,
  type Matter,
  matterOf,
  type OrderInput,
  type PlanInput,
  wholeOf,
} from './plan-input.ts'
import {
  type BlockingReason,
  blockingReasons,
  type CandidateState,
  candidateStateOf,
  type ReviewCause,
  reviewCauses,
} from './reasons.ts'
import { competingOrdersOf } from './transfers.ts'

export interface PlannedTransfer {
  readonly blockNumber: number
  readonly blockHash: string
  readonly logIndex: number
  readonly logOrdinal: number
  readonly from: string
  readonly to: string
  readonly token: string
  /** Decimal text. */
  readonly value: string
}

/** Describes what a settlement would do now. Plans of earlier releases lack the optional properties. */
export interface SettlementPlan {
  readonly outTradeNo: string
  readonly state: CandidateState
  /** Reasons in the order of document 3 of the specification. */
  readonly reasons: readonly BlockingReason[]
  readonly causes: readonly ReviewCause[]
  readonly chainName: string | null
  readonly chainId: number | null
  /** Digest of the settings of the chain that gave the facts; null if unknown. */
  readonly chainSettingsDigest?: string | null
  readonly transactionHash: string | null
  readonly transfer: PlannedTransfer | null
  /** Numbers of the ten newest other pending orders that claim the transfer. */
  readonly claimedBy?: readonly string[]
  /** Number of all other pending orders that claim the transfer. */
  readonly claimedByTotal?: number
  /** SHA-256 of the numbers of all other pending orders that claim the transfer; null if not all were read. */
  readonly claimedByDigest?: string | null
  /** Decimal text. */
  readonly expectedAmount?: string | null
  readonly expectedToken?: string | null
  readonly payer?: string | null
  /** Milliseconds since the epoch. */
  readonly blockTime?: number | null
  /** Number of confirmations: 1 if the transaction is in the newest block; null if it is in no block. */
  readonly confirmations: number | null
  readonly requiredConfirmations: number | null
  /** Key of the payment, `chainName:transactionHash:logIndex`. */
  readonly eventKey: string | null
  readonly fingerprint: string
  readonly fingerprintVersion: number
  readonly providerId: string | null
  readonly head: number | null
}

/**
 * A check before a settlement (document 3 of the specification, "Limits" 2). If `applies` returns true, the reason
 * blocks the settlement.
 */
export interface PreCheck {
  readonly reason: BlockingReason
  readonly applies: (matter: Matter) => boolean
}

export const settlementProvider = 'web3'

/** True if order, chain and hash are known, so that missing facts are an error. */
const isAsked = ({ order, chain, hash }: Matter) => order !== null && chain?.enabled === true && hash !== null
const finalNumber = ({ chain, facts }: Matter) =>
  (chain?.finality === 'safe' ? facts?.safeNumber : facts?.finalizedNumber) ?? -1
/**
 * True if the transaction succeeded. A failed transaction has no transfers, so other mismatches are not reported for
 * it.
 */
const isMatched = ({ receipt }: Matter) => receipt?.isSuccessful === true

/**
 * Checks before a settlement. If one of them were missing, a plan could accept a payment that was not made, or accept a
 * payment twice.
 */
export const preChecks: readonly PreCheck[] = [
  { reason: 'order-not-found', applies: ({ order }) => order === null },
  { reason: 'provider-not-web3', applies: ({ order }) => order !== null && order.provider !== settlementProvider },
  { reason: 'local-order-already-paid', applies: ({ order }) => order?.status === 'success' },
  {
    reason: 'local-order-not-settleable',
    applies: ({ order }) => order !== null && order.status !== 'pending' && order.status !== 'success',
  },
  { reason: 'chain-not-configured', applies: ({ order, chain }) => order !== null && chain?.enabled !== true },
  {
    reason: 'chain-not-configured',
    applies: ({ order, chain }) => order !== null && chain !== null && chain.name !== order.chainName,
  },
  { reason: 'chain-not-configured', applies: ({ order, required }) => order !== null && !isLong(required) },
  {
    reason: 'chain-id-mismatch',
    applies: ({ order, chain }) =>
      chain !== null && typeof order?.chainId === 'number' && order.chainId !== chain.chainId,
  },
  { reason: 'chain-id-mismatch', applies: ({ error }) => error === 'chain-id-mismatch' },
  {
    reason: 'chain-id-mismatch',
    applies: ({ chain, facts }) => chain !== null && facts !== undefined && facts.chainId !== chain.chainId,
  },
  { reason: 'transaction-hash-missing', applies: ({ order, hash }) => order !== null && hash === null },
  {
    reason: 'chain-transaction-not-mined',
    applies: ({ facts }) => facts !== undefined && facts.receipt === null,
  },
  { reason: 'chain-transaction-failed', applies: ({ receipt }) => receipt !== null && !receipt.isSuccessful },
  {
    reason: 'chain-confirmations-insufficient',
    applies: ({ confirmations, required }) => confirmations !== null && required !== null && confirmations < required,
  },
  {
    reason: 'chain-confirmations-insufficient',
    applies: (matter) =>
      matter.receipt !== null &&
      matter.chain !== null &&
      matter.chain.finality !== 'depth' &&
      finalNumber(matter) < matter.receipt.blockNumber,
  },
  { reason: 'transfer-missing', applies: (matter) => isMatched(matter) && matter.choice.transfer === null },
  ...(['receiver-address-mismatch', 'token-contract-mismatch', 'amount-mismatch'] as const).map((reason) => ({
    reason,
    applies: (matter: Matter) => isMatched(matter) && matter.choice.mismatches.includes(reason),
  })),
  {
    reason: 'transaction-already-exists',
    applies: ({ order, input, choice: { transfer } }) =>
      order?.status === 'pending' &&
      transfer !== null &&
      input.consumed.some(({ logIndex }) => logIndex === transfer.logIndex),
  },
  {
    // Compares the position in the transaction, because the log index changes if the transaction moves to another
    // block.
    reason: 'transaction-already-exists',
    applies: ({ order, input, choice: { transfer } }) =>
      order?.status === 'pending' &&
      transfer !== null &&
      input.consumed.some(({ logOrdinal }) => logOrdinal === transfer.ordinal),
  },
  {
    reason: 'transaction-already-exists',
    applies: ({ order, input }) =>
      order?.status === 'pending' && input.consumed.some(({ outTradeNo }) => outTradeNo === order.outTradeNo),
  },
  { reason: 'transfer-removed', applies: ({ receipt }) => receipt !== null && !receipt.isCanonical },
  { reason: 'transfer-removed', applies: ({ receipt }) => receipt?.logs.some(({ removed }) => removed) === true },
  {
    reason: 'transfer-removed',
    applies: ({ input, facts }) => input.wasMined === true && facts !== undefined && facts.receipt === null,
  },
  {
    reason: 'rpc-query-failed',
    applies: (matter) => isAsked(matter) && matter.facts === undefined && matter.error !== 'chain-id-mismatch',
  },
]

/** Checks of a plan. Tests leave out single checks to prove that each one is necessary. */
export interface PlanChecks {
  readonly pre: readonly PreCheck[]
  readonly facts: readonly ChainFactCheck[]
}

const allChecks: PlanChecks = { pre: preChecks, facts: chainFactChecks }

/**
 * Returns what a settlement of this order would do now. The function is pure and never throws. The state is `ready`
 * only if all checks pass on consistent facts.
 */
export function planSettlement(input: PlanInput, checks: PlanChecks = allChecks): SettlementPlan {
  const matter = matterOf(input, checks.facts)
  const { order, chain, hash, expected, required, facts, receipt, choice, confirmations, payer } = matter
  const found = new Set(checks.pre.filter(({ applies }) => applies(matter)).map(({ reason }) => reason))
  const reasons = blockingReasons.filter((reason) => found.has(reason))
  const rivals = competingOrdersOf(input.claims ?? [], { ...input, payer, transfer: choice.transfer })
  const causes = causesOf(matter, rivals.listed)
  const transfer =
    choice.transfer === null || receipt === null
      ? null
      : { ...choice.transfer, blockNumber: receipt.blockNumber, blockHash: receipt.blockHash }
  const chainName = order?.chainName ?? null
  const chainId = wholeOf(chain?.chainId)
  const isHashMalformed = hash === null && hasText(hashTextOf(input))
  const fingerprint = reviewFingerprint({
    outTradeNo: input.outTradeNo,
    chainName,
    chainId,
    transactionHash: hash,
    token: expected.token,
    receiver: expected.receiver,
    amount: expected.value,
    requiredConfirmations: required,
    transfer,
    reasons,
  })
  return {
    outTradeNo: input.outTradeNo,
    state: candidateStateOf({ reasons, causes, isHashMalformed }),
    reasons,
    causes,
    chainName,
    chainId,
    chainSettingsDigest: chain?.settingsDigest ?? null,
    transactionHash: hash,
    transfer:
      transfer === null
        ? null
        : {
            blockNumber: transfer.blockNumber,
            blockHash: transfer.blockHash,
            logIndex: transfer.logIndex,
            logOrdinal: transfer.ordinal,
            from: transfer.from,
            to: transfer.to,
            token: transfer.token,
            value: String(transfer.value),
          },
    claimedBy: rivals.listed,
    claimedByTotal: rivals.total,
    claimedByDigest: rivals.digest,
    expectedAmount: expected.value === null ? null : String(expected.value),
    expectedToken: expected.token,
    payer,
    blockTime: facts?.blockTime ?? null,
    confirmations,
    requiredConfirmations: required,
    eventKey: transfer === null || chainName === null ? null : `${chainName}:${hash}:${transfer.logIndex}`,
    fingerprint,
    fingerprintVersion,
    providerId: facts?.providerId ?? null,
    head: facts?.head ?? null,
  }
}

/**
 * Returns the causes that need the decision of an operator. Causes about the payer only apply to a pending order.
 *
 * @param claimedBy other orders that claim the transfer
 */
function causesOf(
  { input, order, expected, facts, receipt, choice, payer }: Matter,
  claimedBy: readonly string[],
): readonly ReviewCause[] {
  const isPending = order?.status === 'pending'
  const { createdAt } = order ?? {}
  const earliest = (createdAt ?? 0) - (input.blockTimeToleranceMs ?? 0)
  const found: Readonly<Record<ReviewCause, boolean>> = {
    'match-context-missing': receipt !== null && [expected.token, expected.receiver, expected.value].includes(null),
    'several-matching-transfers': choice.matching > 1,
    'named-by-another-order': isPending && claimedBy.length > 0,
    'transfer-before-order': isPending && receipt !== null && (facts?.blockTime ?? earliest) < earliest,
    'payer-mismatch': isPending && payer !== null && choice.transfer !== null && choice.transfer.from !== payer,
  }
  return reviewCauses.filter((cause) => found[cause])
}

/**
 * Returns the fingerprint of a plan with the current terms of the order.
 *
 * @param version version of the fingerprint that the review has
 */
export function fingerprintOfPlan(
  plan: SettlementPlan,
  order: OrderInput,
  version: FingerprintVersion = fingerprintVersion,
): string {
  const { transfer } = plan
  const ofChain = plan.requiredConfirmations
  return reviewFingerprint(
    {
      outTradeNo: order.outTradeNo,
      chainName: order.chainName ?? null,
      chainId: plan.chainId,
      transactionHash: plan.transactionHash,
      token: addressOf(order.tokenContract),
      receiver: addressOf(order.receiver),
      amount: amountOf(order.amountRaw),
      requiredConfirmations: ofChain === null ? null : Math.max(ofChain, wholeOf(order.requiredConfirmations) ?? 0),
      transfer:
        transfer === null
          ? null
          : { ...transfer, value: BigInt(transfer.value), ordinal: transfer.logOrdinal, removed: false },
      reasons: plan.reasons,
    },
    version,
  )
}
