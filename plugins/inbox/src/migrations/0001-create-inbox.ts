import { defineChangeSet } from '@plinth/migrations'

export const createInbox = defineChangeSet({
  id: '0001-create-inbox',
  up: ({ schema, type }) => [
    schema
      .createTable('notification_inbox_content')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('message_id', type.text(200), (c) => c.notNull())
      .addColumn('subject', type.text(500), (c) => c.notNull())
      .addColumn('content', type.longText, (c) => c.notNull())
      .addColumn('variables', type.json, (c) => c.notNull())
      .addColumn('jump', type.json, (c) => c.notNull())
      .addColumn('attachments', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('notification_inbox_content_message_id_unique')
      .unique()
      .on('notification_inbox_content')
      .column('message_id'),
    schema
      .createTable('notification_inbox_item')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('content_id', type.id, (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('owner_id', type.id)
      .addColumn('module', type.text(64), (c) => c.notNull())
      .addColumn('unread', type.boolean, (c) => c.notNull())
      .addColumn('read_at', type.timestamp),
    schema
      .createIndex('notification_inbox_item_content_id_user_id_unique')
      .unique()
      .on('notification_inbox_item')
      .columns(['content_id', 'user_id']),
    ...[
      ['owner_id', 'id'],
      ['owner_id', 'unread', 'id'],
      ['owner_id', 'module', 'id'],
      ['owner_id', 'module', 'unread', 'id'],
      ['read_at'],
    ].map((columns) =>
      schema
        .createIndex(`notification_inbox_item_${columns.join('_')}_index`)
        .on('notification_inbox_item')
        .columns(columns),
    ),
    schema
      .createTable('notification_inbox_attachment')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('content_id', type.id, (c) => c.notNull())
      .addColumn('message_id', type.text(200), (c) => c.notNull())
      .addColumn('disk', type.text(64))
      .addColumn('path', type.text(512))
      .addColumn('name', type.text(200), (c) => c.notNull())
      .addColumn('content_type', type.text(127), (c) => c.notNull())
      .addColumn('size', type.bigint, (c) => c.notNull())
      .addColumn('url', type.longText),
    schema
      .createIndex('notification_inbox_attachment_content_id_id_index')
      .on('notification_inbox_attachment')
      .columns(['content_id', 'id']),
  ],
})
