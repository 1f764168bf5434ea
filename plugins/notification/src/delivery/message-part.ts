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

/** Recipients of a part for a channel that takes them together: when the process dies, so many become `unknown`. */
export const largestPart = 1_000
/** The same for an idempotent channel, where none become `unknown`: each part costs about ten statements of its own. */
export const largestPartOfIdempotent = 5_000
/**
 * Recipients of a part for a channel that takes them one by one, `sentTogether` of them at a time: so many that a part ends before
 * the deadline of event handlers even when each send takes as long as it may.
 */
export const largestPartOfEach = 50
/** When the process dies, what becomes `unknown` of a part on a channel that is not idempotent. */
export const sentTogether = 10

/** A part of an enqueued message is due (document 2, facade operations; durable). */
export const messagePart = event(
  'notification.part',
  Type.Object({
    notificationId: Type.Integer(),
    channel: Type.String(),
    /** Unique in the message: `channel:number`, with the moment of a delay behind it. */
    part: Type.String(),
    /** Users alone are written as their ids, which is a quarter of the text. */
    userIds: Type.Optional(Type.Array(Type.Integer())),
    recipients: Type.Optional(Type.Array(recipient)),
  }),
)

/** Recipients as they are written: users alone as their ids. */
export interface CarriedRecipients {
  readonly userIds?: number[]
  readonly recipients?: Recipient[]
}

/** Recipients as the event of a part carries them. */
export function carried(recipients: readonly Recipient[]): CarriedRecipients {
  const userIds = recipients.flatMap((one) => (one.kind === 'user' ? [one.userId] : []))
  return userIds.length === recipients.length ? { userIds } : { recipients: [...recipients] }
}

/** The recipients that an event of a part carries. */
export const carriedBy = ({ userIds = [], recipients }: CarriedRecipients): readonly Recipient[] =>
  recipients ?? userIds.map((userId) => ({ kind: 'user', userId }))
