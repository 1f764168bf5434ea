import { LockMode } from '@mikro-orm/core'
import type { Database, RowOf } from '@plinth/database'
import { columnText, type NotificationMessage, secretsOf } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import type { SendLogRow, SendLogState } from '../entities.ts'
import { describeRecipient, secretAttributeValues } from '../masking.ts'
import { partSnapshotText, snapshotText } from './snapshot.ts'

/** A send whose row is written to the send log. */
export interface SendEntry {
  readonly message: NotificationMessage
  row: NewSendLog
  /** Milliseconds until the automatic retry. */
  retryInMs: number | undefined
  /** Assigned by the first write. */
  id: number | undefined
  /** True after the first write has started. The row may then be in the table. */
  tried: boolean
  /** True while the current state waits to be written. */
  isQueued: boolean
  isLost: boolean
  weight: number
  /** Settles when the last queued state is written or lost. */
  written: PromiseWithResolvers<void>
}

/** Returns the entry of a new row. */
export const entryOf = (message: NotificationMessage, row: NewSendLog): SendEntry => ({
  message,
  row,
  retryInMs: undefined,
  id: undefined,
  tried: false,
  isQueued: false,
  isLost: false,
  weight: 0,
  written: Promise.withResolvers<void>(),
})

/**
 * Options of a read that locks its rows until the end of the transaction. SQLite needs no lock, because only one
 * transaction writes.
 */
export const rowLock = ({ dialect }: Pick<Database, 'dialect'>) =>
  dialect === 'sqlite' ? {} : ({ lockMode: LockMode.PESSIMISTIC_WRITE } as const)

/** The stored message that a send delivers. */
interface DeliveryOf {
  /** Id of the `NotificationRow`. */
  readonly notificationId: number
  /** Key of the delivery in the send log. Absent if the message is never delivered again automatically. */
  readonly deliveryKey?: string | undefined
  /** True if the `NotificationRow` contains the message, so the row of the send log does not store it. */
  readonly isStored: boolean
}

/** One send of a message to one channel. */
export interface Sending {
  /** The original message, which a retry sends again. */
  readonly message: NotificationMessage
  readonly idempotencyKey: string
  /** 1 for the first send of the message on the channel. */
  readonly attempt: number
  readonly delivery?: DeliveryOf | undefined
  /** Id of the send log row that this send repeats. */
  readonly retryOfId?: number | undefined
}

export type NewSendLog = Omit<RowOf<typeof SendLogRow>, 'id' | 'claimedFrom' | 'userId' | 'orgId'>

type Mask = (text: string, more?: Iterable<unknown>) => string

const shownRecipients = 20

/** The subject that recipients see. The send log stores it. */
export type Shown = Pick<NotificationMessage, 'subject'>

/**
 * Returns the row of a send that has not started. Its texts contain no secrets of the message or of the configuration.
 *
 * @param until time by which the send has certainly ended
 */
export function sendingRow(
  channel: string,
  sending: Sending,
  shown: Shown,
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
    channel: columnText(channel, 64),
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
    createdAt: now,
  }
}

/** Returns the row of a send that ended. Its texts contain no secrets, also if the provider repeats them. */
export function finishedRow(
  row: NewSendLog,
  message: NotificationMessage,
  result: SendResult,
  status: SendLogState,
  mask: Mask,
): NewSendLog {
  const text = textOf(message, mask)
  const textOrNull = (value: string | null | undefined, length: number) => (value == null ? null : text(value, length))
  const payload = result.success ? null : row.payload
  return {
    ...row,
    provider: textOrNull(result.provider, 64),
    status,
    outcome: result.outcome,
    messageId: result.messageId === message.id ? message.id : text(result.messageId, 200),
    errorCode: textOrNull(result.errorCode, 128),
    errorMessage: textOrNull(result.errorMessage, 500),
    providerCode: textOrNull(result.providerCode, 128),
    providerMessage: textOrNull(result.providerMessage, 500),
    hint: textOrNull(result.hint, 500),
    restorable: payload !== null,
    payload,
    claimedUntil: null,
  }
}

function textOf(message: NotificationMessage, mask: Mask) {
  const secrets = [...secretsOf(message), ...secretAttributeValues(message.attributes)]
  return (value: string, length: number) => columnText(mask(value, secrets), length)
}

/** Properties that change at the end of a send. */
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
