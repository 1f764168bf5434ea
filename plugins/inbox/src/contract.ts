import { event } from '@plinth/events'
import { id, instant, nullable, Type, text } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static } from 'typebox'
import type { Category } from './preferences/categories.ts'

/** An attachment as a sender names it: `disk` with `path`, or the `url` of a file elsewhere, or both. */
export interface AttachmentDraft {
  /** 1 to 200 characters. */
  readonly name: string
  /** Disk of the storage and path on it, by the rules of `Storage`. Both or none. */
  readonly disk?: string
  readonly path?: string
  /** `type/subtype`, at most 127 characters. */
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  /** `http` or `https`, at most 2,000 characters: for what lies on no disk of the product. */
  readonly url?: string
}

/** What a click opens (document 2, "Inbox item view"), resolved by the back end. All members are bounded texts. */
export const jumpFields = {
  module: Type.String({ description: 'Business module, such as `forum`.' }),
  event: nullable(text, { description: 'Event code, such as `reply.created`.' }),
  eventType: nullable(text, { description: 'The same as `event`.' }),
  sourceType: nullable(text, { description: 'Kind of the object that caused the notification.' }),
  sourceId: nullable(text),
  targetType: nullable(text, { description: 'Kind of the object to open.' }),
  targetId: nullable(text),
  targetRoute: nullable(text, {
    description: 'Semantic route, such as `/forum/topics/12`; each front end has its own table of routes.',
  }),
  targetUserId: nullable(id, { description: 'The other person, for what is about a relationship.' }),
  dedupeKey: nullable(text, { description: 'Business idempotency key.' }),
  conversationType: nullable(text),
  messagePreview: nullable(text, { description: 'The beginning of a message of a conversation.' }),
  sender: nullable(
    Type.Object({
      userId: nullable(id),
      name: nullable(text),
      avatar: nullable(text, { description: 'Address of a picture.' }),
    }),
    { description: 'Who wrote a message of a conversation.' },
  ),
} as const

const jumpTarget = Type.Object(jumpFields)
export type JumpTarget = Static<typeof jumpTarget>

const attachmentFields = {
  messageId: text,
  disk: nullable(text),
  path: nullable(text),
  name: text,
  contentType: text,
  size: Type.Integer({ minimum: 0, description: 'Bytes.' }),
}

/** An attachment as clients see it: `url` is resolved when it is asked for; null when nothing leads to the file now. */
export const attachmentView = Type.Object({ ...attachmentFields, url: nullable(text) })
export type AttachmentView = Static<typeof attachmentView>

/** What all recipients of a message share, as it is stored. */
export const inboxContent = Type.Object({
  /** Of the message, as its sender knows it; a recipient has one item of it. */
  messageId: text,
  subject: text,
  content: text,
  /** For texts that are keys of the catalogue. */
  variables: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
  ...jumpFields,
  attachments: Type.Array(Type.Object({ ...attachmentFields, url: nullable(text) })),
  createdAt: instant,
})
export type InboxContent = Static<typeof inboxContent>

const contentView = {
  messageId: Type.String({ description: 'Id of the message, shared by all its recipients.' }),
  subject: Type.String({ description: 'As it was written.' }),
  content: Type.String({ description: 'As it was written.' }),
  displaySubject: Type.String({
    description: 'In the language of the caller where the subject is a key of the catalogue.',
  }),
  displayContent: Type.String({
    description: 'In the language of the caller where the content is a key of the catalogue.',
  }),
  ...jumpFields,
  attachments: Type.Array(attachmentView),
  createdAt: instant,
}

/** One item of an inbox as its owner sees it. */
export const inboxItemView = Type.Object({ id, unread: Type.Boolean(), readAt: nullable(instant), ...contentView })
export type InboxItemView = Static<typeof inboxItemView>
/** What of it is the same for all recipients who read one language. */
export type InboxContentView = Omit<InboxItemView, 'id' | 'unread' | 'readAt'>

/** Recipients of one event, and of one transaction, at most. */
export const largestCreatedEvent = 1_000

const recipients = Type.Array(id, { minItems: 1, maxItems: largestCreatedEvent })

/**
 * Items were written and committed. Emitted (not durable: the inbox is the history) in the process that wrote them, once per
 * item; a message to many comes in several events of up to 1,000 recipients. The data of the realtime event of one recipient is
 * `{ id, unread: true, readAt: null, ...await inbox.present(payload.content, locale) }`, an `InboxItemView`.
 */
export const notificationCreated = event(
  'notification.created',
  Type.Object({
    content: inboxContent,
    userIds: recipients,
    /** The item of each user, in the same order. */
    itemIds: recipients,
  }),
)

/**
 * A user has read items. Emitted like `notificationCreated`, also when another device of the user is to follow. With `all`
 * everything up to `readAt` was read and `items` is empty; otherwise it holds up to 200 items with their jump fields.
 */
export const notificationRead = event(
  'notification.read',
  Type.Object({
    userId: id,
    readAt: instant,
    all: Type.Boolean(),
    items: Type.Array(
      Type.Object({ id, messageId: text, unread: Type.Literal(false), readAt: instant, ...jumpFields }),
      {
        maxItems: 200,
      },
    ),
  }),
)

/** A message for inboxes. */
export interface InboxMessage {
  /** 1 to 200 characters. A user has one item of a message, however often it is added, also after deleting it. */
  readonly messageId: string
  /** At most 500 characters, longer ones are cut; may be a key of the catalogue: `messages.<path>` or `{messages.<path>}`. */
  readonly subject: string
  /** At most 65,536 characters; may be a key of the catalogue. */
  readonly content: string
  /** Values for a text that is a key of the catalogue. Nothing secret: they are stored. */
  readonly variables?: Readonly<Record<string, unknown>>
  /**
   * `module`, `event` (or `eventType`), `sourceType`, `sourceId`, `targetType`, `targetId`, `targetRoute`, `targetUserId`,
   * `dedupeKey`, the ids that `jump-target.ts` knows by event, for conversations `conversationType`, `messagePreview`, `sender`
   * and `muted`, and `attachments`. Other attributes are not stored.
   */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** Any number; duplicates count once. */
  readonly userIds: readonly number[]
}

export interface AddedItems {
  /** Items that did not exist before. */
  readonly added: number
  /** Users who have switched off the inbox or the category, or muted the conversation. They are counted and logged. */
  readonly skipped: number
}

export interface AddOptions {
  readonly signal?: AbortSignal
  /** True: the preferences of all of the users were asked just now, for the channel `database`, and they want the message. */
  readonly isWanted?: boolean
}

/** The inboxes of users. Every writer goes through `add`, which asks the preferences. */
export interface Inbox {
  /**
   * Writes one item per recipient who wants it. Joins the transaction around it; without one it works in chunks that commit one
   * by one, and what was cut off is completed by adding the message again.
   *
   * @throws BusinessError "400" `notification-inbox.message-invalid` with the field in `data.field`; the reason of the signal when it
   *   aborts between two chunks
   */
  add(message: InboxMessage, options?: AddOptions): Promise<AddedItems>
  /** A content for readers of a language: texts translated, URLs of attachments resolved by the present configuration. */
  present(content: InboxContent, locale: string): Promise<InboxContentView>
  /** Unread items of a user, counted up to 1,000. */
  unreadCount(userId: number): Promise<{ readonly count: number; readonly capped: boolean }>
}

export const inbox = service<Inbox>('notification.inbox', { from: '@plinth/inbox' })

/** What a message is about and how it would arrive: both have a switch. */
export interface PreferenceQuestion {
  /** Code of a channel; `database`, `websocket`, `mail` and `sms` have a switch, the others only that of the category. */
  readonly channel: string
  readonly category: Category
}

/** What users want (document 2, "Preferences"): the one resolver, for channels, categories and quiet hours. */
export interface NotificationPreferences {
  /** Those of the users who want it. Any number; a user without saved preferences wants everything. */
  wanted(userIds: readonly number[], question: PreferenceQuestion): Promise<ReadonlySet<number>>
  /**
   * When the quiet hours end of those users who have them now; milliseconds since the epoch.
   *
   * @param nowMs milliseconds since the epoch
   */
  quietUntil(userIds: readonly number[], nowMs: number): Promise<ReadonlyMap<number, number>>
  /** Switches a category off for a user, on every channel, as the user does in the preferences. */
  switchOff(userId: number, category: Category): Promise<void>
}

export const notificationPreferences = service<NotificationPreferences>('notification.preferences', {
  from: '@plinth/inbox',
})
