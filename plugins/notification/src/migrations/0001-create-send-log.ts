import { defineChangeSet } from '@plinth/migrations'

export const createSendLog = defineChangeSet({
  id: '0001-create-send-log',
  up: ({ schema, type }) => [
    schema
      .createTable('notification_send_log')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('channel', type.text(64), (c) => c.notNull())
      .addColumn('provider', type.text(64))
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('message_id', type.text(200), (c) => c.notNull())
      .addColumn('recipients', type.json, (c) => c.notNull())
      .addColumn('recipient_count', type.integer, (c) => c.notNull())
      .addColumn('subject', type.text(500), (c) => c.notNull())
      .addColumn('template', type.text(128))
      .addColumn('error_code', type.text(128))
      .addColumn('error_message', type.text(500))
      .addColumn('provider_code', type.text(128))
      .addColumn('provider_message', type.text(500))
      .addColumn('hint', type.text(500))
      .addColumn('restorable', type.boolean, (c) => c.notNull())
      .addColumn('payload', type.longText)
      .addColumn('attempt', type.integer, (c) => c.notNull())
      .addColumn('retry_of_id', type.id)
      .addColumn('claimed_until', type.timestamp)
      .addColumn('trace_id', type.text(128))
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('notification_send_log_channel_id_index').on('notification_send_log').columns(['channel', 'id']),
    schema
      .createIndex('notification_send_log_status_restorable_created_at_index')
      .on('notification_send_log')
      .columns(['status', 'restorable', 'created_at']),
    schema.createIndex('notification_send_log_created_at_index').on('notification_send_log').column('created_at'),
  ],
})
