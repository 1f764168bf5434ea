import {
  afterSalesStatusChanged,
  conversationMessageCreated,
  type EventRef,
  forumReplyCreated,
  forumReplyLiked,
  forumReportStatusChanged,
  forumTopicFavorited,
  forumTopicLiked,
  friendAccepted,
  friendRejected,
  friendRequested,
  orderStatusChanged,
  userFollowed,
} from '@plinth/events'

/** A notice to one user about an event. */
export interface Notice {
  readonly userId: number
  /** The user who caused the event, and who gets no notice. */
  readonly actorId?: number | undefined
  readonly variables: Readonly<Record<string, string | number>>
  /** Attributes of the message. The inbox derives from them what the notice opens. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** Notices of this kind can be collected in a digest. `data`: values of one item, in addition to the variables. */
  readonly collected?: { readonly subjectKey: string; readonly data: Readonly<Record<string, string>> } | undefined
}

/** A kind of event with its notice. `noticeOf` returns undefined if nobody is notified. */
interface NoticeKind {
  readonly ref: EventRef
  /** Configuration key that can switch the notice off. */
  readonly switchedBy?: 'platform.forum.notifications.enabled' | 'platform.conversation.enabled' | undefined
  noticeOf(payload: unknown): Notice | undefined
}

const switchOf = new Map<string, NonNullable<NoticeKind['switchedBy']>>([
  ['forum', 'platform.forum.notifications.enabled'],
  ['conversation', 'platform.conversation.enabled'],
])

/** Connects an event with the function for its notice. The function gets the payload type of this event. */
const kind = <T>(ref: EventRef<T>, noticeOf: (payload: T) => Notice | undefined): NoticeKind => ({
  ref,
  switchedBy: switchOf.get(ref.id.split('.', 1)[0] ?? ''),
  noticeOf,
})

interface OfTopic {
  readonly topicId: number
  readonly topicTitle: string
  readonly userId: number
  readonly userName?: string | undefined
}
const ofTopic = (userId: number, { topicId, topicTitle, userId: actorId }: OfTopic, more: object = {}): Notice => ({
  userId,
  actorId,
  variables: { topicTitle },
  attributes: { module: 'forum', topicId, ...more },
})

/** Events whose notices can be collected. The code of the digest is the id of the event. */
export const collectedEvents: readonly EventRef[] = [forumTopicLiked, forumTopicFavorited, forumReplyLiked]
const asItem = (notice: Notice, subject: number, { userName = '' }: Pick<OfTopic, 'userName'>): Notice => ({
  ...notice,
  collected: { subjectKey: String(subject), data: { name: userName } },
})

const fromPerson = <T extends { fromUserId: number; fromUserName?: string; toUserId: number }>(ref: EventRef<T>) =>
  kind(ref, ({ fromUserId, fromUserName, toUserId }) => ({
    userId: toUserId,
    actorId: fromUserId,
    variables: { name: fromUserName ?? `#${fromUserId}` },
    attributes: { module: 'social', sourceType: 'user', sourceId: String(fromUserId), targetUserId: fromUserId },
  }))

/** False for `pending`, the first status of a report, because the reporter already knows it. */
export const isProcessed = ({ status }: { readonly status: string }) => status !== 'pending'

/**
 * Notices to the author, reporter, buyer or other user (document 2 of the specification, "Built-in linkage" and
 * "Events"). The inbox derives from event and attributes what a notice opens.
 */
export const noticeKinds: readonly NoticeKind[] = [
  kind(forumReplyCreated, (event) => {
    const notice = ofTopic(event.topicAuthorId, event, { sourceType: 'reply', sourceId: String(event.replyId) })
    return { ...notice, variables: { ...notice.variables, preview: event.preview ?? '' } }
  }),
  kind(forumTopicLiked, (event) => asItem(ofTopic(event.topicAuthorId, event), event.topicId, event)),
  kind(forumTopicFavorited, (event) => asItem(ofTopic(event.topicAuthorId, event), event.topicId, event)),
  kind(forumReplyLiked, (event) => {
    const reply = { sourceType: 'reply', sourceId: String(event.replyId) }
    return asItem(ofTopic(event.replyAuthorId, event, reply), event.replyId, event)
  }),
  kind(forumReportStatusChanged, (event) =>
    isProcessed(event)
      ? {
          userId: event.reporterId,
          actorId: event.userId,
          variables: { reportId: event.reportId, status: event.status },
          attributes: { module: 'forum', reportId: event.reportId },
        }
      : undefined,
  ),
  fromPerson(friendRequested),
  fromPerson(friendAccepted),
  fromPerson(friendRejected),
  fromPerson(userFollowed),
  // A muted conversation gets no inbox item (document 2 of the specification, "Preferences" 3).
  kind(conversationMessageCreated, ({ recipientId, senderId, senderName, preview, muted, ...conversation }) =>
    muted
      ? undefined
      : {
          userId: recipientId,
          actorId: senderId,
          variables: { senderName, preview },
          attributes: {
            module: 'conversation',
            messagePreview: preview,
            ...conversation,
            sender: { userId: senderId ?? null, name: senderName },
          },
        },
  ),
  kind(orderStatusChanged, ({ orderNo, userId, status }) => ({
    userId,
    variables: { orderNo, status },
    attributes: { module: 'mall', orderNo },
  })),
  kind(afterSalesStatusChanged, ({ afterSalesNo, orderNo, userId, status }) => ({
    userId,
    variables: { afterSalesNo, orderNo, status },
    attributes: { module: 'mall', afterSalesNo, sourceType: 'order', sourceId: orderNo },
  })),
]
