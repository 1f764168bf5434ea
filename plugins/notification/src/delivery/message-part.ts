import { event } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Recipient } from '@plinth/kernel'
import type { TUnsafe } from 'typebox'

const recipient: TUnsafe<Recipient> = Type.Unsafe<Recipient>(
  Type.Object({
    kind: Type.String(),
    userId: Type.Optional(Type.Integer()),
    address: Type.Optional(Type.String()),
    number: Type.Optional(Type.String()),
    group: Type.Optional(Type.String()),
    topic: Type.Optional(Type.String()),
  }),
)

/**
 * Maximum number of recipients of a part, if the channel sends to all of them in one call. If the process dies during
 * the call, the outcome for all of them is `unknown`.
 */
export const maxPartRecipients = 1_000
/**
 * Maximum number of recipients of a part on an idempotent channel. It is larger than `maxPartRecipients`, because an
 * idempotent channel can safely repeat an interrupted send. Fewer parts save time: each costs about ten statements.
 */
export const maxIdempotentPartRecipients = 5_000
/**
 * Maximum number of recipients of a part on a channel with one recipient per send. It is smaller, because the part must
 * end before the deadline of event handlers.
 */
export const maxSingleSendPartRecipients = 50
/**
 * Maximum number of parallel sends. If the process dies, the outcome of that many sends is `unknown`, unless the
 * channel is idempotent.
 */
export const maxParallelParts = 10

/**
 * Event: some recipients of a message on one channel (a part of the message) are due. A durable event (document 2 of
 * the specification, facade operations).
 */
export const messagePart = event(
  'notification.part',
  Type.Object({
    notificationId: Type.Integer(),
    channel: Type.String(),
    /** `channel:number`. For a part that was delayed, its time follows. */
    part: Type.String(),
    /** Language and time zone of all recipients of the part, if the message has none. */
    locale: Type.Optional(Type.String()),
    timeZone: Type.Optional(Type.String()),
    /** Used instead of `recipients` if all are users, because the JSON text is then only a quarter as long. */
    userIds: Type.Optional(Type.Array(Type.Integer())),
    recipients: Type.Optional(Type.Array(recipient)),
  }),
)

/** Recipients in stored form: only their ids if all of them are users. */
export interface StoredRecipients {
  readonly userIds?: number[]
  readonly recipients?: Recipient[]
}

export function toStoredRecipients(recipients: readonly Recipient[]): StoredRecipients {
  const userIds = recipients.flatMap((one) => (one.kind === 'user' ? [one.userId] : []))
  return userIds.length === recipients.length ? { userIds } : { recipients: [...recipients] }
}

export const fromStoredRecipients = ({ userIds = [], recipients }: StoredRecipients): readonly Recipient[] =>
  recipients ?? userIds.map((userId) => ({ kind: 'user', userId }))
