import { selectionOf } from '@plinth/database'
import { count, id, instant, nullable, Type, text, viewOf } from '@plinth/http'
import type { Static } from 'typebox'
import { type ChainNames, tokenKey, unknownToken } from '../chain-names.ts'
import {
  CallbackRow,
  type ReviewRow,
  reviewActions,
  reviewStatuses,
  settlementOutcomes,
  settlementTriggers,
} from '../entities.ts'
import type { SettlementResult } from '../execution/executor.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { attemptReasons, blockingReasons, candidateStates, reviewCauses } from '../planning/reasons.ts'
import { countCompetingOrders } from '../planning/transfers.ts'

const whole = Type.Integer({ minimum: 0 })
const reasons = Type.Array(Type.Enum(blockingReasons), { description: 'Blocking reasons, in a fixed order.' })
const attemptReason = Type.Enum(attemptReasons)
const tried = Type.Array(attemptReason, { description: 'Blocking reasons in a fixed order, followed by causes.' })
const decimals = nullable(Type.Integer({ minimum: 0, maximum: 77 }), {
  description: 'Decimal places of the token according to its contract. Null if unknown.',
})
const symbol = nullable(text, { description: 'Symbol of the token according to its contract.' })

const transferView = Type.Object({
  blockNumber: whole,
  blockHash: text,
  logIndex: whole,
  logOrdinal: Type.Integer({ minimum: 0, description: 'Position among the logs of the transaction, starting at 0.' }),
  from: text,
  to: text,
  token: text,
  tokenContract: Type.String({ description: 'Same value as `token`, under the name that orders use.' }),
  value: Type.String({ description: 'Amount in the smallest units of the token, as decimal text.' }),
  decimals,
  symbol,
})

export const planView = Type.Object({
  outTradeNo: text,
  state: Type.Enum(candidateStates),
  reasons,
  causes: Type.Array(Type.Enum(reviewCauses), {
    description: 'Causes that need the decision of an operator, if no reason blocks the settlement.',
  }),
  chainName: nullable(text),
  chainId: nullable(Type.Integer()),
  explorer: nullable(text, {
    description: 'URL of a block explorer, which has the paths `/tx/`, `/address/` and `/block/`.',
  }),
  transactionHash: nullable(text),
  transfer: nullable(transferView),
  expectedAmount: nullable(text, {
    description: 'Amount of the order in the smallest units of the token, as decimal text.',
  }),
  expectedToken: nullable(text),
  decimals,
  symbol,
  payer: nullable(text, { description: 'Address that must send the payment. Its owner proved control of it.' }),
  claimedBy: Type.Array(text, {
    description:
      'Other pending orders that claim the transfer: at most the ten newest, without orders outside the data scope of the caller.',
  }),
  claimedByTotal: Type.Integer({
    description:
      'Number of all other pending orders that claim the transfer, also those that `claimedBy` omits. At most 1,000 orders of each kind of claim are counted.',
  }),
  blockTime: nullable(instant),
  confirmations: nullable(
    Type.Integer({ description: 'Number of confirmations. A transaction in the newest block has 1.' }),
  ),
  requiredConfirmations: nullable(Type.Integer()),
  eventKey: nullable(text),
  reviewFingerprint: text,
  fingerprintVersion: count,
  providerId: nullable(
    Type.String({ description: 'Id of the RPC provider that responded. Its URL is never returned.' }),
  ),
  head: nullable(whole),
})

export function viewOfPlan(plan: SettlementPlan, { explorers, tokens, orders }: ChainNames): Static<typeof planView> {
  const {
    fingerprint,
    reasons,
    causes,
    transfer,
    claimedBy = [],
    claimedByDigest,
    chainSettingsDigest,
    blockTime = null,
    ...rest
  } = plan
  const { chainName, expectedAmount = null, expectedToken = null, payer = null } = rest
  const tokenOf = (contract: string | undefined) =>
    (contract === undefined ? undefined : tokens.get(tokenKey(chainName, contract))) ?? unknownToken
  return {
    ...rest,
    expectedAmount,
    expectedToken,
    payer,
    // A plan of an earlier release does not contain the expected token, so the token of the transfer is shown.
    ...tokenOf(expectedToken ?? transfer?.token),
    explorer: explorers.get(chainName ?? '') ?? null,
    reasons: [...reasons],
    causes: [...causes],
    claimedByTotal: countCompetingOrders(plan),
    claimedBy: claimedBy.filter((outTradeNo) => orders?.has(outTradeNo) !== false),
    blockTime: blockTime === null ? null : new Date(blockTime).toISOString(),
    transfer: transfer === null ? null : { ...transfer, ...tokenOf(transfer.token), tokenContract: transfer.token },
    reviewFingerprint: fingerprint,
  }
}

const attemptFields = {
  outcome: Type.Enum(settlementOutcomes),
  reasons: tried,
}

export const reviewView = Type.Object({
  id,
  outTradeNo: text,
  chainName: nullable(text),
  transactionHash: nullable(text),
  logIndex: nullable(whole),
  action: Type.Enum(reviewActions),
  status: Type.Enum(reviewStatuses),
  state: Type.Enum(candidateStates),
  candidate: Type.Boolean(),
  retryable: Type.Boolean(),
  reasons,
  plan: planView,
  reviewFingerprint: text,
  fingerprintVersion: count,
  remark: nullable(text),
  sourceLogId: nullable(id),
  actorUserId: nullable(id),
  permissions: Type.Array(text),
  retryAt: nullable(instant),
  heldAt: nullable(instant, {
    description: 'Time since which the review waits for an operator and is no longer processed automatically.',
  }),
  lastAttempt: nullable(Type.Object({ ...attemptFields, attemptedAt: instant })),
  createdAt: instant,
})

export const viewOfReview = (log: ReviewRow, names: ChainNames): Static<typeof reviewView> => ({
  id: log.id,
  outTradeNo: log.outTradeNo,
  chainName: log.chainName ?? null,
  transactionHash: log.transactionHash ?? null,
  logIndex: log.logIndex ?? null,
  action: log.action,
  status: log.status,
  state: log.state,
  candidate: log.candidate,
  retryable: log.retryable,
  reasons: [...log.reasons],
  plan: viewOfPlan(log.planSnapshot, names),
  reviewFingerprint: log.reviewFingerprint,
  fingerprintVersion: log.fingerprintVersion,
  remark: log.remark ?? null,
  sourceLogId: log.sourceLogId ?? null,
  actorUserId: log.actorUserId ?? null,
  permissions: [...log.permissionSnapshot],
  retryAt: log.retryAt?.toISOString() ?? null,
  heldAt: log.heldAt?.toISOString() ?? null,
  lastAttempt:
    log.lastOutcome == null
      ? null
      : {
          outcome: log.lastOutcome,
          reasons: [...(log.lastReasons ?? [])],
          attemptedAt: (log.lastAttemptAt ?? log.createdAt).toISOString(),
        },
  createdAt: log.createdAt.toISOString(),
})

export const attemptView = viewOf(selectionOf(CallbackRow).omit('outTradeNo', 'reviewFingerprint', 'traceId'), {
  startedBy: Type.Enum(settlementTriggers),
  ...attemptFields,
})

export const reviewDetailView = Type.Object({ ...reviewView.properties, attempts: Type.Array(attemptView.schema) })

export const settlementView = Type.Object({
  reviewLogId: id,
  outTradeNo: text,
  outcome: Type.Enum(settlementOutcomes),
  state: Type.Enum(candidateStates),
  reason: nullable(Type.Enum(attemptReasons, { description: 'First entry of `reasons`.' })),
  reasons: tried,
  plan: planView,
})

export const viewOfSettlement = (result: SettlementResult, names: ChainNames): Static<typeof settlementView> => ({
  reviewLogId: result.reviewLogId,
  outTradeNo: result.outTradeNo,
  outcome: result.outcome,
  state: result.state,
  reason: result.reasons[0] ?? null,
  reasons: [...result.reasons],
  plan: viewOfPlan(result.plan, names),
})

export const batchView = Type.Object({
  requested: Type.Integer({ minimum: 0, description: 'Number of different ids in the request.' }),
  executed: Type.Integer({ minimum: 0, description: 'Number of settled reviews.' }),
  skipped: Type.Integer({ minimum: 0, description: 'Number of reviews that were not settled, for any reason.' }),
  items: Type.Array(
    Type.Object({
      id,
      outcome: Type.Enum(settlementOutcomes),
      reason: nullable(Type.String({ description: 'Blocking reason, or reason of the rejection.' })),
      result: nullable(settlementView),
    }),
  ),
})

export const overdueView = Type.Object({
  handled: count,
  executed: Type.Integer({ minimum: 0, description: 'Number of these that were settled.' }),
  items: Type.Array(
    Type.Object({
      reviewLogId: id,
      handlingLogId: nullable(id),
      action: Type.Enum(['auto-approve', 'auto-reject']),
      reason: nullable(text),
      result: nullable(settlementView),
    }),
  ),
})
