import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { ownerThroughOrder } from '@plinth/money/payments'
import type { RiskLevel, RiskReason, SuggestedAction } from './audit/risk.ts'
import type { SettlementPlan } from './planning/plan.ts'
import type { AttemptReason, BlockingReason, CandidateState } from './planning/reasons.ts'
import type { UnmatchedKind } from './unmatched/unmatched-transfers.ts'

/** Actions of a review. Operators save `settle` and `record`. The product saves the other actions automatically. */
export const reviewActions = ['settle', 'record', 'auto-approve', 'auto-reject', 'auto-retry'] as const
export type ReviewAction = (typeof reviewActions)[number]

/** Statuses of a review. Reviews with the status `open` or `approved` can still be settled automatically. */
export const reviewStatuses = ['open', 'approved', 'settled', 'rejected', 'noted'] as const
export type ReviewStatus = (typeof reviewStatuses)[number]

/** A saved review of an order. Its plan never changes, but its status does. */
export const ReviewRow = defineEntity({
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
    /** Log index of the transfer that the operator selected; null for the best match. */
    logIndex: column.integer().nullable(),
    action: column.text(16).$type<ReviewAction>(),
    status: column.text(16).$type<ReviewStatus>(),
    state: column.text(16).$type<CandidateState>(),
    /** True if the plan was `ready` and no attempt found a permanent problem. */
    candidate: column.boolean(),
    /** True for a candidate that requests a settlement and has not ended. */
    retryable: column.boolean(),
    reasons: column.json<BlockingReason[]>(),
    planSnapshot: column.json<SettlementPlan>(),
    reviewFingerprint: column.text(64),
    fingerprintVersion: column.integer(),
    remark: column.text(500).nullable(),
    /** Id of the review from which an automatic review follows. */
    sourceLogId: column.id().nullable(),
    /** Null for an automatic action. */
    actorUserId: column.id().nullable(),
    permissionSnapshot: column.json<string[]>(),
    /** Null if no automatic attempt is planned. */
    retryAt: column.timestamp().nullable(),
    /** Outcome of the last attempt for this review or a review that follows from it; null before the first attempt. */
    lastOutcome: column.text(16).$type<SettlementOutcome>().nullable(),
    lastReasons: column.json<AttemptReason[]>().nullable(),
    lastAttemptAt: column.timestamp().nullable(),
    /** Time since which only an operator may decide about the review; null if the review is not held. */
    heldAt: column.timestamp().nullable(),
    version: column.integer(),
    traceId: column.text(128).nullable(),
    createdAt: column.timestamp(),
  },
})
export type ReviewRow = InferEntity<typeof ReviewRow>

export const settlementTriggers = ['settle', 'retry', 'auto-approve', 'auto-reject', 'auto-retry'] as const
export type SettlementTrigger = (typeof settlementTriggers)[number]
export const settlementOutcomes = ['settled', 'skipped', 'failed'] as const
export type SettlementOutcome = (typeof settlementOutcomes)[number]

/** An attempt to settle. Its row never changes. */
export const CallbackRow = defineEntity({
  name: 'Web3PaymentCallbackLog',
  tableName: 'web3_payment_callback_log',
  indexes: [{ properties: ['outTradeNo', 'id'] }, { properties: ['createdAt'] }, { properties: ['reviewLogId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    reviewLogId: column.id(),
    /** What started the attempt. The column is not named `trigger`, because that is a reserved word of SQL. */
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
export type CallbackRow = InferEntity<typeof CallbackRow>

/** Number of automatic retries for each order and fingerprint. */
export const RetryCountRow = defineEntity({
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

/** A log of the audit. After the insert, only the columns about its handling change. */
export const AuditRow = defineEntity({
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
    /** Null if there is no risk, so that the index contains only risks. */
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
export type AuditRow = InferEntity<typeof AuditRow>

/** Number of logs of each kind, so that a summary need not count rows. */
export const AuditCountRow = defineEntity({
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

/** Position at which the next audit of a provider and chain continues. */
export const AuditPositionRow = defineEntity({
  name: 'Web3SettlementAuditPosition',
  tableName: 'web3_settlement_audit_position',
  uniques: [{ properties: ['walk'] }],
  properties: {
    id: column.primaryKey(),
    walk: column.text(140),
    afterId: column.id(),
    /** Payment time in milliseconds since the epoch, for a walk that is ordered by payment time. */
    afterAt: column.bigint().nullable(),
  },
})

/** `used`: the transfer was used by another decision, or has settled an order. */
export const unmatchedStates = ['open', 'credited', 'repaid', 'used'] as const
export type UnmatchedState = (typeof unmatchedStates)[number]
/** Source of the hash: `order`, its order; `review`, a review of the order; `operator`, an operator. */
export const unmatchedSources = ['order', 'review', 'operator'] as const
export type UnmatchedSource = (typeof unmatchedSources)[number]

/** A transfer to the receiver of an order that settles no order. Several orders may name the same transfer. */
export const UnmatchedRow = defineEntity({
  name: 'Web3UnmatchedPayment',
  tableName: 'web3_unmatched_payment',
  uniques: [{ properties: ['outTradeNo', 'chainName', 'transactionHash', 'logOrdinal'] }],
  indexes: [
    { properties: ['chainName', 'transactionHash', 'logOrdinal'] },
    { properties: ['state', 'id'] },
    { properties: ['handledAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    kind: column.text(16).$type<UnmatchedKind>(),
    state: column.text(16).$type<UnmatchedState>(),
    source: column.text(16).$type<UnmatchedSource>(),
    chainName: column.text(64),
    transactionHash: column.text(66),
    eventKey: column.text(255),
    logIndex: column.integer(),
    /** Position of the transfer in its transaction, from 0. It never changes. */
    logOrdinal: column.integer(),
    blockNumber: column.bigint(),
    token: column.text(42),
    receiver: column.text(42),
    payer: column.text(42),
    /** Smallest units of the token. */
    amountRaw: column.uint256(),
    /** Minor units of the order's asset, rounded down; null if the token has no price in this asset. */
    amount: column.bigint().nullable(),
    /** Operator who named the transaction; null if the order named it. */
    actorUserId: column.id().nullable(),
    handledBy: column.id().nullable(),
    handledAt: column.timestamp().nullable(),
    reason: column.text(200).nullable(),
    repaymentHash: column.text(66).nullable(),
    version: column.integer(),
    createdAt: column.timestamp(),
  },
})
export type UnmatchedRow = InferEntity<typeof UnmatchedRow>

/** A transaction that an order names. The row is deleted when its transfers have settled an order or are recorded. */
export const NamedTransactionRow = defineEntity({
  name: 'Web3NamedTransaction',
  tableName: 'web3_named_transaction',
  uniques: [{ properties: ['outTradeNo', 'transactionHash'] }],
  indexes: [{ properties: ['checkAt', 'id'] }, { properties: ['createdAt'] }],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    transactionHash: column.text(66),
    /** Time of the next check. */
    checkAt: column.timestamp(),
    createdAt: column.timestamp(),
  },
})
export type NamedTransactionRow = InferEntity<typeof NamedTransactionRow>

export const entities = [
  ReviewRow,
  CallbackRow,
  RetryCountRow,
  AuditRow,
  AuditCountRow,
  AuditPositionRow,
  UnmatchedRow,
  NamedTransactionRow,
]

const owner = ownerThroughOrder('out_trade_no')
const reason = bilingual(
  'Payment records must be kept, until the retention time of settlement logs. The user id no longer identifies a person.',
  '支付记录依法须保留，至结算日志保留时间结束。用户编号不再指向任何人。',
)

export const settlementTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, ReviewRow, {
    title: bilingual('Settlement reviews of orders', '订单的结算复核'),
    owner,
    omit: ['actorUserId', 'permissionSnapshot', 'remark'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, ReviewRow, {
    title: bilingual('Settlement reviews that the user made', '用户提交的结算复核'),
    owner: 'actor_user_id',
    // Omitted, because the plan describes the order of another user.
    omit: ['planSnapshot'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, CallbackRow, {
    title: bilingual('Settlement attempts of orders', '订单的结算记录'),
    owner,
    omit: ['actorUserId'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, CallbackRow, {
    title: bilingual('Settlement attempts that the user started', '用户发起的结算'),
    owner: 'actor_user_id',
    erasure: 'kept',
    reason,
  }),
  personalTable(db, RetryCountRow, {
    title: bilingual('Settlement retries of orders', '订单的结算重试次数'),
    owner,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, AuditRow, {
    title: bilingual('Settlement audits of orders', '订单的结算审计'),
    owner,
    omit: ['handledBy'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, UnmatchedRow, {
    title: bilingual('Unmatched payments of orders', '订单的未匹配付款'),
    owner,
    omit: ['actorUserId', 'handledBy'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, UnmatchedRow, {
    title: bilingual('Unmatched payments that the user named', '用户登记的未匹配付款'),
    owner: 'actor_user_id',
    omit: ['handledBy'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, UnmatchedRow, {
    title: bilingual('Unmatched payments that the user handled', '用户处理的未匹配付款'),
    owner: 'handled_by',
    omit: ['actorUserId'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, NamedTransactionRow, {
    title: bilingual('Transactions that orders name', '订单声明的交易'),
    owner,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, AuditRow, {
    title: bilingual('Settlement audits that the user handled', '用户处理的结算审计'),
    owner: { username: 'handled_by' },
    omit: ['confirmationSnapshot'],
    erasure: 'anonymised',
    set: { handledBy: null },
    reason,
  }),
]
