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

/** Recipients per part, if the channel sends to all at once. If the process dies, all of them become `unknown`. */
export const largestPart = 1_000
/** Larger on an idempotent channel, which repeats interrupted sends. Each part costs about ten statements. */
export const largestPartOfIdempotent = 5_000
/** Smaller on a channel with one recipient per send. The part must end before the deadline of event handlers. */
export const largestPartOfEach = 50
/** Parallel sends. Unless the channel is idempotent, this many become `unknown` if the process dies. */
export const sentTogether = 10

/** Event: a part of a message is due (document 2, facade operations; durable). */
export const messagePart = event(
  'notification.part',
  Type.Object({
    notificationId: Type.Integer(),
    channel: Type.String(),
    /** `channel:number`, for a delayed part followed by its time. */
    part: Type.String(),
    /** Replaces `recipients` if all are users. The text is then a quarter as long. */
    userIds: Type.Optional(Type.Array(Type.Integer())),
    recipients: Type.Optional(Type.Array(recipient)),
  }),
)

/** Only ids if all recipients are users. */
export interface CarriedRecipients {
  readonly userIds?: number[]
  readonly recipients?: Recipient[]
}

export function carried(recipients: readonly Recipient[]): CarriedRecipients {
  const userIds = recipients.flatMap((one) => (one.kind === 'user' ? [one.userId] : []))
  return userIds.length === recipients.length ? { userIds } : { recipients: [...recipients] }
}

export const carriedBy = ({ userIds = [], recipients }: CarriedRecipients): readonly Recipient[] =>
  recipients ?? userIds.map((userId) => ({ kind: 'user', userId }))
