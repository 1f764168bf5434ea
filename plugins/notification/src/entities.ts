import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/** `retried`: a failed send that somebody sent again; what became of that is a row of its own (decision B26). */
export const sendLogStates = ['success', 'failed', 'retried'] as const
export type SendLogState = (typeof sendLogStates)[number]

/** What became of one message on one channel. Every text is masked; only `payload` holds what is needed to send again. */
export const SendLog = defineEntity({
  name: 'SendLog',
  tableName: 'notification_send_log',
  indexes: [
    { properties: ['channel', 'id'] },
    { properties: ['channel', 'createdAt', 'id'] },
    { properties: ['status', 'restorable', 'id'] },
    { properties: ['status', 'restorable', 'createdAt'] },
    { properties: ['channel', 'status', 'restorable', 'id'] },
    {
      name: 'notification_send_log_retryable_of_channel_index',
      properties: ['channel', 'status', 'restorable', 'createdAt', 'id'],
    },
    { properties: ['createdAt', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    channel: column.text(64),
    provider: column.text(64).nullable(),
    status: column.text(16).$type<SendLogState>(),
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
    /** Of a `retried` row: the end of a retry under way. Null once its outcome is recorded. */
    claimedUntil: column.timestamp().nullable(),
    traceId: column.text(128).nullable(),
    createdAt: column.timestamp(),
  },
})
export type SendLog = InferEntity<typeof SendLog>

/** Rows of the send log by kind: see send-log-counts.ts. */
export const SendLogCount = defineEntity({
  name: 'SendLogCount',
  tableName: 'notification_send_log_count',
  properties: {
    kind: column.text(16).primary(),
    total: column.bigint(),
  },
})
