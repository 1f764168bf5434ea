import { defineChangeSet } from '@plinth/migrations'

/** Adds columns to record a send before it starts, and a unique key for sends of enqueued messages. */
export const recordBeforeSending = defineChangeSet({
  id: '0005-record-before-sending',
  up: ({ schema, type }) => {
    const table = 'notification_send_log'
    const index = (...columns: string[]) =>
      schema
        .createIndex(`${table}_${columns.join('_')}_index`)
        .on(table)
        .columns(columns)
    return [
      schema.alterTable(table).addColumn('outcome', type.text(16)),
      schema.alterTable(table).addColumn('delivery_key', type.text(200)),
      schema.alterTable(table).addColumn('notification_id', type.id),
      schema.createIndex(`${table}_delivery_key_unique`).unique().on(table).column('delivery_key'),
      index('status', 'id'),
      index('status', 'created_at', 'id'),
      index('channel', 'status', 'id'),
      index('notification_id', 'id'),
    ]
  },
})
