import { event } from '@plinth/events'
import { id, instant, nullable, Type, text } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static } from 'typebox'

/** Business categories. Each has its own switch (document 2, "Preferences"). */
export const categories = ['system', 'account', 'todo', 'chat', 'blog', 'forum', 'mall', 'marketing'] as const
export type Category = (typeof categories)[number]

/** Modules whose name differs from their category. */
const categoryOfModule = new Map<string, Category>(
  Object.entries({
    social: 'account',
    iam: 'account',
    user: 'account',
    conversation: 'chat',
    approval: 'todo',
    'to-do': 'todo',
    cms: 'blog',
    commerce: 'mall',
  } as const),
)

/**
 * Returns the category of a message by its attribute `module`, in any case. Unknown modules are in category `system`.
 */
export function categoryOf(module: unknown): Category {
  const name = typeof module === 'string' ? module.trim().toLowerCase() : ''
  return categories.find((category) => category === name) ?? categoryOfModule.get(name) ?? 'system'
}

/** An attachment of a sender: `disk` with `path`, or the external `url` of a file, or both. */
export interface AttachmentDraft {
  /** 1 to 200 characters. */
  readonly name: string
  /** Disk of the storage and path on it, by the rules of `Storage`. Set both or none. */
  readonly disk?: string
  readonly path?: string
  /** `type/subtype`, at most 127 characters. */
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  /** `http` or `https`, at most 2,000 characters, for a file that is not on a disk of the product. */
  readonly url?: string
}

/**
 * The target of a click (document 2, "Inbox item view"), resolved by the back end. All fields have a limited length.
 */
export const jumpFields = {
  module: Type.String({ description: 'Business module, such as `forum`.' }),
  event: nullable(text, { description: 'Event code, such as `reply.created`.' }),
  eventType: nullable(text, { description: 'The same as `event`.' }),
  sourceType: nullable(text, { description: 'Type of the object that caused the notification.' }),
  sourceId: nullable(text),
  targetType: nullable(text, { description: 'Type of the object that opens when the user selects the message.' }),
  targetId: nullable(text),
  targetRoute: nullable(text, {
    description: 'Semantic route, such as `/forum/topics/12`. Each front end maps it to its own pages.',
  }),
  targetUserId: nullable(id, { description: 'The other user, if the message is about a relationship between users.' }),
  dedupeKey: nullable(text, { description: 'Idempotency key of the event that caused the message.' }),
  conversationType: nullable(text),
  messagePreview: nullable(text, { description: 'First characters of a message in a conversation.' }),
  sender: nullable(
    Type.Object({
      userId: nullable(id),
      name: nullable(text),
      avatar: nullable(text, { description: 'URL of a picture.' }),
    }),
    { description: 'Author of a message in a conversation.' },
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
  size: Type.Integer({ minimum: 0, description: 'Size in bytes.' }),
}

/** An attachment for clients. `url` is resolved at each read, and null if the file cannot be reached now. */
export const attachmentView = Type.Object({ ...attachmentFields, url: nullable(text) })
export type AttachmentView = Static<typeof attachmentView>

/** The stored content of a message, shared by all recipients. */
export const inboxContent = Type.Object({
  /** Id of the message for its sender. A recipient has one item per message. */
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
  subject: Type.String({ description: 'Text as the sender wrote it, or a message key.' }),
  content: Type.String({ description: 'Text as the sender wrote it, or a message key.' }),
  displaySubject: Type.String({
    description: 'Subject for display. If `subject` is a message key, it is translated to the language of the caller.',
  }),
  displayContent: Type.String({
    description: 'Content for display. If `content` is a message key, it is translated to the language of the caller.',
  }),
  ...jumpFields,
  attachments: Type.Array(attachmentView),
  createdAt: instant,
}

/** An item of an inbox for its owner. */
export const inboxItemView = Type.Object({ id, unread: Type.Boolean(), readAt: nullable(instant), ...contentView })
export type InboxItemView = Static<typeof inboxItemView>
/** The fields that are equal for all recipients with the same language. */
export type InboxContentView = Omit<InboxItemView, 'id' | 'unread' | 'readAt'>

/** Maximum number of recipients of one event and of one transaction. */
export const largestCreatedEvent = 1_000

const recipients = Type.Array(id, { minItems: 1, maxItems: largestCreatedEvent })

/**
 * Items were written and committed. Emitted once per item, in the process that wrote it. The event is not durable,
 * because the inbox is the history. A message to many users has several events of up to 1,000 recipients. The realtime
 * event of a recipient contains `{ id, unread: true, readAt: null, ...await inbox.present(payload.content, locale) }`,
 * an `InboxItemView`.
 */
export const notificationCreated = event(
  'notification.created',
  Type.Object({
    content: inboxContent,
    userIds: recipients,
    /** The item of each user, in the order of `userIds`. */
    itemIds: recipients,
  }),
)

/**
 * A user has read items. Emitted like `notificationCreated`, so that other devices of the user can update. If `all` is
 * true, the user has read everything up to `readAt` and `items` is empty. Otherwise `items` contains up to 200 items
 * with their jump fields.
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
  /** 1 to 200 characters. A user has one item per message, even if it is added again or was deleted. */
  readonly messageId: string
  /**
   * Longer texts are cut to 500 characters. May be a key of the catalogue: `messages.<path>` or `{messages.<path>}`.
   */
  readonly subject: string
  /** At most 65,536 characters. May be a key of the catalogue. */
  readonly content: string
  /** Values for texts that are keys of the catalogue. They are stored, so they must not contain secrets. */
  readonly variables?: Readonly<Record<string, unknown>>
  /**
   * `module`, `event` (or `eventType`), `sourceType`, `sourceId`, `targetType`, `targetId`, `targetRoute`,
   * `targetUserId`, `dedupeKey`, `attachments`, and the ids that `jump-target.ts` reads by event. Conversations also
   * have `conversationType`, `messagePreview`, `sender` and `muted`. Other attributes are not stored.
   */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** Any number. Duplicates are ignored. */
  readonly userIds: readonly number[]
}

export interface AddedItems {
  /** New items. */
  readonly added: number
  /** Users who switched off the inbox or the category, or muted the conversation. They are counted and logged. */
  readonly skipped: number
}

export interface AddOptions {
  readonly signal?: AbortSignal
  /** True if the caller has just checked the preferences of all users for the channel `database`, and they want it. */
  readonly isWanted?: boolean
}

/** The inboxes of users. All items are written by `add`, which checks the preferences. */
export interface Inbox {
  /**
   * Writes one item for each recipient who wants it. Joins the current transaction. Without one, it commits in chunks.
   * If it is interrupted, adding the message again completes it.
   *
   * @throws BusinessError "400" `notification-inbox.message-invalid` with the field in `data.field`; the abort reason
   *   of the signal, between two chunks
   */
  add(message: InboxMessage, options?: AddOptions): Promise<AddedItems>
  /**
   * Returns a content for a language: texts are translated, and URLs of attachments follow the current configuration.
   */
  present(content: InboxContent, locale: string): Promise<InboxContentView>
  /** Returns the number of unread items of a user, up to 1,000. */
  unreadCount(userId: number): Promise<{ readonly count: number; readonly capped: boolean }>
}

export const inbox = service<Inbox>('notification.inbox', { from: '@plinth/inbox' })

/** Channel and category of a message. Both have a switch. */
export interface PreferenceQuestion {
  /**
   * Code of a channel. `database`, `websocket`, `mail` and `sms` have a switch. For other channels only the category
   * applies.
   */
  readonly channel: string
  readonly category: Category
}

/** Decides for all channels which messages users want and when (document 2, "Preferences"). */
export interface NotificationPreferences {
  /**
   * Returns the users who want the message. Any number is allowed. A user without saved preferences wants everything.
   */
  wanted(userIds: readonly number[], question: PreferenceQuestion): Promise<ReadonlySet<number>>
  /**
   * Returns the users who have quiet hours now, with the end in milliseconds since the epoch.
   *
   * @param nowMs milliseconds since the epoch
   */
  quietUntil(userIds: readonly number[], nowMs: number): Promise<ReadonlyMap<number, number>>
  /** Switches a category off for a user on every channel, like the user does in the preferences. */
  switchOff(userId: number, category: Category): Promise<void>
}

export const notificationPreferences = service<NotificationPreferences>('notification.preferences', {
  from: '@plinth/inbox',
})
