import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { JumpTarget } from '../contract.ts'

/** What all recipients of a message share; stored once, however many they are. Goes with the last of its items. */
export const ContentRow = defineEntity({
  name: 'InboxContent',
  tableName: 'notification_inbox_content',
  uniques: [{ properties: ['messageId'] }],
  properties: {
    id: column.primaryKey(),
    messageId: column.text(200),
    subject: column.text(500),
    content: column.longText(),
    /** For texts that are keys of the catalogue. */
    variables: column.json<Record<string, string | number>>(),
    jump: column.json<JumpTarget>(),
    /** Most messages have none: their attachments are not looked for. */
    attachments: column.integer(),
    createdAt: column.timestamp(),
  },
})
export type ContentRow = InferEntity<typeof ContentRow>

/** One message in the inbox of one user, and the receipt of its reading. */
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
    /** Whose inbox shows it: the user; null once deleted, when the row stays so that the message does not come back. */
    ownerId: column.id().nullable(),
    /** Of the message. */
    module: column.text(64),
    unread: column.boolean(),
    readAt: column.timestamp().nullable(),
  },
})
export type ItemRow = InferEntity<typeof ItemRow>

/** What is known of a file that came with a message: where it lies, and nothing of its content. */
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
    /** For a file that lies elsewhere. */
    url: column.longText().nullable(),
  },
})
export type AttachmentRow = InferEntity<typeof AttachmentRow>
