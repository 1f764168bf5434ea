import { event } from '@plinth/events'
import { id, instant, nullable, Type, text } from '@plinth/http'
import type { AudienceToken } from '@plinth/iam'
import { service } from '@plinth/kernel'
import type { Static } from 'typebox'

/** Categories of messages. Users can switch each of them off (document 2 of the specification, "Preferences"). */
export const categories = ['system', 'account', 'todo', 'chat', 'blog', 'forum', 'mall', 'marketing'] as const
export type Category = (typeof categories)[number]

/** Categories of the modules whose name differs from their category. */
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
 * Returns the category of a message. @param module attribute of the message, in upper or lower case; unknown modules
 * belong to `system`
 */
export function categoryOf(module: unknown): Category {
  const name = typeof module === 'string' ? module.trim().toLowerCase() : ''
  return categories.find((category) => category === name) ?? categoryOfModule.get(name) ?? 'system'
}

/** Returns the modules of a category, in lower case. */
export const modulesOf = (category: Category): readonly string[] => [
  category,
  ...[...categoryOfModule].flatMap(([module, of]) => (of === category ? [module] : [])),
]

/** A file at `disk` and `path`, or at an external `url`, or both. */
export interface AttachmentDraft {
  /** 1 to 200 characters. */
  readonly name: string
  /** Disk of the file, as `Storage` defines it. Set `disk` and `path` together, or neither of them. */
  readonly disk?: string
  readonly path?: string
  /** `type/subtype`, at most 127 characters. */
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  /** `http` or `https`, at most 2,000 characters. */
  readonly url?: string
}

/** Fields that tell what opens when the user selects a message (document 2 of the specification, "Inbox item view"). */
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

/** An attachment in a response. `url` is computed at each read; null if the file cannot be reached. */
export const attachmentView = Type.Object({ ...attachmentFields, url: nullable(text) })
export type AttachmentView = Static<typeof attachmentView>

/** Content of a message, stored once for all recipients. */
export const inboxContent = Type.Object({
  /** Id that the sender has chosen. A recipient has one item per message. */
  messageId: text,
  subject: text,
  content: text,
  /** Values for subject and content, if they are keys of translations. */
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

export const inboxItemView = Type.Object({ id, unread: Type.Boolean(), readAt: nullable(instant), ...contentView })
export type InboxItemView = Static<typeof inboxItemView>
/** View of a content. It is equal for all recipients with the same language. */
export type InboxContentView = Omit<InboxItemView, 'id' | 'unread' | 'readAt'>

/** Maximum number of recipients in one event, and of items that one transaction writes. */
export const maxUsersPerCreatedEvent = 1_000

const recipients = Type.Array(id, { minItems: 1, maxItems: maxUsersPerCreatedEvent })

/**
 * Event: items were committed. The process that wrote them emits one event for up to 1,000 recipients. The event is not
 * durable, because clients can read the items from the inbox. A client receives `{ id, unread: true, readAt: null,
 * ...await inbox.present(payload.content, locale) }`, an `InboxItemView`.
 */
export const notificationCreated = event(
  'notification.created',
  Type.Object({
    content: inboxContent,
    userIds: recipients,
    /** Ids of the items, in the order of `userIds`. */
    itemIds: recipients,
  }),
)

/**
 * Event: a broadcast was committed, which is a message to all users. Users with an id of at most `userIdLimit` have the
 * item `itemId`, unless they have switched off the inbox or the category of the message. The id is the same for all of
 * them. Otherwise like `notificationCreated`.
 */
export const broadcastCreated = event(
  'notification.broadcast-created',
  Type.Object({ content: inboxContent, itemId: id, userIdLimit: Type.Integer({ minimum: 0 }) }),
)

/**
 * Event: a user has read items, so that other devices can update. If `all` is true, everything up to `readAt` was read
 * and `items` is empty. Otherwise `items` contains up to 200 items. The event is not durable.
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

export interface InboxMessage {
  /** 1 to 200 characters, not the id of a broadcast. A user gets one item per message. It is not added again, even if the user has deleted it. */
  readonly messageId: string
  /** Text or key of a translation: `messages.<path>` or `{messages.<path>}`. A longer text is cut to 500 characters. */
  readonly subject: string
  /** Text or key of a translation; at most 65,536 characters. */
  readonly content: string
  /** Values for translations. They are stored, so they must not contain secrets. */
  readonly variables?: Readonly<Record<string, unknown>>
  /**
   * Attributes of the message: `module`, `event` (or `eventType`), `sourceType`, `sourceId`, `targetType`, `targetId`,
   * `targetRoute`, `targetUserId`, `dedupeKey`, `attachments`, and the ids that `jump-target.ts` reads by event. For
   * conversations, also `conversationType`, `messagePreview`, `sender` and `muted`. Other attributes are not stored.
   */
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly userIds: readonly number[]
}

export interface AddItemsResult {
  readonly added: number
  /** Users who switched off the inbox or the category, or muted the conversation. */
  readonly skipped: number
}

export interface AddOptions {
  readonly signal?: AbortSignal
  /** True if the caller has just checked that all users want the message on the channel `database`. */
  readonly isWanted?: boolean
  /**
   * Time of the message, in milliseconds since the epoch, if it replaces an earlier one with the same id: the item of the
   * user gets the new content and is unread again. An older message changes nothing. Attachments are not replaced.
   */
  readonly replacedAt?: number
}

/** Inboxes of users. Only `add` and `addForAll` write messages, and the preferences of users apply to both. */
export interface Inbox {
  /**
   * Adds a message to the inboxes of users. Joins the current transaction. Without one, it commits the items in chunks.
   * If it was interrupted, adding the message again completes it.
   *
   * @throws BusinessError "400" `notification-inbox.message-invalid` with the field in `data.field`; the reason of the
   * signal, if it aborts between two chunks
   */
  add(message: InboxMessage, options?: AddOptions): Promise<AddItemsResult>
  /**
   * Adds a message to the inboxes of all users who exist now, with one row for all of them. The preferences of each user
   * at this time apply. Joins the current transaction, which should be short and have run no other statements: no user
   * can be created or changed until it ends. A repeated call with the same `messageId` has no effect.
   *
   * If the inbox is off by default for the category, the message is added as by `add`, for the users who have switched it
   * on. A repeated call then completes it.
   *
   * @returns false if the message already exists, its conversation is muted, or nobody wants it
   * @throws BusinessError "400" `notification-inbox.message-invalid`, also for the `messageId` of a message to some users;
   * PlinthError `PLINTH_DATABASE_NO_IDS` if the clocks of instances differ by more than a minute; the reason of the signal
   */
  addForAll(message: Omit<InboxMessage, 'userIds'>, options?: Pick<AddOptions, 'signal'>): Promise<boolean>
  /** Translates the texts of a content. URLs of attachments follow the current configuration. */
  present(content: InboxContent, locale: string): Promise<InboxContentView>
  /** Returns the number of unread items, counted up to 1,000. */
  unreadCount(userId: number): Promise<{ readonly count: number; readonly capped: boolean }>
}

export const inbox = service<Inbox>('notification.inbox', { from: '@plinth/inbox' })

/** Question whether a user wants a message. A user can switch off its channel and its category. */
export interface PreferenceQuery {
  /**
   * Users can switch off `database`, `websocket`, `mail` and `sms`, and, per category, the channels of `preferenceChannel`.
   * For other channels only the category matters.
   */
  readonly channel: string
  /** One of `categories`, or a category that a plugin declares; see `notificationCategory`. */
  readonly category: string
}

/** Tells which messages users want, and when (document 2 of the specification, "Preferences"). */
export interface NotificationPreferences {
  /**
   * Returns the users who want a message. Accepts any number of users. A user without saved preferences has
   * the defaults.
   */
  wanted(userIds: readonly number[], question: PreferenceQuery): Promise<ReadonlySet<number>>
  /**
   * Returns the end of quiet hours for users who have them now, in milliseconds since the epoch.
   *
   * @param nowMs milliseconds since the epoch
   */
  quietUntil(userIds: readonly number[], nowMs: number): Promise<ReadonlyMap<number, number>>
  /** Returns how messages are written for users. Users without their own language and time zone are left out. */
  readerFormats(userIds: readonly number[]): Promise<ReadonlyMap<number, ReaderFormat>>
  /**
   * Switches off a category that is neither required nor locked by an operator.
   *
   * @param channel if absent, on all channels
   */
  switchOff(userId: number, category: string, channel?: string): Promise<void>
}

/** Language and time zone of messages to a user. The site decides what is absent. */
export interface ReaderFormat {
  /** BCP 47 tag. */
  readonly locale?: string
  /** Name in the IANA time zone database. */
  readonly timeZone?: string
}

export const notificationPreferences = service<NotificationPreferences>('notification.preferences', {
  from: '@plinth/inbox',
})

/** Tokens for the element `@plinth/inbox-element`, and the sites that may show it. */
export interface InboxEmbedding {
  /** Audience of the tokens, see `Identity.authenticateFor`. */
  readonly audience: string
  /**
   * Creates a token for the embedded inbox of a user: for 15 minutes, and only for the operations of this inbox and of the
   * notification preferences. For back ends that have authenticated the user themselves.
   *
   * @param sessionId session with which the token ends, see `Principal.sessionId`
   * @throws BusinessError "404" `iam.user-unknown`, also for a disabled user
   */
  issueToken(userId: number, sessionId?: number): Promise<AudienceToken>
  /** Returns whether pages of this origin may show inboxes. The origin of the product itself need not be listed. */
  allowsOrigin(origin: string | undefined): boolean
}

export const inboxEmbedding = service<InboxEmbedding>('notification.inbox-embedding', { from: '@plinth/inbox' })
