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

/** Recipients of a part on a channel that sends to all together. If the process dies, all of them become `unknown`. */
export const largestPart = 1_000
/** The same for an idempotent channel, where none become `unknown`. Fewer parts save statements, about ten per part. */
export const largestPartOfIdempotent = 5_000
/**
 * Recipients of a part on a channel with one recipient per send, of which `sentTogether` run in parallel. The part ends
 * before the deadline of event handlers, even if each send takes its full time.
 */
export const largestPartOfEach = 50
/** Maximum number of sends of a part that become `unknown` if the process dies, on a channel that is not idempotent. */
export const sentTogether = 10

/** A part of an enqueued message is due (document 2, facade operations; durable). */
export const messagePart = event(
  'notification.part',
  Type.Object({
    notificationId: Type.Integer(),
    channel: Type.String(),
    /** Unique in the message: `channel:number`. A delayed part also has the time of the delay. */
    part: Type.String(),
    /** If all recipients are users, only their ids are stored, which is a quarter of the text. */
    userIds: Type.Optional(Type.Array(Type.Integer())),
    recipients: Type.Optional(Type.Array(recipient)),
  }),
)

/** Recipients in compact form: only ids, if all are users. */
export interface CarriedRecipients {
  readonly userIds?: number[]
  readonly recipients?: Recipient[]
}

/** Converts recipients to the form of the event. */
export function carried(recipients: readonly Recipient[]): CarriedRecipients {
  const userIds = recipients.flatMap((one) => (one.kind === 'user' ? [one.userId] : []))
  return userIds.length === recipients.length ? { userIds } : { recipients: [...recipients] }
}

/** Returns the recipients of an event. */
export const carriedBy = ({ userIds = [], recipients }: CarriedRecipients): readonly Recipient[] =>
  recipients ?? userIds.map((userId) => ({ kind: 'user', userId }))
