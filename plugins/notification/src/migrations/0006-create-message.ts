import { defineChangeSet } from '@plinth/migrations'

/** Adds tables for messages that are sent in parts, and for parts that have begun. */
export const createMessage = defineChangeSet({
  id: '0006-create-message',
  up: ({ schema, type }) => {
    const message = 'notification_message'
    const part = 'notification_message_part'
    return [
      schema
        .createTable(message)
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('message_id', type.text(36), (c) => c.notNull())
        .addColumn('idempotency_hash', type.text(64))
        .addColumn('subject', type.text(500), (c) => c.notNull())
        .addColumn('template', type.text(128))
        .addColumn('channels', type.json, (c) => c.notNull())
        .addColumn('recipient_count', type.integer, (c) => c.notNull())
        .addColumn('priority', type.text(16), (c) => c.notNull())
        .addColumn('state', type.text(16), (c) => c.notNull())
        .addColumn('not_before', type.timestamp)
        .addColumn('payload', type.longText)
        .addColumn('sender_id', type.id)
        .addColumn('sender_name', type.text(64))
        .addColumn('trace_id', type.text(128))
        .addColumn('parts', type.integer, (c) => c.notNull())
        .addColumn('parts_done', type.integer, (c) => c.notNull())
        .addColumn('accepted', type.integer, (c) => c.notNull())
        .addColumn('rejected', type.integer, (c) => c.notNull())
        .addColumn('deferred', type.integer, (c) => c.notNull())
        .addColumn('unknown', type.integer, (c) => c.notNull())
        .addColumn('skipped', type.integer, (c) => c.notNull())
        .addColumn('created_at', type.timestamp, (c) => c.notNull())
        .addColumn('finished_at', type.timestamp),
      schema.createIndex(`${message}_idempotency_hash_unique`).unique().on(message).column('idempotency_hash'),
      schema.createIndex(`${message}_state_id_index`).on(message).columns(['state', 'id']),
      schema.createIndex(`${message}_created_at_id_index`).on(message).columns(['created_at', 'id']),

      schema
        .createTable(part)
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('notification_id', type.id, (c) => c.notNull())
        .addColumn('part', type.text(150), (c) => c.notNull())
        .addColumn('left_out', type.json, (c) => c.notNull())
        .addColumn('done_at', type.timestamp),
      schema.createIndex(`${part}_notification_id_part_unique`).unique().on(part).columns(['notification_id', 'part']),
    ]
  },
})
