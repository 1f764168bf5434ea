import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { JumpTarget } from './contract.ts'

/**
 * Content of a message, stored once for all recipients, and deleted with the last item that refers to it. The content of
 * a broadcast has no items. It is the item of each of its readers.
 */
export const ContentRow = defineEntity({
  name: 'InboxContent',
  tableName: 'notification_inbox_content',
  uniques: [{ properties: ['messageId'] }],
  indexes: [{ properties: ['audience', 'id'] }],
  properties: {
    id: column.primaryKey(),
    /**
     * `all` for a broadcast, which is a message to all users. The next three columns are null for other messages. The
     * category is also null for a broadcast that users cannot switch off.
     */
    audience: column.text(16).$type<'all'>().nullable(),
    /** Users with a larger id were created after the broadcast. See `Identity.limitUserIds`. */
    userIdLimit: column.id().nullable(),
    module: column.text(64).nullable(),
    category: column.text(64).nullable(),
    messageId: column.text(200),
    subject: column.text(500),
    content: column.longText(),
    variables: column.json<Record<string, string | number>>(),
    jump: column.json<JumpTarget>(),
    /** Number of attachments. If it is 0, the table of attachments is not queried. */
    attachments: column.integer(),
    createdAt: column.timestamp(),
  },
})
export type ContentRow = InferEntity<typeof ContentRow>

export const ItemRow = defineEntity({
  name: 'InboxItem',
  tableName: 'notification_inbox_item',
  uniques: [{ properties: ['contentId', 'userId'] }],
  indexes: [
    { properties: ['ownerId', 'id'] },
    { properties: ['ownerId', 'unread', 'id'] },
    { properties: ['ownerId', 'module', 'id'] },
    { properties: ['ownerId', 'module', 'unread', 'id'] },
    { properties: ['readAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    contentId: column.id(),
    userId: column.id(),
    /** Null after deletion. The row remains, so that the same message is not added again. */
    ownerId: column.id().nullable(),
    module: column.text(64),
    unread: column.boolean(),
    readAt: column.timestamp().nullable(),
  },
})
export type ItemRow = InferEntity<typeof ItemRow>

/** Mark of a user who has read or deleted a broadcast. Its id contains the time of the mark. */
export const MarkRow = defineEntity({
  name: 'InboxMark',
  tableName: 'notification_inbox_mark',
  uniques: [{ properties: ['contentId', 'userId'] }],
  indexes: [{ properties: ['userId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    contentId: column.id(),
    userId: column.id(),
    /** Null if the user has deleted the broadcast without reading it. */
    readAt: column.timestamp().nullable(),
    removedAt: column.timestamp().nullable(),
  },
})
export type MarkRow = InferEntity<typeof MarkRow>

/**
 * Broadcasts of a category that a user does not see, because the user had switched off the category or the inbox when
 * they were sent: those with an id larger than `afterId` and at most `untilId`.
 */
export const OptOutRow = defineEntity({
  name: 'InboxOptOut',
  tableName: 'notification_inbox_opt_out',
  indexes: [{ properties: ['userId', 'category'] }, { properties: ['untilId'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    category: column.text(64),
    /** Id of the newest broadcast when the user switched off the category; 0 without broadcasts. */
    afterId: column.id(),
    /** Null while the category is off. */
    untilId: column.id().nullable(),
  },
})
export type OptOutRow = InferEntity<typeof OptOutRow>

/** Description of an attachment. The content of the file is not stored here. */
export const AttachmentRow = defineEntity({
  name: 'InboxAttachment',
  tableName: 'notification_inbox_attachment',
  indexes: [{ properties: ['contentId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    contentId: column.id(),
    messageId: column.text(200),
    disk: column.text(64).nullable(),
    path: column.text(512).nullable(),
    name: column.text(200),
    contentType: column.text(127),
    /** Bytes. */
    size: column.bigint(),
    /** URL of an external file; null for a file in a storage. */
    url: column.longText().nullable(),
  },
})
export type AttachmentRow = InferEntity<typeof AttachmentRow>

/** Preferences of a user. A user without a row wants everything at any time. */
export const PreferenceRow = defineEntity({
  name: 'NotificationPreference',
  tableName: 'notification_preference',
  properties: {
    userId: column.primaryKey(),
    databaseEnabled: column.boolean(),
    websocketEnabled: column.boolean(),
    emailEnabled: column.boolean(),
    smsEnabled: column.boolean(),
    systemEnabled: column.boolean(),
    accountEnabled: column.boolean(),
    todoEnabled: column.boolean(),
    chatEnabled: column.boolean(),
    blogEnabled: column.boolean(),
    forumEnabled: column.boolean(),
    mallEnabled: column.boolean(),
    marketingEnabled: column.boolean(),
    /** The columns `quietTimeZone`, `quietStart` and `quietEnd` are all set or all null. */
    quietTimeZone: column.text(64).nullable(),
    /** Minutes since midnight. */
    quietStart: column.integer().nullable(),
    quietEnd: column.integer().nullable(),
    /** Language of messages as BCP 47 tag. Null: the language of the site. */
    locale: column.text(35).nullable(),
    /** Time zone of dates in messages. Null: the time zone of the site. */
    timeZone: column.text(64).nullable(),
    updatedAt: column.timestamp(),
  },
})
export type PreferenceRow = InferEntity<typeof PreferenceRow>
