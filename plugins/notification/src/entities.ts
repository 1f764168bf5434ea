import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { OutcomeName } from '@plinth/kernel'

/**
 * `retried`: a failed send that somebody sent again; what became of that is a row of its own (decision B26). Besides these:
 * `sending`, under way; `unknown`, it may or may not have been sent, because the channel could not tell or the process died;
 * `dead`, given up after its last automatic retry.
 */
export const sendLogStates = ['success', 'failed', 'retried', 'sending', 'unknown', 'dead'] as const
export type SendLogState = (typeof sendLogStates)[number]

/** What became of one message on one channel. Every text is masked; only `payload` holds what is needed to send again. */
export const SendLog = defineEntity({
  name: 'SendLog',
  tableName: 'notification_send_log',
  uniques: [{ properties: ['deliveryKey'] }],
  indexes: [
    { properties: ['channel', 'id'] },
    { properties: ['channel', 'createdAt', 'id'] },
    { properties: ['channel', 'status', 'id'] },
    { properties: ['status', 'id'] },
    { properties: ['status', 'createdAt', 'id'] },
    { properties: ['status', 'restorable', 'id'] },
    { properties: ['status', 'restorable', 'createdAt'] },
    { properties: ['channel', 'status', 'restorable', 'id'] },
    {
      name: 'notification_send_log_retryable_of_channel_index',
      properties: ['channel', 'status', 'restorable', 'createdAt', 'id'],
    },
    { properties: ['createdAt', 'id'] },
    { properties: ['notificationId', 'id'] },
    { properties: ['status', 'claimedUntil'] },
    { properties: ['userId', 'id'] },
    { properties: ['orgId', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    channel: column.text(64),
    provider: column.text(64).nullable(),
    status: column.text(16).$type<SendLogState>(),
    /** Null while it is being sent, and of rows from before the column. */
    outcome: column.text(16).$type<OutcomeName>().nullable(),
    /** The provider's id when it gave one, otherwise the facade's. */
    messageId: column.text(200),
    /** The first of them, as `describeRecipient` writes them. */
    recipients: column.json<string[]>(),
    recipientCount: column.integer(),
    subject: column.text(500),
    template: column.text(128).nullable(),
    errorCode: column.text(128).nullable(),
    errorMessage: column.text(500).nullable(),
    providerCode: column.text(128).nullable(),
    providerMessage: column.text(500).nullable(),
    hint: column.text(500).nullable(),
    /** True while `payload` is there. */
    restorable: column.boolean(),
    /** A snapshot, see snapshot.ts; null for what needs no retry or cannot have one. */
    payload: column.longText().nullable(),
    /** 1 for the first send of the message on the channel. */
    attempt: column.integer(),
    retryOfId: column.id().nullable(),
    /**
     * Of a `retried` row: the end of a retry that was claimed; null once it is under way. Of a `sending` row: when it has
     * come to an end, whatever happens to its process.
     */
    claimedUntil: column.timestamp().nullable(),
    /** What a `retried` row was before a retry that is claimed, and is again when the claim comes to nothing. */
    claimedFrom: column.text(16).$type<SendLogState>().nullable(),
    /** Of a delivery of an enqueued message: what keeps it from being sent twice. */
    deliveryKey: column.text(200).nullable(),
    /** The `NotificationRow` that it is a delivery of. */
    notificationId: column.id().nullable(),
    /** For whom it is: see recipient-owner.ts. Both null: only scope `all` sees it. */
    userId: column.id().nullable(),
    orgId: column.id().nullable(),
    traceId: column.text(128).nullable(),
    createdAt: column.timestamp(),
  },
})
export type SendLog = InferEntity<typeof SendLog>

/** Rows of the send log by kind: see send-log/counts.ts. */
export const SendLogCount = defineEntity({
  name: 'SendLogCount',
  tableName: 'notification_send_log_count',
  properties: {
    kind: column.text(16).primary(),
    total: column.bigint(),
  },
})

/** `finished`: every part has come to an end, well or not. */
export const messageStates = ['queued', 'sending', 'finished'] as const
export type MessageState = (typeof messageStates)[number]

export const priorities = ['normal', 'critical'] as const
export type Priority = (typeof priorities)[number]

/** A message that was enqueued or sent by an administrator: what the list of notifications shows. */
export const NotificationRow = defineEntity({
  name: 'NotificationRow',
  tableName: 'notification_message',
  uniques: [{ properties: ['idempotencyHash'] }],
  indexes: [
    { properties: ['state', 'id'] },
    { properties: ['createdAt', 'id'] },
    { properties: ['userId', 'id'] },
    { properties: ['orgId', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    messageId: column.text(36),
    /** SHA-256 of the key that the sender gave. */
    idempotencyHash: column.text(64).nullable(),
    subject: column.text(500),
    template: column.text(128).nullable(),
    channels: column.json<string[]>(),
    recipientCount: column.integer(),
    priority: column.text(16).$type<Priority>(),
    state: column.text(16).$type<MessageState>(),
    notBefore: column.timestamp().nullable(),
    /** The message without its recipients, which travel with the parts; null when it was not enqueued. */
    payload: column.longText().nullable(),
    /** Null when the product itself sent it. */
    senderId: column.id().nullable(),
    senderName: column.text(64).nullable(),
    /** For whom it is: see recipient-owner.ts. Both null: only scope `all` sees it. */
    userId: column.id().nullable(),
    orgId: column.id().nullable(),
    traceId: column.text(128).nullable(),
    parts: column.integer(),
    partsDone: column.integer(),
    /** Deliveries by what became of them, the newest try of each. */
    accepted: column.integer(),
    rejected: column.integer(),
    deferred: column.integer(),
    unknown: column.integer(),
    /** Deliveries of which nothing was tried. */
    skipped: column.integer(),
    createdAt: column.timestamp(),
    finishedAt: column.timestamp().nullable(),
  },
})
export type NotificationRow = InferEntity<typeof NotificationRow>

/** A part of a message that was begun. */
export const NotificationPart = defineEntity({
  name: 'NotificationPart',
  tableName: 'notification_message_part',
  uniques: [{ properties: ['notificationId', 'part'] }],
  properties: {
    id: column.primaryKey(),
    notificationId: column.id(),
    /** `channel:number`. */
    part: column.text(150),
    /** Places, among the recipients of the part, of those whom it does not send to: the first try decides. */
    leftOut: column.json<number[]>(),
    doneAt: column.timestamp().nullable(),
  },
})

export const entities = [SendLog, SendLogCount, NotificationRow, NotificationPart]
