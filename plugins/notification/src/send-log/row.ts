import { LockMode } from '@mikro-orm/core'
import type { Database, RowOf } from '@plinth/database'
import { fitTextToColumn, type NotificationMessage, type Recipient, secretsOf, sendReference } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import type { SendLogRow, SendLogState } from '../entities.ts'
import { describeRecipient, secretAttributeValues } from '../masking.ts'
import { partSnapshotText, snapshotText } from './snapshot.ts'

export interface SendEntry {
  readonly message: NotificationMessage
  readonly isRetried: boolean
  row: NewSendLog
  retryInMs: number | undefined
  /** Id of the row; undefined until the first write. */
  id: number | undefined
  /** True once a write has started, so the row may be in the table. */
  tried: boolean
  /** True while the current state waits to be written. */
  isQueued: boolean
  isLost: boolean
  weight: number
  /** Promise that settles when the last queued state is written or lost. */
  written: PromiseWithResolvers<void>
}

export const entryOf = ({ message, isRetried = false }: RecordedSend, row: NewSendLog): SendEntry => ({
  message,
  isRetried,
  row,
  retryInMs: undefined,
  id: undefined,
  tried: false,
  isQueued: false,
  isLost: false,
  weight: 0,
  written: Promise.withResolvers<void>(),
})

/** Locks rows until the end of the transaction. SQLite needs no lock, because only one transaction can write. */
export const rowLock = ({ dialect }: Pick<Database, 'dialect'>) =>
  dialect === 'sqlite' ? {} : ({ lockMode: LockMode.PESSIMISTIC_WRITE } as const)

interface DeliveryOf {
  readonly notificationId: number
  /** Unique key of the send. Absent if the message is never sent again automatically. */
  readonly deliveryKey?: string | undefined
  /** True if the list of messages contains the message, so that the send log need not store it. */
  readonly isStored: boolean
}

export interface RecordedSend {
  /** The original message, for a retry. */
  readonly message: NotificationMessage
  readonly idempotencyKey: string
  /** 1 for the first send on the channel. */
  readonly attempt: number
  readonly delivery?: DeliveryOf | undefined
  /** Id of the row that this send repeats. */
  readonly retryOfId?: number | undefined
  /** True if the product sends the message again automatically. False if the caller receives the result and decides. */
  readonly isRetried?: boolean | undefined
}

export type NewSendLog = Omit<RowOf<typeof SendLogRow>, 'id' | 'claimedFrom' | 'userId' | 'orgId'>

type Mask = (text: string, more?: Iterable<unknown>) => string

const shownRecipients = 20

/** The subject as recipients see it, and the keys of the recipients' addresses on the suppression list. */
export interface RenderedSubject extends Pick<NotificationMessage, 'subject'> {
  readonly addressKeys?: ReadonlyMap<Recipient, string> | undefined
}

/**
 * Returns the row of a send that has not started. Its texts contain no secrets of the message or the configuration.
 *
 * @param until time by which the send must have ended
 */
export function createSendingRow(
  channel: string,
  sending: RecordedSend,
  shown: RenderedSubject,
  mask: Mask,
  now: Date,
  until: Date,
): NewSendLog {
  const { message, idempotencyKey, attempt, delivery, retryOfId } = sending
  const { recipients, attributes } = message
  const text = textOf(message, mask)
  const payload = delivery?.isStored
    ? partSnapshotText(recipients, idempotencyKey)
    : snapshotText({ message, idempotencyKey }, mask)
  const { traceId } = attributes
  return {
    channel: fitTextToColumn(channel, 64),
    provider: null,
    status: 'sending',
    outcome: null,
    messageId: message.id,
    recipients: recipients.slice(0, shownRecipients).map((recipient) => text(describeRecipient(recipient), 255)),
    recipientCount: recipients.length,
    subject: text(shown.subject, 500),
    template: message.template === undefined ? null : text(message.template, 128),
    errorCode: null,
    errorMessage: null,
    providerCode: null,
    providerMessage: null,
    hint: null,
    restorable: payload !== null,
    payload,
    attempt,
    retryOfId: retryOfId ?? null,
    claimedUntil: until,
    deliveryKey: delivery?.deliveryKey ?? null,
    notificationId: delivery?.notificationId ?? null,
    traceId: typeof traceId === 'string' ? text(traceId, 128) : null,
    reference: sendReference(idempotencyKey),
    addressKey: addressKeyOf(recipients, shown),
    deliveryState: null,
    bounceKind: null,
    deliveryTimes: null,
    deliveryDetail: null,
    createdAt: now,
  }
}

const addressKeyOf = ([recipient, ...others]: readonly Recipient[], { addressKeys }: RenderedSubject): string | null =>
  (recipient !== undefined && others.length === 0 ? addressKeys?.get(recipient) : undefined) ?? null

/** Returns the row of a send with its result. Its texts contain no secrets, even if the provider repeated them. */
export function createFinishedRow(
  row: NewSendLog,
  message: NotificationMessage,
  result: SendResult,
  { status, nextAttemptAt }: { readonly status: SendLogState; readonly nextAttemptAt: Date | null },
  mask: Mask,
): NewSendLog {
  const text = textOf(message, mask)
  const textOrNull = (value: string | null | undefined, length: number) => (value == null ? null : text(value, length))
  const payload = result.success ? null : row.payload
  return {
    ...row,
    provider: textOrNull(result.provider, 64),
    status,
    outcome: result.isAttempted === false ? null : result.outcome,
    messageId: result.messageId === message.id ? message.id : text(result.messageId, 200),
    errorCode: textOrNull(result.errorCode, 128),
    errorMessage: textOrNull(result.errorMessage, 500),
    providerCode: textOrNull(result.providerCode, 128),
    providerMessage: textOrNull(result.providerMessage, 500),
    // The key, because the log is read in another language than that of the send.
    hint: textOrNull(result.hintKey ?? result.hint, 500),
    restorable: payload !== null,
    payload,
    claimedUntil: nextAttemptAt,
  }
}

function textOf(message: NotificationMessage, mask: Mask) {
  const secrets = [...secretsOf(message), ...secretAttributeValues(message.attributes)]
  return (value: string, length: number) => fitTextToColumn(mask(value, secrets), length)
}

export const outcomeProperties = [
  'provider',
  'status',
  'outcome',
  'messageId',
  'errorCode',
  'errorMessage',
  'providerCode',
  'providerMessage',
  'hint',
  'restorable',
  'payload',
  'claimedUntil',
] as const
