import { count, id, instant, nullable, Type, text } from '@plinth/http'
import type { Static } from 'typebox'
import { type ReviewLog, reviewActions, reviewStatuses, settlementOutcomes } from '../entities.ts'
import type { SettlementResult } from '../execution/executor.ts'
import type { Explorers } from '../explorers.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { blockingReasons, candidateStates, reviewCauses } from '../planning/reasons.ts'

const whole = Type.Integer({ minimum: 0 })
export const reasons = Type.Array(Type.Enum(blockingReasons), { description: 'In the order of the document.' })

const transferView = Type.Object({
  blockNumber: whole,
  blockHash: text,
  logIndex: whole,
  logOrdinal: Type.Integer({ minimum: 0, description: 'Place among the logs of the transaction, from 0.' }),
  from: text,
  to: text,
  token: text,
  tokenContract: Type.String({ description: 'The same as `token`, by the name that orders use.' }),
  value: Type.String({ description: 'Smallest units of the token, decimal.' }),
})

export const planView = Type.Object({
  outTradeNo: text,
  state: Type.Enum(candidateStates),
  reasons,
  causes: Type.Array(Type.Enum(reviewCauses), { description: 'Why a person has to look, where nothing blocks.' }),
  chainName: nullable(text),
  chainId: nullable(Type.Integer()),
  explorer: nullable(text, {
    description: 'Address of an explorer of the chain, below which are `/tx/`, `/address/` and `/block/`.',
  }),
  transactionHash: nullable(text),
  transfer: nullable(transferView),
  confirmations: nullable(Type.Integer({ description: 'A mined transaction has 1.' })),
  requiredConfirmations: nullable(Type.Integer()),
  eventKey: nullable(text),
  reviewFingerprint: text,
  fingerprintVersion: count,
  providerId: nullable(Type.String({ description: 'Who answered; never an address.' })),
  head: nullable(whole),
})

export function viewOfPlan(plan: SettlementPlan, explorers: Explorers): Static<typeof planView> {
  const { fingerprint, reasons, causes, transfer, ...rest } = plan
  return {
    ...rest,
    explorer: explorers.get(rest.chainName ?? '') ?? null,
    reasons: [...reasons],
    causes: [...causes],
    transfer: transfer === null ? null : { ...transfer, tokenContract: transfer.token },
    reviewFingerprint: fingerprint,
  }
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
  createdAt: instant,
})

export const viewOfReview = (log: ReviewLog, explorers: Explorers): Static<typeof reviewView> => ({
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
  plan: viewOfPlan(log.planSnapshot, explorers),
  reviewFingerprint: log.reviewFingerprint,
  fingerprintVersion: log.fingerprintVersion,
  remark: log.remark ?? null,
  sourceLogId: log.sourceLogId ?? null,
  actorUserId: log.actorUserId ?? null,
  permissions: [...log.permissionSnapshot],
  retryAt: log.retryAt?.toISOString() ?? null,
  createdAt: log.createdAt.toISOString(),
})

export const settlementView = Type.Object({
  reviewLogId: id,
  outTradeNo: text,
  outcome: Type.Enum(settlementOutcomes),
  state: Type.Enum(candidateStates),
  reason: nullable(Type.Enum(blockingReasons, { description: 'The first of the reasons.' })),
  reasons,
  plan: planView,
})

export const viewOfSettlement = (result: SettlementResult, explorers: Explorers): Static<typeof settlementView> => ({
  reviewLogId: result.reviewLogId,
  outTradeNo: result.outTradeNo,
  outcome: result.outcome,
  state: result.state,
  reason: result.reasons[0] ?? null,
  reasons: [...result.reasons],
  plan: viewOfPlan(result.plan, explorers),
})

export const batchView = Type.Object({
  requested: Type.Integer({ minimum: 0, description: 'Different ids that were named.' }),
  executed: Type.Integer({ minimum: 0, description: 'Settled.' }),
  skipped: Type.Integer({ minimum: 0, description: 'Not settled, for whatever reason.' }),
  items: Type.Array(
    Type.Object({
      id,
      outcome: Type.Enum(settlementOutcomes),
      reason: nullable(Type.String({ description: 'A blocking reason, or the reason of a refusal.' })),
      result: nullable(settlementView),
    }),
  ),
})

export const overdueView = Type.Object({
  handled: count,
  executed: Type.Integer({ minimum: 0, description: 'Of these, settled.' }),
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
