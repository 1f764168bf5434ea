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
 * Maximum number of recipients per part, on a channel that sends to all of them at once. If the process dies, the sends
 * to all of them become `unknown`.
 */
export const largestPart = 1_000
/**
 * The same limit on an idempotent channel. It is larger, because interrupted sends are repeated there and each part
 * costs about ten statements.
 */
export const largestPartOfIdempotent = 5_000
/**
 * The same limit on a channel with one recipient per send, where `sentTogether` sends run in parallel. The part then
 * ends before the deadline of event handlers, even if each send takes its full time.
 */
export const largestPartOfEach = 50
/**
 * Maximum number of parallel sends. On a channel that is not idempotent, this many sends become `unknown` if the
 * process dies.
 */
export const sentTogether = 10

/** Event: a part of an enqueued message is due (document 2, facade operations; durable). */
export const messagePart = event(
  'notification.part',
  Type.Object({
    notificationId: Type.Integer(),
    channel: Type.String(),
    /** Unique in the message: `channel:number`. For a delayed part, the time of the delay follows. */
    part: Type.String(),
    /** Set instead of `recipients` if all recipients are users. The text is then a quarter as long. */
    userIds: Type.Optional(Type.Array(Type.Integer())),
    recipients: Type.Optional(Type.Array(recipient)),
  }),
)

/** Recipients in short form: only the ids if all are users. */
export interface CarriedRecipients {
  readonly userIds?: number[]
  readonly recipients?: Recipient[]
}

export function carried(recipients: readonly Recipient[]): CarriedRecipients {
  const userIds = recipients.flatMap((one) => (one.kind === 'user' ? [one.userId] : []))
  return userIds.length === recipients.length ? { userIds } : { recipients: [...recipients] }
}

/** Returns the recipients of a part. */
export const carriedBy = ({ userIds = [], recipients }: CarriedRecipients): readonly Recipient[] =>
  recipients ?? userIds.map((userId) => ({ kind: 'user', userId }))
