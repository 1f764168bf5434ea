import { defineChangeSet } from '@plinth/migrations'

export const createSuppression = defineChangeSet({
  id: '0001-create-suppression',
  up: ({ schema, type }) => {
    const indexOn = (table: string, ...columns: [string, ...string[]]) =>
      schema
        .createIndex(`${table}_${columns.join('_')}_index`)
        .on(table)
        .columns(columns)
    return [
      schema
        .createTable('suppression')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('channel', type.text(16), (c) => c.notNull())
        .addColumn('address', type.text(254), (c) => c.notNull())
        .addColumn('address_key', type.text(64), (c) => c.notNull())
        .addColumn('category', type.text(64), (c) => c.notNull())
        .addColumn('reason', type.text(16), (c) => c.notNull())
        .addColumn('note', type.text(200))
        .addColumn('since', type.timestamp, (c) => c.notNull())
        .addColumn('ends_at', type.timestamp)
        .addColumn('source', type.text(16), (c) => c.notNull())
        .addColumn('user_id', type.id)
        .addColumn('send_log_id', type.id),
      schema
        .createIndex('suppression_address_key_channel_category_unique')
        .unique()
        .on('suppression')
        .columns(['address_key', 'channel', 'category']),
      indexOn('suppression', 'channel', 'id'),
      indexOn('suppression', 'reason', 'id'),
      indexOn('suppression', 'category', 'id'),
      indexOn('suppression', 'user_id', 'id'),
      indexOn('suppression', 'since', 'id'),
      indexOn('suppression', 'ends_at'),
      schema
        .createTable('suppression_soft_bounce')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('address_key', type.text(64), (c) => c.notNull())
        .addColumn('times', type.json, (c) => c.notNull())
        .addColumn('delivered_at', type.timestamp)
        .addColumn('updated_at', type.timestamp, (c) => c.notNull()),
      schema
        .createIndex('suppression_soft_bounce_address_key_unique')
        .unique()
        .on('suppression_soft_bounce')
        .column('address_key'),
      indexOn('suppression_soft_bounce', 'updated_at'),
    ]
  },
})
