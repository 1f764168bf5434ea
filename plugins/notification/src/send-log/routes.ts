import { maxCounted } from '@plinth/database'
import {
  bulkRateLimit,
  count,
  filterQuery,
  id,
  idParams,
  instant,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  nullable,
  rangeQuery,
  routesWith,
  sortQuery,
  Type,
  text,
} from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import { callerRows, callerRowsSql, requirePrincipal } from '@plinth/iam'
import { auditFieldsOfCaller } from '@plinth/kernel'
import { permissionCodes } from '../declarations.ts'
import { sendLogStates } from '../entities.ts'
import { outcomeName, requireSuccess, sendResult } from '../facade/results.ts'
import { recipientOwner } from '../recipients.ts'
import { type SendLogDeliveries, shownDeliveryStates } from './delivery-states.ts'
import type { SendRecorder } from './recorder.ts'
import { largestBatch, type SendLogRetries } from './retries.ts'
import { type ListedSendLog, retryable, type SendLogReader } from './send-log-reader.ts'

interface SendLogRouteDependencies {
  readonly recorder: Pick<SendRecorder, 'written'>
  readonly reader: SendLogReader
  readonly retries: SendLogRetries
  readonly deliveries: Pick<SendLogDeliveries, 'shownState'>
  readonly translator: Translator | undefined
}

/** The path does not contain `/admin/`, because document 2 of the specification defines it in this form. */
const path = '/api/v1/notification-send-logs'

const textOrNull = nullable(text)
const retryableOnly = Type.Optional(Type.Boolean({ description: 'True: only failed sends that can be sent again.' }))
const sort = sortQuery({ id: 'id', createdAt: 'created_at' }, '-id')

const sendLogView = Type.Object({
  id,
  channel: text,
  provider: textOrNull,
  status: Type.Enum(sendLogStates, {
    description:
      '`waiting`: not sent, is sent again automatically. `retried`: failed and was sent again; the `retryOfId` of the new row ' +
      'is this row. `sending`: in progress. `unknown`: may or may not have been sent. `dead`: in rows of earlier releases, ' +
      'failed, and all automatic retries are used up.',
  }),
  outcome: nullable(outcomeName, { description: 'Outcome of the send. Null until the first attempt has ended.' }),
  messageId: text,
  recipients: Type.Array(text, { description: 'The first recipients, masked, such as `mobile:***0001`.' }),
  recipientCount: count,
  subject: text,
  template: textOrNull,
  errorCode: textOrNull,
  errorMessage: textOrNull,
  providerCode: textOrNull,
  providerMessage: textOrNull,
  hint: textOrNull,
  retryable: Type.Boolean({ description: 'True if the send failed and the message can be sent again.' }),
  attempt: Type.Integer({ minimum: 1, description: 'Number of attempts to send the message on the channel.' }),
  nextAttemptAt: nullable(instant, { description: 'Time of the next automatic attempt of a send that waits for it.' }),
  retryOfId: nullable(id, { description: 'Id of the row whose message was sent again by this row.' }),
  notificationId: nullable(id, { description: 'Id of the message in the list of messages.' }),
  traceId: textOrNull,
  deliveryState: nullable(Type.Enum(shownDeliveryStates), {
    description:
      'State after the provider accepted the message. `delayed`: the provider still tries. `failed`: the provider did not ' +
      'try the recipient. `unconfirmed`: no report of the end within 72 hours. Null if no reports are expected.',
  }),
  bounceKind: nullable(Type.Enum(['hard', 'soft']), { description: '`hard`: the address is wrong.' }),
  deliveryDetail: nullable(text, { description: 'Text or code of the provider for the delivery state.' }),
  deliveredAt: nullable(instant),
  delayedAt: nullable(instant),
  bouncedAt: nullable(instant),
  complainedAt: nullable(instant),
  deliveryFailedAt: nullable(instant),
  createdAt: instant,
})

const summaryView = Type.Object({
  total: count,
  success: count,
  failed: count,
  retryable: Type.Integer({ minimum: 0, description: 'Number of failed sends that can be sent again.' }),
  waiting: Type.Integer({ minimum: 0, description: 'Number of sends that are sent again automatically.' }),
  retried: count,
  failedLast24h: count,
  counted: Type.Enum(['exact', 'capped'], {
    description: `\`capped\`: \`failedLast24h\` is limited to ${maxCounted}, and the real number is larger.`,
  }),
  sending: count,
  unknown: count,
  dead: count,
})

const viewOf = (
  log: ListedSendLog,
  locale: string,
  { translator, deliveries }: Pick<SendLogRouteDependencies, 'translator' | 'deliveries'>,
) => ({
  id: log.id,
  channel: log.channel,
  provider: log.provider ?? null,
  status: log.status,
  outcome: log.outcome ?? null,
  messageId: log.messageId,
  recipients: log.recipients,
  recipientCount: log.recipientCount,
  subject: log.subject,
  template: log.template ?? null,
  errorCode: log.errorCode ?? null,
  errorMessage: log.errorMessage ?? null,
  providerCode: log.providerCode ?? null,
  providerMessage: log.providerMessage ?? null,
  hint: log.hint == null ? null : (translator?.resolve(locale, log.hint) ?? log.hint),
  retryable: log.status === retryable.status && log.restorable,
  attempt: log.attempt,
  nextAttemptAt: log.status === 'waiting' ? (log.claimedUntil?.toISOString() ?? null) : null,
  retryOfId: log.retryOfId ?? null,
  notificationId: log.notificationId ?? null,
  traceId: log.traceId ?? null,
  deliveryState: deliveries.shownState(log),
  bounceKind: log.bounceKind ?? null,
  deliveryDetail: log.deliveryDetail ?? null,
  deliveredAt: log.deliveryTimes?.delivered ?? null,
  delayedAt: log.deliveryTimes?.delayed ?? null,
  bouncedAt: log.deliveryTimes?.bounced ?? null,
  complainedAt: log.deliveryTimes?.complained ?? null,
  deliveryFailedAt: log.deliveryTimes?.failed ?? null,
  createdAt: log.createdAt.toISOString(),
})

const retryView = Type.Object({
  id,
  logId: nullable(id, {
    description: 'Id of the new row. Null if nothing was attempted or the row could not be stored.',
  }),
  result: sendResult,
})
const once = 'Each retry creates a new row, and the status of the old row becomes `retried`.'

const range = rangeQuery('createdAt', 'id')

const logFilter = filterQuery(sendLogView, [
  'status',
  'channel',
  'provider',
  'outcome',
  'template',
  'errorCode',
  'providerCode',
  'attempt',
  'recipientCount',
  'notificationId',
  'traceId',
])

const { route } = routesWith<SendLogRouteDependencies>()

/** Routes for the send log (document 2 of the specification, "Send logs"). */
export const sendLogRoutes = [
  route({
    method: 'GET',
    path,
    legacyPath: true,
    summary: 'List send log entries, newest first',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...logFilter.properties,
        ...range.properties,
        ...sort.properties,
        channel: Type.Optional(
          Type.String({ minLength: 1, maxLength: 64, description: 'Code of the channel, ignoring case.' }),
        ),
        retryableOnly,
        status: Type.Optional(Type.Enum(sendLogStates)),
        deliveryState: Type.Optional(Type.Enum(shownDeliveryStates)),
        notificationId: Type.Optional(id),
      }),
    },
    response: listPage(sendLogView),
    reasons: ['notification.channel-not-found'],
    async handler(request, { recorder, reader, ...parts }) {
      const { query, locale } = request
      const rows = callerRows(request, recipientOwner)
      await recorder.written()
      return listResponse(
        query,
        sort.parse(query.sort),
        async (window) =>
          mapListRows(await reader.list({ ...query, rows }, window), (log) => viewOf(log, locale, parts)),
        range,
        logFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${path}/summary`,
    legacyPath: true,
    summary: 'Summarise the send log',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },
    request: { query: Type.Object({ retryableOnly }) },
    response: summaryView,
    reasons: [],
    async handler(request, { recorder, reader }) {
      await recorder.written()
      const isLimited = requirePrincipal(request).dataScope !== 'all'
      const rows = isLimited ? callerRowsSql(request, 'notification_send_log', recipientOwner) : undefined
      return reader.summary(request.query, rows)
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    legacyPath: true,
    summary: 'Get a send log entry',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },
    request: { params: idParams },
    response: sendLogView,
    reasons: ['notification.channel-not-found', 'notification.message-not-found', 'notification.send-log-not-found'],
    async handler(request, { recorder, reader, ...parts }) {
      await recorder.written()
      const log = await reader.find(request.params.id, callerRows(request, recipientOwner))
      return viewOf(log, request.locale, parts)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/retry`,
    legacyPath: true,
    summary: 'Resend a message that failed or whose outcome is unknown',
    description: `${once} If the outcome of the first attempt is unknown, recipients may get the message twice. Returns the outcome of the new attempt. A disabled channel is a business error.`,
    access: { permission: permissionCodes.sendLogRetry, scope: 'caller' },
    request: { params: idParams },
    response: retryView,
    reasons: [
      '*',
      'notification.channel-unknown',
      'notification.send-log-not-failed',
      'notification.send-log-not-found',
      'notification.send-log-not-restorable',
    ],
    async handler(request, { retries }) {
      const outcome = await retries.retry(
        request.params.id,
        auditFieldsOfCaller(request),
        callerRows(request, recipientOwner),
      )
      if (outcome.result.skipped === true) requireSuccess(outcome.result)
      return outcome
    },
  }),
  route({
    method: 'POST',
    path: `${path}/retry-batch`,
    legacyPath: true,
    annotations: [bulkRateLimit],
    summary: 'Resend several failed messages, one after the other',
    description: `Nothing is sent unless all rows can be sent again. ${once} Duplicate ids are ignored.`,
    access: { permission: permissionCodes.sendLogRetry, scope: 'caller' },
    request: { body: Type.Object({ ids: Type.Array(id, { minItems: 1, maxItems: largestBatch }) }) },
    response: Type.Array(retryView),
    reasons: [
      'notification.channel-unknown',
      'notification.send-log-not-failed',
      'notification.send-log-not-found',
      'notification.send-log-not-restorable',
    ],
    async handler(request, { retries }) {
      const rows = callerRows(request, recipientOwner)
      return [...(await retries.retryAll(request.body.ids, auditFieldsOfCaller(request), rows))]
    },
  }),
]
