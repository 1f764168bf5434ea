import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import { instant, Type } from '@plinth/http'
import type { LocalizedText } from '@plinth/kernel'
import { c, type RowOf, table } from '@plinth/table'
import type { RuleSettings, RuleType } from './rules/rule-types.ts'

/**
 * Stored for "no end" and "no expiry". It is larger than every real time. Null is not used, because databases sort null
 * differently.
 */
export const noExpiryTime = Number.MAX_SAFE_INTEGER

/** `active` while points remain or are on hold. Afterwards, the status tells how the last point was used. */
type SourceStatus = 'active' | 'exhausted' | 'expired' | 'reversed'

/** One version of a rule. Saving ends the current version and adds a row. */
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
    /**
     * Applies from `activeFrom` until before `activeTo`, in milliseconds since the epoch. `activeTo` of the current
     * version is `noExpiryTime`.
     */
    activeFrom: column.bigint(),
    activeTo: column.bigint(),
    updatedBy: column.id().nullable(),
    createdAt: column.timestamp(),
  },
})
export type RuleRow = InferEntity<typeof RuleRow>

/**
 * A lot of points. `granted` = `remaining` + `held` + `consumed` + `reversed` + `expired`. These columns change only
 * while the account is locked.
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
    /** Null if the owner is not a user. */
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
    /**
     * Points on hold that a refund or the deletion of the user takes as soon as the hold ends without spending them.
     */
    claimed: column.bigint().default(0),
    /** Milliseconds since the epoch; `noExpiryTime` if the points do not expire. */
    expiresAt: column.bigint(),
    status: column.text(16).$type<SourceStatus>(),
    journalId: column.id(),
    ruleCode: column.text(64).nullable(),
    ruleVersion: column.integer().nullable(),
    createdAt: column.bigint(),
  },
})
export type SourceRow = InferEntity<typeof SourceRow>

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
 * Points of the source `lenderId` that a refund took, because points of `sourceId` were already spent or on hold. When
 * points of `sourceId` are returned, the lender gets its points back.
 */
export const SubstituteRow = defineEntity({
  name: 'PointsSubstitute',
  tableName: 'points_substitute',
  indexes: [{ properties: ['sourceId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    sourceId: column.id(),
    lenderId: column.id(),
    /** Points that the lender did not get back yet. */
    units: column.bigint(),
  },
})

/**
 * Outcomes of a paid order: the points were granted, or why it got none. `too-little`: the amount is too small for one
 * point.
 */
export const orderOutcomes = ['granted', 'rule-off', 'other-currency', 'too-little', 'account-closed'] as const
export type OrderOutcome = (typeof orderOutcomes)[number]

/** Points of an order. The status is `awaited` if a refund arrived before the payment. */
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
    /** Null until the payment, and for orders that were paid before outcomes were recorded. */
    outcome: column.text(16).$type<OrderOutcome>().nullable(),
    /** Minor units. */
    paidAmount: column.bigint(),
    refundedAmount: column.bigint(),
    granted: column.bigint(),
    /** Points that all refunds together should take back. */
    reversedTarget: column.bigint(),
    deducted: column.bigint(),
    /** Points on hold that are taken as soon as the hold ends without spending them. */
    claimed: column.bigint().default(0),
    /** Points that could not be taken back. */
    shortfall: column.bigint(),
    /** Part of `shortfall` that later rewards still have to pay. */
    owed: column.bigint(),
    /** Part of `shortfall` that was paid later. */
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
    /** Points that the refund took immediately. */
    deducted: column.bigint(),
    /** Points on hold that are taken as soon as the hold ends without spending them. */
    claimed: column.bigint().default(0),
    /** Points that could not be taken back. */
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

/** One scan for expired sources. The unique `openAsset` is set until it finishes, so each asset has one open scan. */
export const ExpireBatch = table(
  'points_expire_batch',
  {
    id: c.id(),
    asset: c.text(64),
    openAsset: c.text(64).nullable().internal(),
    status: c
      .choice({
        running: { title: ['Running', '进行中'], tone: 'info' },
        completed: { title: ['Completed', '已完成'], tone: 'good' },
        failed: { title: ['Failed', '失败'], tone: 'bad' },
      })
      .describe('`running`: more sources remain than one request scans. The scheduled task continues the run.'),
    /** Covers sources that expire at or before this time, in milliseconds since the epoch. */
    asOf: c.bigint().view(instant),
    cursorExpiresAt: c.bigint().internal(),
    cursorId: c.bigint().internal(),
    scanned: c.bigint().view(Type.Integer({ minimum: 0, description: 'Number of checked sources.' })),
    expired: c.bigint().view(Type.Integer({ minimum: 0, description: 'Number of expired sources.' })),
    points: c.bigint().view(Type.Integer({ minimum: 0, description: 'Number of expired points.' })),
    refused: c.bigint().view(
      Type.Integer({
        minimum: 0,
        description: 'Number of sources that the ledger rejected, for example because the account is closed.',
      }),
    ),
    holder: c.text(128).nullable().internal(),
    /** End of the lease by the clock of the database, milliseconds since the epoch. */
    leaseUntil: c.bigint().internal(),
    startedAt: c.createdAt(),
    finishedAt: c.time().nullable(),
  },
  {
    title: { one: ['Expiry run', '积分过期批次'], many: ['Expiry runs', '积分过期批次'] },
    owner: 'none',
    uniques: [{ columns: ['openAsset'] }],
    indexes: [['asset', 'id']],
  },
)
export type ExpireBatchRow = RowOf<typeof ExpireBatch.columns>

/** Totals of one asset for one day. A day without changes has no row. */
export const DayRow = defineEntity({
  name: 'PointsDay',
  tableName: 'points_day',
  uniques: [{ properties: ['asset', 'day'] }],
  indexes: [{ properties: ['asset', 'day', 'id'] }],
  properties: {
    id: column.primaryKey(),
    asset: column.text(64),
    /** Day in the time zone of the programme, `YYYY-MM-DD`. */
    day: column.text(10),
    granted: column.bigint(),
    consumed: column.bigint(),
    reversed: column.bigint(),
    expired: column.bigint(),
    returned: column.bigint().default(0),
  },
})
export type DayRow = InferEntity<typeof DayRow>

/** The last ledger entry that the daily totals include. */
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
  ExpireBatch.entity,
  DayRow,
  DayPositionRow,
]
