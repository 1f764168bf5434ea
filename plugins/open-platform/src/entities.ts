import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { Type } from '@plinth/http'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { c, table } from '@plinth/table'
import { largestLimit } from './config.ts'

/** An application of another company. Its secrets are encrypted; see `AppSecretEncryption`. */
export const App = table(
  'open_app',
  {
    id: c.id(),
    appKey: c.text(32).readOnly(),
    name: c.text(128, { min: 1 }),
    description: c.text(500).nullable(),
    secretEnc: c.text(255).internal(),
    /** The secret before the last rotation, valid until `previousValidUntil`. */
    previousSecretEnc: c.text(255).nullable().internal(),
    previousValidUntil: c.time().nullable().internal(),
    scopes: c
      .json(
        Type.Array(Type.String({ maxLength: 128 }), { maxItems: 200, uniqueItems: true }),
        Type.Array(Type.String()),
      )
      .default([]),
    rateLimitPerMinute: c
      .integer({ min: -largestLimit, max: largestLimit })
      .describe(
        'Maximum calls per minute. Null or absent: the default of the product. 0 or negative: unlimited.',
        'Maximum calls per minute. Null: the default of the product. 0 or negative: unlimited.',
      )
      .nullable(),
    status: c
      .choice({ active: ['Active', '启用'], disabled: ['Disabled', '停用'] })
      .default('active')
      .readOnly(),
    /** Checked by `Applications.assertAllowed`, because only callers with scope `all` may choose no owner. */
    ownerUserId: c.reference('iam.user').nullable(),
    ...c.edits(),
  },
  {
    title: { one: ['Application', '应用'], many: ['Applications', '应用'] },
    owner: 'ownerUserId',
    erasure: {
      anonymised: { ownerUserId: null },
      reason: [
        'The application belongs to a company, not to a person. It stays without an owner.',
        '应用属于企业而非个人，将保留但不再有负责人。',
      ],
    },
    unexported: ['secretEnc', 'previousSecretEnc'],
    uniques: [{ columns: ['appKey'] }],
  },
)
export const AppRow = App.entity
export type AppRow = InferEntity<typeof AppRow>

/** How a row of an application refers to its user, for `callerRows`. */
export const appOwnerColumn = 'owner_user_id'
/** How a usage row refers to its user, for `callerRows`. The usage of a deleted application has no user. */
export const usageOwner = { column: 'app_id', through: 'open_app', key: 'id', owner: appOwnerColumn } as const

/** One accepted call with its result, its cost and the limit at that time (requirement C-051). Never changed. */
export const CallRow = defineEntity({
  name: 'OpenCall',
  tableName: 'open_call',
  uniques: [{ properties: ['callKey'] }],
  indexes: [{ properties: ['appId', 'day'] }, { properties: ['day'] }],
  properties: {
    id: column.primaryKey(),
    /** SHA-256 of application, timestamp and nonce, so that a call is only stored once even if it is written again. */
    callKey: column.text(64),
    appId: column.id(),
    /** Copied here, because the record is kept after the application is deleted. */
    appKey: column.text(32),
    method: column.text(8),
    route: column.text(255),
    /** Day in the time zone of the site, `YYYY-MM-DD`. */
    day: column.text(10),
    cost: column.integer(),
    /** Limit per minute at that time; 0: unlimited. */
    quotaLimit: column.integer(),
    /** Code of the response envelope. Null if the instance stopped before the response was sent. */
    code: column.text(16).nullable(),
    durationMs: column.integer().nullable(),
    occurredAt: column.timestamp(),
    traceId: column.text(128),
  },
})
export type CallRow = InferEntity<typeof CallRow>

/** Sums of the calls of one application to one route on one day. Updated together with the records. */
export const CallDayRow = defineEntity({
  name: 'OpenCallDay',
  tableName: 'open_call_day',
  uniques: [{ properties: ['day', 'appId', 'route', 'method'] }],
  indexes: [{ properties: ['appId', 'day', 'route', 'method'] }],
  properties: {
    id: column.primaryKey(),
    day: column.text(10),
    appId: column.id(),
    appKey: column.text(32),
    method: column.text(8),
    route: column.text(255),
    calls: column.bigint(),
    /** Number of calls with a failed response or without a response. */
    failed: column.bigint(),
    /** Quota units of all calls. */
    cost: column.bigint(),
  },
})
export type CallDayRow = InferEntity<typeof CallDayRow>

export const entities = [AppRow, CallRow, CallDayRow]

const metered = bilingual(
  'Usage of an application, until the retention time of the metering. It contains no user.',
  '应用的用量记录，保留至计量保留时间结束，其中不含用户。',
)

export const openPlatformTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, CallRow, {
    title: bilingual('Calls of applications of the user', '用户名下应用的调用记录'),
    owner: usageOwner,
    erasure: 'kept',
    reason: metered,
  }),
  personalTable(db, CallDayRow, {
    title: bilingual('Daily usage of applications of the user', '用户名下应用的每日用量'),
    owner: usageOwner,
    erasure: 'kept',
    reason: metered,
  }),
  ...App.personalTables(db),
]
