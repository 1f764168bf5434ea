import { defineChangeSet } from '@plinth/migrations'

export const createAttention = defineChangeSet({
  id: '0001-create-attention',
  up: ({ schema, type }) => [
    schema
      .createTable('console_attention')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('attention', type.text(128), (c) => c.notNull())
      .addColumn('assignee_user_id', type.id)
      .addColumn('snoozed_until', type.timestamp)
      .addColumn('done_count', type.integer)
      .addColumn('done_at', type.timestamp)
      .addColumn('changed_by_user_id', type.id, (c) => c.notNull())
      .addColumn('changed_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('console_attention_attention_unique').unique().on('console_attention').column('attention'),
    schema.createIndex('console_attention_assignee_user_id_index').on('console_attention').column('assignee_user_id'),
    schema
      .createIndex('console_attention_changed_by_user_id_index')
      .on('console_attention')
      .column('changed_by_user_id'),
  ],
})
