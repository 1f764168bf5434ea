import type { Database } from '@plinth/database'
import { Type } from '@plinth/http'
import type { PersonalTable } from '@plinth/kernel'
import { c, type RowOf, table } from '@plinth/table'

/** A receiver of events. Code of the sender changes only `status`, `failingSince` and `failedAttempts`. */
export const Endpoint = table(
  'webhook_endpoint',
  {
    id: c.id(),
    name: c.text(100, { min: 1 }).title('Name', '名称'),
    url: c
      .text(768, { min: 1 })
      .title('URL', '地址')
      .describe('Absolute https address without user name and password.'),
    description: c.text(500).nullable().title('Description', '说明'),
    eventTypes: c
      .json(Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: 200, uniqueItems: true }))
      .title('Event types', '事件类型'),
    /** The endpoint receives only events of rows in the data scope of this user. */
    ownerId: c.user().fixed().title('Owner', '所有者'),
    /** The user who last chose URL and event types. The endpoint receives nothing that this user may not see. */
    authorizedBy: c.reference('iam.user').internal(),
    status: c
      .choice({
        active: { title: ['Active', '启用'], tone: 'good' },
        failing: { title: ['Failing', '持续失败'], tone: 'warn' },
        disabled: { title: ['Disabled', '停用'], tone: 'quiet' },
        suspended: { title: ['Suspended', '已暂停'], tone: 'bad' },
      })
      .default('active')
      .readOnly()
      .title('Status', '状态')
      .describe(
        '`failing`: every attempt of the last 24 hours failed. `disabled`: by a user. `suspended`: by the product, for `statusReason`.',
      ),
    statusReason: c
      .choice({
        failing: ['Every attempt failed for five days', '连续五天全部失败'],
        gone: ['The receiver responded with 410', '接收方返回 410'],
        'no-rights': [
          'The owner, or the user who last changed the endpoint, is disabled or deleted',
          '所有者或最近修改端点的用户已停用或删除',
        ],
      })
      .nullable()
      .readOnly()
      .title('Reason of the suspension', '暂停原因'),
    statusNote: c.text(200).nullable().readOnly().title('Note', '备注'),
    /** Time of the first attempt since the last success, and the number of attempts since then. */
    failingSince: c.time().nullable().readOnly().title('Failing since', '失败起始时间'),
    failedAttempts: c.integer().default(0).readOnly().title('Failed attempts in a row', '连续失败次数'),
    secretEnc: c.text(255).internal(),
    /** The secret before the last rotation, which also signs until `previousValidUntil`. */
    previousSecretEnc: c.text(255).nullable().internal(),
    previousValidUntil: c.time().nullable().readOnly().title('Previous secret signs until', '旧密钥签名截止时间'),
    ...c.edits(),
  },
  {
    title: { one: ['Webhook endpoint', 'Webhook 端点'], many: ['Webhook endpoints', 'Webhook 端点'] },
    owner: 'ownerId',
    erasure: 'removed',
    unexported: ['secretEnc', 'previousSecretEnc', 'authorizedBy'],
    indexes: [
      ['ownerId', 'id'],
      ['status', 'id'],
    ],
  },
)
export type Endpoint = RowOf<typeof Endpoint.columns>

/** An event type of an endpoint, for the lookup by type. Written together with `eventTypes` of the endpoint. */
export const Subscription = table(
  'webhook_subscription',
  { id: c.id(), eventType: c.text(100), endpointId: c.reference('webhooks.endpoint') },
  {
    title: { one: ['Webhook subscription', 'Webhook 订阅'], many: ['Webhook subscriptions', 'Webhook 订阅'] },
    owner: { column: 'endpointId', through: Endpoint },
    erasure: 'removed',
    uniques: [{ columns: ['eventType', 'endpointId'] }],
    indexes: [['endpointId']],
  },
)

/** Outcomes of an attempt. `interrupted`: the process died during the attempt, so the receiver may have got the request. */
export const attemptOutcomes = ['running', 'succeeded', 'failed', 'interrupted'] as const

export const attempt = Type.Object({
  number: Type.Integer(),
  startedAt: Type.String({ format: 'date-time' }),
  outcome: Type.Enum(attemptOutcomes),
  status: Type.Union([Type.Integer(), Type.Null()], { description: 'HTTP status of the response, if there was one.' }),
  durationMs: Type.Union([Type.Integer(), Type.Null()]),
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Stable code of the failure.' }),
})

/** Number of attempts that a delivery stores. Older ones are dropped. */
export const storedAttempts = 30

/** One event for one endpoint. `webhook-id` is `msg_` and the id of the row. */
export const Delivery = table(
  'webhook_delivery',
  {
    id: c.id(),
    createdAt: c.createdAt().title('Created', '创建时间'),
    endpointId: c.reference('webhooks.endpoint').readOnly().title('Endpoint', '端点'),
    eventType: c.text(100).readOnly().title('Event type', '事件类型'),
    status: c
      .choice({
        pending: { title: ['Pending', '待投递'], tone: 'info' },
        delivered: { title: ['Delivered', '已投递'], tone: 'good' },
        failed: { title: ['Failed', '失败'], tone: 'bad' },
        held: { title: ['Held', '已保留'], tone: 'warn' },
        rejected: { title: ['Out of scope', '超出数据范围'], tone: 'quiet' },
      })
      .default('pending')
      .readOnly()
      .title('Status', '状态')
      .describe(
        '`failed`: after the last attempt. `held`: the endpoint was disabled or deleted when the attempt was due. `rejected`: the owner of the endpoint may not see the row any more.',
      ),
    attempts: c.integer().default(0).readOnly().title('Attempts', '尝试次数'),
    /** Time of the next attempt. While an attempt runs, the end of its lease. */
    nextAt: c.time().readOnly().title('Next attempt', '下次尝试'),
    finishedAt: c.time().nullable().readOnly().title('Finished', '完成时间'),
    lastReason: c.text(64).nullable().readOnly().title('Last failure', '最近失败原因'),
    /** Exact text of the request. */
    body: c.longText(20_000).readOnly().title('Body', '内容'),
    attemptLog: c.json(Type.Array(attempt)).default([]).readOnly().title('Attempts', '尝试记录'),
    /** Index of the next pause in the schedule. */
    step: c.integer().default(0).internal(),
    leaseToken: c.text(36).nullable().internal(),
    /** Owner of the row that the event is about. */
    subjectUserId: c.reference('iam.user').nullable().internal(),
    subjectOrgId: c.reference('iam.org').nullable().internal(),
    /** The trace in which the event was published, and the position in it (W3C Trace Context). */
    traceId: c.text(32).nullable().readOnly().title('Trace ID', '链路编号'),
    traceparent: c.text(55).nullable().internal(),
  },
  {
    title: { one: ['Webhook delivery', 'Webhook 投递'], many: ['Webhook deliveries', 'Webhook 投递'] },
    owner: { user: 'subjectUserId', org: 'subjectOrgId' },
    erasure: 'removed',
    indexes: [
      ['endpointId', 'status', 'nextAt'],
      ['endpointId', 'id'],
      ['status', 'nextAt'],
      ['status', 'id'],
      ['eventType', 'id'],
      ['subjectUserId', 'id'],
      ['traceId', 'id'],
      ['createdAt'],
    ],
  },
)
export type Delivery = RowOf<typeof Delivery.columns>
export type Attempt = Delivery['attemptLog'][number]

/** How deliveries and endpoints refer to users, for conditions on rows. */
export const subjectOfDelivery = { user: 'subject_user_id', org: 'subject_org_id' } as const
export const ownerOfEndpoint = {
  column: 'endpoint_id',
  through: 'webhook_endpoint',
  key: 'id',
  owner: 'owner_id',
} as const

export const tables = [Delivery, Subscription, Endpoint]
/** The tables with rows of users. Those that refer to their user through an endpoint precede the endpoint. */
export const webhookTables = (db: Database): readonly PersonalTable[] => tables.flatMap((one) => one.personalTables(db))
