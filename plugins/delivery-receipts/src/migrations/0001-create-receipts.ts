import { defineChangeSet } from '@plinth/migrations'

export const createReceipts = defineChangeSet({
  id: '0001-create-receipts',
  up: ({ schema, type }) => {
    const indexes = (table: string, lists: readonly (readonly [string, ...string[]])[]) =>
      lists.map((columns) =>
        schema
          .createIndex(`${table}_${columns.join('_')}_index`)
          .on(table)
          .columns([...columns]),
      )
    return [
      schema
        .createTable('delivery_receipt')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('source', type.text(64), (c) => c.notNull())
        .addColumn('receipt_id', type.text(200), (c) => c.notNull())
        .addColumn('fingerprint', type.text(64), (c) => c.notNull())
        .addColumn('status', type.text(16), (c) => c.notNull())
        .addColumn('state', type.text(16), (c) => c.notNull())
        .addColumn('bounce', type.text(16))
        .addColumn('channel', type.text(64), (c) => c.notNull())
        .addColumn('provider', type.text(64))
        .addColumn('message_id', type.text(200))
        .addColumn('reference', type.text(64))
        .addColumn('detail', type.text(255))
        .addColumn('occurred_at', type.timestamp, (c) => c.notNull())
        .addColumn('send_log_id', type.id)
        .addColumn('applied_at', type.timestamp)
        .addColumn('created_at', type.timestamp, (c) => c.notNull()),
      schema
        .createIndex('delivery_receipt_source_receipt_id_unique')
        .unique()
        .on('delivery_receipt')
        .columns(['source', 'receipt_id']),
      ...indexes('delivery_receipt', [
        ['source', 'id'],
        ['status', 'id'],
        ['state', 'id'],
        ['send_log_id', 'id'],
        ['created_at', 'id'],
      ]),
      schema
        .createTable('delivery_receipt_confirmation')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('source', type.text(64), (c) => c.notNull())
        .addColumn('subject', type.text(400), (c) => c.notNull())
        .addColumn('url', type.longText, (c) => c.notNull())
        .addColumn('url_hash', type.text(64), (c) => c.notNull())
        .addColumn('status', type.text(16), (c) => c.notNull())
        .addColumn('version', type.integer, (c) => c.notNull())
        .addColumn('created_at', type.timestamp, (c) => c.notNull())
        .addColumn('updated_at', type.timestamp, (c) => c.notNull())
        .addColumn('updated_by', type.text(128)),
      schema
        .createIndex('delivery_receipt_confirmation_url_hash_unique')
        .unique()
        .on('delivery_receipt_confirmation')
        .column('url_hash'),
      ...indexes('delivery_receipt_confirmation', [
        ['source', 'id'],
        ['status', 'id'],
        ['created_at', 'id'],
      ]),
    ]
  },
})
