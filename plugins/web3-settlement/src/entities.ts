import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { RiskLevel, RiskReason, SuggestedAction } from './audit/risk.ts'
import type { SettlementPlan } from './planning/plan.ts'
import type { AttemptReason, BlockingReason, CandidateState } from './planning/reasons.ts'

/** What a review log is about: a request to settle, a mere note, or what was done about one by itself. */
export const reviewActions = ['settle', 'record', 'auto-approve', 'auto-reject', 'auto-retry'] as const
export type ReviewAction = (typeof reviewActions)[number]

/** Whether something is still to be done about a review log. */
export const reviewStatuses = ['open', 'approved', 'settled', 'rejected', 'noted'] as const
export type ReviewStatus = (typeof reviewStatuses)[number]

/** A plan as somebody reviewed it, with its fingerprint. The plan is never changed; the status is. */
export const ReviewLog = defineEntity({
  name: 'Web3SettlementReviewLog',
  tableName: 'web3_settlement_review_log',
  indexes: [
    { properties: ['outTradeNo', 'id'] },
    { properties: ['status', 'action', 'createdAt'] },
    { properties: ['retryAt'] },
    { properties: ['retryable', 'id'] },
    { properties: ['createdAt'] },
    { properties: ['transactionHash', 'status'] },
    { properties: ['lastOutcome', 'id'] },
    { properties: ['sourceLogId'] },
  ],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    chainName: column.text(64).nullable(),
    transactionHash: column.text(66).nullable(),
    /** Log that a person has chosen; null: the one that fits. */
    logIndex: column.integer().nullable(),
    action: column.text(16).$type<ReviewAction>(),
    status: column.text(16).$type<ReviewStatus>(),
    state: column.text(16).$type<CandidateState>(),
    /** The plan was `ready`, and no attempt has found a reason that stays. */
    candidate: column.boolean(),
    /** A candidate whose action asks for settlement and that nothing has ended yet. */
    retryable: column.boolean(),
    reasons: column.json<BlockingReason[]>(),
    planSnapshot: column.json<SettlementPlan>(),
    reviewFingerprint: column.text(64),
    fingerprintVersion: column.integer(),
    remark: column.text(500).nullable(),
    /** The log that this one follows from. */
    sourceLogId: column.id().nullable(),
    /** Null: it came about by itself. */
    actorUserId: column.id().nullable(),
    permissionSnapshot: column.json<string[]>(),
    /** When it is tried again by itself; null: never. */
    retryAt: column.timestamp().nullable(),
    /** Of the last attempt to settle from this review, or from a review that follows from it; null before the first. */
    lastOutcome: column.text(16).$type<SettlementOutcome>().nullable(),
    lastReasons: column.json<AttemptReason[]>().nullable(),
    lastAttemptAt: column.timestamp().nullable(),
    /** Since when a person has to decide and nothing is done automatically; null: not held. */
    heldAt: column.timestamp().nullable(),
    version: column.integer(),
    traceId: column.text(128).nullable(),
    createdAt: column.timestamp(),
  },
})
export type ReviewLog = InferEntity<typeof ReviewLog>

export const settlementTriggers = ['settle', 'retry', 'auto-approve', 'auto-reject', 'auto-retry'] as const
export type SettlementTrigger = (typeof settlementTriggers)[number]
export const settlementOutcomes = ['settled', 'skipped', 'failed'] as const
export type SettlementOutcome = (typeof settlementOutcomes)[number]

/** One try to settle, whatever became of it: the callback log of a payment. Never changed. */
export const CallbackLog = defineEntity({
  name: 'Web3PaymentCallbackLog',
  tableName: 'web3_payment_callback_log',
  indexes: [{ properties: ['outTradeNo', 'id'] }, { properties: ['createdAt'] }, { properties: ['reviewLogId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    reviewLogId: column.id(),
    /** `trigger` is a word of SQL. */
    startedBy: column.text(16).$type<SettlementTrigger>(),
    outcome: column.text(16).$type<SettlementOutcome>(),
    reasons: column.json<AttemptReason[]>(),
    chainName: column.text(64).nullable(),
    transactionHash: column.text(66).nullable(),
    eventKey: column.text(255).nullable(),
    reviewFingerprint: column.text(64),
    actorUserId: column.id().nullable(),
    traceId: column.text(128).nullable(),
    createdAt: column.timestamp(),
  },
})
export type CallbackLog = InferEntity<typeof CallbackLog>

/** How often an order was tried again by itself under one fingerprint. */
export const RetryCount = defineEntity({
  name: 'Web3SettlementRetry',
  tableName: 'web3_settlement_retry',
  uniques: [{ properties: ['outTradeNo', 'reviewFingerprint'] }],
  indexes: [{ properties: ['updatedAt'] }],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    reviewFingerprint: column.text(64),
    attempts: column.integer(),
    updatedAt: column.timestamp(),
  },
})

export const handlingStatuses = ['open', 'resolved', 'ignored'] as const
export type HandlingStatus = (typeof handlingStatuses)[number]

/** What an audit found about a settled order. Everything but the handling stays as it was found. */
export const AuditLog = defineEntity({
  name: 'Web3SettlementAuditLog',
  tableName: 'web3_settlement_audit_log',
  indexes: [
    { properties: ['outTradeNo', 'id'] },
    { properties: ['handlingStatus', 'risky', 'id'] },
    { properties: ['handlingStatus', 'suggestedAction', 'id'] },
    { properties: ['handlingStatus', 'retryable', 'id'] },
    { properties: ['handlingStatus', 'needsFundReview', 'id'] },
    { properties: ['createdAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    chainName: column.text(64).nullable(),
    transactionHash: column.text(66).nullable(),
    riskReasons: column.json<RiskReason[]>(),
    riskLevel: column.text(8).$type<RiskLevel>(),
    risky: column.boolean(),
    suggestedAction: column.text(24).$type<SuggestedAction>(),
    /** Null without a risk, so that no walk of those with one meets it. */
    retryable: column.boolean().nullable(),
    needsFundReview: column.boolean().nullable(),
    chainReorgSuspected: column.boolean(),
    confirmationSnapshot: column.json<SettlementPlan>(),
    handlingStatus: column.text(16).$type<HandlingStatus>(),
    handledBy: column.text(128).nullable(),
    handledAt: column.timestamp().nullable(),
    createdAt: column.timestamp(),
  },
})
export type AuditLog = InferEntity<typeof AuditLog>

/** How many audit logs there are of each kind, so that a summary counts nothing. */
export const AuditCount = defineEntity({
  name: 'Web3SettlementAuditCount',
  tableName: 'web3_settlement_audit_count',
  uniques: [{ properties: ['handlingStatus', 'riskLevel', 'chainReorgSuspected'] }],
  properties: {
    id: column.primaryKey(),
    handlingStatus: column.text(16).$type<HandlingStatus>(),
    riskLevel: column.text(8).$type<RiskLevel>(),
    chainReorgSuspected: column.boolean(),
    total: column.bigint(),
  },
})

/** How far a walk of the scheduled audit has come in the settled orders of a provider and chain. */
export const AuditPosition = defineEntity({
  name: 'Web3SettlementAuditPosition',
  tableName: 'web3_settlement_audit_position',
  uniques: [{ properties: ['walk'] }],
  properties: {
    id: column.primaryKey(),
    walk: column.text(140),
    afterId: column.id(),
    /** Payment time of the order `afterId`, in milliseconds, where the walk is ordered by it. */
    afterAt: column.bigint().nullable(),
  },
})

export const entities = [ReviewLog, CallbackLog, RetryCount, AuditLog, AuditCount, AuditPosition]
