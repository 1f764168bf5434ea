import { type Database, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import {
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
  withDescription,
} from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { type AuditEntry, auditFieldsOfCaller, type Clock, type Kernel, writeAuditEntry } from '@plinth/kernel'
import { businessError, permissionCodes } from '../declarations.ts'
import { type MessageState, messageStates, NotificationRow, priorities } from '../entities.ts'
import { recipientOwner } from '../recipients.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import type { MessageKeys } from './message-keys.ts'

interface MessageFilter {
  readonly state?: MessageState | undefined
  /** Condition from `callerRows(request, recipientOwner)`. */
  readonly rows: object
}

/** Columns that no response contains. */
const hidden = ['payload', 'idempotencyHash', 'cancelHash', 'replaceHash'] as const
type ListedMessage = Omit<NotificationRow, (typeof hidden)[number]>

interface MessageListDependencies {
  readonly db: Database
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Messages that were enqueued or that administrators sent (document 2 of the specification, "Notification management").
 */
export class MessageList {
  readonly #parts: MessageListDependencies

  constructor(parts: MessageListDependencies) {
    this.#parts = parts
  }

  list({ state, rows }: MessageFilter, window: PageWindow): Promise<FoundPage<ListedMessage>> {
    const where = { $and: [state === undefined ? {} : { state }, rows] }
    return findPage<NotificationRow>(this.#parts.db.fork(), NotificationRow, where, window, { exclude: hidden })
  }

  /** Lists the messages that are sent later, the next one first by default. */
  scheduled(rows: object, window: PageWindow): Promise<FoundPage<ListedMessage>> {
    const where = { $and: [{ state: 'queued' as const, notBefore: { $ne: null } }, rows] }
    return findPage<NotificationRow>(this.#parts.db.fork(), NotificationRow, where, window, { exclude: hidden })
  }

  /**
   * Cancels a message that no worker has begun to send. Its content is deleted.
   *
   * @throws BusinessError "404" `notification.message-not-found`, also if `rows` excludes the message; "409"
   * `notification.message-begun`
   */
  async cancel(id: number, rows: object, caller: Omit<AuditEntry, 'action'>): Promise<ListedMessage> {
    const { db, kernel, clock } = this.#parts
    await this.find(id, rows)
    await db.transactional(async (em) => {
      const change = { state: 'cancelled', payload: null, finishedAt: new Date(clock.now()) } as const
      const cancelled = await em.nativeUpdate(NotificationRow, { id, state: 'queued' }, change)
      if (cancelled === 0) throw businessError('message-begun', { data: { id } })
      await writeAuditEntry(kernel, { ...caller, action: 'notification-message.cancel', subject: id })
    })
    return this.find(id, rows)
  }

  /**
   * Finds a message. @throws BusinessError "404" `notification.message-not-found`, also if `rows` excludes the message
   */
  async find(id: number, rows: object): Promise<ListedMessage> {
    const row = await this.#parts.db.fork().findOne(NotificationRow, { $and: [{ id }, rows] }, { exclude: hidden })
    if (row === null) throw businessError('message-not-found', { params: { id }, data: { id } })
    return row as ListedMessage
  }
}

interface MessageRouteDependencies {
  readonly recorder: Pick<SendRecorder, 'written'>
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly list: MessageList
  readonly keys: MessageKeys
}

const textOrNull = nullable(text)
const sort = sortQuery({ id: 'id' }, '-id')
const scheduledSort = sortQuery({ notBefore: 'not_before' }, 'notBefore')

const messageView = Type.Object({
  id,
  messageId: text,
  subject: Type.String({
    description: 'Subject. If the sender wrote a message key, it is translated to the language of the message.',
  }),
  template: textOrNull,
  channels: Type.Array(text),
  recipientCount: count,
  priority: Type.Enum(priorities),
  state: Type.Enum(messageStates, {
    description:
      '`finished`: all parts have ended, successfully or not. `cancelled`: parts that had not begun are not sent.',
  }),
  notBefore: nullable(instant),
  senderUserId: nullable(id, { description: 'User who sent the message. Null if the product sent it.' }),
  senderName: textOrNull,
  traceId: textOrNull,
  outcomes: Type.Object(
    { accepted: count, rejected: count, deferred: count, unknown: count, skipped: count },
    {
      description: 'Number of deliveries by outcome. Each delivery is a row of the send log, except skipped ones.',
    },
  ),
  createdAt: instant,
  finishedAt: nullable(instant),
})

const viewOf = (message: ListedMessage) => ({
  id: message.id,
  messageId: message.messageId,
  subject: message.subject,
  template: message.template ?? null,
  channels: message.channels,
  recipientCount: message.recipientCount,
  priority: message.priority,
  state: message.state,
  notBefore: message.notBefore?.toISOString() ?? null,
  senderUserId: message.senderId ?? null,
  senderName: message.senderName ?? null,
  traceId: message.traceId ?? null,
  outcomes: {
    accepted: message.accepted,
    rejected: message.rejected,
    deferred: message.deferred,
    unknown: message.unknown,
    skipped: message.skipped,
  },
  createdAt: message.createdAt.toISOString(),
  finishedAt: message.finishedAt?.toISOString() ?? null,
})

const range = rangeQuery('createdAt', 'id')

const messageFilter = filterQuery(messageView, [
  'state',
  'template',
  'priority',
  'recipientCount',
  'senderName',
  'notBefore',
  'finishedAt',
])
const scheduledFilter = filterQuery(messageView, ['template', 'priority', 'recipientCount', 'senderName', 'notBefore'])

const { route } = routesWith<MessageRouteDependencies>()

/** Routes for the list of messages (document 2 of the specification, "Endpoints"). */
export const messageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/notifications',
    legacyPath: true,
    summary: 'List messages that administrators enqueued or sent, newest first',
    access: { permission: permissionCodes.messageView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...messageFilter.properties,
        ...range.properties,
        ...sort.properties,
        state: Type.Optional(Type.Enum(messageStates)),
      }),
    },
    response: listPage(messageView),
    reasons: ['notification.channel-not-found'],
    async handler(request, { recorder, list }) {
      const { query } = request
      const rows = callerRows(request, recipientOwner)
      await recorder.written()
      return listResponse(
        query,
        sort.parse(query.sort),
        async (window) => mapListRows(await list.list({ ...query, rows }, window), viewOf),
        range,
        messageFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/notification/scheduled-messages',
    summary: 'List messages that will be sent later, the next one first',
    access: { permission: permissionCodes.messageView, scope: 'caller' },
    request: {
      query: Type.Object({ ...listQuery.properties, ...scheduledFilter.properties, ...scheduledSort.properties }),
    },
    response: listPage(messageView),
    reasons: [],
    handler(request, { list }) {
      const { query } = request
      const rows = callerRows(request, recipientOwner)
      const find = async (window: PageWindow) => mapListRows(await list.scheduled(rows, window), viewOf)
      return listResponse(query, scheduledSort.parse(query.sort), find, undefined, scheduledFilter)
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/notification/messages/:id/cancel',
    summary: 'Cancel a message that has not been sent yet',
    description: 'The content of the message is deleted. A message that a worker has begun to send is not cancelled.',
    access: { permission: permissionCodes.messageSend, scope: 'caller' },
    request: { params: idParams },
    response: messageView,
    reasons: ['notification.message-begun', 'notification.message-not-found'],
    async handler(request, { list }) {
      const rows = callerRows(request, recipientOwner)
      return viewOf(await list.cancel(request.params.id, rows, auditFieldsOfCaller(request)))
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/notification/messages/cancel',
    summary: 'Cancel the enqueued messages with a key',
    description:
      'Parts of a message that have begun end normally, and the result lists the message as too late. A second call returns the same result.',
    access: { permission: permissionCodes.messageSend, scope: 'all' },
    request: {
      body: Type.Object({
        key: Type.String({ minLength: 1, maxLength: 200, description: 'The `cancelKey` of the messages.' }),
        before: Type.Optional(
          Type.Boolean({ description: 'True: also cancels messages that are enqueued later, until `expiresAt`.' }),
        ),
        expiresAt: Type.Optional(withDescription(instant, 'At most 30 days ahead. Required with `before`.')),
      }),
    },
    response: Type.Object({
      cancelled: Type.Integer({ minimum: 0, description: 'Number of messages of which nothing was sent.' }),
      tooLate: Type.Array(Type.Object({ id, messageId: text })),
    }),
    reasons: ['notification.key-unknown', 'notification.cancel-expiry-invalid'],
    async handler(request, { keys, kernel }) {
      const { key, before = false, expiresAt } = request.body
      const options = expiresAt === undefined ? { before } : { before, expiresAt: Date.parse(expiresAt) }
      const caller = auditFieldsOfCaller(request)
      const { cancelled, tooLate } = await keys.cancel(key, options, async (result) => {
        const summary = { key, cancelled: result.cancelled, tooLate: result.tooLate.length }
        await writeAuditEntry(kernel, { ...caller, action: 'notification-message.cancel-key', summary })
      })
      return { cancelled, tooLate: [...tooLate] }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/notifications/:id',
    legacyPath: true,
    summary: 'Get a message that an administrator enqueued or sent',
    access: { permission: permissionCodes.messageView, scope: 'caller' },
    request: { params: idParams },
    response: messageView,
    reasons: ['notification.channel-not-found', 'notification.message-not-found', 'notification.send-log-not-found'],
    async handler(request, { recorder, list }) {
      await recorder.written()
      return viewOf(await list.find(request.params.id, callerRows(request, recipientOwner)))
    },
  }),
]
