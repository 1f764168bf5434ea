import { defineChangeSet } from '@plinth/migrations'

export const createOutbox = defineChangeSet({
  id: '0001-create-outbox',
  up: ({ schema, type }) => [
    schema
      .createTable('outbox_event')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('type', type.text(128), (c) => c.notNull())
      .addColumn('payload', type.longText, (c) => c.notNull())
      .addColumn('stream_key', type.text(200))
      .addColumn('position', type.bigint)
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('attempts', type.integer, (c) => c.notNull())
      .addColumn('next_at', type.timestamp, (c) => c.notNull())
      .addColumn('lease_token', type.text(36))
      .addColumn('last_error', type.text(500))
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('finished_at', type.timestamp),
    schema
      .createIndex('outbox_event_stream_key_position_unique')
      .unique()
      .on('outbox_event')
      .columns(['stream_key', 'position']),
    schema.createIndex('outbox_event_status_next_at_index').on('outbox_event').columns(['status', 'next_at']),
    schema.createIndex('outbox_event_status_finished_at_index').on('outbox_event').columns(['status', 'finished_at']),

    schema
      .createTable('outbox_delivery')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('event_id', type.id, (c) => c.notNull())
      .addColumn('handler', type.text(128), (c) => c.notNull())
      .addColumn('delivered_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('outbox_delivery_event_id_handler_unique')
      .unique()
      .on('outbox_delivery')
      .columns(['event_id', 'handler']),

    schema
      .createTable('outbox_stream')
      .addColumn('stream_key', type.text(200), (c) => c.primaryKey())
      .addColumn('last_position', type.bigint, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('outbox_stream_updated_at_index').on('outbox_stream').column('updated_at'),
  ],
})
