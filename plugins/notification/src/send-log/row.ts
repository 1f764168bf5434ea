import { LockMode } from '@mikro-orm/core'
import type { Database, RowOf } from '@plinth/database'
import { columnText, type NotificationMessage, secretsOf } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import type { SendLog, SendLogState } from '../entities.ts'
import { describeRecipient, secretAttributeValues } from '../masking.ts'
import { partSnapshotText, snapshotText } from './snapshot.ts'

/** A send on its way into the send log. */
export interface SendEntry {
  readonly message: NotificationMessage
  row: SendLogRow
  /** Milliseconds after which it is sent again automatically. */
  retryInMs: number | undefined
  /** Assigned by the first write. */
  id: number | undefined
  /** A write of it was begun: it may be in the table. */
  tried: boolean
  /** What waits to be written is as it should be. */
  isQueued: boolean
  isLost: boolean
  weight: number
  /** Ends when what was queued last is written, or lost. */
  written: PromiseWithResolvers<void>
}

/** The entry of a row that was never written. */
export const entryOf = (message: NotificationMessage, row: SendLogRow): SendEntry => ({
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

/** Options of a read that keeps its rows as they are until the transaction ends; on SQLite nobody else writes meanwhile. */
export const rowLock = ({ dialect }: Pick<Database, 'dialect'>) =>
  dialect === 'sqlite' ? {} : ({ lockMode: LockMode.PESSIMISTIC_WRITE } as const)

/** A delivery of a message of the list. */
interface DeliveryOf {
  /** Id of the `NotificationRow`. */
  readonly notificationId: number
  /** Of the send log; absent where nothing is ever delivered again by itself. */
  readonly deliveryKey?: string | undefined
  /** True when the message lies in the `NotificationRow`, so that the row need not keep it. */
  readonly isStored: boolean
}

/** One message on its way to one channel. */
export interface Sending {
  /** As the sender wrote it: what a retry sends again. */
  readonly message: NotificationMessage
  readonly idempotencyKey: string
  /** 1 for the first send of the message on the channel. */
  readonly attempt: number
  readonly delivery?: DeliveryOf | undefined
  /** The row of the send log that it repeats. */
  readonly retryOfId?: number | undefined
}

export type SendLogRow = Omit<RowOf<typeof SendLog>, 'id' | 'claimedFrom' | 'userId' | 'orgId'>

type Mask = (text: string, more?: Iterable<unknown>) => string

const shownRecipients = 20

/** The subject that recipients get; the text of the row. */
export type Shown = Pick<NotificationMessage, 'subject'>

/**
 * The row of a send that has not left yet. No text holds a secret of the message or of the configuration.
 *
 * @param until when it will have come to an end
 */
export function sendingRow(
  channel: string,
  sending: Sending,
  shown: Shown,
  mask: Mask,
  now: Date,
  until: Date,
): SendLogRow {
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

/** The row of a send that came to an end. No text holds a secret, whatever a provider says. */
export function finishedRow(
  row: SendLogRow,
  message: NotificationMessage,
  result: SendResult,
  status: SendLogState,
  mask: Mask,
): SendLogRow {
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

/** Properties that change when a send comes to an end. */
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
