import { defineChangeSet } from '@plinth/migrations'

const table = 'social_outbound'
const index = (...columns: string[]) => `${table}_${columns.join('_')}_index`

export const createOutbound = defineChangeSet({
  id: '0001-create-outbound',
  up: ({ schema, type }) => [
    schema
      .createTable(table)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('account_code', type.text(64), (c) => c.notNull())
      .addColumn('message_type', type.text(32), (c) => c.notNull())
      .addColumn('to_user', type.text(16), (c) => c.notNull())
      .addColumn('template_id', type.text(128))
      .addColumn('client_message_id', type.text(200), (c) => c.notNull())
      .addColumn('outcome', type.text(16), (c) => c.notNull())
      .addColumn('provider_message_id', type.text(64))
      .addColumn('provider_code', type.text(64))
      .addColumn('provider_message', type.text(500))
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    ...[
      ['account_code', 'id'],
      ['outcome', 'id'],
      ['account_code', 'outcome', 'id'],
      ['created_at', 'id'],
    ].map((columns) =>
      schema
        .createIndex(index(...columns))
        .on(table)
        .columns(columns),
    ),
  ],
})
