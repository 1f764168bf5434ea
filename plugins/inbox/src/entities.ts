import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { JumpTarget } from './contract.ts'

/** Stored once for all recipients, and deleted with its last item. */
export const ContentRow = defineEntity({
  name: 'InboxContent',
  tableName: 'notification_inbox_content',
  uniques: [{ properties: ['messageId'] }],
  properties: {
    id: column.primaryKey(),
    messageId: column.text(200),
    subject: column.text(500),
    content: column.longText(),
    variables: column.json<Record<string, string | number>>(),
    jump: column.json<JumpTarget>(),
    /** If it is 0, attachments are not queried. */
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
    /** Null after deletion. The row stays, so that the message is not added again. */
    ownerId: column.id().nullable(),
    module: column.text(64),
    unread: column.boolean(),
    readAt: column.timestamp().nullable(),
  },
})
export type ItemRow = InferEntity<typeof ItemRow>

/** The content of the file is not stored here. */
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
    /** Set for an external file. */
    url: column.longText().nullable(),
  },
})
export type AttachmentRow = InferEntity<typeof AttachmentRow>

/** Without a row, the user wants everything at any time. */
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
    /** These three columns are all set or all null. */
    quietTimeZone: column.text(64).nullable(),
    /** Minutes since midnight. */
    quietStart: column.integer().nullable(),
    quietEnd: column.integer().nullable(),
    updatedAt: column.timestamp(),
  },
})
export type PreferenceRow = InferEntity<typeof PreferenceRow>
