import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { LocalizedText } from '@plinth/kernel'
import type { RuleSettings, RuleType } from './rules/rule-types.ts'

/** Sorts behind every moment, alike on every database, which null would not. */
export const never = Number.MAX_SAFE_INTEGER

/** `active` while units remain or are held; what took the last one says what it is then (decision B5). */
type SourceStatus = 'active' | 'exhausted' | 'expired' | 'reversed'
type BatchStatus = 'running' | 'completed' | 'failed'

/** One version of a rule. A version is never changed: saving a rule ends it and begins the next. */
export const RuleRow = defineEntity({
  name: 'PointsRule',
  tableName: 'points_rule',
  uniques: [{ properties: ['code', 'version'] }, { properties: ['activeTo', 'code'] }],
  properties: {
    id: column.primaryKey(),
    code: column.text(64),
    version: column.integer(),
    type: column.text(16).$type<RuleType>(),
    asset: column.text(64),
    enabled: column.boolean(),
    config: column.json<RuleSettings>(),
    displayTitle: column.json<Extract<LocalizedText, object>>().nullable(),
    displayDescription: column.json<Extract<LocalizedText, object>>().nullable(),
    /** Milliseconds since the epoch; `activeTo` is the first moment at which it no longer counts, `never` for the current one. */
    activeFrom: column.bigint(),
    activeTo: column.bigint(),
    updatedBy: column.id().nullable(),
    createdAt: column.timestamp(),
  },
})
export type RuleRow = InferEntity<typeof RuleRow>

/**
 * Where points came from: a lot of the ledger's account. granted = remaining + held + consumed + reversed + expired, and all
 * change only under the lock of the account.
 */
export const SourceRow = defineEntity({
  name: 'PointsSource',
  tableName: 'points_source',
  uniques: [{ properties: ['sourceType', 'sourceId'] }],
  indexes: [
    { properties: ['accountId', 'status', 'expiresAt', 'id'] },
    { properties: ['asset', 'status', 'expiresAt', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    accountId: column.id(),
    /** Null where the account belongs to no user. */
    userId: column.id().nullable(),
    asset: column.text(64),
    sourceType: column.text(32),
    sourceId: column.text(255),
    granted: column.bigint(),
    remaining: column.bigint(),
    held: column.bigint(),
    consumed: column.bigint(),
    reversed: column.bigint(),
    expired: column.bigint(),
    /** Of the held units, those that are taken when they come back. */
    claimed: column.bigint().default(0),
    /** Milliseconds since the epoch; `never` for what does not lapse. */
    expiresAt: column.bigint(),
    status: column.text(16).$type<SourceStatus>(),
    journalId: column.id(),
    /** The version of the rule by which it was granted; versions are never changed. */
    ruleCode: column.text(64).nullable(),
    ruleVersion: column.integer().nullable(),
    createdAt: column.bigint(),
  },
})
export type SourceRow = InferEntity<typeof SourceRow>

/** What a journal of the ledger took from a source, or gave back to it. */
export const SourceUseRow = defineEntity({
  name: 'PointsSourceUse',
  tableName: 'points_source_use',
  indexes: [{ properties: ['sourceId'] }, { properties: ['holdId'] }],
  properties: {
    journalId: column.id().primary().autoincrement(false).unsigned(false),
    sourceId: column.id().primary().autoincrement(false).unsigned(false),
    kind: column.text(16).primary(),
    amount: column.bigint(),
    holdId: column.id().nullable(),
  },
})

/**
 * Points of one source that a refund took in place of points of another source, which were spent or on hold. When points of the
 * other source come back, they take this place and the points of the lender come back to it.
 */
export const SubstituteRow = defineEntity({
  name: 'PointsSubstitute',
  tableName: 'points_substitute',
  indexes: [{ properties: ['sourceId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    /** The source whose points were missing. */
    sourceId: column.id(),
    /** The source that gave its points. */
    lenderId: column.id(),
    /** Points that have not come back to the lender. */
    units: column.bigint(),
  },
})

/** An order with its reward, and what refunds made of it. Awaits its payment where a refund came first. */
export const OrderRewardRow = defineEntity({
  name: 'PointsOrderReward',
  tableName: 'points_order_reward',
  uniques: [{ properties: ['orderNo'] }],
  indexes: [{ properties: ['userId', 'owed', 'id'] }],
  properties: {
    id: column.primaryKey(),
    orderNo: column.text(64),
    userId: column.id(),
    asset: column.text(64),
    status: column.text(16).$type<'awaited' | 'paid'>(),
    /** Minor units of the currency of the order. */
    paidAmount: column.bigint(),
    refundedAmount: column.bigint(),
    granted: column.bigint(),
    /** Points that all refunds so far want back, took, claim of points on hold, could not take, and are still owed. */
    reversedTarget: column.bigint(),
    deducted: column.bigint(),
    claimed: column.bigint().default(0),
    shortfall: column.bigint(),
    owed: column.bigint(),
    recovered: column.bigint(),
    sourceId: column.id().nullable(),
    journalId: column.id().nullable(),
    ruleCode: column.text(64).nullable(),
    ruleVersion: column.integer().nullable(),
    ruleSnapshot: column.json<RuleSettings>().nullable(),
    version: column.integer(),
    createdAt: column.timestamp(),
  },
})
export type OrderRewardRow = InferEntity<typeof OrderRewardRow>

/** One refund of an order. */
export const ReversalRow = defineEntity({
  name: 'PointsReversal',
  tableName: 'points_reversal',
  uniques: [{ properties: ['refundNo'] }],
  indexes: [{ properties: ['orderNo', 'status', 'id'] }],
  properties: {
    id: column.primaryKey(),
    refundNo: column.text(64),
    orderNo: column.text(64),
    userId: column.id(),
    refundAmount: column.bigint(),
    status: column.text(16).$type<'deferred' | 'booked'>(),
    wanted: column.bigint(),
    /** Points as they were booked: taken, claimed of points on hold, and not taken. */
    deducted: column.bigint(),
    claimed: column.bigint().default(0),
    shortfall: column.bigint(),
    journalId: column.id().nullable(),
    createdAt: column.timestamp(),
  },
})
export type ReversalRow = InferEntity<typeof ReversalRow>

export const CheckInRow = defineEntity({
  name: 'PointsCheckIn',
  tableName: 'points_check_in',
  uniques: [{ properties: ['userId', 'checkDate'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** Day in the time zone of the programme, `YYYY-MM-DD`. */
    checkDate: column.text(10),
    zone: column.text(64),
    consecutiveDays: column.integer(),
    points: column.bigint(),
    journalId: column.id().nullable(),
    createdAt: column.timestamp(),
  },
})
export type CheckInRow = InferEntity<typeof CheckInRow>

/** One scan for sources that have lapsed. `openAsset` is the asset while it runs, so that an asset has one at a time. */
export const ExpireBatchRow = defineEntity({
  name: 'PointsExpireBatch',
  tableName: 'points_expire_batch',
  uniques: [{ properties: ['openAsset'] }],
  indexes: [{ properties: ['asset', 'id'] }],
  properties: {
    id: column.primaryKey(),
    asset: column.text(64),
    openAsset: column.text(64).nullable(),
    /** Milliseconds since the epoch: what lapses then or before is scanned. */
    asOf: column.bigint(),
    status: column.text(16).$type<BatchStatus>(),
    cursorExpiresAt: column.bigint(),
    cursorId: column.bigint(),
    /** Sources looked at, those that lapsed, their points, and those that the ledger refused. */
    scanned: column.bigint(),
    expired: column.bigint(),
    points: column.bigint(),
    refused: column.bigint(),
    holder: column.text(128).nullable(),
    /** Milliseconds since the epoch by the clock of the database. */
    leaseUntil: column.bigint(),
    startedAt: column.timestamp(),
    finishedAt: column.timestamp().nullable(),
  },
})
export type ExpireBatchRow = InferEntity<typeof ExpireBatchRow>

/** Points of all members on one day: a row for each day on which any moved. */
export const DayRow = defineEntity({
  name: 'PointsDay',
  tableName: 'points_day',
  uniques: [{ properties: ['asset', 'day'] }],
  indexes: [{ properties: ['asset', 'day', 'id'] }],
  properties: {
    id: column.primaryKey(),
    asset: column.text(64),
    /** In the time zone of the programme when it was counted, `YYYY-MM-DD`. */
    day: column.text(10),
    granted: column.bigint(),
    consumed: column.bigint(),
    reversed: column.bigint(),
    expired: column.bigint(),
    returned: column.bigint().default(0),
  },
})
export type DayRow = InferEntity<typeof DayRow>

/** The last entry of the ledger that the days of an asset count. */
export const DayPositionRow = defineEntity({
  name: 'PointsDayPosition',
  tableName: 'points_day_position',
  uniques: [{ properties: ['asset'] }],
  properties: {
    id: column.primaryKey(),
    asset: column.text(64),
    entryId: column.id(),
  },
})

export const entities = [
  RuleRow,
  SourceRow,
  SourceUseRow,
  SubstituteRow,
  OrderRewardRow,
  ReversalRow,
  CheckInRow,
  ExpireBatchRow,
  DayRow,
  DayPositionRow,
]
