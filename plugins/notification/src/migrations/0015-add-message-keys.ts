import { defineChangeSet } from '@plinth/migrations'

/** Adds the keys by which enqueued messages are cancelled or replaced. */
export const addMessageKeys = defineChangeSet({
  id: '0015-add-message-keys',
  up: ({ schema, type }) => {
    const [message, key] = ['notification_message', 'notification_message_key']
    return [
      schema.alterTable(message).addColumn('cancel_hash', type.text(64)),
      schema.alterTable(message).addColumn('replace_hash', type.text(64)),
      schema.createIndex(`${message}_cancel_hash_id_index`).on(message).columns(['cancel_hash', 'id']),
      schema.createIndex(`${message}_replace_hash_state_index`).on(message).columns(['replace_hash', 'state']),
      schema
        .createTable(key)
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('key_hash', type.text(64), (c) => c.notNull())
        .addColumn('used_at', type.timestamp, (c) => c.notNull())
        .addColumn('cancelled_until', type.timestamp),
      schema.createIndex(`${key}_key_hash_unique`).unique().on(key).column('key_hash'),
      schema.createIndex(`${key}_used_at_index`).on(key).column('used_at'),
    ]
  },
})
