import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { OutcomeName } from '@plinth/kernel'
import type { BounceKind, DeliveryState } from './contract.ts'

/**
 * States of a send. `waiting`: not sent, will be sent automatically. `retried`: sent again in another row. `unknown`:
 * possibly sent. `dead`: in rows of earlier releases, the last automatic retry failed.
 */
export const sendLogStates = ['success', 'failed', 'waiting', 'retried', 'sending', 'unknown', 'dead'] as const
export type SendLogState = (typeof sendLogStates)[number]

/** Time of each delivery state of a send, in ISO 8601. */
export type DeliveryTimes = Readonly<Partial<Record<DeliveryState, string>>>

/** A send of a message on one channel. All texts are masked. Only `payload` contains the message. */
export const SendLogRow = defineEntity({
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
    { properties: ['reference'] },
    { properties: ['provider', 'messageId'] },
    { properties: ['deliveryState', 'id'] },
    { properties: ['status', 'deliveryState', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    channel: column.text(64),
    provider: column.text(64).nullable(),
    status: column.text(16).$type<SendLogState>(),
    /** Null until the first attempt has ended, and in rows of earlier releases. */
    outcome: column.text(16).$type<OutcomeName>().nullable(),
    /** Id from the provider. If the provider returned none, the id of the message. */
    messageId: column.text(200),
    /** Masked recipients, in the form that `describeRecipient` returns. */
    recipients: column.json<string[]>(),
    recipientCount: column.integer(),
    subject: column.text(500),
    template: column.text(128).nullable(),
    errorCode: column.text(128).nullable(),
    errorMessage: column.text(500).nullable(),
    providerCode: column.text(128).nullable(),
    providerMessage: column.text(500).nullable(),
    hint: column.text(500).nullable(),
    restorable: column.boolean(),
    /** The message for a retry, see snapshot.ts; null if none is needed or possible. */
    payload: column.longText().nullable(),
    /** 1 for the first send on this channel. */
    attempt: column.integer(),
    retryOfId: column.id().nullable(),
    /**
     * For a `retried` row, the end of the claim; null once the retry has begun. For a `sending` row, the time by which
     * the send must have ended. For a `waiting` row, the time of the next attempt. For an `unknown` row, the time from which
     * the provider is asked again; null if it was not asked yet.
     */
    claimedUntil: column.timestamp().nullable(),
    /** State of a `retried` row before it was claimed. It is restored if the process dies before the retry. */
    claimedFrom: column.text(16).$type<SendLogState>().nullable(),
    /** Unique key that prevents a second send of an enqueued message. */
    deliveryKey: column.text(200).nullable(),
    notificationId: column.id().nullable(),
    /**
     * Owner of the row, see recipients.ts. If `userId` and `orgId` are null, only operators with the data scope `all`
     * see the row.
     */
    userId: column.id().nullable(),
    orgId: column.id().nullable(),
    traceId: column.text(128).nullable(),
    /** `sendReference` of the idempotency key. Null in rows of earlier releases. */
    reference: column.text(40).nullable(),
    /** Key of the address on the suppression list. Null without such a list, and for several recipients. */
    addressKey: column.text(64).nullable(),
    /** Highest state that a provider reported after it accepted the message; see send-log/delivery-states.ts. */
    deliveryState: column.text(16).$type<DeliveryState>().nullable(),
    bounceKind: column.text(8).$type<BounceKind>().nullable(),
    deliveryTimes: column.json<DeliveryTimes>().nullable(),
    deliveryDetail: column.text(255).nullable(),
    createdAt: column.timestamp(),
  },
})
export type SendLogRow = InferEntity<typeof SendLogRow>

/** Number of rows of the send log by kind, see send-log/counts.ts. */
export const SendLogCountRow = defineEntity({
  name: 'SendLogCount',
  tableName: 'notification_send_log_count',
  properties: {
    kind: column.text(16).primary(),
    total: column.bigint(),
  },
})

/**
 * States of a message. `finished`: every part of the message has ended, successfully or not. `cancelled`: parts that had
 * not begun are not sent.
 */
export const messageStates = ['queued', 'sending', 'finished', 'cancelled'] as const
export type MessageState = (typeof messageStates)[number]

export const priorities = ['normal', 'critical'] as const
export type Priority = (typeof priorities)[number]

/** A message that was enqueued or that an administrator sent. */
export const NotificationRow = defineEntity({
  name: 'NotificationRow',
  tableName: 'notification_message',
  uniques: [{ properties: ['idempotencyHash'] }, { properties: ['claimId'] }],
  indexes: [
    { properties: ['state', 'id'] },
    { properties: ['state', 'notBefore', 'id'] },
    { properties: ['notBefore', 'createdAt', 'id'] },
    { properties: ['createdAt', 'id'] },
    { properties: ['userId', 'id'] },
    { properties: ['orgId', 'id'] },
    { properties: ['cancelHash', 'id'] },
    { properties: ['replaceHash', 'state'] },
  ],
  properties: {
    id: column.primaryKey(),
    messageId: column.text(36),
    idempotencyHash: column.text(64).nullable(),
    /** Keys by which a later call cancels or replaces the message, see delivery/message-keys.ts. */
    cancelHash: column.text(64).nullable(),
    replaceHash: column.text(64).nullable(),
    /** Claim of the idempotency key of the call that sent the message; see `Idempotency.current`. */
    claimId: column.id().nullable(),
    subject: column.text(500),
    template: column.text(128).nullable(),
    channels: column.json<string[]>(),
    recipientCount: column.integer(),
    priority: column.text(16).$type<Priority>(),
    state: column.text(16).$type<MessageState>(),
    notBefore: column.timestamp().nullable(),
    /**
     * The message without its recipients, which the events of its parts contain. Null if the message was not enqueued
     * or was cancelled.
     */
    payload: column.longText().nullable(),
    /** Id of the operator who sent the message. Null if the product itself sent it. */
    senderId: column.id().nullable(),
    senderName: column.text(64).nullable(),
    /**
     * Owner of the row, see recipients.ts. If `userId` and `orgId` are null, only operators with the data scope `all`
     * see the row.
     */
    userId: column.id().nullable(),
    orgId: column.id().nullable(),
    traceId: column.text(128).nullable(),
    parts: column.integer(),
    partsDone: column.integer(),
    /** Number of sends by the outcome of their last attempt, in four columns. */
    accepted: column.integer(),
    rejected: column.integer(),
    deferred: column.integer(),
    unknown: column.integer(),
    /** Number of sends that were not attempted. */
    skipped: column.integer(),
    createdAt: column.timestamp(),
    finishedAt: column.timestamp().nullable(),
  },
})
export type NotificationRow = InferEntity<typeof NotificationRow>

export const NotificationPartRow = defineEntity({
  name: 'NotificationPart',
  tableName: 'notification_message_part',
  uniques: [{ properties: ['notificationId', 'part'] }],
  properties: {
    id: column.primaryKey(),
    notificationId: column.id(),
    /** Name of the part, `channel:number`. */
    part: column.text(150),
    /** Indexes of recipients who are left out. The first attempt decides who they are. */
    leftOut: column.json<number[]>(),
    doneAt: column.timestamp().nullable(),
  },
})

/** A key by which messages are cancelled or replaced, see delivery/message-keys.ts. */
export const MessageKeyRow = defineEntity({
  name: 'NotificationKey',
  tableName: 'notification_message_key',
  uniques: [{ properties: ['keyHash'] }],
  indexes: [{ properties: ['usedAt'] }],
  properties: {
    id: column.primaryKey(),
    keyHash: column.text(64),
    usedAt: column.timestamp(),
    /** Time until which new messages with the key are cancelled. */
    cancelledUntil: column.timestamp().nullable(),
  },
})

export const entities = [SendLogRow, SendLogCountRow, NotificationRow, NotificationPartRow, MessageKeyRow]
